package content_test

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/internal/yardstick"
)

var (
	readability = flag.String("readability", "", "the folder of the module codeberg.org/readeck/go-readability, whose test-pages are read")
	trafilatura = flag.String("trafilatura", "", "the folder of the module github.com/markusmobius/go-trafilatura, whose evaluation is read")
	worst       = flag.Int("worst", 0, "so many pages with the lowest values are named")
	manuals     = flag.String("manuals", "", "folders of documentation, separated by commas, whose pages are read: see .ci/deep")
	half        = flag.String("half", "held", "which half of the pages counts: tuned, held or both")
)

// counts reports whether a page is in the half that is asked for: rules are tuned on one half of the pages, and the bars hold on the
// other, which is the one that the names' hash decides.
func counts(name string) bool {
	return *half == "both" || yardstick.Held(name) == (*half == "held")
}

// article reads a page and returns its article, one without text if there is none.
func article(t testing.TB, body []byte, url string) *content.Article {
	text, _, _ := charset.Decode(body, "")
	doc := whole(t, string(text))
	a, err := content.Extract(doc, url)
	if err != nil {
		return &content.Article{}
	}
	conserved(t, url, doc, a)
	return a
}

// judged counts pages by whether their kind is right, and sums their Confidence by whether they lose more than a twentieth of their words.
type judged struct {
	right, wrong, lossy, whole int
	ofLossy, ofWhole           float64
}

func (j *judged) add(a *content.Article, kind content.Kind, words, lost int) {
	if a.Kind == kind {
		j.right++
	} else {
		j.wrong++
	}
	if 20*lost > words {
		j.lossy++
		j.ofLossy += a.Confidence
	} else {
		j.whole++
		j.ofWhole += a.Confidence
	}
}

// check fails if the kind is wrong on more than a tenth of the pages, or if Confidence is not lower on those that lose
// words. kinds is false where the kinds of the pages are not known.
func (j *judged) check(t *testing.T, kinds bool) {
	lossy, rest := j.ofLossy/float64(max(j.lossy, 1)), j.ofWhole/float64(max(j.whole, 1))
	t.Logf("(e) mean Confidence %.3f on %d pages that lose over 5 %%, %.3f on the %d others", lossy, j.lossy, rest, j.whole)
	if j.lossy > 0 && lossy >= rest {
		t.Error("Confidence is not lower on pages that lose words")
	}
	if kinds {
		t.Logf("(e) the kind of %d pages is right, of %d wrong", j.right, j.wrong)
		if j.right < 9*j.wrong {
			t.Error("the kind is wrong on more than a tenth of the pages")
		}
	}
}

type page struct {
	name   string
	f      float64
	detail string
}

func printWorst(t *testing.T, pages []page) {
	slices.SortFunc(pages, func(a, b page) int { return int(1e6 * (a.f - b.f)) })
	for _, p := range pages[:min(*worst, len(pages))] {
		t.Logf("%.3f %s %s", p.f, p.name, p.detail)
	}
}

// poor are the pages of Mozilla's suite that are below a half, with the reasons.
var poor = map[string]string{
	"bug-1255978": "articles that it names are beside the text as paragraphs, under words that say nothing",
	"ehow-1":      "a page of steps, each in an element of its own: the longest one is taken",
	"nytimes-5":   "a page of teasers, which has no main text",
	"yahoo-2":     "the text is in a dialog that is not shown, over a page of teasers which have more of it",
	"yahoo-3":     "teasers of other articles are beside the text as paragraphs, under words that say nothing",
}

// TestMozilla compares the words of the main text with those that Mozilla's suite expects. It fails below the bar.
func TestMozilla(t *testing.T) {
	if *readability == "" {
		t.Skip("the pages are not part of the project: run this with -args -readability DIR")
	}
	dirs, _ := filepath.Glob(filepath.Join(*readability, "test-pages", "*"))
	var pages []page
	var all judged
	sum := 0.0
	for _, dir := range dirs {
		name := filepath.Base(dir)
		source, err := os.ReadFile(filepath.Join(dir, "source.html"))
		if err != nil || !counts(name) {
			continue
		}
		want, err := os.ReadFile(filepath.Join(dir, "expected.html"))
		if err != nil {
			continue
		}
		wantDoc, _ := html.Parse(want)
		if utf8.Valid(source) { // the suite's pages are, whatever they declare
			source = append([]byte("\ufeff"), source...)
		}
		a, text := article(t, source, "http://fakehost/test/page.html"), wantDoc.Root().CollapsedText()
		words, lost, _ := yardstick.Bag(text, a.Text)
		all.add(a, content.KindArticle, words, lost)
		p, r := yardstick.Compare(text, a.Text, 1)
		f := yardstick.F1(p, r)
		sum += f
		pages = append(pages, page{name, f, fmt.Sprintf("p %.2f r %.2f", p, r)})
		if f < 0.5 && poor[name] == "" {
			t.Errorf("%s: F1 is %.3f, and there is no reason for it", name, f)
		}
	}
	if mean := sum / float64(len(pages)); !(mean >= 0.90) {
		t.Errorf("the mean F1 of %d pages is %.4f, below 0.90", len(pages), mean)
	}
	t.Logf("(a) %d pages: mean F1 %.4f", len(pages), sum/float64(len(pages)))
	all.check(t, false)
	printWorst(t, pages)
}

