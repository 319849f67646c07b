package media

import (
	"bytes"
	"cmp"
	"mime"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

// format is a kind of files.
type format struct {
	ending string   // of their names
	types  []string // media types; the first is the one of Result.Type
	within string   // the type that their first bytes name, if these name a container only; "": the first bytes say it
}

// What first bytes name that says little about a file.
const (
	inZIP   = "application/zip"
	inOLE   = "application/x-ole-storage" // Microsoft's Compound File Binary
	inText  = "text/plain"
	inXML   = "text/xml"
	inMP4   = "video/mp4"
	inWebM  = "video/webm"
	inOgg   = "application/ogg"
	inBytes = "application/octet-stream"
)

// formats are the kinds of files that get a name of their own. Programs and installers are not among them.
var formats = []format{
	{".jpg", []string{"image/jpeg"}, ""},
	{".png", []string{"image/png"}, ""},
	{".gif", []string{"image/gif"}, ""},
	{".webp", []string{"image/webp"}, ""},
	{".bmp", []string{"image/bmp"}, ""},
	{".ico", []string{"image/x-icon"}, ""},
	{".avif", []string{"image/avif"}, ""},
	{".heic", []string{"image/heic"}, ""},
	{".tif", []string{"image/tiff"}, ""},
	{".psd", []string{"image/vnd.adobe.photoshop"}, ""},
	{".jp2", []string{"image/jp2"}, ""},
	{".djvu", []string{"image/vnd.djvu"}, ""},
	{".pdf", []string{"application/pdf"}, ""},
	{".ps", []string{"application/postscript"}, ""},
	{".rtf", []string{"application/rtf"}, ""},
	{".gz", []string{"application/x-gzip"}, ""},
	{".rar", []string{"application/x-rar-compressed"}, ""},
	{".7z", []string{"application/x-7z-compressed"}, ""},
	{".xz", []string{"application/x-xz"}, ""},
	{".bz2", []string{"application/x-bzip2"}, ""},
	{".zst", []string{"application/zstd"}, ""},
	{".sqlite", []string{"application/vnd.sqlite3"}, ""},
	{".parquet", []string{"application/vnd.apache.parquet"}, ""},
	{".h5", []string{"application/x-hdf5"}, ""},
	{".eot", []string{"application/vnd.ms-fontobject"}, ""},
	{".wasm", []string{"application/wasm"}, ""},
	{".flac", []string{"audio/flac"}, ""},
	{".wav", []string{"audio/wave"}, ""},
	{".aiff", []string{"audio/aiff"}, ""},
	{".au", []string{"audio/basic"}, ""},
	{".mid", []string{"audio/midi"}, ""},
	{".avi", []string{"video/avi"}, ""},
	{".mpg", []string{"video/mpeg"}, ""},
	{".ttf", []string{"font/ttf"}, ""},
	{".otf", []string{"font/otf"}, ""},
	{".ttc", []string{"font/collection"}, ""},
	{".woff", []string{"font/woff"}, ""},
	{".woff2", []string{"font/woff2"}, ""},
	{".html", []string{"text/html"}, ""},

	{".zip", []string{inZIP}, ""},
	{".docx", []string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/msword"}, inZIP},
	{".xlsx", []string{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "application/vnd.ms-excel"}, inZIP},
	{".xlsm", []string{"application/vnd.ms-excel.sheet.macroenabled.12"}, inZIP},
	{".xlsb", []string{"application/vnd.ms-excel.sheet.binary.macroenabled.12"}, inZIP},
	{".pptx", []string{"application/vnd.openxmlformats-officedocument.presentationml.presentation", "application/vnd.ms-powerpoint"}, inZIP},
	{".ppsx", []string{"application/vnd.openxmlformats-officedocument.presentationml.slideshow"}, inZIP},
	{".epub", []string{"application/epub+zip"}, inZIP},
	{".odt", []string{"application/vnd.oasis.opendocument.text"}, inZIP},
	{".ods", []string{"application/vnd.oasis.opendocument.spreadsheet"}, inZIP},
	{".odp", []string{"application/vnd.oasis.opendocument.presentation"}, inZIP},
	{".odg", []string{"application/vnd.oasis.opendocument.graphics"}, inZIP},
	{".kmz", []string{"application/vnd.google-earth.kmz"}, inZIP},
	{".cbz", []string{"application/vnd.comicbook+zip", "application/x-cbz"}, inZIP},
	{".apk", []string{"application/vnd.android.package-archive"}, inZIP},

	{".doc", []string{"application/msword"}, inOLE},
	{".xls", []string{"application/vnd.ms-excel"}, inOLE},
	{".ppt", []string{"application/vnd.ms-powerpoint"}, inOLE},
	{".msg", []string{"application/vnd.ms-outlook"}, inOLE},

	{".txt", []string{inText}, ""},
	{".csv", []string{"text/csv", "application/csv", "text/x-csv", "text/comma-separated-values"}, inText},
	{".tsv", []string{"text/tab-separated-values"}, inText},
	{".json", []string{"application/json", "text/json", "application/x-json"}, inText},
	{".jsonl", []string{"application/jsonl", "application/x-jsonlines", "application/x-ndjson"}, inText},
	{".ndjson", []string{"application/x-ndjson"}, inText},
	{".jsonld", []string{"application/ld+json"}, inText},
	{".geojson", []string{"application/geo+json"}, inText},
	{".yaml", []string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}, inText},
	{".md", []string{"text/markdown", "text/x-markdown"}, inText},
	{".css", []string{"text/css"}, inText},
	{".js", []string{"text/javascript", "application/javascript", "application/x-javascript"}, inText},
	{".ics", []string{"text/calendar"}, inText},
	{".vcf", []string{"text/vcard", "text/x-vcard"}, inText},
	{".vtt", []string{"text/vtt"}, inText},
	{".srt", []string{"application/x-subrip"}, inText},
	{".m3u8", []string{"application/vnd.apple.mpegurl", "application/x-mpegurl"}, inText},
	{".bib", []string{"application/x-bibtex", "text/x-bibtex"}, inText},
	{".ris", []string{"application/x-research-info-systems"}, inText},
	{".tex", []string{"application/x-tex", "text/x-tex"}, inText},
	{".sql", []string{"application/sql"}, inText},
	{".eml", []string{"message/rfc822"}, inText},

	{".xml", []string{inXML, "application/xml"}, inXML},
	{".svg", []string{"image/svg+xml"}, inXML},
	{".xhtml", []string{"application/xhtml+xml"}, inXML},
	{".rss", []string{"application/rss+xml"}, inXML},
	{".atom", []string{"application/atom+xml"}, inXML},
	{".kml", []string{"application/vnd.google-earth.kml+xml"}, inXML},
	{".gpx", []string{"application/gpx+xml"}, inXML},

	{".mp4", []string{inMP4}, ""},
	{".m4a", []string{"audio/mp4", "audio/x-m4a"}, inMP4},
	{".m4v", []string{"video/x-m4v"}, inMP4},
	{".mov", []string{"video/quicktime"}, inMP4},
	{".3gp", []string{"video/3gpp", "audio/3gpp"}, inMP4},
	{".webm", []string{inWebM}, ""},
	{".weba", []string{"audio/webm"}, inWebM},
	{".mkv", []string{"video/x-matroska", "video/matroska"}, inWebM},
	{".mka", []string{"audio/x-matroska", "audio/matroska"}, inWebM},
	{".ogg", []string{inOgg}, ""},
	{".oga", []string{"audio/ogg"}, inOgg},
	{".ogv", []string{"video/ogg"}, inOgg},
	{".opus", []string{"audio/opus"}, inOgg},

	{".bin", []string{inBytes}, ""},
	{".mp3", []string{"audio/mpeg", "audio/mp3"}, inBytes}, // without an ID3 tag there is nothing to know it by
	{".aac", []string{"audio/aac", "audio/x-aac"}, inBytes},
	{".ts", []string{"video/mp2t"}, inBytes},
	{".mobi", []string{"application/x-mobipocket-ebook"}, inBytes},
	{".azw3", []string{"application/vnd.amazon.mobi8-ebook"}, inBytes},
	{".dwg", []string{"image/vnd.dwg", "application/acad"}, inBytes},
	{".dbf", []string{"application/vnd.dbf", "application/x-dbf"}, inBytes},
	{".shp", []string{"application/vnd.shp"}, inBytes},
	{".stl", []string{"model/stl"}, inBytes},
	{".nc", []string{"application/x-netcdf"}, inBytes},
	{".grib2", []string{"application/wmo-grib2"}, inBytes},
	{".iso", []string{"application/x-iso9660-image"}, inBytes},
	{".tar", []string{"application/x-tar"}, inBytes},
}

// otherEndings are those that a name may have instead.
var otherEndings = map[string]string{".yml": ".yaml", ".markdown": ".md", ".mpga": ".mp3", ".m2ts": ".ts"}

// sniffed is how many bytes of a file say what it is.
const sniffed = 512

// signature is what a kind of files has at a place, where net/http does not know it.
type signature struct {
	at        int
	bytes     string
	mediaType string
}

var signatures = []signature{
	{0, "II*\x00", "image/tiff"},
	{0, "MM\x00*", "image/tiff"},
	{0, "8BPS\x00", "image/vnd.adobe.photoshop"},
	{0, "\x00\x00\x00\x0cjP  \r\n", "image/jp2"},
	{0, "AT&TFORM", "image/vnd.djvu"},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", inOLE},
	{0, `{\rtf`, "application/rtf"},
	{0, "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
	{0, "\xfd7zXZ\x00", "application/x-xz"},
	{4, "1AY&SY", "application/x-bzip2"},
	{0, "\x28\xb5\x2f\xfd", "application/zstd"},
	{0, "SQLite format 3\x00", "application/vnd.sqlite3"},
	{0, "PAR1", "application/vnd.apache.parquet"},
	{0, "\x89HDF\r\n\x1a\n", "application/x-hdf5"},
	{257, "ustar", "application/x-tar"},
	{0, "fLaC", "audio/flac"},
	{0, "\x00\x00\x01\xba", "video/mpeg"},
	{4, "ftypavif", "image/avif"},
	{4, "ftypavis", "image/avif"},
	{4, "ftypheic", "image/heic"},
	{4, "ftypheix", "image/heic"},
	{4, "ftypmif1", "image/heic"},
	{4, "ftypM4A ", "audio/mp4"},
	{4, "ftypM4V ", "video/x-m4v"},
	{4, "ftypqt  ", "video/quicktime"},
	{4, "ftyp3gp", "video/3gpp"},
	{4, "ftypiso", inMP4},
	{4, "ftypdash", inMP4},
}

// claim is what a sender says that a file is.
type claim struct {
	mediaType string // Content-Type
	name      string // Content-Disposition
}

// formatOf returns what a file is. Where its first bytes name a container or nothing, the claim decides among the kinds of files that
// can begin with them.
func formatOf(head []byte, c claim) (mediaType, ending string) {
	mediaType = sniff(head)
	within := mediaType
	if mediaType == "text/html" && bytes.HasPrefix(bytes.TrimLeft(head, "\xef\xbb\xbf\t\n\f\r "), []byte("<!--")) {
		within = inXML // a comment, which any XML may begin with
	}
	if f := c.among(within); f != nil {
		return f.types[0], f.ending
	}
	for i := range formats {
		if formats[i].types[0] == mediaType {
			return mediaType, formats[i].ending
		}
	}
	return inBytes, ".bin"
}

// sniff returns the type that the first bytes of a file name.
func sniff(head []byte) string {
	head = bytes.TrimPrefix(head[:min(len(head), sniffed)], []byte("\xef\xbb\xbf"))
	for _, s := range signatures {
		if len(head) > s.at && bytes.HasPrefix(head[s.at:], []byte(s.bytes)) {
			return s.mediaType
		}
	}
	if rest, ok := bytes.CutPrefix(bytes.TrimLeft(head, "\t\n\f\r "), []byte("<svg")); ok && len(rest) > 0 && bytes.IndexByte([]byte("\t\n\f\r >"), rest[0]) >= 0 {
		return "image/svg+xml"
	}
	detected, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch detected {
	case inZIP:
		if len(head) > 38 && string(head[30:38]) == "mimetype" { // the first entry of EPUB (OCF §4.3) and OpenDocument (part 2, §3.3)
			name, _, _ := bytes.Cut(head[38:], []byte("PK"))
			if f := (claim{mediaType: string(name)}).among(inZIP); f != nil {
				return f.types[0]
			}
		}
	case "image/bmp", "audio/mpeg", "font/otf", "font/collection", "font/woff", "font/woff2":
		// They are known by two to four letters, which a text may begin with: BMW, ID3, OTTO.
		if strings.HasPrefix(http.DetectContentType(append([]byte("."), head...)), inText) {
			return inText
		}
	}
	return detected
}

var fileName = regexp.MustCompile(`(?i)\bfilename\*?\s*=\s*("(?:[^"\\]|\\.)*"?|[^;]*)`)

// among returns the kind of files that is claimed, if it can have the first bytes of a container, or nil.
func (c claim) among(within string) *format {
	can := func(match func(*format) bool) *format {
		for i := range formats {
			if f := &formats[i]; (f.within == within || within == inText && f.within == inXML) && match(f) {
				return f
			}
		}
		return nil
	}
	mediaType, _, _ := mime.ParseMediaType(c.mediaType) // it is returned even if a parameter is wrong
	if f := can(func(f *format) bool { return slices.Contains(f.types, mediaType) }); f != nil {
		return f
	}
	for _, name := range fileName.FindAllStringSubmatch(c.name, -1) {
		ending := strings.ToLower(path.Ext(strings.Trim(name[1], `" \t`)))
		ending = cmp.Or(otherEndings[ending], ending)
		if f := can(func(f *format) bool { return f.ending == ending }); f != nil {
			return f
		}
	}
	switch suffix := mediaType[strings.LastIndexByte(mediaType, '+')+1:]; suffix { // RFC 6839
	case "json", "xml":
		return can(func(f *format) bool { return f.ending == "."+suffix })
	}
	return nil
}

// isPicture reports whether a type is one that is decoded.
func isPicture(mediaType string) bool {
	switch mediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}
