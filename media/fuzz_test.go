package media_test

import (
	"bytes"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/tegenaria/tegenaria/media"
)

// A picture's header is read, or refused, whatever is in it; what is admitted takes no more memory than the bound, and has a size.
func FuzzPicture(f *testing.F) {
	small := jpegOf(paint(20, 10, 1))
	f.Add(small)
	f.Add(withEXIF(small, 6))
	f.Add(pngOf(paint(9, 8, 2)))
	f.Add(gifOf(8, 8))
	f.Add(hugePNG(30_000, 30_000))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x0f\x00\x00\x0f\x00\x00ANIM\x06\x00\x00\x00"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file []byte) {
		const pixels, memory = 10_000, 1 << 20
		size, thumbs, need, err := media.ProcessPicture(dir, file, media.Options{Dir: dir, Images: true, Pixels: pixels, Memory: memory, Convert: media.PNG, Thumbs: map[string]image.Point{"a": {X: 5, Y: 5}}})
		if err != nil {
			return
		}
		if size.X < 1 || size.Y < 1 || size.X*size.Y > pixels || need > memory {
			t.Errorf("%v, %d bytes", size, need)
		}
		for _, thumb := range thumbs {
			p, _, err := image.Decode(bytes.NewReader(thumb))
			if err != nil || p.Bounds().Dx() > 5 || p.Bounds().Dy() > 5 {
				t.Errorf("%v", err)
			}
		}
		if left, err := os.ReadDir(filepath.Join(dir, ".tmp")); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	})
}

var safe = regexp.MustCompile(`^full/[0-9a-f]{2}/[0-9a-f]{64}\.[a-z0-9]{2,8}$`)

// The name of a file is one that every system takes, whatever its content is and its server says.
func FuzzName(f *testing.F) {
	for _, content := range []string{"", "a", "\x00", "../../etc/passwd", "<html>", "%PDF-", "II*\x00", "\x00\x00\x00\x20ftypavif", "\xff\xd8\xff", "OTTO", "\x00asm"} {
		f.Add([]byte(content), "http://a.test/../"+content, "application/"+content, `attachment; filename="../a.`+content+`"`)
	}
	f.Fuzz(func(t *testing.T, content []byte, url, mediaType, disposition string) {
		name, entry := media.NameOf(content, mediaType, disposition), media.EntryName(url)
		if !safe.MatchString(name) {
			t.Errorf("%q", name)
		}
		if !regexp.MustCompile(`^[0-9a-f]{2}/[0-9a-f]{64}\.json$`).MatchString(entry) {
			t.Errorf("%q", entry)
		}
	})
}
