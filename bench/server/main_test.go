//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/bench/site"
)

// The judge sets plans, reads logs, holds requests back and hears when they have come.
func TestControl(t *testing.T) {
	var c control
	c.site.Store(site.New(1, 0))
	judge := c.handler()
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		judge.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w
	}
	crawlAt := func(s *site.Site, path string) {
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	crawl := func(path string) { crawlAt(c.site.Load(), path) }
	report := func() (r Report) {
		t.Helper()
		if err := json.Unmarshal(ask(http.MethodGet, "/log", "").Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}

	c.count(nil, http.StateNew)
	if w := ask(http.MethodPost, "/plan", `{"Pages":20,"Bytes":100,"Links":3}`); w.Code != http.StatusOK {
		t.Fatalf("plan: %d %s", w.Code, w.Body)
	}
	crawl("/")
	crawl("/p/19")
	crawl("/p/19")
	crawl("/p/20")
	c.count(nil, http.StateNew)
	c.count(nil, http.StateIdle)
	if got, want := report(), (site.Log{Pages: 2, Repeats: 1, Others: 1}); got.Log != want || got.Connections != 1 || got.CPUMicros <= 0 {
		t.Errorf("report %+v, want %+v", got, want)
	}
	if w := ask(http.MethodPost, "/hold?at=4", ""); w.Code != http.StatusOK {
		t.Fatalf("hold: %d", w.Code)
	}
	crawl("/p/1")
	old, held := c.site.Load(), make(chan struct{})
	go func() { defer close(held); crawlAt(old, "/p/2") }()
	if w := ask(http.MethodGet, "/reached?n=4", ""); w.Code != http.StatusOK {
		t.Fatalf("reached: %d", w.Code)
	}
	if got := report().Pages; got != 3 {
		t.Errorf("%d pages while one is held back", got)
	}
	if w := ask(http.MethodPost, "/plan", `{"FanOut":2}`); w.Code != http.StatusOK {
		t.Fatalf("plan: %d %s", w.Code, w.Body)
	}
	<-held // the old site's requests are let go
	if old.Log().Pages != 4 || report().Pages != 0 || report().Connections != 0 {
		t.Errorf("old %+v, new %+v", old.Log(), report())
	}
	for _, bad := range []struct{ method, path, body string }{
		{http.MethodPost, "/plan", `{"Pages":0}`}, {http.MethodPost, "/plan", `{`}, {http.MethodPost, "/hold?at=x", ""}, {http.MethodGet, "/reached", ""},
	} {
		if w := ask(bad.method, bad.path, bad.body); w.Code != http.StatusBadRequest {
			t.Errorf("%s %s %s: %d", bad.method, bad.path, bad.body, w.Code)
		}
	}
}
