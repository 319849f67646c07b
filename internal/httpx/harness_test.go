package httpx_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// coder is one way to write a coding.
type coder struct {
	name   string // what it is
	coding string // what the header says
	writer func(w io.Writer) io.WriteCloser
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func zstdCoder(name string, opts ...zstd.EOption) coder {
	opts = append(opts, zstd.WithEncoderConcurrency(1))
	return coder{name, "zstd", func(w io.Writer) io.WriteCloser { return must(zstd.NewWriter(w, opts...)) }}
}

var (
	gzipBest   = coder{"gzip", "gzip", func(w io.Writer) io.WriteCloser { return must(gzip.NewWriterLevel(w, gzip.BestCompression)) }}
	zlibBest   = coder{"deflate zlib", "deflate", func(w io.Writer) io.WriteCloser { return must(zlib.NewWriterLevel(w, zlib.BestCompression)) }}
	flateBest  = coder{"deflate raw", "deflate", func(w io.Writer) io.WriteCloser { return must(flate.NewWriter(w, flate.BestCompression)) }}
	brotliBest = coder{"br", "br", func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 9) }}
	zstdPlain  = zstdCoder("zstd")

	// every has each coding in each of its framings.
	every = []coder{
		gzipBest,
		{"x-gzip", "x-gzip", gzipBest.writer},
		{"upper case", "GZip", gzipBest.writer},
		{"gzip stored", "gzip", func(w io.Writer) io.WriteCloser { return must(gzip.NewWriterLevel(w, gzip.NoCompression)) }},
		{"gzip Huffman alone", "gzip", func(w io.Writer) io.WriteCloser { return must(gzip.NewWriterLevel(w, gzip.HuffmanOnly)) }},
		{"gzip with all of a header", "gzip", func(w io.Writer) io.WriteCloser {
			z := gzip.NewWriter(w)
			z.Name, z.Comment, z.Extra = "page.html", "a page", []byte("extra")
			return z
		}},
		zlibBest, flateBest,
		{"deflate zlib stored", "deflate", func(w io.Writer) io.WriteCloser { return must(zlib.NewWriterLevel(w, zlib.NoCompression)) }},
		{"deflate raw stored", "deflate", func(w io.Writer) io.WriteCloser { return must(flate.NewWriter(w, flate.NoCompression)) }},
		brotliBest,
		{"br fast", "br", func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 0) }},
		{"br large window", "BR", func(w io.Writer) io.WriteCloser {
			return brotli.NewWriterOptions(w, brotli.WriterOptions{Quality: 5, LGWin: 24})
		}},
		zstdPlain,
		zstdCoder("zstd single segment", zstd.WithSingleSegment(true)),
		zstdCoder("zstd without checksum", zstd.WithEncoderCRC(false)),
		zstdCoder("zstd padded with a skippable frame", zstd.WithEncoderPadding(512)),
		zstdCoder("zstd best", zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20)),
		{"identity", "identity", func(w io.Writer) io.WriteCloser { return plain{w} }},
		{"no coding", "", func(w io.Writer) io.WriteCloser { return plain{w} }},
	}
)

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

func (c coder) encode(data []byte) []byte {
	var b bytes.Buffer
	w := c.writer(&b)
	if _, err := w.Write(data); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// nest puts codings on, and returns the header and the body.
func nest(data []byte, coders ...coder) (header string, body []byte) {
	var names []string
	for _, c := range coders {
		data = c.encode(data)
		names = append(names, c.coding)
	}
	return strings.Join(names, ", "), data
}

// decode reads a body to its end or failure.
func decode(t testing.TB, header string, body io.Reader, limits httpx.Limits) ([]byte, error) {
	t.Helper()
	r, err := httpx.NewReader([]string{header}, body, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if r.Decoded() != int64(len(got)) {
		t.Errorf("Decoded() = %d, but %d bytes came", r.Decoded(), len(got))
	}
	if n, again := r.Read(make([]byte, 1)); n != 0 || err != nil && !errors.Is(again, err) || err == nil && again != io.EOF {
		t.Errorf("after %v Read gives %d, %v", err, n, again)
	}
	return got, err
}

// wants checks the whole of a body.
func wants(t *testing.T, header string, body io.Reader, want []byte) {
	t.Helper()
	got, err := decode(t, header, body, httpx.Limits{})
	if err != nil {
		t.Fatalf("after %d bytes: %v", len(got), err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes, want %d, or others", len(got), len(want))
	}
}

// page makes an HTML page of about a size, and about as compressible as real ones.
func page(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the of and price house garden spider web read more about our terms new shop item list link next previous page")
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html><html><head><title>A page</title></head><body><div class=\"main\">\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<div class=\"item\" id=\"i%d\"><a href=\"/item/%d.html?ref=%x\">", i, rnd.IntN(100000), rnd.Uint32())
		for range 5 + rnd.IntN(12) {
			b.WriteString(words[rnd.IntN(len(words))])
			b.WriteByte(' ')
		}
		b.WriteString("</a></div>\n")
	}
	return b.Bytes()[:size]
}

// noise cannot be compressed.
func noise(rnd *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}
