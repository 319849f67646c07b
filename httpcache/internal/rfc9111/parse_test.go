package rfc9111_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// lifetime finds by trial how long a response is fresh: to the second, up to a limit.
func lifetime(t *testing.T, lines ...string) time.Duration {
	t.Helper()
	e := stored(t, get(), append(lines, `ETag: "a"`)...)
	low, high := time.Duration(0), 200*366*24*time.Hour/time.Second // fresh for low seconds, not for high
	for low < high {
		middle := (low + high) / 2
		if rfc9111.Decide(get(), []rfc9111.Entry{e}, t0.Add(middle*time.Second)).Action == rfc9111.Serve {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low * time.Second
}

// It fails if a header field that is written in an unusual way or is rubbish is not read as its RFC says.
func TestFreshness(t *testing.T) {
	const endless = time.Second << 31 // what stands for longer times
	for _, c := range []struct {
		line string
		want time.Duration
	}{
		{"Cache-Control: max-age=60", time.Minute},
		{"Cache-Control: ,, foo , MAX-Age=060 ,", time.Minute},
		{`Cache-Control: max-age="60"`, time.Minute},
		{`Cache-Control: max-age="6\0"`, time.Minute},
		{"Cache-Control: max-age=60, max-age=90", time.Minute},
		{`Cache-Control: a="max-age=90, b", max-age=60`, time.Minute},
		{`Cache-Control: a="\", max-age=90", max-age=60`, time.Minute},
		{`Cache-Control: a="max-age=90`, 0},
		{"Cache-Control: max-age=99999999999999999999999999", endless},
		{"Cache-Control: max-age=-60", 0},
		{"Cache-Control: max-age=60.0", 0},
		{"Cache-Control: max-age='60'", 0},
		{"Cache-Control: max-age= 60", 0},
		{"Cache-Control: max-age =60", 0},
		{"Cache-Control: max-age", 0},
		{"Cache-Control: max-age=60s", 0},
		{"Cache-Control: max-age=60, no-cache", 0},
		{`Cache-Control: max-age=60, no-cache=""`, 0},
		{"Expires: Thu, 01 Jan 2026 12:01:00 GMT", time.Minute},
		{"Expires: tHU, 01 jAN 2026 12:01:00 gmt", time.Minute},
		{"Expires: Thursday, 01-Jan-26 12:01:00 GMT", time.Minute},
		{"Expires: Thu Jan  1 12:01:00 2026", time.Minute},
		{"Expires: Thursday, 01-Jan-77 12:01:00 GMT", 0}, // 1977
		{"Expires: Thu, 01 Jan 9999 12:01:00 GMT", endless},
		{"Expires: Fri, 02 Jan 2026 2:01:00 GMT", 0},
		{"Expires: Friday, 02-Jan-26 2:01:00 GMT", 0},
		{"Expires: Thu, 01 Jan 2026 12:01:00 UTC", 0},
		{"Expires: Thu, 01 Jan 2026 12:01:00", 0},
		{"Expires: Thu, 01-Jan-2026 12:01:00 GMT", 0},
		{"Expires: Thu 01 Jan 2026 12:01:00 GMT", 0},
		{"Expires: Thu, 01 Jan 26 12:01:00 GMT", 0},
		{"Expires: 0", 0},
		{"Expires: GMT", 0},
	} {
		if got := lifetime(t, c.line); got != c.want {
			t.Errorf("%s: fresh for %s, want %s", c.line, got, c.want)
		}
	}
	for _, c := range []struct {
		line string
		want time.Duration // left of an hour
	}{
		{"Age: 600", 50 * time.Minute},
		{"Age: 600, 0", 50 * time.Minute},
		{"Age: 0, 600", time.Hour},
		{"Age: -600", time.Hour},
		{"Age: 600.0", time.Hour},
		{"Age: 600;a=b", time.Hour},
		{"Age: 99999999999999999999999999", 0},
		{"Date: Thu, 01 Jan 2026 11:50:00 GMT", 50 * time.Minute},
		{"Date: yesterday", time.Hour},
		{"Date: Thu, 01 Jan 0001 11:50:00 GMT", 0},
	} {
		if got := lifetime(t, "Cache-Control: max-age=3600", c.line); got != c.want {
			t.Errorf("%s: fresh for %s, want %s", c.line, got, c.want)
		}
	}
}

// It fails if what is not an entity tag is sent as a condition: * would hold for every response.
func TestEntityTags(t *testing.T) {
	for tag, want := range map[string]bool{
		`"a"`: true, `W/"a"`: true, `""`: true, "\"\u00fc\"": true,
		"*": false, "a": false, `w/"a"`: false, `"a", "b"`: false, `"a b"`: false, `"a`: false, `"`: false, `W/`: false,
	} {
		e := stored(t, get(), "Cache-Control: max-age=0, stale-if-error=1", "ETag: "+tag)
		if got := rfc9111.Decide(get(), []rfc9111.Entry{e}, t0).Condition.Get("If-None-Match"); (got == tag) != want || !want && got != "" {
			t.Errorf("%s: If-None-Match is %q", tag, got)
		}
	}
}

// It fails if very long header fields, or ten thousand variants, get a wrong answer. In a deep check the fields have a megabyte and the
// answers have to come soon.
func TestLargeInput(t *testing.T) {
	size := deep.Rounds(1<<17, 1<<20)
	long := func(part string) string { return strings.Repeat(part, size/len(part)) }
	took := func(name string, work func()) {
		from := time.Now()
		work()
		if elapsed := time.Since(from); deep.Checks() && elapsed > 2*time.Second {
			t.Errorf("%s took %s", name, elapsed)
		}
	}
	for _, part := range []string{"a,", "no-cache=a,", `a="`, `\"`, ",", "max-age=1,", "max-stale,", `no-cache="a`, " ", "9", `"`} {
		took("Cache-Control of "+part, func() {
			e := stored(t, get(), "Cache-Control: max-age=60", "Cache-Control: "+long(part), `ETag: "a"`)
			rfc9111.Decide(get("Cache-Control: "+long(part)), []rfc9111.Entry{e}, t0)
		})
	}
	for _, name := range []string{"Age", "Date", "Expires", "ETag", "Last-Modified"} {
		for _, part := range []string{"9", "a", `"`, ",", " ", "GMT"} {
			took(name+" of "+part, func() {
				e := stored(t, get(), "Cache-Control: stale-if-error=1", name+": "+long(part))
				d := rfc9111.Decide(get("If-None-Match: "+long(`"b",`), "If-Modified-Since: "+long(part), "Range: bytes="+long(part)), []rfc9111.Entry{e}, t0)
				if d.Action != rfc9111.Fetch {
					t.Errorf("%s of many %q: got action %d", name, part, d.Action)
				}
			})
		}
	}
	took("Vary", func() {
		var names strings.Builder
		for i := 0; names.Len() < size; i++ {
			fmt.Fprintf(&names, "N%d,", i)
		}
		out := rfc9111.Decide(get(), nil, t0).Answered(answer(200, t0, "Cache-Control: max-age=1", "Vary: "+names.String()))
		if out.Change != rfc9111.Keep {
			t.Errorf("a Vary with very many names is stored")
		}
		value := "Foo: " + long("a,")
		e := stored(t, get(value), "Cache-Control: max-age=1", "Vary: "+long("Foo,"))
		if d := rfc9111.Decide(get(value), []rfc9111.Entry{e}, t0); d.Action != rfc9111.Serve {
			t.Errorf("a Vary that repeats a name: got action %d", d.Action)
		}
	})
	took("variants", func() {
		var entries []rfc9111.Entry
		for i := range 10_000 {
			entries = append(entries, stored(t, get(fmt.Sprintf("Foo: %d", i)), "Cache-Control: max-age=1", "Vary: Foo"))
		}
		d := rfc9111.Decide(get("Foo: 5000"), entries, t0)
		if out := d.Answered(answer(200, t0, "Cache-Control: max-age=1", "Vary: Foo")); d.Entry != 5000 || len(out.Drop) != 1 {
			t.Errorf("got entry %d, drops %v", d.Entry, out.Drop)
		}
	})
}

// FuzzCacheControl: whatever else stands in Cache-Control, no-store, no-cache and only-if-cached in a line of their own are obeyed.
func FuzzCacheControl(f *testing.F) {
	f.Add("max-age=60, private", "max-stale=5")
	f.Add(`no-cache="a, b", max-age="60"`, "min-fresh=1, max-age=0")
	f.Add(`a="\`, "stale-if-error=99999999999999999999")
	f.Fuzz(func(t *testing.T, said, asked string) {
		header := func(lines ...string) http.Header { return http.Header{"Cache-Control": lines, "Etag": {`"a"`}} }
		request := rfc9111.Request{Method: http.MethodGet, URL: page, Header: http.Header{"Cache-Control": {asked}}}
		fresh := rfc9111.Decide(get(), nil, t0)
		store := func(lines ...string) rfc9111.Outcome {
			return fresh.Answered(rfc9111.Response{Status: 299, Header: header(lines...), Requested: t0, Received: t0})
		}
		if store("no-store, max-age=60", said).Change == rfc9111.Store && !strings.Contains(strings.ToLower(said), "must-understand") {
			t.Errorf("%q: stored in spite of no-store", said)
		}
		out := store("no-cache, max-age=60", said)
		if out.Change == rfc9111.Store {
			for _, after := range []time.Duration{0, time.Hour} {
				switch d := rfc9111.Decide(request, []rfc9111.Entry{out.Entry}, t0.Add(after)); d.Action {
				case rfc9111.Validate, rfc9111.Refuse:
				default:
					t.Errorf("%q, %q: action %d in spite of no-cache", said, asked, d.Action)
				}
			}
		}
		request.Header["Cache-Control"] = []string{"only-if-cached", asked}
		if d := rfc9111.Decide(request, nil, t0); d.Action != rfc9111.Refuse {
			t.Errorf("%q: action %d in spite of only-if-cached", asked, d.Action)
		}
		deep.Growth(t, deep.Stretched([]byte(said)), func(data []byte) { store(string(data)) })
	})
}

// FuzzVary: a response answers the request that it was stored for, and no request that differs by more than spaces, commas, quotes
// and case in a field that its Vary names.
func FuzzVary(f *testing.F) {
	f.Add("Foo", "1", "2")
	f.Add("accept-language , Foo", "en, de", "de")
	f.Add(`Foo,*`, `"a, b"`, `"a,b"`)
	f.Fuzz(func(t *testing.T, vary, first, second string) {
		const name = "Accept-Language"
		request := func(value string) rfc9111.Request {
			return rfc9111.Request{Method: http.MethodGet, URL: page, Header: http.Header{name: {value}}}
		}
		a := rfc9111.Response{Status: 200, Header: http.Header{"Cache-Control": {"max-age=60"}, "Vary": {name, vary}}, Requested: t0, Received: t0}
		out := rfc9111.Decide(request(first), nil, t0).Answered(a)
		if out.Change != rfc9111.Store {
			return
		}
		if strings.Contains(vary, "*") && !strings.Contains(vary, `"`) && strings.Trim(vary, "*, \t") == "" {
			t.Errorf("%q is stored", vary)
		}
		entries := []rfc9111.Entry{out.Entry}
		if d := rfc9111.Decide(request(first), entries, t0); d.Action != rfc9111.Serve {
			t.Errorf("%q, %q: its own request gets action %d", vary, first, d.Action)
		}
		if d := rfc9111.Decide(rfc9111.Request{Method: http.MethodGet, URL: page}, entries, t0); d.Action == rfc9111.Serve {
			t.Errorf("%q, %q: a request without the field is answered", vary, first)
		}
		bare := func(s string) string {
			return strings.ToLower(strings.Map(func(r rune) rune {
				if strings.ContainsRune(" \t,", r) {
					return -1
				}
				return r
			}, s))
		}
		if d := rfc9111.Decide(request(second), entries, t0); d.Action == rfc9111.Serve && bare(first) != bare(second) {
			t.Errorf("%q: the response to %q answers %q", vary, first, second)
		}
		deep.Growth(t, deep.Stretched([]byte(vary)), func(data []byte) {
			a := a
			a.Header = http.Header{"Cache-Control": {"max-age=60"}, "Vary": {string(data)}}
			rfc9111.Decide(request(string(data)), nil, t0).Answered(a)
		})
	})
}
