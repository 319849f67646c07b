package rfc9111_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
)

// It fails if something is stored that must not be or that no request could be answered with, or if something of use is not.
func TestStore(t *testing.T) {
	for _, c := range []struct {
		name     string
		request  rfc9111.Request
		status   int
		response []string
		want     bool
	}{
		{"fresh", get(), 200, []string{"Cache-Control: max-age=1"}, true},
		{"of no use", get(), 200, nil, false},
		{"with a validator", get(), 200, []string{`ETag: "a"`}, true},
		{"with a tag that is none", get(), 200, []string{"ETag: *"}, false},
		{"expired, with a modification date", get(), 200, []string{"Expires: 0", "Last-Modified: Thu, 01 Jan 2015 02:00:00 GMT"}, true},
		{"no-store", get(), 200, []string{"Cache-Control: max-age=1, no-store"}, false},
		{"no-store of the request", get("Cache-Control: no-store"), 200, []string{"Cache-Control: max-age=1"}, false},
		{"Authorization", get("Authorization: Basic eDp5"), 200, []string{"Cache-Control: max-age=1"}, true},
		{"must-understand", get(), 200, []string{"Cache-Control: max-age=1, no-store, must-understand"}, true},
		{"must-understand of an unknown status", get(), 299, []string{"Cache-Control: max-age=1, must-understand"}, false},
		{"unknown status", get(), 299, []string{"Cache-Control: max-age=1"}, true},
		{"no heuristic for this status", get(), 302, []string{`ETag: "a"`}, false},
		{"a part, unasked", get(), 206, []string{"Cache-Control: max-age=1", "Content-Range: bytes 0-1/2"}, false},
		{"a 304, unasked", get(), 304, []string{"Cache-Control: max-age=1", `ETag: "a"`}, false},
		{"Vary: *", get(), 200, []string{"Cache-Control: max-age=1", "Vary: Foo, *"}, false},
		{"a Vary that names no field", get(), 200, []string{"Cache-Control: max-age=1", "Vary: Foo Bar"}, false},
		{"POST", rfc9111.Request{Method: "POST", URL: page}, 200, []string{"Cache-Control: max-age=1"}, false},
		{"HEAD", rfc9111.Request{Method: "HEAD", URL: page}, 200, []string{"Cache-Control: max-age=1"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := rfc9111.Decide(c.request, nil, t0).Answered(answer(c.status, t0, c.response...))
			if got := out.Change == rfc9111.Store; got != c.want {
				t.Errorf("stored: %t, want %t", got, c.want)
			}
		})
	}
}

