package warc_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// coded packs a text.
func coded(t *testing.T, text string, open func(io.Writer) (io.WriteCloser, error)) string {
	t.Helper()
	var b bytes.Buffer
	w, err := open(&b)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A body is decoded if it has the codings that its header names, and else taken as it is: Common Crawl and wget keep the header and
// decode the body.
func TestReplayDecoded(t *testing.T) {
	const page = "<!DOCTYPE html><title>the page</title><p>some text of the page</p>"
	gz := coded(t, page, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	br := coded(t, page, func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriter(w), nil })
	chunks := func(s string) string { return fmt.Sprintf("%x;a=b\r\n%s\r\n0\r\n\r\n", len(s), s) }
	for _, test := range []struct{ name, fields, body, want string }{
		{"gzip", "Content-Encoding: gzip", gz, "the page"},
		{"gzip decoded", "Content-Encoding: gzip", page, "the page"},
		{"x-gzip decoded", "Content-Encoding: x-gzip", page, "the page"},
		{"length of the packed body", "Content-Encoding: gzip\r\nContent-Length: 9", page, "the page"},
		{"zstd", "Content-Encoding: zstd", coded(t, page, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }), "the page"},
		{"zstd decoded", "Content-Encoding: zstd", page, "the page"},
		{"br", "Content-Encoding: br", br, "the page"},
		{"br decoded", "Content-Encoding: br", page, "the page"},
		{"br decoded, long", "Content-Encoding: br", page + strings.Repeat("<p>more text", 10_000), "the page"},
		{"br decoded, in another tag", "Content-Encoding: br", "\n\n <title>the page</title>", "the page"},
		{"deflate", "Content-Encoding: deflate", coded(t, page, func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil }), "the page"},
		{"deflate, bare", "Content-Encoding: deflate", coded(t, page, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 9) }), "the page"},
		{"deflate decoded", "Content-Encoding: deflate", page, "the page"},
		{"two", "Content-Encoding: gzip, br", coded(t, gz, func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriter(w), nil }), "the page"},
		{"two, one decoded", "Content-Encoding: br, gzip", br, "the page"},
		{"two, both decoded", "Content-Encoding: gzip\r\nContent-Encoding: br", page, "the page"},
		{"chunks", "Transfer-Encoding: chunked", chunks(page), "the page"},
		{"chunks removed", "Transfer-Encoding: chunked", page, "the page"},
		{"chunks removed, like a chunk", "Transfer-Encoding: chunked", "12\r\n" + page, "the page"},
		{"chunks of gzip", "Transfer-Encoding: chunked\r\nContent-Encoding: gzip", chunks(gz), "the page"},
		{"chunks decoded of gzip", "Transfer-Encoding: chunked\r\nContent-Encoding: gzip", chunks(page), "the page"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.warc")
			writeFile(t, path, []byte(recordText("WARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nContent-Type: application/http\r\n",
				"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"+test.fields+"\r\n\r\n"+test.body)))
			if got := titleAt(t, open(t, path), "http://a.test/"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// The body of a revisit is found by whatever names its response, and its header is that of the response if it has none.
func TestReplayRevisits(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
	response := recordText("WARC-Type: response\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Target-URI: http://a.test/\r\nWARC-Date: 2026-11-23T01:02:03Z\r\n"+
		"WARC-Payload-Digest: sha1:AAAA\r\nContent-Type: application/http\r\n", head+"<title>the page</title>")
	const profile = "WARC-Type: revisit\r\nWARC-Target-URI: http://a.test/again\r\nWARC-Date: 2026-11-24T01:02:03Z\r\nWARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n"
	for name, fields := range map[string]string{
		"id":                        "WARC-Refers-To: <urn:x:1>\r\n",
		"digest":                    "WARC-Payload-Digest: sha1:aaaa\r\n",
		"URL and date":              "WARC-Refers-To-Target-URI: http://a.test/\r\nWARC-Refers-To-Date: 2026-11-23T01:02:03Z\r\n",
		"id of another archive":     "WARC-Refers-To: <urn:x:2>\r\nWARC-Payload-Digest: sha1:AAAA\r\n",
		"said to be without body":   "WARC-Refers-To: <urn:x:1>\r\nWARC-Truncated: length\r\n",
		"digest of another archive": "WARC-Payload-Digest: sha1:BBBB\r\nWARC-Refers-To-Target-URI: http://a.test/\r\nWARC-Refers-To-Date: 2026-11-23T01:02:03Z\r\n",
	} {
		for _, block := range []string{"", head} {
			for _, text := range []string{response + recordText(profile+fields, block), recordText(profile+fields, block) + response} {
				path := filepath.Join(t.TempDir(), "a.warc")
				writeFile(t, path, []byte(text))
				if got := titleAt(t, open(t, path), "http://a.test/again"); got != "the page" {
					t.Errorf("%s, a block of %d bytes: %q", name, len(block), got)
				}
			}
		}
	}
}
