// Package site_test checks the site of the documents as its readers meet it.
package site_test

import (
	"context"
	"flag"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/net/html"
)

var (
	folder   = flag.String("site", "", "the absolute path of the folder that make site has written")
	chromium = flag.String("browser", "", "the path of Chromium, /usr/bin/chromium")
	axe      = flag.String("axe", "", "the file axe.min.js of the npm package axe-core")
)

// page is what a file of the site refers to: by links, and by what a browser loads on its own.
type page struct{ anchors, links, loads map[string]bool }

// read parses a page.
func read(t *testing.T, name string) page {
	t.Helper()
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	root, err := html.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	p := page{map[string]bool{"": true}, map[string]bool{}, map[string]bool{}}
	for node := range root.Descendants() {
		if node.Type == html.TextNode && strings.Contains(node.Data, "```") {
			t.Errorf("%s shows Markdown: %.200q", name, node.Data)
		}
		for _, a := range node.Attr {
			switch {
			case a.Key == "id":
				p.anchors[a.Val] = true
			case a.Key == "href" && node.Data == "a":
				p.links[a.Val] = true
			case a.Key == "href" && node.Data == "link", a.Key == "src":
				p.loads[a.Val] = true
			}
		}
	}
	return p
}

// pages returns the pages of the site by their paths in it.
func pages(t *testing.T) map[string]page {
	t.Helper()
	found := make(map[string]page)
	err := filepath.WalkDir(*folder, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		below, err := filepath.Rel(*folder, name)
		found[filepath.ToSlash(below)] = read(t, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 80 {
		t.Fatalf("only %d pages", len(found))
	}
	return found
}

// TestBrowser fails if a page shows the marks of Markdown, if a link or an anchor leads nowhere, if a page loads anything from
// elsewhere, if the search does not find a page, if the keyboard does not reach it, if a page is wider than a small screen, or
// if axe-core finds what keeps people out.
func TestBrowser(t *testing.T) {
	if *folder == "" || *chromium == "" || *axe == "" {
		t.Skip("no site: run this test with -args -site FOLDER -browser /usr/bin/chromium -axe FILE")
	}
	all := pages(t)
	delete(all, "404.html") // its links are those of a server that has the site at its root
	checkLinks(t, all)
	server := httptest.NewServer(http.FileServer(http.Dir(*folder)))
	defer server.Close()
	s := &site{base: server.URL + "/", ctx: tab(t)}
	for _, check := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"narrow", func(t *testing.T) { s.checkNarrow(t, all) }}, {"search", s.checkSearch}, {"keyboard", s.checkKeyboard},
		{"access", s.checkAccess},
	} {
		t.Run(check.name, check.run)
	}
}

// checkLinks follows all references between the files of the site.
func checkLinks(t *testing.T, all map[string]page) {
	seen := 0
	for name, p := range all {
		for _, refs := range []map[string]bool{p.links, p.loads} {
			for ref := range refs {
				u, err := url.Parse(ref)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if u.IsAbs() || u.Host != "" {
					if p.loads[ref] {
						t.Errorf("%s loads %s from elsewhere", name, ref)
					}
					continue
				}
				target := name
				if u.Path != "" {
					target = path.Join(path.Dir(name), u.Path)
				}
				if seen++; target == "." {
					target = "index.html"
				}
				to, isPage := all[target]
				if _, err := os.Stat(filepath.Join(*folder, target)); err != nil {
					t.Errorf("%s: %s leads nowhere", name, ref)
				} else if isPage && !to.anchors[u.Fragment] {
					t.Errorf("%s: %s: there is no such anchor", name, ref)
				}
			}
		}
	}
	if seen < 5000 {
		t.Errorf("only %d links", seen)
	}
}

// tab opens a tab of a browser that ends with the test. It shows no page but ours, so it does without its sandbox, which root
// cannot have.
func tab(t *testing.T) context.Context {
	t.Helper()
	ctx, end := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute) // also while the browser ends
	t.Cleanup(end)
	ctx, endBrowser := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(*chromium), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true))...)
	t.Cleanup(endBrowser)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("ending the browser: %v", err)
		}
	})
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// site is the site in a browser.
type site struct {
	base string
	ctx  context.Context // of the browser's tab
}

