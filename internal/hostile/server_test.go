package hostile_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/internal/hostile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unpack takes one coding off, with decoders that are not those the bombs were made with, where there are any.
func unpack(t *testing.T, name, coding string, r io.Reader) io.Reader {
	t.Helper()
	var unpacked io.Reader
	var err error
	switch coding {
	case "gzip", "x-gzip":
		unpacked, err = gzip.NewReader(r)
	case "deflate":
		if strings.HasSuffix(name, "-raw") {
			return flate.NewReader(r)
		}
		unpacked, err = zlib.NewReader(r)
	case "br":
		return brotli.NewReader(r)
	case "zstd":
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err == nil {
			t.Cleanup(z.Close)
		}
		unpacked = z
	default:
		t.Fatalf("unknown coding %q", coding)
	}
	if err != nil {
		t.Fatal(err)
	}
	return unpacked
}

// zeros takes nothing but zeros.
type zeros struct{}

func (zeros) Write(p []byte) (int, error) {
	if n := bytes.Count(p, []byte{0}); n != len(p) {
		return n, errors.New("not all zeros")
	}
	return len(p), nil
}

// Each bomb is a valid body, small on its way and Bomb zeros in the end.
func TestBombs(t *testing.T) {
	server := hostile.NewServer(t)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	bombs := 0
	for _, c := range server.Cases() {
		if !strings.HasPrefix(c.Name, "bomb-") {
			continue
		}
		bombs++
		t.Run(c.Name, func(t *testing.T) {
			resp, err := client.Get(server.URL(c))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			packed, err := io.ReadAll(resp.Body)
			if err != nil || len(packed) > hostile.Limit/2 {
				t.Fatalf("%d bytes on the way, %v", len(packed), err)
			}
			body := io.Reader(bytes.NewReader(packed))
			codings := strings.Split(strings.Join(resp.Header.Values("Content-Encoding"), ", "), ", ")
			for i := len(codings) - 1; i >= 0; i-- {
				body = unpack(t, c.Name, codings[i], body)
			}
			want := int64(hostile.Bomb)
			if testing.Short() || len(codings) > 1 {
				want /= 16
				body = io.LimitReader(body, want)
			}
			n, err := io.CopyBuffer(zeros{}, struct{ io.Reader }{body}, make([]byte, 1<<20))
			if err != nil || n != want {
				t.Errorf("%d bytes, %v", n, err)
			}
			t.Logf("%d bytes become %d", len(packed), n)
		})
	}
	if bombs < 10 {
		t.Errorf("%d bombs", bombs)
	}
}

// The cases can be told apart, and say what they are and what is right.
func TestCases(t *testing.T) {
	server := hostile.NewServer(t)
	names := make(map[string]bool)
	for _, c := range server.Cases() {
		if names[c.Name] || c.Name == "" || c.Sends == "" || c.May == 0 || c.Method == "" || c.Time <= 0 || c.Bytes <= 0 {
			t.Errorf("incomplete, or there twice: %+v", c)
		}
		names[c.Name] = true
	}
	if n := len(names); n < 100 {
		t.Errorf("%d cases", n)
	}
	resp, err := http.Get(server.Plain() + "/next?a=b")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != hostile.Page("/next?a=b") {
		t.Errorf("the good page is %q, %v", body, err)
	}
	if server.Open() != 1 {
		t.Errorf("%d connections are open", server.Open())
	}
	for o, want := range map[hostile.Outcome]string{hostile.Error: "error", hostile.OK: "ok", 0: "",
		hostile.Error | hostile.Partial: "error or partial"} {
		if o.String() != want {
			t.Errorf("%q, want %q", o, want)
		}
	}
}
