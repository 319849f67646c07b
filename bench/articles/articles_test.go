// Package articles compares how we find the main text of pages, and write it as Markdown, with how other programs do.
//
//	go test -run '^TestScores$' -v .                                           # phrases found in trafilatura's evaluation
//	GOMAXPROCS=1 go test -run '^$' -bench . -benchtime 5x .                    # CPU time on Mozilla's pages
//	go test -run '^TestPrograms$' -v . -args -manuals DIR,DIR -programs DIR -pandoc FILE
//
// The pages are those that come with the modules of the others. The last command needs npm's @mozilla/readability, jsdom and turndown in a
// folder, as package.json names them.
package articles_test

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeberg.org/readeck/go-readability"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/markusmobius/go-trafilatura"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/yardstick"
)

// folder returns where a module is.
func folder(t testing.TB, module string) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func address(t testing.TB, s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// extract returns our article of a page, nil if it has none.
func extract(t testing.TB, body []byte, url string) *content.Article {
	text, encoding, _ := charset.Decode(body, "")
	doc, err := html.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	a, err := content.Extract(doc, url, content.Charset(encoding))
	if err != nil {
		return nil
	}
	return a
}

// TestScores counts the phrases of trafilatura's evaluation in the texts of three programs. A page without text has found none of its
// phrases. It fails if ours is below go-readability, or more than 0.01 below go-trafilatura without fallbacks, in the half that decides.
func TestScores(t *testing.T) {
	entries, err := yardstick.Evaluation(folder(t, "github.com/markusmobius/go-trafilatura"))
	if err != nil {
		t.Fatal(err)
	}
	programs := []struct {
		name string
		text func(body []byte, page string) string
	}{
		{"ours", func(body []byte, page string) string {
			if a := extract(t, body, page); a != nil {
				return a.Text
			}
			return ""
		}},
		{"go-readability", func(body []byte, page string) string {
			a, err := readability.FromReader(bytes.NewReader(body), address(t, page))
			if err != nil {
				return ""
			}
			return a.TextContent
		}},
		{"go-trafilatura", func(body []byte, page string) string {
			a, err := trafilatura.Extract(bytes.NewReader(body), trafilatura.Options{ExcludeComments: true, OriginalURL: address(t, page)})
			if err != nil || a == nil {
				return ""
			}
			return a.ContentText
		}},
	}
	all, held := make([]yardstick.Score, len(programs)), make([]yardstick.Score, len(programs))
	pages, deciding := 0, 0
	for _, e := range entries {
		body, err := e.Body()
		if err != nil {
			continue // the evaluation names pages that the module does not have
		}
		pages++
		if yardstick.Held(e.File) {
			deciding++
		}
		for i, p := range programs {
			text := p.text(body, e.URL)
			all[i].Add(&e, text)
			if yardstick.Held(e.File) {
				held[i].Add(&e, text)
			}
		}
	}
	for i, p := range programs {
		t.Logf("%-14s F %.4f of %d pages %+v, %.4f of the %d that decide", p.name, all[i].F(), pages, all[i], held[i].F(), deciding)
	}
	if f := held[0].F(); f < held[1].F() || f < held[2].F()-0.01 || pages < 900 {
		t.Errorf("ours is below the bar")
	}
}

// suite returns Mozilla's pages.
func suite(t testing.TB) (pages [][]byte) {
	paths, err := filepath.Glob(filepath.Join(folder(t, "codeberg.org/readeck/go-readability"), "test-pages", "*", "source.html"))
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d pages: %v", len(paths), err)
	}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, body)
	}
	return pages
}

// convert writes a tree as Markdown with html-to-markdown and all its plugins that GFM asks for.
var convert = converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin()))

// usage returns the CPU time of the process, and how many objects it has allocated.
func usage(b *testing.B) (time.Duration, uint64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), m.Mallocs
}

const fakePage = "http://fakehost/test/page.html"

// BenchmarkArticle reads all of Mozilla's pages and writes their articles as Markdown, by turns: ours, ours without the article, and
// go-readability with html-to-markdown, with reading the HTML each time. The best round of each counts. Its bar is 0.25 of the others.
func BenchmarkArticle(b *testing.B) {
	pages, at := suite(b), address(b, fakePage)
	sides := []struct {
		name string
		read func(body []byte) error
	}{
		{"ours", func(body []byte) error {
			doc, err := html.Parse(body)
			if err != nil {
				return err
			}
			a, err := content.Extract(doc, fakePage)
			if err != nil {
				return err
			}
			a.Markdown()
			return nil
		}},
		{"parse", func(body []byte) error {
			_, err := html.Parse(body)
			return err
		}},
		{"others", func(body []byte) error {
			a, err := readability.FromReader(bytes.NewReader(body), at)
			if err != nil || a.Node == nil {
				return err
			}
			_, err = convert.ConvertNode(a.Node)
			return err
		}},
	}
	best, objects := make([]time.Duration, len(sides)), make([]uint64, len(sides))
	for b.Loop() {
		for i, side := range sides {
			runtime.GC()
			before, made := usage(b)
			for _, body := range pages {
				if err := side.read(body); err != nil {
					b.Fatalf("%s: %v", side.name, err)
				}
			}
			after, all := usage(b)
			if took := after - before; best[i] == 0 || took < best[i] {
				best[i] = took
			}
			objects[i] = (all - made) / uint64(len(pages))
		}
	}
	for i, side := range sides {
		b.ReportMetric(float64(best[i].Microseconds())/float64(len(pages)), side.name+"-µs/page")
		b.ReportMetric(float64(objects[i]), side.name+"-allocs/page")
	}
	b.ReportMetric(float64(best[0])/float64(best[2]), "×others")
	b.ReportMetric(float64(best[0]-best[1])/float64(best[1]), "article×parse")
}
