package fetch

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// A redirect is followed whatever its body is: the target counts. No more is read of it than its connection is worth.
func TestRedirectBodies(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(make([]byte, 8<<20))
	z.Close()
	bodies := map[string]struct {
		name, value string // of a header field
		write       string
		then        func(w http.ResponseWriter, r *http.Request)
		body        string // that is kept
		why         error  // in Transfer.Err
		waits       bool
	}{
		"/page":      {write: "moved", body: "moved"},
		"/cut":       {name: "Content-Length", value: "10", write: "mov", body: "mov", why: io.ErrUnexpectedEOF},
		"/not-gzip":  {name: "Content-Encoding", value: "gzip", write: "moved", why: io.ErrUnexpectedEOF},
		"/codings":   {name: "Content-Encoding", value: "gzip,gzip,gzip,gzip,gzip,gzip", write: "moved", why: &httpx.TooManyCodingsError{Count: 6, Limit: 5}},
		"/bomb":      {name: "Content-Encoding", value: "gzip", write: packed.String(), body: string(make([]byte, skimmed)), why: errSkimmed},
		"/announced": {name: "Content-Length", value: "1000000000", why: errSkimmed},
		"/endless": {then: func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		}, why: errSkimmed},
		"/slow": {write: "x", body: "x", waits: true, why: errSkimmed, then: func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
	}
	for path, tt := range bodies {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Location", "/target")
					if tt.name != "" {
						w.Header().Set(tt.name, tt.value)
					}
					w.WriteHeader(http.StatusFound)
					io.WriteString(w, tt.write)
					if tt.then != nil {
						tt.then(w, r)
					}
				})
				d := p.client(nil)
				defer d.Close()
				began := time.Now()
				resp := mustDownload(t, d, request("http://x.example"+path, http.MethodGet))
				why := resp.Transfer.Err
				if (why == nil) != (tt.why == nil) || why != nil && !errors.Is(why, tt.why) && !strings.Contains(why.Error(), tt.why.Error()) || string(resp.Body) != tt.body || resp.Header.Get("Location") != "/target" {
					t.Errorf("body %.20q, %v: %v", resp.Body, resp.Header, why)
				}
				if took := time.Since(began); took > skimTime || tt.waits != (took == skimTime) {
					t.Errorf("took %s", took)
				}
			})
		})
	}
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/target")
		w.Header().Set("Content-Length", "10")
		w.WriteHeader(http.StatusFound)
		io.WriteString(w, "mov")
	})
	d := newTestClient(t, nil, server)
	r := request(server.URL, http.MethodGet, unfollowed) // then the body is what was asked for
	wantError[*TruncatedBodyError](t, download(d, r))
}

// A spooled body has a bound of its own, announced or found.
func TestSpoolIsBounded(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/announced" {
			w.Header().Set("Content-Length", "200000")
		}
		if r.URL.Path == "/gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 200_000))
			z.Close()
			return
		}
		w.Write(make([]byte, 100_000))
		w.(http.Flusher).Flush()
		w.Write(make([]byte, 100_000))
	})
	for limit, fails := range map[int64]bool{199_999: true, 200_000: false, unlimited: false, 10: true} {
		d := newTestClient(t, func(s *Config) { s.Limits = bounds(Limits{Spool: limit}) })
		d.config.Loopback.Allow(server.URL)
		for _, path := range []string{"/announced", "/found", "/gzip"} {
			result := download(d, request(server.URL+path, http.MethodGet, withSpool))
			if !fails {
				if result.Error != nil || result.Response.Length != 200_000 {
					t.Errorf("%s, %d: %v", path, limit, result.Error)
				}
				result.Response.File.Close()
				continue
			}
			if err := wantError[*BodyTooLargeError](t, result); err.Limit != limit || !err.Spooled || result.Response != nil {
				t.Errorf("%s, %d: %+v", path, limit, err)
			}
		}
	}
	server.Close()
}

// With a client of the user's a redirect that is not wanted is delivered, whatever its Location is.
func TestGivenClientBadLocation(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{"http://u:s3cret@%zz/"}
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusFound)
		io.WriteString(w, "moved")
	})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	d := newTestClient(t, func(s *Config) { s.HTTP = &http.Client{Transport: transport} }, server)
	defer transport.CloseIdleConnections()
	for _, follow := range []bool{false, true} {
		resp := mustDownload(t, d, request(server.URL, http.MethodGet, func(r *Request) { r.Follows = follow }))
		if resp.Status != 302 || string(resp.Body) != "moved" || len(map[string][]string(resp.Header)["location"]) > 0 || resp.Header.Get("Location") != "http://u:s3cret@%zz/" {
			t.Errorf("%d %v %q", resp.Status, resp.Header, resp.Body)
		}
	}
}

// Limits.FirstByte is the server's time: that of an upload is not.
func TestFirstByteAfterUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/upload" {
				sleepFor(5 * time.Second) // nobody reads meanwhile: the pipe has no buffer
				io.Copy(io.Discard, r.Body)
				return
			}
			io.Copy(io.Discard, r.Body)
			sleepFor(5 * time.Second)
		})
		defer sleepFor(time.Minute)
		d := p.client(func(s *Config) { s.Limits.FirstByte = time.Second })
		defer d.Close()
		large := withBody(make([]byte, 1<<20))
		mustDownload(t, d, request("http://x.example/upload", http.MethodPost, large))
		if err := wantError[*TimeoutError](t, download(d, request("http://x.example/", http.MethodPost, large))); err.Phase != PhaseFirstByte {
			t.Errorf("%v", err)
		}
	})
}

// Of a body whose beginning is wanted no more is read, and that there is more is no failure, with a coding neither. It fails
// when the decoder is given the bound itself.
func TestBeginning(t *testing.T) {
	page := strings.Repeat("0123456789", 1000)
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(pack(t, "gzip", []byte(page)))
			return
		}
		io.WriteString(w, page)
	})
	d := newTestClient(t, nil, server)
	for _, path := range []string{"/plain", "/gzip"} {
		for _, most := range []int64{1, 9_999, 10_000, 10_001} {
			a := mustDownload(t, d, request(server.URL+path, http.MethodGet, func(r *Request) { r.Beginning = most }))
			if want := page[:min(most, 10_000)]; a.text() != want || a.Length != int64(len(want)) {
				t.Errorf("%s: %d bytes, want %d", path, a.Length, len(want))
			}
		}
	}
}
