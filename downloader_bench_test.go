package tegenaria

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"testing"

	"github.com/tegenaria/tegenaria/internal/fetch"
)

// cannedTransport answers at once from memory.
type cannedTransport struct {
	header http.Header
	body   []byte
}

func (c *cannedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	return &http.Response{
		StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: c.header.Clone(),
		Body: io.NopCloser(bytes.NewReader(c.body)), ContentLength: int64(len(c.body)), Request: req,
	}, nil
}

// BenchmarkDownloader measures the downloader's own cost: beside it a bare loop over the same transport, with the same
// timeout and the same limit of the body.
func BenchmarkDownloader(b *testing.B) {
	page := bytes.Repeat([]byte("<p>some text</p>"), 256)
	canned := &cannedTransport{header: http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Server": {"canned"}}, body: page}
	client := &http.Client{Transport: canned}
	limits := Limits{}.withDefaults()
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ctx, cancel := context.WithTimeout(b.Context(), DefaultTimeout)
			req, err := http.NewRequestWithContext(ctx, GET, "http://example.com/page.html", nil)
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("User-Agent", "test")
			resp, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			body, err := io.ReadAll(io.LimitReader(resp.Body, limits.Body+1))
			resp.Body.Close()
			cancel()
			if err != nil || len(body) != len(page) {
				b.Fatal(err)
			}
		}
	})
	b.Run("ours", func(b *testing.B) {
		d := newHTTPDownloader(limits, nil, fetch.Config{Agent: "test", Concurrency: 4, HTTP: client, Bodies: fetch.NewBudget(1<<30, nil)})
		defer d.close()
		result := make(chan *Context, 1)
		b.ReportAllocs()
		for b.Loop() {
			r := &Request{Url: "http://example.com/page.html", Method: GET, AllowRedirects: true}
			d.Download(&Context{Request: r, Ctx: b.Context()}, result)
			if got := <-result; got.DownloadResult.Error != nil || got.Response().ContentLength != len(page) {
				b.Fatal(got.DownloadResult.Error)
			}
		}
	})
}

// BenchmarkDownloaderConnection fetches a page over a kept connection on loopback: beside it a bare transport.
func BenchmarkDownloaderConnection(b *testing.B) {
	page := bytes.Repeat([]byte("<p>some text</p>"), 256)
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/chunks" {
			w.WriteHeader(http.StatusOK)
			for part := range slices.Chunk(page, 512) {
				w.Write(part)
				w.(http.Flusher).Flush()
			}
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		w.Write(page)
	})
	defer server.Close()
	for _, path := range []string{"/length", "/chunks"} {
		b.Run("bare"+path, func(b *testing.B) {
			transport := &http.Transport{DisableCompression: true}
			defer transport.CloseIdleConnections()
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), GET, server.URL+path, nil)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := transport.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || len(body) != len(page) {
					b.Fatal(err)
				}
			}
		})
		b.Run("ours"+path, func(b *testing.B) {
			loopback := new(fetch.Loopback)
			loopback.Allow(server.URL)
			d := newHTTPDownloader(Limits{}.withDefaults(), nil, fetch.Config{Agent: "test", Concurrency: 4, Bodies: fetch.NewBudget(1<<30, nil), Loopback: loopback})
			defer d.close()
			result := make(chan *Context, 1)
			b.ReportAllocs()
			for b.Loop() {
				d.Download(&Context{Request: &Request{Url: server.URL + path, Method: GET}, Ctx: b.Context()}, result)
				if got := <-result; got.DownloadResult.Error != nil || got.Response().ContentLength != len(page) {
					b.Fatal(got.DownloadResult.Error)
				}
			}
		})
	}
}
