package links

import (
	"bytes"
	"strings"
)

// IgnoredExtensions returns the extensions of files that are seldom pages: archives, images, sound,
// video, office documents, programs, style sheets and feeds. They are the ones that Scrapy's
// LinkExtractor leaves out unless told otherwise; here that is asked for:
//
//	links.DenyExtensions(links.IgnoredExtensions()...)
func IgnoredExtensions() []string {
	return strings.Fields(`
		7z 7zip bz2 rar tar tar.gz xz zip
		ai bmp cdr drw dxf eps gif ico jpeg jpg mng pct png ps psp pst svg tif tiff webp
		aac aiff au m4a mid mp3 ogg ra wav wma
		3gp asf asx avi flv m4v mov mp4 mpg qt rm swf webm wmv
		doc docb docm docx dotm dotx odg odp ods odt potm potx pps ppt pptm pptx xls xlsm xlsx xltm xltx
		apk bat bin cpl css dmg exe hta iso jar js msi msp pdf py rb rss sh`)
}

// extensions are file extensions by their number of dots: "gz", and "tar.gz".
type extensions map[string]bool

func newExtensions(list []string) extensions {
	e := make(extensions, len(list))
	for _, ext := range list {
		e[strings.ToLower(strings.TrimPrefix(ext, "."))] = true
	}
	return e
}

// match reports whether the path of a URL ends in one of the extensions.
func (e extensions) match(url []byte) bool {
	path := url
	if i := bytes.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	path = path[bytes.LastIndexByte(path, '/')+1:]
	var buf [maxExtension]byte
	for end, dots := len(path), 0; dots < 2; dots++ {
		dot := bytes.LastIndexByte(path[:end], '.')
		if dot < 0 || len(path)-dot-1 > len(buf) {
			return false
		}
		ext := append(buf[:0], path[dot+1:]...)
		for i, c := range ext {
			if 'A' <= c && c <= 'Z' {
				ext[i] = c | 0x20
			}
		}
		if e[string(ext)] {
			return true
		}
		end = dot
	}
	return false
}

// maxExtension is longer than any extension that means something.
const maxExtension = 32