// TestTrafilatura looks for the phrases that trafilatura's evaluation wants in the text of each page, and does not want. It fails below
// the bar.
func TestTrafilatura(t *testing.T) {
	if *trafilatura == "" {
		t.Skip("the pages are not part of the project: run this with -args -trafilatura DIR")
	}
	entries, err := yardstick.Evaluation(*trafilatura)
	if err != nil {
		t.Fatal(err)
	}
	var score yardstick.Score
	n := 0
	var pages []page
	for _, e := range entries {
		body, err := e.Body()
		if err != nil || !counts(e.File) {
			continue
		}
		n++
		if bad := score.Add(&e, article(t, body, e.URL).Text); len(bad) > 0 {
			pages = append(pages, page{e.File, -float64(len(bad)), "\n    " + strings.Join(bad, "\n    ")})
		}
	}
	f := score.F()
	t.Logf("(b) %d pages: %+v, F %.4f", n, score, f)
	if !(f >= 0.885) {
		t.Errorf("F is %.4f, below 0.885", f)
	}
	printWorst(t, pages)
}

// TestScrapinghub compares shingles of four words with those of the texts that people have marked. It fails below the bar.
func TestScrapinghub(t *testing.T) {
	var truth map[string]struct{ ArticleBody, URL string }
	if err := json.Unmarshal(conformance.Read(t, "article-extraction", "ground-truth.json"), &truth); err != nil {
		t.Fatal(err)
	}
	var all judged
	ps, rs, n := 0.0, 0.0, 0.0
	var pages []page
	for _, k := range slices.Sorted(maps.Keys(truth)) {
		if !counts(k) {
			continue
		}
		f, err := os.Open(conformance.Path(t, "article-extraction", "html", k+".html.gz"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		a := article(t, body, truth[k].URL)
		words, lost, _ := yardstick.Bag(truth[k].ArticleBody, a.Text)
		all.add(a, content.KindArticle, words, lost)
		p, r := yardstick.Compare(truth[k].ArticleBody, a.Text, 4)
		ps, rs, n = ps+p, rs+r, n+1
		pages = append(pages, page{k, yardstick.F1(p, r), fmt.Sprintf("p %.3f r %.3f %s", p, r, truth[k].URL)})
	}
	t.Logf("(d) %v pages: precision %.4f recall %.4f F1 %.4f", n, ps/n, rs/n, yardstick.F1(ps/n, rs/n))
	all.check(t, true)
	if f := yardstick.F1(ps/n, rs/n); !(f >= 0.958) {
		t.Errorf("F1 is %.4f, below 0.958", f)
	}
	printWorst(t, pages)
}

// TestManuals compares the words of the main text, in any order, with those of real documentation: all pages of at least 100 words. It
// fails if more words are lost, or more are added, than the bars allow, or if a page of more than 300 words loses more than a twentieth.
func TestManuals(t *testing.T) {
	if *manuals == "" {
		t.Skip("the pages are not part of the project: run this with -args -manuals DIR,DIR")
	}
	type sum struct{ pages, poor, words, lost, added, found int }
	share := func(part, all int) float64 { return 100 * float64(part) / float64(max(all, 1)) }
	add := func(s *sum, words, lost, added int) {
		s.pages++
		if words > 300 && 20*lost > words {
			s.poor++
		}
		s.words, s.lost, s.added, s.found = s.words+words, s.lost+lost, s.added+added, s.found+words-lost+added
	}
	print := func(name string, all, text sum) {
		t.Logf("(c) %s: %d pages, %d words: %.2f %% lost, %.2f %% added, %d pages of over 300 words lose over 5 %%; without the %d indexes %.2f %% lost, %.2f %% added, %d pages",
			name, all.pages, all.words, share(all.lost, all.words), share(all.added, all.found), all.poor, all.pages-text.pages, share(text.lost, text.words), share(text.added, text.found), text.poor)
	}
	var pages []page
	var all, text sum
	var kinds judged
	for _, dir := range strings.Split(*manuals, ",") {
		paths, err := yardstick.ManualPages(dir)
		if err != nil {
			t.Fatal(err)
		}
		var here, hereText sum
		for _, path := range paths {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			doc := whole(t, string(body))
			want := yardstick.ManualText(doc)
			if want == "" {
				continue
			}
			a := article(t, body, "http://localhost/page.html")
			words, lost, added := yardstick.Bag(want, a.Text)
			add(&here, words, lost, added)
			add(&all, words, lost, added)
			if yardstick.IsContents(doc) {
				kinds.add(a, content.KindList, words, lost)
			} else {
				kinds.add(a, content.KindDocumentation, words, lost)
				add(&hereText, words, lost, added)
				add(&text, words, lost, added)
			}
			pages = append(pages, page{path, -float64(lost) / float64(words), fmt.Sprintf("%d words, %d lost, %d added", words, lost, added)})
		}
		print(dir, here, hereText)
	}
	print("all", all, text)
	kinds.check(t, true)
	printWorst(t, pages)
	if lost, added := share(all.lost, all.words), share(all.added, all.found); lost > mostLost || added > mostAdded || all.poor > mostPoor {
		t.Errorf("%.2f %% are lost, %.2f %% added, and %d pages lose over 5 %%: the bars are %v, %v and %v", lost, added, all.poor, mostLost, mostAdded, mostPoor)
	}
}

// The bars of TestManuals: percent, percent, pages.
const mostLost, mostAdded, mostPoor = 0.7, 0.3, 2 // a list of links alone, and one with lists of questions, which nothing shows to be documentation
