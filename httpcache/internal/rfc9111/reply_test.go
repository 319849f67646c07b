package rfc9111_test

import (
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
)

// It fails if a range or a precondition of a request is not answered from the whole response, or wrongly.
func TestReply(t *testing.T) {
	e := stored(t, get(), "Cache-Control: max-age=60, no-cache=\"secret\"", `ETag: "a"`, "Last-Modified: Thu, 01 Jan 2015 02:00:00 GMT", "Secret: 1")
	for _, c := range []struct {
		request []string
		status  int
		part    string
	}{
		{nil, 200, ""},
		{[]string{"Range: bytes=0-3"}, 206, "bytes 0-3/10"},
		{[]string{"Range: bytes=8-"}, 206, "bytes 8-9/10"},
		{[]string{"Range: BYTES=-4"}, 206, "bytes 6-9/10"},
		{[]string{"Range: bytes=-40"}, 206, "bytes 0-9/10"},
		{[]string{"Range: bytes=9-99"}, 206, "bytes 9-9/10"},
		{[]string{"Range: bytes=10-"}, 200, ""},
		{[]string{"Range: bytes=3-2"}, 200, ""},
		{[]string{"Range: bytes=-0"}, 200, ""},
		{[]string{"Range: bytes=0-1,3-4"}, 200, ""},
		{[]string{"Range: bytes=99999999999999999999-"}, 200, ""},
		{[]string{"Range: lines=0-1"}, 200, ""},
		{[]string{"Range: bytes=0-1", `If-Range: "a"`}, 206, "bytes 0-1/10"},
		{[]string{"Range: bytes=0-1", `If-Range: "b"`}, 200, ""},
		{[]string{"Range: bytes=0-1", `If-Range: W/"a"`}, 200, ""},
		{[]string{"Range: bytes=0-1", "If-Range: Thu, 01 Jan 2015 02:00:00 GMT"}, 206, "bytes 0-1/10"},
		{[]string{"Range: bytes=0-1", "If-Range: Thu, 01 Jan 2015 02:00:01 GMT"}, 200, ""},
		{[]string{`If-None-Match: "b", W/"a"`, "Range: bytes=0-1"}, 304, ""},
		{[]string{`If-None-Match: "b"`, "If-Modified-Since: Thu, 01 Jan 2026 12:00:00 GMT"}, 200, ""},
		{[]string{"If-Modified-Since: Thu, 01 Jan 2015 02:00:00 GMT"}, 304, ""},
		{[]string{"If-Modified-Since: Thu, 01 Jan 2015 01:59:59 GMT"}, 200, ""},
		{[]string{"If-Modified-Since: yesterday"}, 200, ""},
	} {
		d := rfc9111.Decide(get(c.request...), []rfc9111.Entry{e}, t0.Add(1500*time.Millisecond))
		h := d.Reply.Header
		if d.Reply.Status != c.status || h.Get("Content-Range") != c.part || (d.Reply.Range != nil) != (c.part != "") {
			t.Errorf("%q: got %+v, want %d %s", c.request, d.Reply, c.status, c.part)
		}
		if h.Get("Age") != "1" || h.Get("Secret") != "" || h.Get("Etag") == "" {
			t.Errorf("%q: got header %v", c.request, h)
		}
	}
	if e.Header.Get("Age") != "" || e.Header.Get("Secret") == "" {
		t.Error("the stored header has changed")
	}
	e = stored(t, get(), "Cache-Control: max-age=60", `ETag: W/"a"`)
	for _, c := range []struct {
		request []string
		status  int
	}{
		{[]string{"Range: bytes=0-1", `If-Range: W/"a"`}, 200}, // weak tags do not say that bytes are the same
		{[]string{"If-Modified-Since: Thu, 01 Jan 2026 12:00:00 GMT"}, 304},
		{[]string{"If-Modified-Since: Thu, 01 Jan 2026 11:59:59 GMT"}, 200},
	} {
		d := rfc9111.Decide(get(c.request...), []rfc9111.Entry{e}, t0.Add(-time.Second))
		if d.Reply.Status != c.status || d.Reply.Header.Get("Age") != "0" {
			t.Errorf("%q: got %+v, want %d", c.request, d.Reply, c.status)
		}
	}
}
