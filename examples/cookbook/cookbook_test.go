// Package cookbook_test holds the pieces of code of docs/cookbook.md, each with a test that runs it against the demo site.
package cookbook_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/middleware"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type quote struct{ Text, Author string }

func parse(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
	for _, q := range page.CSS("div.quote").All() {
		if err := out.Item(quote{q.CSS("span.text").Text(), q.CSS("small.author").Text()}); err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}

// start serves the demo site for a test.
func start(t *testing.T) *demosite.Site {
	t.Helper()
	site, err := demosite.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	})
	return site
}

// quotes is the spider of the page's first program.
func quotes(site *demosite.Site) tegenaria.SpiderInterface {
	return tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site.URL()+"/quotes/")
}

// crawl runs a spider to its end and returns its items.
func crawl[T any](t *testing.T, spider tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) []T {
	t.Helper()
	var items []T
	for item, err := range tegenaria.Crawl[T](t.Context(), spider, append(opts, tegenaria.EngineWithQuiet())...) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}

// asked returns the paths that the site was asked for, without robots.txt, sorted.
func asked(site *demosite.Site) []string {
	var paths []string
	for _, e := range site.Log() {
		if e.URL != "/robots.txt" {
			paths = append(paths, e.URL)
		}
	}
	slices.Sort(paths)
	return paths
}

// An engine takes the same options as Crawl.
func TestEngine(t *testing.T) {
	site := start(t)
	spider := quotes(site)
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
	)
	err := engine.Execute("quotes")
	if n := engine.Stats().ItemScraped; err != nil || n != 100 {
		t.Errorf("%d items, want 100; %v", n, err)
	}
}

// The page answers at least thirty questions. Each piece of Go code on it is short and is in a test of this package.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources.WriteString(squeeze(string(source)))
	}
	page := string(text)
	if n := len(regexp.MustCompile(`(?m)^### `).FindAllString(page, -1)); n < 30 {
		t.Errorf("%d questions, want at least 30", n)
	}
	for _, question := range strings.Split(page, "\n### ")[1:] {
		title, _, _ := strings.Cut(question, "\n")
		if !strings.Contains(question, "\n```") {
			t.Errorf("%q has no code", title)
		}
		for _, block := range regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(question, -1) {
			code := squeeze(block[1])
			if !strings.Contains(sources.String(), code) {
				t.Errorf("%q: no test of this package has\n%s", title, block[1])
			}
			if n := strings.Count(code, "\n"); n > 22 {
				t.Errorf("%q: a piece of code has %d lines", title, n)
			}
		}
	}
}

// squeeze removes indentation and empty lines.
func squeeze(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
