package media_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/media"
)

// scanned returns a progressive JPEG of w × h gray pixels with a number of scans, each of which changes nothing in any block. What is in
// between stands behind each of them.
func scanned(w, h, scans int, between string) []byte {
	file := append([]byte("\xff\xd8\xff\xdb\x00\x43\x00"), bytes.Repeat([]byte{1}, 64)...) // a table of quantization
	file = append(file, 0xff, 0xc2, 0, 11, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 1, 1, 0x11, 0)
	file = append(file, "\xff\xc4\x00\x14\x10\x01"+strings.Repeat("\x00", 15)+"\xe0"...) // Huffman's 0: EOB14, T.81 table G.1
	runs := ((w+7)/8*((h+7)/8) + 1<<14 - 1) >> 14
	for range scans {
		file = append(file, 0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0x10)
		file = append(append(file, make([]byte, (runs*15+7)/8)...), between...)
	}
	return append(file, 0xff, 0xd9)
}

// chunk returns a chunk of a PNG.
func chunk(name string, data []byte) []byte {
	out := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), name...)
	out = append(out, data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// withEXIFofPNG puts an orientation into a PNG.
func withEXIFofPNG(file []byte, orientation byte) []byte {
	block := "MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(orientation) + "\x00\x00\x00\x00\x00\x00"
	return append(append(bytes.Clone(file[:33]), chunk("eXIf", []byte(block))...), file[33:]...)
}

// pngWith returns a gray PNG with a size, an interlace method, and the given zlib stream as its data.
func pngWith(w, h uint32, interlace byte, data []byte) []byte {
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	file := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(size, 8, 0, 0, 0, interlace))...)
	return append(append(file, chunk("IDAT", data)...), chunk("IEND", nil)...)
}

func deflated(n int64) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = io.CopyN(w, zeros{}, n) // into memory
	_ = w.Close()
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func riff(chunks ...string) []byte {
	body := "WEBP" + strings.Join(chunks, "")
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// vp8l returns the chunk of a lossless WebP that says that it has w × h pixels.
func vp8l(w, h uint32) string {
	data := binary.LittleEndian.AppendUint32([]byte{0x2f}, w-1|(h-1)<<14|1<<28)
	data = append(data, "\x07\x10\x11\x11\x88\x88\xfe\x07"...) // one pixel
	return "VP8L" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(data)))) + string(data) + "\x00"
}

// vp8x returns the chunk of a canvas.
func vp8x(w, h uint32) string {
	size := func(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n-1)[:3]) }
	return "VP8X\x0a\x00\x00\x00\x00\x00\x00\x00" + size(w) + size(h)
}

// Small files that would take long to decode, or much memory, are refused by what their headers say. It fails if one of them is
// decoded, or if a picture within the bounds is refused.
func TestPictureBounds(t *testing.T) {
	segment := "\xff\xe1\x00\x08\xff\xda\x00\x02\xff\xda" // has the bytes of the marker, and is none
	gif := gifOf(10, 10)
	binary.LittleEndian.PutUint16(gif[6:], 65_535)
	binary.LittleEndian.PutUint16(gif[8:], 65_535)
	baseline := jpegOf(image.NewGray(image.Rect(0, 0, 16, 16)))
	scan := baseline[bytes.Index(baseline, []byte("\xff\xda")) : len(baseline)-2]
	tests := []struct {
		name string
		file []byte
		want string // "" is decoded
	}{
		{"as many scans as cjpeg writes", scanned(64, 64, 100, ""), ""},
		{"one scan more", scanned(64, 64, 101, ""), "more than 100 scans"},
		{"10,000 scans of 49,000,000 pixels", scanned(7000, 7000, 10_000, ""), "more than 100 scans"},
		{"fill bytes before the markers", scanned(64, 64, 101, "\xff\xff\xff"), "more than 100 scans"},
		{"restart markers behind the scans", scanned(64, 64, 101, "\xff\xd0"), "more than 100 scans"},
		{"segments between the scans", scanned(64, 64, 101, segment), "more than 100 scans"},
		{"segments that look like scans", scanned(64, 64, 60, segment), ""},
		{"scans behind the end", append(scanned(64, 64, 1, ""), scanned(64, 64, 200, "")...), ""},
		{"scans behind long data", scanned(64, 64, 101, strings.Repeat("\x00", 33_000)), "more than 100 scans"},
		{"scans of a baseline JPEG", append(bytes.Clone(baseline[:len(baseline)-2]), append(bytes.Repeat(scan, 100), 0xff, 0xd9)...), "more than 100 scans"},
		{"large JPEG", scanned(65_500, 65_500, 1, ""), "Options.Pixels"},
		{"large PNG", pngWith(1<<31-1, 1, 0, nil), "Options.Pixels"},
		{"large GIF", gif, "Options.Pixels"},
		{"large WebP", riff(vp8l(16_384, 16_384)), "Options.Pixels"},
		{"large canvas of a WebP", riff(vp8x(1<<15, 1<<15), vp8l(16, 16)), "Options.Pixels"},
		{"large WebP on a small canvas", riff(vp8x(16, 16), vp8l(16_384, 16_384)), "is damaged"},
		{"PNG whose data is 4 MiB for one pixel", pngWith(1, 1, 0, deflated(4<<20)), "is damaged"},
		{"the same, interlaced", pngWith(1, 1, 1, deflated(4<<20)), "is damaged"},
		{"interlaced PNG of one column", pngWith(1, 1_000, 1, deflated(2_000)), ""},
		{"PNG without data", pngWith(1_000, 1_000, 0, nil), "is damaged"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			_, _, _, err := media.ProcessPicture(dir, test.file, media.Options{Dir: dir, Images: true})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%d bytes: %v, want %q", len(test.file), err, test.want)
			}
		})
	}
}

// trickle reads a byte a second.
type trickle struct {
	ctx context.Context
	r   io.Reader
}

func (s trickle) Read(b []byte) (int, error) {
	second := time.NewTimer(time.Second)
	defer second.Stop()
	select {
	case <-second.C:
		return s.r.Read(b[:min(len(b), 1)])
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// A picture of any format that takes too long to decode is given up, with an error that names the option; one that
// nobody waits for any more ends with the cause of that.
func TestTimeToDecode(t *testing.T) {
	for mediaType, file := range map[string][]byte{
		"image/jpeg": jpegOf(paint(16, 16, 1)), "image/png": pngOf(paint(16, 16, 1)), "image/gif": gifOf(16, 16), "image/webp": riff(vp8l(1, 1)),
	} {
		for _, test := range []struct {
			name string
			time time.Duration // 0: the default
			stop time.Duration // of the crawl
			want string
		}{
			{"in time", time.Hour, 2 * time.Hour, ""},
			{"too long", 10 * time.Second, time.Hour, "more than 10000 milliseconds to decode it, see Options.Time"},
			{"stopped", 10 * time.Second, 5 * time.Second, context.DeadlineExceeded.Error()},
		} {
			t.Run(mediaType+" "+test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), test.stop)
					defer cancel()
					err := media.Decode(ctx, media.Options{Dir: "x", Images: true, Time: test.time}, trickle{ctx, bytes.NewReader(file)}, mediaType)
					if fmt.Sprint(err) != test.want && (err != nil || test.want != "") {
						t.Errorf("%v, want %q", err, test.want)
					}
					var limit *media.LimitError
					if errors.As(err, &limit) != (test.name == "too long") {
						t.Errorf("%T", err)
					}
				})
			})
		}
	}
}
