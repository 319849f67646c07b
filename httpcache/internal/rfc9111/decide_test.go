package rfc9111_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
)

// t0 is when the stored responses of these tests were asked for and arrived.
var t0 = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const page = "https://a.example/dir/page"

// fields makes a header of lines such as "Vary: Foo".
func fields(lines ...string) http.Header {
	h := make(http.Header)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func get(lines ...string) rfc9111.Request {
	return rfc9111.Request{Method: http.MethodGet, URL: page, Header: fields(lines...)}
}

func answer(status int, at time.Time, lines ...string) rfc9111.Response {
	return rfc9111.Response{Status: status, Header: fields(lines...), Requested: at, Received: at}
}

// stored has a response with 200 stored, as it is after t0.
func stored(t testing.TB, r rfc9111.Request, lines ...string) rfc9111.Entry {
	t.Helper()
	out := rfc9111.Decide(r, nil, t0).Answered(answer(200, t0, lines...))
	if out.Change != rfc9111.Store {
		t.Fatalf("%q is not stored", lines)
	}
	out.Entry.Length = 10
	return out.Entry
}

// It fails if a stored response is used where its directives, or those of the request, forbid it, or not used where they permit it.
func TestDecide(t *testing.T) {
	const tag = `ETag: "a"`
	for _, c := range []struct {
		name     string
		response []string
		request  []string
		after    time.Duration
		want     rfc9111.Action
	}{
		{"fresh", []string{"Cache-Control: max-age=60"}, nil, 59 * time.Second, rfc9111.Serve},
		{"as old as it may be", []string{"Cache-Control: max-age=60"}, nil, time.Minute, rfc9111.Validate},
		{"Age counts", []string{"Cache-Control: max-age=60", "Age: 30"}, nil, 31 * time.Second, rfc9111.Validate},
		{"Date counts", []string{"Cache-Control: max-age=60", "Date: Thu, 01 Jan 2026 11:59:30 GMT"}, nil, 31 * time.Second, rfc9111.Validate},
		{"Age and Date do not add up", []string{"Cache-Control: max-age=60", "Age: 30", "Date: Thu, 01 Jan 2026 11:59:30 GMT"}, nil, 29 * time.Second, rfc9111.Serve},
		{"a Date ahead does not make younger", []string{"Cache-Control: max-age=60", "Date: Thu, 01 Jan 2026 13:00:00 GMT"}, nil, time.Minute, rfc9111.Validate},
		{"a tenth of the time since it was modified", []string{"Last-Modified: Thu, 01 Jan 2026 02:00:00 GMT"}, nil, 59 * time.Minute, rfc9111.Serve},
		{"and not more", []string{"Last-Modified: Thu, 01 Jan 2026 02:00:00 GMT"}, nil, time.Hour, rfc9111.Validate},
		{"a day at most", []string{"Last-Modified: Thu, 01 Jan 2015 02:00:00 GMT"}, nil, 24 * time.Hour, rfc9111.Validate},
		{"s-maxage is not ours", []string{"Cache-Control: s-maxage=60", tag}, nil, 0, rfc9111.Validate},
		{"private", []string{"Cache-Control: private, max-age=60"}, nil, 0, rfc9111.Serve},
		{"no-cache", []string{"Cache-Control: max-age=60, no-cache", tag}, nil, 0, rfc9111.Validate},
		{"no-cache of some fields", []string{`Cache-Control: max-age=60, no-cache="A"`}, nil, 0, rfc9111.Serve},
		{"no-cache of the request", []string{"Cache-Control: max-age=60"}, []string{"Cache-Control: no-cache"}, 0, rfc9111.Validate},
		{"max-age of the request", []string{"Cache-Control: max-age=60"}, []string{"Cache-Control: max-age=10"}, 10 * time.Second, rfc9111.Validate},
		{"a reload", []string{"Cache-Control: max-age=60"}, []string{"Cache-Control: max-age=0"}, 0, rfc9111.Validate},
		{"a reload of what is immutable", []string{"Cache-Control: max-age=60, immutable"}, []string{"Cache-Control: max-age=0"}, 0, rfc9111.Serve},
		{"immutable and stale", []string{"Cache-Control: max-age=60, immutable"}, nil, time.Minute, rfc9111.Validate},
		{"min-fresh", []string{"Cache-Control: max-age=60"}, []string{"Cache-Control: min-fresh=31"}, 30 * time.Second, rfc9111.Validate},
		{"max-stale", []string{"Cache-Control: max-age=60"}, []string{"Cache-Control: max-stale=5"}, 65 * time.Second, rfc9111.ServeStale},
		{"past max-stale", []string{"Cache-Control: max-age=60"}, []string{"Cache-Control: max-stale=5"}, 66 * time.Second, rfc9111.Validate},
		{"max-stale without end", []string{"Cache-Control: max-age=60"}, []string{"Cache-Control: max-stale"}, 1000 * time.Hour, rfc9111.ServeStale},
		{"max-stale and must-revalidate", []string{"Cache-Control: max-age=60, must-revalidate"}, []string{"Cache-Control: max-stale"}, time.Minute, rfc9111.Validate},
		{"stale-while-revalidate", []string{"Cache-Control: max-age=60, stale-while-revalidate=10"}, nil, 70 * time.Second, rfc9111.ServeWhileRevalidating},
		{"past stale-while-revalidate", []string{"Cache-Control: max-age=60, stale-while-revalidate=10"}, nil, 71 * time.Second, rfc9111.Validate},
		{"stale-while-revalidate and must-revalidate", []string{"Cache-Control: max-age=60, stale-while-revalidate=10, must-revalidate"}, nil, 65 * time.Second, rfc9111.Validate},
		{"stale-while-revalidate for one who wants it fresh", []string{"Cache-Control: max-age=60, stale-while-revalidate=10"}, []string{"Cache-Control: min-fresh=0"}, 65 * time.Second, rfc9111.Validate},
		{"only-if-cached, fresh", []string{"Cache-Control: max-age=60"}, []string{"Cache-Control: only-if-cached"}, 0, rfc9111.Serve},
		{"only-if-cached, stale", []string{"Cache-Control: max-age=60"}, []string{"Cache-Control: only-if-cached"}, time.Minute, rfc9111.Refuse},
		{"a condition for the origin alone", []string{"Cache-Control: max-age=60"}, []string{`If-Match: "a"`}, 0, rfc9111.Fetch},
		{"a condition of the request, stale", []string{"Cache-Control: max-age=60", tag}, []string{`If-None-Match: "b"`}, time.Minute, rfc9111.Fetch},
		{"a clock that was set back", []string{"Cache-Control: max-age=60"}, nil, -time.Hour, rfc9111.Serve},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := stored(t, get(), c.response...)
			if d := rfc9111.Decide(get(c.request...), []rfc9111.Entry{e}, t0.Add(c.after)); d.Action != c.want {
				t.Errorf("got action %d, want %d", d.Action, c.want)
			}
		})
	}
	t.Run("the time that the answer took", func(t *testing.T) {
		e := stored(t, get(), "Cache-Control: max-age=60", "Age: 30")
		e.Requested = t0.Add(-10 * time.Second)
		if d := rfc9111.Decide(get(), []rfc9111.Entry{e}, t0.Add(20*time.Second)); d.Action != rfc9111.Validate {
			t.Errorf("got action %d", d.Action)
		}
	})
	t.Run("nothing stored", func(t *testing.T) {
		if d := rfc9111.Decide(get(), nil, t0); d.Action != rfc9111.Fetch || d.Entry != -1 {
			t.Errorf("got %+v", d)
		}
		if d := rfc9111.Decide(get("Cache-Control: only-if-cached"), nil, t0); d.Action != rfc9111.Refuse {
			t.Errorf("only-if-cached: got action %d", d.Action)
		}
	})
}