// do runs steps, one after the other.
func (s *site) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(s.ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// get runs a script in a page.
func get[T any](t *testing.T, s *site, script string) T {
	t.Helper()
	v, err := chromedp.Run(s.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// until waits until a script says true.
func (s *site) until(t *testing.T, script string) {
	t.Helper()
	wait := chromedp.Poll[bool](script, chromedp.WithPollingTimeout(time.Minute))
	_, err := chromedp.Run(s.ctx, wait)
	for err != nil && strings.Contains(err.Error(), "(-32000)") && s.ctx.Err() == nil { // a page has given way to the next one
		_, err = chromedp.Run(s.ctx, wait)
	}
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
}

// checkNarrow looks at each page on a screen of 360 pixels, on which code and tables scroll, and the page itself does not.
func (s *site) checkNarrow(t *testing.T, all map[string]page) {
	s.do(t, chromedp.EmulateViewport(360, 740))
	for name := range all {
		s.do(t, chromedp.Navigate(s.base+name))
		if wide := get[int](t, s, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d pixels wide", name, wide)
		}
		loaded := get[[]string](t, s, `performance.getEntriesByType("resource").map(r => r.name)`)
		if len(loaded) < 3 {
			t.Errorf("%s loads only %q", name, loaded)
		}
		for _, address := range loaded {
			if !strings.HasPrefix(address, s.base) && !strings.HasPrefix(address, "data:") {
				t.Errorf("%s loads %s from elsewhere", name, address)
			}
		}
	}
}

var (
	searchField   = chromedp.CSS("input.md-search__input")
	searchResults = chromedp.CSS("a.md-search-result__link")
)

// checkSearch types words that one page explains.
func (s *site) checkSearch(t *testing.T) {
	for word, wanted := range map[string]string{
		"QueueFullError": "/errors.html", "tegenaria_errors_total": "/guides/metrics.html",
	} {
		s.do(t, chromedp.EmulateViewport(1200, 900), chromedp.Navigate(s.base+"index.html"), chromedp.WaitVisible(searchField),
			chromedp.Click(searchField), chromedp.SendKeys(searchField, word), chromedp.WaitVisible(searchResults))
		found := get[[]string](t, s,
			`[...document.querySelectorAll("a.md-search-result__link")].map(a => new URL(a.href).pathname)`)
		if !slices.Contains(found, wanted) {
			t.Errorf("the search for %q finds %q, not %s", word, found, wanted)
		}
	}
}

// checkKeyboard comes past the menu, and to a result of the search, by keys alone.
func (s *site) checkKeyboard(t *testing.T) {
	s.do(t, chromedp.Navigate(s.base+"guides/robots.html"), chromedp.WaitVisible(searchField), chromedp.KeyEvent(kb.Tab))
	if focused := get[string](t, s, `document.activeElement.className`); !strings.HasPrefix(focused, "md-skip") {
		t.Errorf("the first Tab leads to %q, not past the menu", focused)
	}
	s.do(t, chromedp.KeyEvent("/"))
	s.until(t, `document.activeElement.classList.contains("md-search__input")`)
	// The simulated key has typed its character too, which a real one does not.
	s.do(t, chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent("QueueFullError"))
	s.until(t, `document.querySelector("a.md-search-result__link") != null`)
	s.do(t, chromedp.KeyEvent(kb.ArrowDown))
	s.until(t, `document.activeElement.classList.contains("md-search-result__link")`)
	s.do(t, chromedp.KeyEvent(kb.Enter))
	s.until(t, `!location.pathname.endsWith("/robots.html") && document.body?.innerText.includes("QueueFullError")`)
}

// checkAccess asks axe-core about pages of each kind, in light and dark, on a narrow and on a wide screen.
func (s *site) checkAccess(t *testing.T) {
	checker, err := os.ReadFile(*axe)
	if err != nil {
		t.Fatal(err)
	}
	for _, look := range []struct{ scheme, palette string }{{"light", "default"}, {"dark", "slate"}} {
		emulate := emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}},
		}
		target := chromedp.FromContext(s.ctx).Target
		if _, err := cdp.Call(s.ctx, target, emulation.SetEmulatedMedia, emulate); err != nil {
			t.Fatal(err)
		}
		get[any](t, s, `localStorage.clear()`) // in which the theme stores what the first page was shown in
		for _, width := range []int64{360, 1200} {
			s.do(t, chromedp.EmulateViewport(width, 900))
			for _, name := range []string{
				"index", "getting-started", "errors", "options", "guides/watching", "design/index", "CHANGELOG",
			} {
				s.do(t, chromedp.Navigate(s.base+name+".html"))
				s.until(t, `document.body.dataset.mdColorScheme == "`+look.palette+`"`)
				get[bool](t, s, string(checker)+"; true")
				if found := get[string](t, s, `axe.run(document, {runOnly:
					["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(found =>
					found.violations.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 300)).join(" ")).join("\n"))`); found != "" {
					t.Errorf("%s, %s, %d pixels:\n%s", name, look.scheme, width, found)
				}
			}
		}
	}
}
