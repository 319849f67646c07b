package site

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Every page is reachable, has its links and its item, and is about as long as it should be.
func TestSite(t *testing.T) {
	const pages = 500
	s := New(pages, 20_000)
	seen := map[string]bool{"/": true}
	queue := []string{"/"}
	items := 0
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK || w.Body.Len() < 20_000 || w.Body.Len() > 21_000 {
			t.Fatalf("%s: status %d, %d bytes", path, w.Code, w.Body.Len())
		}
		links := 0
		for z := html.NewTokenizer(bytes.NewReader(w.Body.Bytes())); z.Next() != html.ErrorToken; {
			token := z.Token()
			if token.Data != "a" || token.Type != html.StartTagToken {
				continue
			}
			links++
			if href := token.Attr[0].Val; !seen[href] {
				seen[href] = true
				queue = append(queue, href)
			}
		}
		if links != DefaultLinks {
			t.Errorf("%s has %d links", path, links)
		}
		if strings.Contains(w.Body.String(), "class=\"product\"") {
			items++
		}
	}
	if len(seen) != pages || items < pages*6/10 || items > pages*8/10 {
		t.Errorf("%d pages, %d items", len(seen), items)
	}
	if got, repeats := s.Served(); got != pages || repeats != 0 {
		t.Errorf("served %d, %d repeats", got, repeats)
	}
	s.Reset()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/p/500", nil))
	if got, _ := s.Served(); w.Code != http.StatusNotFound || got != 0 {
		t.Errorf("status %d, %d served", w.Code, got)
	}
}
