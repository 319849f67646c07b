package httpx

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"github.com/tegenaria/tegenaria/internal/deep"
	"io"
	"net/http"
	"strings"
	"testing"
)

// follow feeds a framing with the answer to one request in parts, and returns how much of it was taken.
func follow(method string, data []byte, part int) (f *framing, taken int, err error) {
	f = new(framing)
	f.await(method)
	for len(data) > 0 {
		piece := bytes.Clone(data[:min(part, len(data))])
		n, err := f.take(piece)
		taken += n
		if clear(piece); err != nil || n < len(piece) {
			return f, taken, err
		}
		data = data[len(piece):]
	}
	return f, taken, nil
}

// theirs reads the answer to one request as net/http does, and returns how much of it that took. bounded is false if
// only the connection's end would be its end.
func theirs(method string, data []byte) (taken int, bounded bool, err error) {
	in := bytes.NewReader(data)
	buffered := bufio.NewReader(in)
	for {
		resp, err := http.ReadResponse(buffered, &http.Request{Method: method})
		if err != nil {
			return 0, false, err
		}
		switch {
		case resp.StatusCode < 100, resp.StatusCode == http.StatusSwitchingProtocols:
			return 0, false, nil
		case resp.StatusCode < 200:
			continue
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return 0, false, err
		}
		bounded = resp.Body == http.NoBody || resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0
		return len(data) - in.Len() - buffered.Buffered(), bounded, nil
	}
}

const (
	status   = "HTTP/1.1 200 OK\r\n"
	te       = "Transfer-Encoding: chunked\r\n"
	inChunks = "5\r\nhello\r\n0\r\n\r\n"
)

