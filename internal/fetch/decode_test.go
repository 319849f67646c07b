package fetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// pack puts a content coding on.
func pack(t testing.TB, coding string, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip", "x-gzip", "GZip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "raw":
		w, err = flate.NewWriter(&out, 6)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out)
	default:
		return body
	}
	if err == nil {
		_, err = w.Write(body)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Every coding is removed on the way to wherever the body goes, and the header says so.
func TestDownloadDecodes(t *testing.T) {
	page := []byte(strings.Repeat("some text, and a number: 4711. ", 3000))
	for _, tt := range []struct {
		header string
		layers []string // first put on first
		as     string   // "": as text
	}{
		{"gzip", []string{"gzip"}, ""}, {"x-gzip", []string{"gzip"}, ""}, {"GZip", []string{"gzip"}, ""},
		{"deflate", []string{"deflate"}, ""}, {"deflate", []string{"raw"}, ""}, {"br", []string{"br"}, ""}, {"zstd", []string{"zstd"}, ""},
		{"identity", nil, ""}, {"gzip, deflate, gzip", []string{"gzip", "deflate", "gzip"}, ""}, {"br, zstd", []string{"br", "zstd"}, ""},
		{"compress", []string{"gzip"}, "compress"}, {"gzip, unknown", []string{"gzip"}, "gzip, unknown"},
	} {
		packed := page
		for _, layer := range tt.layers {
			packed = pack(t, layer, packed)
		}
		server := newServer(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", tt.header)
			w.Write(packed)
		})
		d := newTestClient(t, func(s *Config) { s.Limits.Body = int64(len(page)) }, server) // it counts as it is in memory
		want := page
		if tt.as != "" {
			want = packed
		}
		var file bytes.Buffer
		for name, opts := range map[string][]option{
			"memory": nil, "spool": {withSpool}, "writer": {withWriter(&file)},
		} {
			resp := mustDownload(t, d, request(server.URL, http.MethodGet, opts...))
			got := resp.Body
			switch name {
			case "spool":
				reader := resp.File.Reader()
				got, _ = io.ReadAll(reader)
				reader.Close()
				resp.File.Close()
			case "writer":
				got = file.Bytes()
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s to %s: %d bytes, want %d", tt.header, name, len(got), len(want))
			}
			if resp.Header.Get("Content-Encoding") != tt.as || resp.Length != int64(len(want)) {
				t.Errorf("%s to %s: header %q, ContentLength %d", tt.header, name, resp.Header, resp.Length)
			}
			if tr := resp.Transfer; tr.WireBytes != int64(len(packed)) || tr.BodyBytes != int64(len(want)) || tr.Err != nil {
				t.Errorf("%s to %s: %d bytes of %d, %v", tt.header, name, tr.BodyBytes, tr.WireBytes, tr.Err)
			}
		}
		own := mustDownload(t, d, request(server.URL, http.MethodGet, withHeader(map[string]string{"Accept-Encoding": "gzip"})))
		if !bytes.Equal(own.Body, want) || own.Header.Get("Content-Encoding") != tt.as {
			t.Errorf("%s: the request's own Accept-Encoding gave %d bytes of %d, %q", tt.header, len(own.Body), len(want), own.Header)
		}
	}
}

// What cannot be decoded, since it is none of the body or a part of it, stays as it is with its header.
func TestDownloadLeavesCodings(t *testing.T) {
	packed := pack(t, "gzip", []byte(strings.Repeat("text ", 100)))
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page.gz" {
			w.Header().Set("Content-Encoding", "gzip")
		}
		if r.URL.Path == "/part" {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 5-14/%d", len(packed)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(packed[5:15])
			return
		}
		w.Write(packed)
	})
	d := newTestClient(t, nil, server)
	for _, tt := range []struct {
		method, path, coding string
		want                 []byte
	}{
		{http.MethodGet, "/part", "gzip", packed[5:15]},
		{http.MethodHead, "/page", "gzip", nil},
		{http.MethodGet, "/page.gz", "", packed},
		{http.MethodGet, "/page", "", []byte(strings.Repeat("text ", 100))},
	} {
		resp := mustDownload(t, d, request(server.URL+tt.path, tt.method))
		if got := resp.Header.Get("Content-Encoding"); got != tt.coding || !bytes.Equal(resp.Body, tt.want) {
			t.Errorf("%s %s: coding %q, body %q", tt.method, tt.path, got, resp.Body)
		}
	}
}

