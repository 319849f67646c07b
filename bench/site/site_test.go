package site

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"
)

// get asks a site for a URL as a client at port 80 would.
func get(s *Site, address string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, address, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// references are the values of the href attributes of a page.
func references(body []byte) (list []string) {
	for z := html.NewTokenizer(bytes.NewReader(body)); z.Next() != html.ErrorToken; {
		if token := z.Token(); token.Data == "a" && token.Type == html.StartTagToken {
			for _, a := range token.Attr {
				if a.Key == "href" {
					list = append(list, a.Val)
				}
			}
		}
	}
	return list
}

// Every page is reachable by links, has as many as the plan says and about as many bytes, and seven in ten have an item.
func TestSite(t *testing.T) {
	const pages = 500
	for name, plan := range map[string]Plan{
		"2 KB":       {Pages: pages, Bytes: 2_000, Links: 13},
		"20 KB":      {Pages: pages, Bytes: 20_000, Links: 34},
		"100 KB":     {Pages: 50, Bytes: 100_000, Links: 100},
		"queries":    {Pages: pages, Bytes: 2_000, Links: 13, Queries: true},
		"many hosts": {Pages: pages, Bytes: 4_000, Links: 13, Hosts: 300},
		"markup":     {Pages: pages, Bytes: 20_000, Links: 34, Markup: true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := plan.Check(); err != nil {
				t.Fatal(err)
			}
			s := FromPlan(plan)
			start, _ := url.Parse("http://127.0.0.1:8080/")
			seen := map[string]bool{sorted(start): true}
			queue := []*url.URL{start}
			items, fragments, others := 0, 0, map[string]bool{}
			for len(queue) > 0 {
				at := queue[0]
				queue = queue[1:]
				w := get(s, at.String())
				if size := w.Body.Len(); w.Code != http.StatusOK || size < plan.Bytes || size > plan.Bytes+1_700 {
					t.Fatalf("%s: status %d, %d bytes", at, w.Code, size)
				}
				body := w.Body.Bytes()
				list := references(body)
				if len(list) != plan.Links {
					t.Errorf("%s has %d links", at, len(list))
				}
				for _, ref := range list {
					link, err := at.Parse(ref)
					if err != nil {
						t.Fatal(err)
					}
					if link.Fragment != "" {
						fragments++
						link.Fragment = ""
					}
					others[link.String()] = true
					if key := sorted(link); !seen[key] {
						seen[key] = true
						queue = append(queue, link)
					}
				}
				if bytes.Contains(body, []byte("class=\"product\"")) {
					items++
				}
			}
			if len(seen) != plan.Pages || items != len(plan.Items()) || items < plan.Pages*6/10 || items > plan.Pages*8/10 {
				t.Errorf("%d pages, %d items", len(seen), items)
			}
			if got := s.Log(); got != (Log{Pages: plan.Pages}) {
				t.Errorf("log %+v", got)
			}
			if fragments == 0 {
				t.Error("no link has a fragment")
			}
			if permuted := len(others) > len(seen); permuted != plan.Queries {
				t.Errorf("%d spellings of %d pages", len(others), len(seen))
			}
		})
	}
}

// sorted is a URL with its query sorted.
func sorted(u *url.URL) string {
	v := *u
	v.RawQuery = u.Query().Encode()
	return v.String()
}

// A site follows from its plan alone: these are the pages that published figures were measured with.
func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		plan Plan
		want string
	}{
		"20 KB":   {Plan{Pages: 1000, Bytes: 20_000, Links: 34}, "a92d020945701497"},
		"queries": {Plan{Pages: 1000, Bytes: 2_000, Links: 13, Queries: true}, "2fd3440c37c6e7b5"},
		"fan-out": {Plan{FanOut: 50}, "08c3d00bb4664676"},
		"markup":  {Plan{Pages: 1000, Bytes: 20_000, Links: 34, Markup: true}, "4fe60fac4dbfd55d"},
	} {
		t.Run(name, func(t *testing.T) {
			sum := sha256.New()
			for page := range 100 {
				one, two := FromPlan(c.plan).Body(page, "80"), c.plan.Body(page, "80")
				if !bytes.Equal(one, two) {
					t.Fatalf("page %d differs", page)
				}
				sum.Write(one)
			}
			if got := fmt.Sprintf("%x", sum.Sum(nil)[:8]); got != c.want {
				t.Errorf("the pages are others than they were: %s, want %s", got, c.want)
			}
		})
	}
}

// A site without end: every link leads to a page of its own, and a URL has 55 bytes.
func TestFanOut(t *testing.T) {
	s := FromPlan(Plan{FanOut: 50})
	seen := map[string]bool{"/": true}
	queue := []string{"/"}
	for range 200 {
		path := queue[0]
		queue = queue[1:]
		w := get(s, path)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d", path, w.Code)
		}
		list := references(w.Body.Bytes())
		for _, ref := range list {
			if seen[ref] || len("http://127.0.0.1:12345"+ref) != 55 {
				t.Fatalf("%s links to %s", path, ref)
			}
			seen[ref] = true
			queue = append(queue, ref)
		}
		if len(list) != 50 {
			t.Fatalf("%s has %d links", path, len(list))
		}
	}
	if got := s.Log(); got != (Log{Pages: 200}) {
		t.Errorf("log %+v", got)
	}
}