var framings = []struct {
	name, head, body string
	bad              string // the paragraph of RFC 9112, "" if it is fine
	closing          bool   // the connection's end is the body's
	method           string
}{
	{name: "length", head: status + "Content-Length: 5\r\n\r\n", body: "hello"},
	{name: "length in odd case", head: status + "cONTENT-lENGTH:\t5 \r\n\r\n", body: "hello"},
	{name: "no length", head: status + "X: y\r\n\r\n", body: "hello", closing: true},
	{name: "no fields", head: status + "\r\n", body: "hello", closing: true},
	{name: "length 0", head: status + "Content-Length: 0\r\n\r\n"},
	{name: "same lengths", head: status + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", body: "hello"},
	{name: "lone LF", head: "HTTP/1.1 200 OK\nContent-Length: 5\n\n", body: "hello"},
	{name: "chunks", head: status + te + "\r\n", body: inChunks},
	{name: "chunks in odd case", head: status + "transfer-encoding:CHUNKED\r\n\r\n", body: inChunks},
	{name: "extensions", head: status + te + "\r\n", body: "5;a=b; c=\"d\"\r\nhello\r\n0;x\r\n\r\n"},
	{name: "zeros before a size", head: status + te + "\r\n", body: "0005\r\nhello\r\n000\r\n\r\n"},
	{name: "hexadecimal sizes", head: status + te + "\r\n", body: "A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n"},
	{name: "trailer", head: status + te + "\r\n", body: "5\r\nhello\r\n0\r\nX: y\r\nContent-Length: 9\r\n\r\n"},
	{name: "chunks like heads", head: status + te + "\r\n", body: fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(status+"Content-Length: 5\r\n"+te), status+"Content-Length: 5\r\n"+te)},
	{name: "body like a head", head: status + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(status+te+"Content-Length: 5\r\n\r\n")), body: status + te + "Content-Length: 5\r\n\r\n"},
	{name: "interim responses", head: "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + status + "Content-Length: 5\r\n\r\n", body: "hello"},
	{name: "HEAD", head: status + "Content-Length: 5\r\n\r\n", method: "HEAD"},
	{name: "HEAD in chunks", head: status + te + "\r\n", method: "HEAD"},
	{name: "204", head: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"},
	{name: "304", head: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"},
	{name: "101", head: "HTTP/1.1 101 Switching Protocols\r\n\r\n", body: "moo", closing: true},
	{name: "HTTP/1.0", head: "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", body: "hello"},
	{name: "no phrase", head: "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", body: "hello"},
	{name: "folded field", head: status + "X: y\r\n z\r\nContent-Length: 5\r\n\r\n", body: "hello"},
	{name: "other fields", head: status + "Content-Lengthy: 7\r\nContent-Typ: x\r\nTransfer: y\r\nTE: z\r\nContent-Length: 5\r\n\r\n", body: "hello"},

	{name: "length and chunks", head: status + "Content-Length: 5\r\n" + te + "\r\n", body: inChunks, bad: "6.3"},
	{name: "chunks and length", head: status + te + "Content-Length: 5\r\n\r\n", body: inChunks, bad: "6.3"},
	{name: "both for a HEAD", head: status + te + "Content-Length: 5\r\n\r\n", method: "HEAD", bad: "6.3"},
	{name: "both in an interim response", head: "HTTP/1.1 103 Early Hints\r\n" + te + "Content-Length: 5\r\n\r\n", body: inChunks, bad: "6.3"},
	{name: "two lengths", head: status + "Content-Length: 5\r\nX: y\r\nContent-Length: 6\r\n\r\n", body: "hello", bad: "6.3"},
	{name: "list of lengths", head: status + "Content-Length: 5, 5\r\n\r\n", body: "hello", bad: "6.3"},
	{name: "empty length", head: status + "Content-Length:\r\n\r\n", body: "hello", bad: "6.3"},
	{name: "negative length", head: status + "Content-Length: -5\r\n\r\n", body: "hello", bad: "6.3"},
	{name: "length with a sign", head: status + "Content-Length: +5\r\n\r\n", body: "hello", bad: "6.3"},
	{name: "length out of range", head: status + "Content-Length: 9223372036854775808\r\n\r\n", body: "hello", bad: "6.3"},
	{name: "folded length", head: status + "Content-Length: 5\r\n 6\r\n\r\n", body: "hello", bad: "5.2"},
	{name: "chunked twice", head: status + te + te + "\r\n", body: inChunks, bad: "7"},
	{name: "list of codings", head: status + "Transfer-Encoding: gzip, chunked\r\n\r\n", body: inChunks, bad: "7"},
	{name: "identity", head: status + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n", body: "hello", bad: "7"},
	{name: "empty coding", head: status + "Transfer-Encoding:\r\n\r\n", body: "hello", bad: "7"},
	{name: "folded coding", head: status + "Transfer-Encoding: chunked\r\n \r\n\r\n", body: inChunks, bad: "5.2"},
	{name: "space before the colon", head: status + "Content-Length : 5\r\n\r\n", body: "hello", bad: "5.1"},
	{name: "space before the colon, and chunks", head: status + "Content-Length: 5\r\nTransfer-Encoding\t: chunked\r\n\r\n", body: "hello", bad: "5.1"},
	{name: "chunks in HTTP/1.0", head: "HTTP/1.0 200 OK\r\n" + te + "\r\n", body: inChunks, bad: "6.1"},
	{name: "size of 17 digits", head: status + te + "\r\n", body: "00000000000000005\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "space before no extension", head: status + te + "\r\n", body: "5 x\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "two sizes", head: status + te + "\r\n", body: "5 5;x\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "space before a size", head: status + te + "\r\n", body: " 5;x\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "size with sign", head: status + te + "\r\n", body: "+5\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "size with prefix", head: status + te + "\r\n", body: "0x5\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "no size", head: status + te + "\r\n", body: "\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "size out of range", head: status + te + "\r\n", body: "8000000000000000\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "size too small", head: status + te + "\r\n", body: "4\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "no line end behind a chunk", head: status + te + "\r\n", body: "5\r\nhello world, this is no chunk", bad: "7.1"},
	{name: "CR behind a chunk", head: status + te + "\r\n", body: "5\r\nhello\r\r\n0\r\n\r\n", bad: "7.1"},
	{name: "lone LF behind a size", head: status + te + "\r\n", body: "5\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "lone CR in a size's line", head: status + te + "\r\n", body: "5;\rx\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
	{name: "lone LF behind a chunk", head: status + te + "\r\n", body: "5\r\nhello\n0\r\n\r\n", bad: "7.1"},
	{name: "lone LF at the end", head: status + te + "\r\n", body: "5\r\nhello\r\n0\r\n\n", bad: "7.1"},
	{name: "long line with a size", head: status + te + "\r\n", body: "5;" + strings.Repeat("x", 5000) + "\r\nhello\r\n0\r\n\r\n", bad: "7.1"},
}

// Where a response ends is found however it is cut, as net/http finds it; one that says it twice is refused.
func TestFraming(t *testing.T) {
	const next = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
	for _, tt := range framings {
		t.Run(tt.name, func(t *testing.T) {
			data := []byte(tt.head + tt.body + next)
			for _, part := range []int{1, 2, 3, 7, 64, 4096, len(data)} {
				f, taken, err := follow(tt.method, data, part)
				if tt.bad == "" {
					want := len(tt.head + tt.body)
					if tt.closing {
						want = len(data)
					}
					if err != nil || taken != want || (f.at == atRest) == tt.closing {
						t.Errorf("in parts of %d: %d of %d bytes, %v, at place %d", part, taken, want, err, f.at)
					}
					continue
				}
				var bad *FramingError
				if !errors.As(err, &bad) || !strings.Contains(bad.Reason, "(§"+tt.bad+")") {
					t.Errorf("in parts of %d: %v, want a framing error of §%s", part, err, tt.bad)
				}
				if most := len(tt.head + tt.body); taken >= most || tt.bad != "7.1" && taken >= len(tt.head) {
					t.Errorf("in parts of %d: %d bytes were taken all the same", part, taken)
				}
			}
			if tt.bad != "" || tt.closing {
				return
			}
			if taken, bounded, err := theirs(tt.method, data); err != nil || !bounded || taken != len(tt.head+tt.body) {
				t.Errorf("net/http takes %d bytes, %v, %v", taken, bounded, err)
			}
		})
	}
}

// Whatever a server sends: how it is cut changes nothing, and where net/http sees a response and its end, either so do
// we, or we refuse it.
func FuzzFraming(f *testing.F) {
	for _, tt := range framings {
		f.Add([]byte(tt.head+tt.body), tt.method == "HEAD")
	}
	f.Fuzz(func(t *testing.T, data []byte, head bool) {
		deep.Growth(t, deep.Stretched(data), func(data []byte) { _, _, _ = follow("GET", data, 4096) })
		method := "GET"
		if head {
			method = "HEAD"
		}
		whole, taken, err := follow(method, data, max(len(data), 1))
		for _, part := range []int{1, 5} {
			f, again, failed := follow(method, data, part)
			if err == nil && again != taken || fmt.Sprint(failed) != fmt.Sprint(err) || f.at != whole.at {
				t.Fatalf("whole: %d bytes, %v, at %d; in parts of %d: %d bytes, %v, at %d", taken, err, whole.at, part, again, failed, f.at)
			}
		}
		want, bounded, refused := theirs(method, data)
		switch {
		case err != nil || refused != nil:
		case bounded && (taken != want || whole.at != atRest):
			t.Errorf("%d bytes, at %d; net/http takes %d", taken, whole.at, want)
		case !bounded && whole.at == atRest:
			t.Errorf("%d bytes and an end; net/http sees none", taken)
		}
	})
}

// BenchmarkFraming follows a response with a usual header and a body of 4 KiB, in parts as net/http reads them.
func BenchmarkFraming(b *testing.B) {
	const head = status + "Date: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\n" +
		"Connection: keep-alive\r\nCache-Control: max-age=600\r\nETag: \"5f3-9b8c7d\"\r\nServer: nginx\r\nVary: Accept-Encoding\r\n" +
		"Strict-Transport-Security: max-age=31536000; includeSubDomains\r\nX-Content-Type-Options: nosniff\r\n"
	body := strings.Repeat("x", 4096)
	for _, bm := range []struct{ name, answer string }{
		{"length", head + "Content-Length: 4096\r\n\r\n" + body},
		{"chunks", head + te + "\r\n" + strings.Repeat("200\r\n"+body[:512]+"\r\n", 8) + "0\r\n\r\n"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			var f framing
			parts := [][]byte{[]byte(bm.answer[:4096]), []byte(bm.answer[4096:])}
			for b.Loop() {
				f.await("GET")
				for _, part := range parts {
					if n, err := f.take(part); err != nil || n != len(part) {
						b.Fatal(n, err)
					}
				}
			}
		})
	}
}