// It fails if a 304 does not renew the stored header, renews what describes the stored bytes, or is taken for another response.
func TestNotModified(t *testing.T) {
	const modified = "Last-Modified: Thu, 01 Jan 2015 02:00:00 GMT"
	later := t0.Add(time.Hour)
	ask := func(r rfc9111.Request, a rfc9111.Response, lines ...string) rfc9111.Outcome {
		d := rfc9111.Decide(r, []rfc9111.Entry{stored(t, get(), lines...)}, later)
		return d.Answered(a)
	}
	t.Run("both validators are sent", func(t *testing.T) {
		e := stored(t, get(), "Cache-Control: max-age=1", `ETag: W/"a"`, modified)
		got := rfc9111.Decide(get(), []rfc9111.Entry{e}, later).Condition
		if got.Get("If-None-Match") != `W/"a"` || "Last-Modified: "+got.Get("If-Modified-Since") != modified {
			t.Errorf("got %v", got)
		}
	})
	t.Run("the header is renewed", func(t *testing.T) {
		out := ask(get(), answer(304, later, `ETag: "a"`, `Cache-Control: max-age=60, no-cache="New"`, "New: 1", "Content-Length: 0", "Content-Encoding: br",
			"Connection: X", "X: 1"), `ETag: "a"`, "Cache-Control: max-age=1", "Old: 1", "Age: 500", "Content-Length: 10", "Content-Encoding: gzip")
		want := fields(`ETag: "a"`, `Cache-Control: max-age=60, no-cache="New"`, "New: 1", "Old: 1", "Content-Length: 10", "Content-Encoding: gzip",
			"Date: Thu, 01 Jan 2026 13:00:00 GMT")
		if out.Change != rfc9111.Update || !equal(out.Entry.Header, want) {
			t.Errorf("got change %d and %v", out.Change, out.Entry.Header)
		}
		want.Set("Age", "0")
		if out.Reply == nil || out.Reply.Status != 200 || !equal(out.Reply.Header, want) {
			t.Errorf("got reply %+v", out.Reply)
		}
		if d := rfc9111.Decide(get(), []rfc9111.Entry{out.Entry}, later.Add(59*time.Second)); d.Action != rfc9111.Serve {
			t.Errorf("after the renewal got action %d", d.Action)
		}
	})
	for _, c := range []struct {
		name   string
		answer []string
		stored []string
		want   rfc9111.Change
	}{
		{"no validator", nil, []string{`ETag: "a"`}, rfc9111.Update},
		{"weak and strong", []string{`ETag: "a"`}, []string{`ETag: W/"a"`}, rfc9111.Update},
		{"another tag", []string{`ETag: "b"`}, []string{`ETag: "a"`}, rfc9111.Again},
		{"another date", []string{"Last-Modified: Thu, 01 Jan 2015 03:00:00 GMT"}, []string{modified, "Expires: 0"}, rfc9111.Again},
		{"the same tag, another date", []string{`ETag: "a"`, "Last-Modified: Thu, 01 Jan 2015 03:00:00 GMT"}, []string{`ETag: "a"`, modified, "Expires: 0"}, rfc9111.Update},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out := ask(get(), answer(304, later, c.answer...), c.stored...); out.Change != c.want || (out.Reply != nil) != (c.want == rfc9111.Update) {
				t.Errorf("got %+v, want change %d", out, c.want)
			}
		})
	}
	t.Run("now no-store", func(t *testing.T) {
		out := ask(get(), answer(304, later, "Cache-Control: no-store"), `ETag: "a"`)
		if out.Change != rfc9111.Keep || !slices.Equal(out.Drop, []int{0}) || out.Reply == nil {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("no-store of the request", func(t *testing.T) {
		out := ask(get("Cache-Control: no-store"), answer(304, later), `ETag: "a"`)
		if out.Change != rfc9111.Keep || len(out.Drop) > 0 || out.Reply == nil {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("a condition of the request", func(t *testing.T) {
		if out := ask(get(`If-None-Match: "a"`), answer(304, later, `ETag: "a"`), `ETag: "a"`); out.Reply != nil || out.Change != rfc9111.Keep {
			t.Errorf("got %+v, want the 304 itself", out)
		}
	})
	t.Run("unasked", func(t *testing.T) {
		if out := ask(get(), answer(304, later, `ETag: "a"`), "Cache-Control: max-age=1"); out.Reply != nil || out.Change != rfc9111.Keep {
			t.Errorf("got %+v, want the 304 itself", out)
		}
	})
}

func equal(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return true
}

// It fails if the answer to a HEAD does not renew or drop the stored response to GET.
func TestHead(t *testing.T) {
	head := rfc9111.Request{Method: "HEAD", URL: page}
	entries := []rfc9111.Entry{stored(t, get(), "Cache-Control: max-age=60, stale-while-revalidate=7200", `ETag: "a"`, "Content-Length: 10")}
	if d := rfc9111.Decide(head, entries, t0); d.Action != rfc9111.Serve {
		t.Errorf("fresh: got action %d", d.Action)
	}
	later := t0.Add(time.Hour)
	d := rfc9111.Decide(head, entries, later)
	if d.Action != rfc9111.Fetch || len(d.Condition) > 0 {
		t.Errorf("stale: got action %d, %v", d.Action, d.Condition)
	}
	for _, c := range []struct {
		name   string
		answer rfc9111.Response
		change rfc9111.Change
		drop   []int
	}{
		{"the same", answer(200, later, "Cache-Control: max-age=600", `ETag: "a"`), rfc9111.Update, nil},
		{"another tag", answer(200, later, `ETag: "b"`), rfc9111.Keep, []int{0}},
		{"another length", answer(200, later, "Content-Length: 11"), rfc9111.Keep, []int{0}},
		{"now no-store", answer(200, later, "Cache-Control: no-store"), rfc9111.Keep, []int{0}},
		{"another status", answer(404, later), rfc9111.Keep, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out := d.Answered(c.answer); out.Change != c.change || !slices.Equal(out.Drop, c.drop) || out.Reply != nil {
				t.Errorf("got %+v", out)
			}
			if got := entries[0].Header.Get("Cache-Control"); got != "max-age=60, stale-while-revalidate=7200" {
				t.Errorf("the stored header has changed: %s", got)
			}
		})
	}
	missing := entries[0]
	missing.Status = 404
	d = rfc9111.Decide(head, []rfc9111.Entry{missing}, later)
	if out := d.Answered(answer(200, later)); !slices.Equal(out.Drop, []int{0}) {
		t.Errorf("a page that is there again: got %+v", out)
	}
}

// It fails if a stale response hides an error that no directive permits it to hide, or if an error gets through that one does.
func TestStaleIfError(t *testing.T) {
	for _, c := range []struct {
		name     string
		response string
		request  string
		want     bool
	}{
		{"not permitted", "max-age=60", "", false},
		{"within the window", "max-age=60, stale-if-error=40", "", true},
		{"past the window", "max-age=60, stale-if-error=39", "", false},
		{"by the request", "max-age=60", "stale-if-error=40", true},
		{"the request asks for no-cache", "max-age=60, stale-if-error=40", "no-cache", false},
		{"must-revalidate", "max-age=60, stale-if-error=40, must-revalidate", "stale-if-error=40", false},
		{"no-cache", "no-cache, stale-if-error=4000", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := stored(t, get(), "Cache-Control: "+c.response, `ETag: "a"`)
			now := t0.Add(100 * time.Second)
			d := rfc9111.Decide(get("Cache-Control: "+c.request), []rfc9111.Entry{e}, now)
			if reply, ok := d.Failed(now); ok != c.want || ok && reply.Header.Get("Age") != "100" {
				t.Errorf("no answer: got %t, %v", ok, reply)
			}
			if out := d.Answered(answer(503, now, "Retry-After: 5")); (out.Reply != nil) != c.want || out.Change != rfc9111.Keep {
				t.Errorf("503: got %+v", out)
			}
			if out := d.Answered(answer(404, now)); out.Reply != nil {
				t.Errorf("404: got %+v", out)
			}
		})
	}
}

// It fails if an unsafe request leaves stored responses valid, or makes those of another origin invalid.
func TestInvalidate(t *testing.T) {
	for _, c := range []struct {
		method string
		status int
		lines  []string
		want   []string
	}{
		{"POST", 200, nil, []string{page}},
		{"M-SEARCH", 302, []string{"Location: next"}, []string{page, "https://a.example/dir/next"}},
		{"DELETE", 204, []string{"Content-Location: /x", "Location: https://a.example:443/y"}, []string{page, "https://a.example/y", "https://a.example/x"}},
		{"PUT", 201, []string{"Location: https://b.example/y", "Content-Location: http://a.example/y"}, []string{page}},
		{"PUT", 201, []string{"Location: https://a.example:8443/y"}, []string{page}},
		{"POST", 500, nil, nil},
		{"OPTIONS", 200, nil, nil},
		{"GET", 200, []string{"Content-Location: /x"}, nil},
	} {
		d := rfc9111.Decide(rfc9111.Request{Method: c.method, URL: page}, nil, t0)
		if out := d.Answered(answer(c.status, t0, c.lines...)); d.Action != rfc9111.Fetch || !slices.Equal(out.Invalidate, c.want) {
			t.Errorf("%s, %d, %q: got %q, want %q", c.method, c.status, c.lines, out.Invalidate, c.want)
		}
	}
}