// It fails if one variant answers for another, replaces it, or stays beside the one that replaces it.
func TestVariants(t *testing.T) {
	lines := []string{"Cache-Control: max-age=60", "Vary: Foo, Accept-Encoding"}
	entries := []rfc9111.Entry{stored(t, get("Foo: 1"), lines...), stored(t, get("Foo: 2", "Accept-Encoding: gzip, br"), lines...),
		stored(t, get("Foo: "), lines...)}
	for _, c := range []struct {
		request rfc9111.Request
		want    int
	}{
		{get("Foo: 1"), 0},
		{get("Foo:  1 "), 0},
		{get("Foo: 1", "Bar: 2"), 0},
		{get("Foo: 1", "Accept-Encoding: gzip"), -1},
		{get("Foo: 2", "Accept-Encoding: GZIP", "Accept-Encoding: br"), 1},
		{get("Foo: "), 2},
		{get(), -1},
	} {
		d := rfc9111.Decide(c.request, entries, t0)
		if d.Entry != c.want || (d.Action == rfc9111.Serve) != (c.want >= 0) {
			t.Errorf("%v: got entry %d and action %d, want %d", c.request.Header, d.Entry, d.Action, c.want)
		}
		want := []int{c.want}
		if c.want < 0 {
			want = nil
		}
		if out := d.Answered(answer(200, t0, lines...)); !slices.Equal(out.Drop, want) {
			t.Errorf("%v: a new answer drops %v, want %v", c.request.Header, out.Drop, want)
		}
	}
	newer := entries[0]
	newer.Header = newer.Header.Clone()
	newer.Header.Set("Date", t0.Add(time.Second).Format(http.TimeFormat))
	if d := rfc9111.Decide(get("Foo: 1"), []rfc9111.Entry{newer, entries[0]}, t0); d.Entry != 0 {
		t.Errorf("of two that match got entry %d, want the newer", d.Entry)
	}
}

// BenchmarkDecide is what a hit costs, without the body.
func BenchmarkDecide(b *testing.B) {
	r := get("Accept: text/html", "Accept-Language: en, de;q=0.5", "User-Agent: tegenaria")
	entries := []rfc9111.Entry{stored(b, r, "Cache-Control: public, max-age=600, stale-while-revalidate=60", `ETag: "5f3a"`,
		"Last-Modified: Thu, 01 Jan 2015 02:00:00 GMT", "Vary: Accept-Language", "Content-Type: text/html", "Server: nginx")}
	b.ReportAllocs()
	for b.Loop() {
		if d := rfc9111.Decide(r, entries, t0); d.Action != rfc9111.Serve {
			b.Fatal(d.Action)
		}
	}
}
