package tegenaria

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
		d := newTestDownloader(t, nil, server)
		want := page
		if tt.as != "" {
			want = packed
		}
		var file bytes.Buffer
		for name, opts := range map[string][]RequestOption{
			"memory": nil, "spool": {RequestWithSpool()}, "writer": {RequestWithResponseWriter(&file)},
		} {
			resp := mustDownload(t, d, NewRequest(server.URL, GET, nil, opts...))
			got := resp.Bytes()
			switch name {
			case "spool":
				reader := resp.Reader()
				got, _ = io.ReadAll(reader)
				reader.Close()
				resp.closeSpool()
			case "writer":
				got = file.Bytes()
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s to %s: %d bytes, want %d", tt.header, name, len(got), len(want))
			}
			if firstHeader(resp.Header, "Content-Encoding") != tt.as || resp.ContentLength != len(want) {
				t.Errorf("%s to %s: header %q, ContentLength %d", tt.header, name, resp.Header, resp.ContentLength)
			}
			if tr := resp.Transfer(); tr.WireBytes != int64(len(packed)) || tr.BodyBytes != int64(len(want)) || tr.Err != nil {
				t.Errorf("%s to %s: %d bytes of %d, %v", tt.header, name, tr.BodyBytes, tr.WireBytes, tr.Err)
			}
		}
		raw := mustDownload(t, d, NewRequest(server.URL, GET, nil, RequestWithRequestHeader(map[string]string{"Accept-Encoding": "gzip"})))
		if !bytes.Equal(raw.Bytes(), packed) || firstHeader(raw.Header, "Content-Encoding") != tt.header {
			t.Errorf("%s: the request's own Accept-Encoding gave %d bytes of %d, %q", tt.header, len(raw.Bytes()), len(packed), raw.Header)
		}
	}
}

// A body that grows too much, too large, breaks off or is damaged fails with an error of its own, wherever it goes.
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
	d := newTestDownloader(t, func(s *downloadSettings) { s.limits = Limits{Body: 1<<20 - 1, Ratio: 100}.withDefaults() }, server)
	for path := range bodies {
		r := NewRequest(server.URL+path, GET, nil)
		result := download(d, r)
		switch {
		case strings.HasPrefix(path, "/large"), strings.HasPrefix(path, "/zeros"):
			if err := wantError[*BodyTooLargeError](t, result, r); err.Limit != 1<<20-1 || result.Response != nil {
				t.Errorf("%s: %+v", path, err)
			}
		default:
			err := wantError[*TruncatedBodyError](t, result, r)
			var corrupt *CorruptBodyError
			if !errors.As(err, &corrupt) || corrupt.URL != r.Url || result.Response == nil {
				t.Errorf("%s: %+v", path, err)
			}
			if strings.HasPrefix(path, "/cut") != errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if !strings.HasPrefix(path, "/zeros") {
			continue
		}
		for _, opt := range []RequestOption{RequestWithSpool(), RequestWithResponseWriter(io.Discard)} {
			r := NewRequest(server.URL+path, GET, nil, opt)
			err := wantError[*RatioError](t, download(d, r), r)
			if err.Limit != 100 || err.Decoded < 1<<20 || !strings.Contains(err.Error(), "Limits.Ratio") {
				t.Errorf("%s: %+v", path, err)
			}
		}
	}
	free := newTestDownloader(t, func(s *downloadSettings) { s.limits = Limits{Ratio: -1}.withDefaults(); s.loopback = d.loopback })
	if resp := mustDownload(t, free, NewRequest(server.URL+"/zeros/br", GET, nil)); len(resp.Bytes()) != len(zeros) {
		t.Errorf("without a limit of the ratio: %d bytes", len(resp.Bytes()))
	}
}
