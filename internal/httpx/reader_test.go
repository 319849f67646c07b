package httpx_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

func TestEveryCoding(t *testing.T) {
	for _, c := range every {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{0, 1, 100, 50_000, 300_000} {
				data := page(max(size, 90))[:size]
				body := c.encode(data)
				wants(t, c.coding, bytes.NewReader(body), data)
				if size <= 50_000 {
					wants(t, c.coding, iotest.OneByteReader(bytes.NewReader(body)), data)
				}
				wants(t, c.coding, iotest.DataErrReader(bytes.NewReader(body)), data)
				wants(t, c.coding, &hesitant{r: bytes.NewReader(body)}, data)
			}
		})
	}
}

// hesitant comes back with nothing every other time, which io.Reader allows.
type hesitant struct {
	r     io.Reader
	ready bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.ready = !h.ready; h.ready {
		return 0, nil
	}
	return h.r.Read(p)
}

func TestOneByteAtATime(t *testing.T) {
	data := page(5000)
	for _, c := range every {
		r, err := httpx.NewReader([]string{c.coding}, bytes.NewReader(c.encode(data)), httpx.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(r, data); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		r.Close()
	}
}

func TestChains(t *testing.T) {
	data := page(20_000)
	for _, coders := range [][]coder{
		{gzipBest, flateBest, gzipBest},
		{gzipBest, gzipBest},
		{zlibBest, brotliBest},
		{brotliBest, zstdPlain, gzipBest, zlibBest, flateBest},
		{zstdPlain, zstdPlain},
	} {
		header, body := nest(data, coders...)
		t.Run(header, func(t *testing.T) {
			wants(t, header, bytes.NewReader(body), data)
			wants(t, header, iotest.OneByteReader(bytes.NewReader(body)), data)
			wants(t, " ,identity,"+strings.ReplaceAll(header, ",", "\t,, identity , "), bytes.NewReader(body), data)
			r, err := httpx.NewReader(strings.Split(header, ","), bytes.NewReader(body), httpx.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
				t.Errorf("as several headers: %d bytes, %v", len(got), err)
			}
			if r.Wire() != int64(len(body)) {
				t.Errorf("Wire() = %d, the body has %d", r.Wire(), len(body))
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		name    string
		header  []string
		unknown string
		many    int
	}{
		{"none", nil, "", 0},
		{"empty", []string{""}, "", 0},
		{"five", []string{"gzip, br", "gzip,gzip", "identity", "zstd"}, "", 0},
		{"six", []string{"gzip, br", "gzip,gzip,x-gzip", "zstd"}, "", 6},
		{"a thousand", []string{strings.Repeat("gzip,", 1000)}, "", 1000},
		{"unknown", []string{"gzip, Compress"}, "Compress", 0},
		{"unknown among many", []string{strings.Repeat("gzip,", 10) + "pack200-gzip"}, "pack200-gzip", 0},
		{"charset", []string{"utf-8"}, "utf-8", 0},
		{"parameter", []string{"gzip;q=1"}, "gzip;q=1", 0},
		{"control bytes", []string{"gz\nip"}, "gz\nip", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := httpx.NewReader(c.header, strings.NewReader("untouched"), httpx.Limits{})
			var unknown *httpx.UnknownCodingError
			if errors.As(err, &unknown) != (c.unknown != "") || unknown != nil && unknown.Coding != c.unknown {
				t.Errorf("got %v, want the unknown coding %q", err, c.unknown)
			}
			var many *httpx.TooManyCodingsError
			if errors.As(err, &many) != (c.many > 0) || many != nil && (many.Count != c.many || many.Limit != httpx.MaxCodings) {
				t.Errorf("got %v, want too many: %d", err, c.many)
			}
			if err == nil {
				r.Close()
			} else if strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
				t.Errorf("an error no log should have: %q", err)
			}
		})
	}
	if long := (&httpx.UnknownCodingError{Coding: strings.Repeat("x", 10_000)}).Error(); len(long) > 200 {
		t.Errorf("%d bytes of error", len(long))
	}
}

// Every coding named in AcceptEncoding is one that NewReader knows.
func TestAcceptEncoding(t *testing.T) {
	if _, err := httpx.NewReader([]string{httpx.AcceptEncoding}, nil, httpx.Limits{}); err != nil {
		t.Error(err)
	}
}

func TestEmptyBody(t *testing.T) {
	for _, header := range []string{"gzip", "deflate", "br", "zstd", "identity", "gzip, deflate, br, zstd, gzip"} {
		wants(t, header, strings.NewReader(""), nil)
	}
}

// Members and frames are joined; what is none ends the body.
func TestBehindTheEnd(t *testing.T) {
	one := page(30_000)
	skip := []byte("\x5a\x2a\x4d\x18\x05\x00\x00\x00hello")
	for _, c := range every {
		t.Run(c.name, func(t *testing.T) {
			body, data := c.encode(one), one
			switch coding := strings.ToLower(c.coding); coding {
			case "", "identity":
				return
			case "gzip", "x-gzip", "zstd":
				var many, want []byte
				for range 3 {
					many = append(many, body...)
					want = append(want, one...)
					if coding == "zstd" {
						many = append(many, skip...)
					}
					many = append(many, c.encode(nil)...)
				}
				if coding == "zstd" {
					many = append(skip, many...)
				}
				wants(t, c.coding, bytes.NewReader(many), want)
				wants(t, c.coding, iotest.OneByteReader(bytes.NewReader(many)), want)
				body, data = many, want
			}
			for _, junk := range []string{"\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "<!-- cached -->", "x", "xyz", "\x1f\x1f", "\x28\x00",
				strings.Repeat("\x00", 10_000), strings.Repeat("junk", 100_000)} {
				whole := append(bytes.Clone(body), junk...)
				wants(t, c.coding, bytes.NewReader(whole), data)
				if len(junk) < 100 {
					wants(t, c.coding, iotest.OneByteReader(bytes.NewReader(whole)), data)
				}
			}
		})
	}
}

// A body that is complete is read to its end, even where its coding says itself where it ends: only then
// can its connection be used again.
func TestReadsToTheEnd(t *testing.T) {
	data := page(30_000)
	for _, c := range every {
		for _, junk := range []int{0, 1000, 1 << 20} {
			body := &ending{r: io.MultiReader(bytes.NewReader(c.encode(data)), bytes.NewReader(make([]byte, junk)))}
			if c.coding == "" || c.coding == "identity" {
				continue
			}
			wants(t, c.coding, body, data)
			if ended := junk <= 1000; body.ended != ended {
				t.Errorf("%s with %d more bytes: read to the end is %t", c.name, junk, body.ended)
			}
		}
	}
}

type ending struct {
	r     io.Reader
	ended bool
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.ended = e.ended || err == io.EOF
	return n, err
}

func TestClosed(t *testing.T) {
	data := page(30_000)
	for _, c := range every {
		for _, part := range []int{0, 10, 10_000} {
			r, err := httpx.NewReader([]string{c.coding}, bytes.NewReader(c.encode(data)), httpx.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r, make([]byte, part)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := r.Close(); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: Read of a closed reader gives %d, %v", c.name, n, err)
			}
			if r.Decoded() < int64(part) {
				t.Errorf("%s: Decoded() = %d", c.name, r.Decoded())
			}
		}
	}
	wants(t, "gzip", bytes.NewReader(gzipBest.encode(data)), data)
}

// Bodies in zstd can be read in one bubble of testing/synctest after another. It fails if Decoders share a decoder.
func TestZstdInBubbles(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	coded := encoder.EncodeAll([]byte("a page"), nil)
	read := func(t *testing.T, decoders *httpx.Decoders) {
		r, err := decoders.NewReader([]string{"zstd"}, bytes.NewReader(coded), httpx.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != "a page" {
			t.Fatalf("%q, %v", got, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			var decoders httpx.Decoders
			read(t, &decoders)
			read(t, &decoders) // with the decoder of the first
		})
	}
}
