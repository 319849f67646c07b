package httpx_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/httpx"
)

// zeros is an endless run of them.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// bomb is size zeros in the given codings, made without holding them.
func bomb(size int64, coders ...coder) (header string, body []byte) {
	var b bytes.Buffer
	w := coders[0].writer(&b)
	must(io.CopyN(w, zeros{}, size))
	if err := w.Close(); err != nil {
		panic(err)
	}
	header, body = nest(b.Bytes(), coders[1:]...)
	return strings.Trim(coders[0].coding+","+header, ","), body
}

// defuse reads a body into nothing, and returns how many bytes came, how much memory was taken meanwhile
// and how much of it could not be given back.
func defuse(t *testing.T, header string, body io.Reader, limits httpx.Limits) (got, wire, taken int64, err error) {
	t.Helper()
	var before, after runtime.MemStats
	scratch := make([]byte, 32<<10)
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := httpx.NewReader([]string{header}, body, limits)
	if err != nil {
		t.Fatal(err)
	}
	got, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, scratch)
	runtime.ReadMemStats(&after)
	if r.Decoded() != got {
		t.Errorf("Decoded() = %d, want %d", r.Decoded(), got)
	}
	wire = r.Wire()
	r.Close()
	return got, wire, int64(after.TotalAlloc - before.TotalAlloc), err
}

// A body of 11,511,612 bytes, as in Scrapy's tests, ends at the limit and takes little more memory than
// its window.
func TestBombs(t *testing.T) {
	const size, limit = 11_511_612, 1_000_000
	for _, chain := range [][]coder{
		{gzipBest}, {zlibBest}, {flateBest}, {brotliBest}, {zstdPlain},
		{gzipBest, gzipBest},
		{gzipBest, flateBest, gzipBest},
		{brotliBest, brotliBest}, {zstdPlain, zstdPlain}, {brotliBest, gzipBest}, {gzipBest, brotliBest}, {zlibBest, zstdPlain},
		{gzipBest, zlibBest, flateBest, brotliBest, zstdPlain},
	} {
		header, body := bomb(size, chain...)
		t.Run(header, func(t *testing.T) {
			got, _, taken, err := defuse(t, header, bytes.NewReader(body), httpx.Limits{Decoded: limit})
			if large, ok := errors.AsType[*httpx.TooLargeError](err); !ok || large.Limit != limit || got > limit+64<<10 || got >= 1_100_000 {
				t.Fatalf("got %d bytes, %v", got, err)
			}
			windows := 1<<20 + int64(strings.Count(header, "br")+strings.Count(header, "zstd"))*10<<20
			if deep.Checks() && taken > windows {
				t.Errorf("%d bytes of memory, at most %d are right", taken, windows)
			}
			t.Logf("%d coded bytes, %d decoded, %d bytes of memory", len(body), got, taken)
		})
	}
}

// The limit is exact: a body of its size passes, of one byte more does not.
func TestLimitIsExact(t *testing.T) {
	for _, c := range every {
		for _, size := range []int{1, 100, 65_535, 65_536, 65_537, 200_000} {
			data := page(max(size, 90))[:size]
			body := c.encode(data)
			got, err := decode(t, c.coding, bytes.NewReader(body), httpx.Limits{Decoded: int64(size)})
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s, %d bytes: got %d, %v", c.name, size, len(got), err)
			}
			if size == 1 {
				continue
			}
			got, err = decode(t, c.coding, bytes.NewReader(body), httpx.Limits{Decoded: int64(size) - 1})
			if large, ok := errors.AsType[*httpx.TooLargeError](err); !ok || large.Limit != int64(size)-1 || !bytes.Equal(got, data[:size-1]) {
				t.Errorf("%s, %d bytes with a limit of one less: got %d, %v", c.name, size, len(got), err)
			}
		}
	}
}

func TestLargestLimits(t *testing.T) {
	data := page(3000)
	for _, limits := range []httpx.Limits{{Decoded: math.MaxInt64, Ratio: math.MaxInt64}, {Decoded: 1 << 62, Ratio: -1}, {Decoded: -1}} {
		for _, c := range every {
			if got, err := decode(t, c.coding, bytes.NewReader(c.encode(data)), limits); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s with %v: %d bytes, %v", c.name, limits, len(got), err)
			}
		}
	}
}

func TestRatio(t *testing.T) {
	const size = 24 << 20
	for _, c := range []struct {
		ratio  int64
		coders []coder
	}{
		{0, []coder{gzipBest}}, {0, []coder{brotliBest}}, {0, []coder{zstdPlain}},
		{0, []coder{gzipBest, gzipBest}}, {0, []coder{zstdPlain, gzipBest, brotliBest}},
		{50, []coder{zlibBest}}, {50, []coder{flateBest}},
	} {
		header, body := bomb(size, c.coders...)
		t.Run(header, func(t *testing.T) {
			got, wire, _, err := defuse(t, header, bytes.NewReader(body), httpx.Limits{Ratio: c.ratio})
			var high *httpx.RatioError
			if !errors.As(err, &high) {
				t.Fatalf("got %d bytes, %v", got, err)
			}
			limit := c.ratio
			if limit == 0 {
				limit = httpx.DefaultRatio
			}
			if high.Limit != limit || high.Ratio <= limit || high.Decoded/high.Wire != high.Ratio || high.Wire != wire || high.Decoded <= 1<<20 {
				t.Errorf("%+v, after %d bytes from %d", high, got, wire)
			}
			if got > size*3/4 {
				t.Errorf("%d bytes came", got)
			}
			t.Logf("%d coded bytes, stopped after %d from %d", len(body), got, wire)
			if got, _, _, err = defuse(t, header, bytes.NewReader(body), httpx.Limits{Ratio: -1}); err != nil || got != size {
				t.Errorf("without a limit: %d bytes, %v", got, err)
			}
		})
	}
	t.Run("small", func(t *testing.T) { // whatever the ratio
		header, body := bomb(1<<20, brotliBest)
		if got, _, _, err := defuse(t, header, bytes.NewReader(body), httpx.Limits{Ratio: 1}); err != nil || got != 1<<20 {
			t.Errorf("%d bytes, %v", got, err)
		}
	})
}