// What is asked for and is no page is counted as something else, and a page that is asked for twice as a repeat.
func TestLog(t *testing.T) {
	queries, hosts := Plan{Pages: 20, Links: 5, Queries: true}, Plan{Pages: 20, Links: 5, Hosts: 3}
	plain := Plan{Pages: 20, Links: 5}
	for name, c := range map[string]struct {
		plan Plan
		ask  []string
		want Log
	}{
		"pages":              {plain, []string{"/", "/p/1", "/p/19"}, Log{Pages: 3}},
		"repeats":            {plain, []string{"/", "/p/1", "/p/1", "/p/1", "/"}, Log{Pages: 2, Repeats: 3}},
		"beyond":             {plain, []string{"/p/20", "/p/-1"}, Log{Others: 2}},
		"other spellings":    {plain, []string{"/p/01", "/p/+1", "/p/0", "/p/", "/p", "/q/1", "/robots.txt", "/?a=1"}, Log{Others: 8}},
		"a query":            {queries, []string{queries.Reference(3)}, Log{Pages: 1}},
		"a permuted query":   {queries, []string{queries.Reference(3), string(queries.appendReference(nil, 3, true))}, Log{Pages: 1, Repeats: 1}},
		"a part of a query":  {queries, []string{"/p/3", queries.Reference(3) + "&d=1", strings.Replace(queries.Reference(3), "a=", "a=1", 1)}, Log{Others: 3}},
		"the host of a page": {hosts, []string{"http://127.0.0.1/", "http://127.0.0.2:80/p/1", "http://127.0.0.3/p/5"}, Log{Pages: 3}},
		"another host":       {hosts, []string{"http://127.0.0.2/", "http://localhost/p/1", "http://127.0.0.9/p/5"}, Log{Others: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := FromPlan(c.plan)
			for _, address := range c.ask {
				get(s, address)
			}
			if got := s.Log(); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if pages, repeats := s.Served(); pages != c.want.Pages || repeats != c.want.Repeats {
				t.Errorf("served %d, %d", pages, repeats)
			}
			s.Reset()
			if got := s.Log(); got != (Log{}) {
				t.Errorf("after Reset: %+v", got)
			}
		})
	}
}

// Whoever accepts gzip gets the same page compressed.
func TestGzip(t *testing.T) {
	plan := Plan{Pages: 10, Bytes: 20_000, Links: 34, Gzip: true}
	plain := get(FromPlan(plan), "/p/3").Body.Bytes()
	w := get(FromPlan(plan), "/p/3", "Accept-Encoding", "br, gzip")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() > len(plain)/2 {
		t.Fatalf("%v, %d bytes", w.Header(), w.Body.Len())
	}
	r, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(plain))
	}
}

// An answer takes the latency; requests above the number wait until they are let through.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := FromPlan(Plan{Pages: 20, Links: 5, Latency: 50 * time.Millisecond})
		begin := time.Now()
		get(s, "/")
		if took := time.Since(begin); took != 50*time.Millisecond {
			t.Errorf("took %v", took)
		}
		s.HoldAt(3)
		for page := 1; page < 6; page++ {
			go get(s, s.Reference(page))
		}
		reached := make(chan error, 1)
		go func() { reached <- s.Reached(t.Context(), 5) }()
		if err := s.Reached(t.Context(), 3); err != nil {
			t.Error(err)
		}
		<-time.After(time.Second)
		if got := s.Log().Pages; got != 3 {
			t.Errorf("%d pages are served", got)
		}
		select {
		case err := <-reached:
			t.Errorf("5 were reached: %v", err)
		default:
		}
		s.HoldAt(0)
		if err := <-reached; err != nil {
			t.Error(err)
		}
		<-time.After(time.Second)
		if got := s.Log().Pages; got != 6 {
			t.Errorf("%d pages are served", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Reached(ctx, 7); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("7 reached: %v", err)
		}
	})
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		plan Plan
		ok   bool
	}{
		"plain":            {Plan{Pages: 1, Links: 3}, true},
		"without end":      {Plan{FanOut: 1}, true},
		"no pages":         {Plan{Links: 3}, false},
		"too few links":    {Plan{Pages: 1, Links: 2}, false},
		"negative":         {Plan{Pages: 1, Links: 3, Bytes: -1}, false},
		"too many hosts":   {Plan{Pages: 1, Links: 3, Hosts: maxHosts + 1}, false},
		"fan-out, queries": {Plan{FanOut: 1, Queries: true}, false},
	} {
		if err := c.plan.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Pages with markup spell their links in five ways, and have hrefs in scripts and comments that lead nowhere.
func TestSpellings(t *testing.T) {
	p := Plan{Pages: 1000, Bytes: 20_000, Links: 34, Markup: true}
	ways := make(map[string]int)
	for page := range 20 {
		body := p.Body(page, "8080")
		if n := bytes.Count(body, []byte("/p/none")); n != 2 {
			t.Errorf("page %d has %d hrefs that are no links", page, n)
		}
		for i, ref := range references(body) {
			way := ref[:1]
			for _, begin := range []string{"http://", "//", "../a/", "../", "/"} {
				if strings.HasPrefix(ref, begin) {
					way = begin
					break
				}
			}
			if way[0] >= '0' && way[0] <= '9' || way == "p" {
				way = "relative"
			}
			ways[way]++
			at, _ := url.Parse("http://127.0.0.1:8080" + p.Reference(page))
			link, err := at.Parse(ref)
			if want := "http://127.0.0.1:8080" + p.Reference(p.target(page, i)); err != nil || strings.TrimSuffix(link.String(), "#"+link.Fragment) != want {
				t.Errorf("page %d: %s leads to %s, %v, want %s", page, ref, link, err, want)
			}
		}
	}
	for _, way := range []string{"http://", "//", "/", "../a/", "relative"} {
		if ways[way] < 50 {
			t.Errorf("%d links are spelled as %s: %v", ways[way], way, ways)
		}
	}
}
