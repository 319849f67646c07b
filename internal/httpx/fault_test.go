package httpx_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// A body cut anywhere gives the start of what it would have given, and says that it is cut.
func TestTruncated(t *testing.T) {
	data := page(300)
	for _, c := range every {
		if c.coding == "" || c.coding == "identity" || strings.Contains(c.name, "padded") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			one := c.encode(data)
			for cut := 1; cut < len(one); cut++ {
				truncated(t, c.coding, one[:cut], data)
			}
			if coding := strings.ToLower(c.coding); coding == "br" || coding == "deflate" {
				return
			}
			two := append(bytes.Clone(one), one...)
			want := append(bytes.Clone(data), data...)
			for cut := len(one) + 1; cut < len(two); cut++ {
				truncated(t, c.coding, two[:cut], want)
			}
		})
	}
	t.Run("chain", func(t *testing.T) {
		header, body := nest(data, gzipBest, flateBest, gzipBest)
		for cut := 1; cut < len(body); cut++ {
			truncated(t, header, body[:cut], data)
		}
	})
	t.Run("skippable frame", func(t *testing.T) {
		truncated(t, "zstd", []byte("\x50\x2a\x4d\x18\x05\x00\x00\x00hell"), nil)
		truncated(t, "zstd", []byte("\x50\x2a\x4d\x18\x05\x00"), nil)
		truncated(t, "zstd", []byte("\x50\x2a\x4d\x18\xff\xff\xff\xff"), nil)
	})
}

func truncated(t *testing.T, header string, body, data []byte) {
	t.Helper()
	for _, r := range []io.Reader{bytes.NewReader(body), iotest.OneByteReader(bytes.NewReader(body)), iotest.DataErrReader(bytes.NewReader(body))} {
		got, err := decode(t, header, r, httpx.Limits{})
		if _, ok := errors.AsType[*httpx.TruncatedError](err); !ok || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d bytes: got %v, want a *TruncatedError", len(body), err)
		}
		if !bytes.HasPrefix(data, got) {
			t.Fatalf("%d bytes: what came is not the start of the data", len(body))
		}
	}
}

// What can be decoded of a long body that is cut is delivered.
func TestTruncatedGivesWhatWasDecoded(t *testing.T) {
	data := page(1 << 20)
	for _, c := range []coder{gzipBest, zlibBest, flateBest, brotliBest, zstdPlain} {
		body := c.encode(data)
		got, err := decode(t, c.coding, bytes.NewReader(body[:len(body)/2]), httpx.Limits{})
		if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(data, got) || len(got) < len(data)/4 {
			t.Errorf("%s: %d of %d bytes, %v", c.name, len(got), len(data), err)
		}
	}
}

// The body's own error is told as it is, whatever the decoders make of it.
func TestBodyFails(t *testing.T) {
	data := page(3000)
	for _, c := range every {
		for _, broken := range []error{errors.New("connection reset"), io.ErrUnexpectedEOF} {
			whole := c.encode(data)
			for cut := 0; cut <= len(whole); cut += 1 + len(whole)/30 {
				body := io.MultiReader(bytes.NewReader(whole[:cut]), iotest.ErrReader(broken))
				got, err := decode(t, c.coding, body, httpx.Limits{})
				if err != broken || !bytes.HasPrefix(data, got) {
					t.Fatalf("%s cut at %d: %d bytes, %v", c.name, cut, len(got), err)
				}
			}
			body := io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(broken))
			if got, err := decode(t, c.coding, body, httpx.Limits{}); err != broken || !bytes.Equal(got, data) {
				t.Fatalf("%s, broken behind its end: %d bytes, %v", c.name, len(got), err)
			}
		}
	}
}

// stuck never makes progress.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestNoProgress(t *testing.T) {
	for _, c := range every {
		body := io.MultiReader(bytes.NewReader(c.encode(page(3000))[:20]), stuck{})
		if _, err := decode(t, c.coding, body, httpx.Limits{}); err != io.ErrNoProgress {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestCorrupt(t *testing.T) {
	data := page(5000)
	flip := func(c coder, at int) []byte {
		b := c.encode(data)
		if at < 0 {
			at += len(b)
		}
		b[at] ^= 0x55
		return b
	}
	var dictionary bytes.Buffer
	w := must(zlib.NewWriterLevelDict(&dictionary, 6, []byte("the of and")))
	w.Write(data)
	w.Close()
	wide := append([]byte("\x28\xb5\x2f\xfd\x00"), byte(14)<<3, 0x01, 0, 0) // a window of 16 MiB
	for _, c := range []struct {
		name, coding string
		body         []byte
	}{
		{"HTML as gzip", "gzip", data},
		{"HTML as br", "br", data},
		{"HTML as zstd", "zstd", data},
		{"HTML as deflate", "deflate", data},
		{"gzip as br", "br", gzipBest.encode(data)},
		{"gzip as zstd", "zstd", gzipBest.encode(data)},
		{"zstd as gzip", "gzip", zstdPlain.encode(data)},
		{"gzip magic", "gzip", flip(gzipBest, 0)},
		{"gzip checksum", "gzip", flip(gzipBest, -6)},
		{"gzip length", "gzip", flip(gzipBest, -1)},
		{"zlib checksum", "deflate", flip(zlibBest, -1)},
		{"zlib dictionary", "deflate", dictionary.Bytes()},
		{"zstd checksum", "zstd", flip(zstdPlain, -1)},
		{"zstd dictionary", "zstd", zstdCoder("", zstd.WithEncoderDictRaw(7, []byte("the of and price house"))).encode(data)},
		{"zstd window", "zstd", wide},
		{"zstd segment", "zstd", []byte("\x28\xb5\x2f\xfd\xa0\x01\x00\x80\x00\x01\x00\x00")}, // 8 MiB and 1 byte
		{"zstd longest header", "zstd", []byte("\x28\xb5\x2f\xfd\xc3\x58\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00")},
		{"zstd reserved block", "zstd", []byte("\x28\xb5\x2f\xfd\x00\x58\x07\x00\x00")},
		{"second member", "gzip", append(gzipBest.encode(data), flip(gzipBest, -6)...)},
		{"inner", "gzip, br", brotliBest.encode(flip(gzipBest, -6))},
		{"outer", "br, gzip", func() []byte { b := gzipBest.encode(brotliBest.encode(data)); b[len(b)-6] ^= 1; return b }()},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{bytes.NewReader(c.body), iotest.OneByteReader(bytes.NewReader(c.body))} {
				got, err := decode(t, c.coding, r, httpx.Limits{})
				if corrupt, ok := errors.AsType[*httpx.CorruptError](err); !ok || corrupt.Err == nil || corrupt.Coding == "" {
					t.Fatalf("%d bytes, %v; want a *CorruptError", len(got), err)
				}
			}
		})
	}
	for _, c := range every { // a failed decoder does not spoil those that follow
		wants(t, c.coding, bytes.NewReader(c.encode(data)), data)
	}
}

// Whatever byte is wrong, the data is never silently another: these codings have checksums.
func TestEveryByteWrong(t *testing.T) {
	data := page(600)
	for _, c := range []coder{gzipBest, zlibBest, zstdPlain} {
		whole := c.encode(data)
		for i := range whole {
			body := bytes.Clone(whole)
			body[i] ^= 1 << (i % 8)
			got, err := decode(t, c.coding, bytes.NewReader(body), httpx.Limits{})
			if err == nil && !bytes.Equal(got, data) {
				t.Errorf("%s: with byte %d wrong %d others come without an error", c.name, i, len(got))
			}
		}
	}
}