// A body that grows too much, too large, or is damaged before its end fails with an error of its own, wherever it goes.
func TestDownloadDecodesWithinLimits(t *testing.T) {
	page := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	zeros := make([]byte, 8<<20)
	bodies := map[string][]byte{}
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		bodies["/large/"+coding] = pack(t, coding, page)
		bodies["/zeros/"+coding] = pack(t, coding, zeros)
		whole := pack(t, coding, []byte(strings.Repeat("text ", 100)))
		bodies["/cut/"+coding] = whole[:len(whole)/2]
		bodies["/bad/"+coding] = append([]byte("this is no coding at all, none"), whole...)
	}
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
		w.Write(bodies[r.URL.Path])
	})
	d := newTestClient(t, func(s *Config) { s.Limits = bounds(Limits{Body: 1<<20 - 1, Ratio: 100}) }, server)
	for path := range bodies {
		r := request(server.URL+path, http.MethodGet)
		result := download(d, r)
		switch {
		case strings.HasPrefix(path, "/large"), strings.HasPrefix(path, "/zeros"):
			if err := wantError[*BodyTooLargeError](t, result); err.Limit != 1<<20-1 || err.URL != r.URL || result.Response != nil {
				t.Errorf("%s: %+v", path, err)
			}
		case strings.HasPrefix(path, "/cut"): // in a message that is complete
			if resp := result.Response; resp == nil || resp.Transfer.Err == nil || (result.Error == nil) != (len(resp.Body) > 0) {
				t.Errorf("%s: %v", path, result.Error)
			}
		default:
			err := wantError[*TruncatedBodyError](t, result)
			if corrupt, ok := errors.AsType[*CorruptBodyError](err); !ok || corrupt.URL != r.URL || result.Response == nil {
				t.Errorf("%s: %+v", path, err)
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if !strings.HasPrefix(path, "/zeros") {
			continue
		}
		for _, opt := range []option{withSpool, withWriter(io.Discard)} {
			result := download(d, request(server.URL+path, http.MethodGet, opt))
			err := wantError[*RatioError](t, result)
			if result.Error != error(err) {
				t.Errorf("%s: it is told as %v", path, result.Error)
			}
			if err.Limit != 100 || err.Decoded < 1<<20 || !strings.Contains(err.Error(), "Limits.Ratio") {
				t.Errorf("%s: %+v", path, err)
			}
		}
	}
	free := newTestClient(t, func(s *Config) { s.Limits = bounds(Limits{Ratio: -1}); s.Loopback = d.config.Loopback })
	if resp := mustDownload(t, free, request(server.URL+"/zeros/br", http.MethodGet)); len(resp.Body) != len(zeros) {
		t.Errorf("without a limit of the ratio: %d bytes", len(resp.Body))
	}
}

// What decoders keep counts as body: that of a usual coding not while the body is small, that of five on top of each other
// and that of a large body do. A free allowance for large bodies makes it fail.
func TestDecoderMemoryCounts(t *testing.T) {
	wide := func(body []byte) []byte {
		var out bytes.Buffer
		w := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: 5, LGWin: 24})
		w.Write(body)
		w.Close()
		return out.Bytes()
	}
	bombs := map[string]struct {
		header string
		body   []byte
		counts int64
	}{
		"/br":     {"br", pack(t, "br", []byte("a page")), 0},
		"/zstd":   {"zstd", pack(t, "zstd", bytes.Repeat([]byte("a page"), 1<<21)), 8 << 20},
		"/wide":   {"br", wide([]byte("a page")), 12 << 20},
		"/nested": {"br, br, br, br, br", wide(wide(wide(wide(wide([]byte("a page")))))), 76 << 20},
	}
	for path, tt := range bombs {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Encoding", tt.header)
					w.Write(tt.body)
				})
				budget := NewBudget(100<<20, nil)
				d := p.client(func(s *Config) { s.Bodies, s.Limits.Ratio = budget, -1 })
				get := func() time.Duration {
					began := time.Now()
					most := int64(0)
					r := request("http://x.example/", http.MethodGet, withWriter(writerFunc(func(p []byte) (int, error) {
						most = max(most, budget.Used())
						return len(p), nil
					})))
					r.Hold = new(Hold)
					if _, err := d.Do(t.Context(), r); err != nil {
						t.Error(err)
					}
					if most != tt.counts && most != 101<<20 || budget.Held(r.Hold) != 0 {
						t.Errorf("%d MiB were held, want %d; %d bytes are left", most>>20, tt.counts>>20, budget.Held(r.Hold))
					}
					return time.Since(began)
				}
				if took := get(); took != 0 || budget.Used() != 0 {
					t.Errorf("took %s, %d bytes are left", took, budget.Used())
				}
				var over Hold
				budget.Add(&over, 100<<20)
				budget.TryGrow(&over, 1<<20)
				time.AfterFunc(time.Second, func() { budget.Release(&over) })
				if took := get(); (took == 0) != (tt.counts == 0) {
					t.Errorf("took %s with no memory for bodies", took)
				}
			})
		})
	}
}
