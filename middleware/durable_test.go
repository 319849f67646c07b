package middleware_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// What a job has stored is there when it goes on, session cookies and all jars.
func TestDurableCookies(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/", HttpOnly: true})
		}
	})
	login := func(jar string) *tegenaria.Request {
		return tegenaria.NewRequest(s.URL+"/login", "GET", nil, tegenaria.RequestWithDoNotFilter(true),
			tegenaria.RequestWithRequestMeta(map[string]any{middleware.MetaCookieJar: jar}))
	}
	first := &checkpoints{DurableCookies: middleware.NewDurableCookies(middleware.CookieOptions{})}
	crawlWith(t, start(nothing, login(""), login("two")), set(first))
	if first.last == nil || first.restored != 1 {
		t.Fatalf("the engine stored %q and restored %d times", first.last, first.restored)
	}
	again := middleware.NewDurableCookies(middleware.CookieOptions{})
	if err := again.Restore(t.Context(), first.last); err != nil {
		t.Fatal(err)
	}
	if got := again.Jars(); !slices.Equal(got, []string{"", "two"}) {
		t.Errorf("jars %q", got)
	}
	crawlWith(t, tegenaria.NewSpider("test", nothing, s.URL+"/page"), set(again))
	visits := s.visits()
	if got := visits[len(visits)-1].Header.Get("Cookie"); got != "session=1" {
		t.Errorf("the job goes on with %q", got)
	}
}

// checkpoints writes down what the engine does with a committer.
type checkpoints struct {
	*middleware.DurableCookies
	last     []byte
	restored int
}

func (c *checkpoints) Restore(ctx context.Context, checkpoint []byte) error {
	c.restored++
	return c.DurableCookies.Restore(ctx, checkpoint)
}

func (c *checkpoints) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	checkpoint, err := c.DurableCookies.Prepare(ctx, ids)
	c.last = checkpoint
	return checkpoint, err
}

func TestDurableCookiesCheckpoint(t *testing.T) {
	m := middleware.NewDurableCookies(middleware.CookieOptions{})
	empty, err := m.Prepare(t.Context(), nil)
	if err != nil || string(empty) != "{}" {
		t.Errorf("of nothing: %q, %v", empty, err)
	}
	const url = "https://a.example/"
	roundTrip(t, m.Cookies, url, url, "Set-Cookie", "a=1; secure", "Set-Cookie", "__Host-b=2; secure; path=/; samesite=strict")
	one, err := m.Prepare(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if two, _ := m.Prepare(t.Context(), nil); &one[0] != &two[0] {
		t.Error("what did not change is written again")
	}
	again := middleware.NewDurableCookies(middleware.CookieOptions{})
	if err := again.Restore(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if three, _ := again.Prepare(t.Context(), nil); !bytes.Equal(one, three) {
		t.Errorf("stored again:\n%s\nwas\n%s", three, one)
	}
	if err := again.Restore(t.Context(), []byte("nonsense")); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("of nonsense: %v", err)
	}
	if err := again.Restore(t.Context(), nil); err != nil {
		t.Errorf("of a new job: %v", err)
	}
	again.Discard("x")
	if got := roundTrip(t, again.Cookies, url, url); got != "a=1; __Host-b=2" {
		t.Errorf("after Discard %q is sent", got)
	}
}

// An endless calendar on a real server, which counts what it was asked for.
func TestTrapGuardOnTheNetwork(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var year, month int
		fmt.Sscanf(r.URL.Path, "/cal/%d/%d", &year, &month)
		next := year*12 + month
		if year == 0 {
			page(w, "/about")
			return
		}
		page(w, fmt.Sprintf("/cal/%04d/%02d", next/12, next%12+1), fmt.Sprintf("/event/%d", next), "/about")
	})
	guard := middleware.NewTrapGuard(middleware.TrapOptions{Budget: 30})
	stats := crawl(t, followAll, set(guard), s.URL+"/cal/2026/01")
	months, events := 0, 0
	for _, path := range s.paths() {
		switch {
		case strings.HasPrefix(path, "/cal/"):
			months++
		case strings.HasPrefix(path, "/event/"):
			events++
		}
	}
	if months != 30 || events != 30 || stats.Reasons["filtered: trap: calendar"] != 1 {
		t.Errorf("the server was asked for %d months and %d events; %v", months, events, stats.Reasons)
	}
}

// Row 3 of Scrapy's own tests: following and duplicates, with the standard set.
func TestStandardFollows(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/follow" {
			page(w)
			return
		}
		var links []string
		for i := range 10 {
			links = append(links, fmt.Sprintf("/n/%d", i))
		}
		page(w, links...)
	})
	if stats := crawl(t, followAll, middleware.Standard(), s.URL+"/follow"); stats.Outcomes[tegenaria.Fetched] != 11 || len(s.visits()) != 11 {
		t.Errorf("%d visits, %v", len(s.visits()), stats.Outcomes)
	}
	for _, tt := range []struct {
		name              string
		filter            bool
		requests, want, n int
	}{{"not filtered", false, 2, 6, 3}, {"filtered", true, 4, 3, 3}} {
		before := len(s.visits())
		var requests []*tegenaria.Request
		for range tt.requests {
			for i := range tt.n {
				requests = append(requests, tegenaria.NewRequest(fmt.Sprintf("%s/d/%d", s.URL, i), "GET", nil, tegenaria.RequestWithDoNotFilter(!tt.filter)))
			}
		}
		crawlWith(t, start(nothing, requests...), middleware.Standard())
		if got := len(s.visits()) - before; got != tt.want {
			t.Errorf("%s: %d visits, want %d", tt.name, got, tt.want)
		}
	}
}
