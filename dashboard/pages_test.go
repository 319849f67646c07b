package dashboard_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// get returns a page.
func get(t *testing.T, board *dashboard.Board, path, token string) string {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	board.ServeHTTP(w, r)
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%s: %d, %v", path, w.Code, w.Header())
	}
	return w.Body.String()
}

// What sites, spiders and errors are called is shown as text, cut, and with no password.
func TestHostileTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const evil = "\u202e" + `</title><script src="//evil.example/x.js"></script><img src=x onerror=alert(1)>"'`
		w := enginetest.NewWorld()
		var seeds []string
		for i := range 300 {
			page := fmt.Sprintf("http://me:s3cret@a%d.test/?q=%s%d", i, `<script>x</script>"'`, i)
			seeds = append(seeds, page)
			text := evil + strings.Repeat("long ", 1<<18)
			if i > 0 {
				text = fmt.Sprintf("%s %c kind", evil, rune('Ā'+i)) // each of a kind of its own
			}
			w.Page(page, func(*tegenaria.Context) (*tegenaria.Response, error) {
				if i == 0 {
					enginetest.Sleep(5 * time.Second)
				}
				return nil, fmt.Errorf("%s", text)
			})
		}
		spider := enginetest.NewSpider(seeds...)
		spider.Name = "s" + evil
		e := enginetest.NewEngine(w, spider, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Second}))
		board := dashboard.New(e, dashboard.Options{})
		defer board.Close()
		var looking sync.WaitGroup
		looking.Go(func() {
			enginetest.Sleep(2500 * time.Millisecond)
			for _, path := range []string{"/", "/hosts", "/failures", "/items", "/callbacks", "/log", "/settings", "/url?u=" + url.QueryEscape(seeds[7])} {
				for _, token := range []string{board.ControlToken(), board.ViewToken()} {
					checkPage(t, path, get(t, board, path, token), token == board.ControlToken())
				}
			}
		})
		_ = e.Run(t.Context(), spider.GetName()) // there was no page
		looking.Wait()
		page := get(t, board, "/failures", board.ViewToken())
		checkPage(t, "/failures", page, false)
		if n := strings.Count(page, `class="failure"`); n != 201 {
			t.Errorf("%d kinds of failures, want 200 and the others", n)
		}
		if len(page) > 4<<20 {
			t.Errorf("the page has %d bytes", len(page))
		}
	})
}

// checkPage parses a page as a browser does, and demands that nothing in it comes from the crawl but text.
func checkPage(t *testing.T, path, page string, controls bool) {
	t.Helper()
	if i := strings.IndexFunc(page, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }); i >= 0 {
		t.Errorf("%s has a character that changes the direction of others: %q", path, page[i:i+20])
	}
	if strings.Contains(page, "s3cret") {
		t.Errorf("%s shows a password", path)
	}
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	scripts, forms := 0, 0
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script":
			scripts++
		case "form":
			forms++
		case "img", "iframe", "object", "base":
			t.Errorf("%s has an element %s", path, n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || (a.Key == "src" || a.Key == "href") && !strings.HasPrefix(a.Val, "/") {
				t.Errorf("%s: %s has the attribute %s=%q", path, n.Data, a.Key, a.Val)
			}
		}
	}
	if scripts != 1 {
		t.Errorf("%s has %d scripts", path, scripts)
	}
	if (path == "/" || path == "/hosts") && controls != (forms > 0) {
		t.Errorf("%s has %d forms; its reader may control the crawl: %t", path, forms, controls)
	}
}
