package httpx_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/httpx"
)

// random returns a source whose seed is told when the test fails.
func random(t *testing.T) (*rand.Rand, uint64) {
	t.Helper()
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0)), seed
}

// peer decodes by the libraries alone.
func peer(coding string, body []byte) ([]byte, error) {
	var r io.Reader
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		if r, err = zlib.NewReader(bytes.NewReader(body)); errors.Is(err, zlib.ErrHeader) {
			r, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	case "br":
		r = brotli.NewReader(bytes.NewReader(body))
	case "zstd":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(bufio.NewReader(bytes.NewReader(body)), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(8<<20)); err == nil {
			defer z.Close()
		}
		r = z
	default:
		r = bytes.NewReader(body)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, 1<<20))
}

// Random data, whole and damaged, decodes to what the libraries give alone: where they see no fault we see
// none, and where both deliver they deliver the same.
func TestAgainstPeers(t *testing.T) {
	rnd, _ := random(t)
	for range 100 {
		data := noise(rnd, rnd.IntN(3000))
		for len(data) > 0 && rnd.IntN(3) > 0 && len(data) < 200_000 {
			data = append(data, data[rnd.IntN(len(data)):]...)
		}
		for _, c := range []coder{gzipBest, zlibBest, flateBest, brotliBest, zstdPlain} {
			body := c.encode(data)
			switch rnd.IntN(4) {
			case 0:
				body[rnd.IntN(len(body))] ^= 1 << rnd.IntN(8)
			case 1:
				body = body[:rnd.IntN(len(body))]
			case 2:
				body = append(body, c.encode(data)...)
			}
			compare(t, c.coding, body)
		}
	}
}

func compare(t *testing.T, coding string, body []byte) {
	t.Helper()
	want, wantErr := peer(coding, body)
	got, err := decode(t, coding, bytes.NewReader(body), httpx.Limits{Decoded: 1 << 20})
	switch {
	case len(body) == 0:
		if err != nil || len(got) != 0 {
			t.Errorf("%s: an empty body gives %d bytes, %v", coding, len(got), err)
		}
	case wantErr == nil && len(want) < 1<<20 && (err != nil || !bytes.Equal(got, want)):
		var cut *httpx.TruncatedError
		if !errors.As(err, &cut) || coding != "zstd" { // the library takes the start of a magic number for the end
			t.Errorf("%s: %d bytes, %v; the library gives %d", coding, len(got), err, len(want))
		}
	case !bytes.HasPrefix(got, want) && !bytes.HasPrefix(want, got):
		t.Errorf("%s: we and the library deliver other bytes (%v, %v)", coding, err, wantErr)
	case err == nil && len(want) > len(got):
		t.Errorf("%s: %d bytes without an error, the library gives %d", coding, len(got), len(want))
	}
}

// FuzzDecode feeds bytes to chains of codings: bounded, typed errors, the same whatever the pieces in
// which they come, and no bytes that the libraries would not give.
func FuzzDecode(f *testing.F) {
	data := page(300)
	for i, c := range []coder{gzipBest, zlibBest, flateBest, brotliBest, zstdPlain} {
		f.Add(uint16(i), c.encode(data))
		f.Add(uint16(i), append(c.encode(data), c.encode(data)...))
		f.Add(uint16(i), append(c.encode(data), "junk"...))
	}
	header, body := nest(data, gzipBest, flateBest, gzipBest)
	f.Add(uint16(121), body)
	_ = header
	_, body = bomb(4<<20, brotliBest, gzipBest)
	f.Add(uint16(3), body)
	f.Fuzz(func(t *testing.T, chain uint16, body []byte) {
		codings := [...]string{"gzip", "deflate", "br", "zstd", "x-gzip", "identity"}
		deep.Growth(t, deep.Stretched(body), func(body []byte) {
			if r, err := httpx.NewReader([]string{codings[int(chain)%len(codings)]}, bytes.NewReader(body), httpx.Limits{}); err == nil {
				_, _ = io.Copy(io.Discard, r)
				r.Close()
			}
		})
		const limit = 256 << 10
		header := codings[int(chain)%len(codings)]
		for rest := chain / 6; rest > 0; rest /= 6 {
			header += ", " + codings[int(rest)%len(codings)]
		}
		r, err := httpx.NewReader([]string{header}, bytes.NewReader(body), httpx.Limits{Decoded: limit})
		if err != nil {
			if _, ok := errors.AsType[*httpx.TooManyCodingsError](err); !ok {
				t.Fatal(err)
			}
			return
		}
		defer r.Close()
		got, err := io.ReadAll(r)
		if len(got) > limit || r.Wire() > int64(len(body)) {
			t.Fatalf("%s: %d bytes from %d of %d", header, len(got), r.Wire(), len(body))
		}
		var (
			large   *httpx.TooLargeError
			ratio   *httpx.RatioError
			cut     *httpx.TruncatedError
			corrupt *httpx.CorruptError
		)
		if err != nil && !errors.As(err, &large) && !errors.As(err, &ratio) && !errors.As(err, &cut) && !errors.As(err, &corrupt) {
			t.Fatalf("%s: %T %v", header, err, err)
		}
		slow, slowErr := decode(t, header, iotest.OneByteReader(bytes.NewReader(body)), httpx.Limits{Decoded: limit})
		if (err == nil) != (slowErr == nil) || err == nil && !bytes.Equal(slow, got) {
			t.Fatalf("%s: %d bytes, %v; byte for byte %d, %v", header, len(got), err, len(slow), slowErr)
		}
		if chain < 4 {
			compare(t, header, body)
		}
	})
}