// again repeats bytes without end.
type again struct {
	part []byte
	at   int
}

func (a *again) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = a.part[a.at]
		a.at = (a.at + 1) % len(a.part)
	}
	return len(p), nil
}

// An endless body that decodes to nothing ends as well.
func TestEndlessNothing(t *testing.T) {
	const limit = 1 << 20
	for _, c := range []struct {
		name, coding string
		body         io.Reader
	}{
		{"empty members", "gzip", &again{part: gzipBest.encode(nil)}},
		{"empty stored blocks", "deflate", &again{part: []byte("\x00\x00\x00\xff\xff")}},
		{"empty frames", "zstd", &again{part: []byte("\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00")}},
		{"empty blocks", "zstd", io.MultiReader(strings.NewReader("\x28\xb5\x2f\xfd\x00\x00"), &again{part: []byte{0}})},
		{"skippable frames", "zstd", &again{part: []byte("\x50\x2a\x4d\x18\x00\x00\x00\x00")}},
		{"one skippable frame", "zstd", io.MultiReader(strings.NewReader("\x50\x2a\x4d\x18\xff\xff\xff\xff"), &again{part: []byte{0}})},
		{"metadata blocks", "br", io.MultiReader(strings.NewReader("\x0c"), &again{part: []byte{0x06 << 1}})},
		{"no coding", "", &again{part: []byte("x")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, wire, taken, err := defuse(t, c.coding, c.body, httpx.Limits{Decoded: limit})
			if wire > limit+limit/64+4<<10 || deep.Checks() && taken > 16<<20 || err == nil {
				t.Errorf("%d bytes decoded of %d, %d bytes of memory, %v", got, wire, taken, err)
			}
			t.Logf("%d bytes of memory, %v", taken, err)
		})
	}
}

// What stands behind a complete stream is no part of the body, so no limit holds for it.
func TestLimitIgnoresWhatIsBehind(t *testing.T) {
	data := page(1000)
	for _, c := range []coder{gzipBest, zlibBest, flateBest, brotliBest, zstdPlain} {
		body := io.MultiReader(bytes.NewReader(c.encode(data)), &again{part: []byte("junk")})
		if got, err := decode(t, c.coding, body, httpx.Limits{Decoded: 1000}); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
	}
}

// What decoders keep of their output is told before, coding by coding, and can be denied.
func TestWindows(t *testing.T) {
	brotliOf := func(bits int) coder {
		return coder{"br", "br", func(w io.Writer) io.WriteCloser {
			return brotli.NewWriterOptions(w, brotli.WriterOptions{Quality: 5, LGWin: bits})
		}}
	}
	zstdOf := func(size int) coder {
		return zstdCoder("zstd", zstd.WithWindowSize(size), zstd.WithSingleSegment(false))
	}
	data := page(300_000)
	for _, tt := range []struct {
		name  string
		chain []coder
		want  int64
	}{
		{"gzip", []coder{gzipBest}, 0},
		{"zlib and flate", []coder{zlibBest, flateBest}, 0},
		{"br 10", []coder{brotliOf(10)}, 1 << 10}, {"br 15", []coder{brotliOf(15)}, 1 << 15}, {"br 16", []coder{brotliOf(16)}, 1 << 16},
		{"br 17", []coder{brotliOf(17)}, 1 << 17}, {"br 18", []coder{brotliOf(18)}, 1 << 18}, {"br 22", []coder{brotliOf(22)}, 1 << 22},
		{"br 24", []coder{brotliOf(24)}, 1 << 24},
		{"five br", []coder{brotliOf(24), brotliOf(24), brotliOf(24), brotliOf(24), brotliOf(24)}, 5 << 24},
		{"zstd", []coder{zstdOf(1 << 20)}, 1 << 20},
		{"zstd large", []coder{zstdOf(8 << 20)}, 8 << 20},
		{"zstd and br", []coder{zstdOf(1 << 20), brotliOf(20)}, 2 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header, body := nest(data, tt.chain...)
			asked := int64(0)
			got, err := decode(t, header, bytes.NewReader(body), httpx.Limits{Window: func(n int64) error { asked += n; return nil }})
			if err != nil || !bytes.Equal(got, data) || asked != tt.want {
				t.Errorf("%d bytes, %v; asked for %d, want %d", len(got), err, asked, tt.want)
			}
			if tt.want == 0 {
				return
			}
			denied := errors.New("denied")
			got, err = decode(t, header, bytes.NewReader(body), httpx.Limits{Window: func(int64) error { return denied }})
			if len(got) > 0 || err != denied {
				t.Errorf("denied: %d bytes, %v", len(got), err)
			}
		})
	}
	asked := int64(0)
	two := append(zstdOf(1<<20).encode(data), zstdOf(2<<20).encode(data)...)
	if _, err := decode(t, "zstd", bytes.NewReader(append(two, two...)), httpx.Limits{Window: func(n int64) error { asked += n; return nil }}); err != nil || asked != 2<<20 {
		t.Errorf("frames: %v, asked for %d", err, asked)
	}
}
