package main

import (
	"bytes"
	"flag"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
	"github.com/tegenaria/tegenaria/examples/linksrus/rank"
)

var pythonDocs = flag.String("pythondoc", "", "the folder of Debian's python3.11-doc, /usr/share/doc/python3.11/html")

// A real site of some hundred pages is crawled, by the spider into the stores on a disk and by the pipeline into those
// in memory. Every page has to be in the index, a phrase that only one page has must find that page, a query must find the
// page that is about it among the first three, in the same order in both indexes, ranks add up to 1, and the edges are
// those that an independent walk finds: another parser (golang.org/x/net/html), net/url, and the files themselves.
func TestPythonDocs(t *testing.T) {
	if *pythonDocs == "" {
		t.Skip("no documentation to crawl: run this test with -args -pythondoc DIR")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, err := os.ReadFile(filepath.Join(*pythonDocs, filepath.FromSlash(path.Clean(r.URL.Path))))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(file))
	}))
	defer server.Close()
	seed := server.URL + "/index.html"
	want := walk(t, server.URL, seed)
	t.Logf("%d pages", len(want))
	if len(want) < 400 {
		t.Fatalf("the witness found %d pages", len(want))
	}
	phrases := ownPhrases(want)
	if len(phrases) < len(want)*9/10 {
		t.Fatalf("only %d of %d pages have a phrase of their own", len(phrases), len(want))
	}
	orders := make(map[string][][]string)
	for name, o := range map[string]options{
		"spider to disk":     {db: t.TempDir(), workers: 16},
		"pipeline to memory": {pipeline: true, workers: 16},
	} {
		t.Run(name, func(t *testing.T) {
			o.urls = []string{seed}
			s, err := open(t.Context(), &o, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			began := time.Now()
			if err := s.round(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			t.Logf("crawled and ranked in %v", time.Since(began))
			comparePages(t, s, want)
			compareEdges(t, s, want)
			compareRanks(t, s)
			began = time.Now()
			for url, phrase := range phrases {
				found, err := s.index.Search(t.Context(), index.Query{Type: index.Phrase, Expression: phrase})
				if err != nil || found.Total != 1 || found.Documents[0].URL != url {
					t.Errorf("%q is on %s alone; found %+v, %v", phrase, url, found, err)
				}
			}
			t.Logf("%d phrases found in %v", len(phrases), time.Since(began))
			orders[name] = compareOrder(t, s, server.URL)
		})
	}
	if a, b := orders["spider to disk"], orders["pipeline to memory"]; !slices.EqualFunc(a, b, slices.Equal[[]string]) {
		t.Errorf("the indexes differ:\n%q\n%q", a, b)
	}
}

// wanted are queries with the page that a reader looks for.
var wanted = []struct{ query, page string }{
	{"json", "/library/json.html"},
	{"csv", "/library/csv.html"},
	{"asyncio", "/library/asyncio.html"},
	{"regular expression", "/library/re.html"},
	{"sqlite3", "/library/sqlite3.html"},
	{"data structures", "/tutorial/datastructures.html"},
	{"built-in functions", "/library/functions.html"},
	{"logging", "/library/logging.html"},
	{"sorting", "/howto/sorting.html"},
	{"glossary", "/glossary.html"},
}

// compareOrder checks that the page that is looked for is among the first three, and returns what was found.
func compareOrder(t *testing.T, s *service, site string) [][]string {
	t.Helper()
	var all [][]string
	for _, w := range wanted {
		found, err := s.index.Search(t.Context(), index.ParseQuery(w.query))
		if err != nil {
			t.Fatal(err)
		}
		var urls []string
		for _, doc := range found.Documents {
			urls = append(urls, strings.TrimPrefix(doc.URL, site))
		}
		if !slices.Contains(urls[:min(3, len(urls))], w.page) {
			t.Errorf("%s: want %s among the first three of %q", w.query, w.page, urls)
		}
		all = append(all, urls)
	}
	return all
}

// witness is what an independent reader sees of a page.
type witness struct {
	title string
	links []string   // URLs, sorted, without those of rel=nofollow
	texts [][]string // words of each text of the body that is one piece in the file
}

// walk reads the site from its files, as far as links lead.
func walk(t *testing.T, site, seed string) map[string]*witness {
	t.Helper()
	pages := map[string]*witness{}
	queue := []string{seed}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if pages[at] != nil {
			continue
		}
		u, err := url.Parse(at)
		if err != nil || !strings.HasSuffix(u.Path, ".html") {
			continue
		}
		file, err := os.Open(filepath.Join(*pythonDocs, filepath.FromSlash(u.Path)))
		if os.IsNotExist(err) {
			continue // a broken link of the documentation
		}
		if err != nil {
			t.Fatal(err)
		}
		root, err := html.ParseWithOptions(file, html.ParseOptionEnableScripting(false))
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		pages[at] = look(u, root)
		for _, link := range pages[at].links {
			if strings.HasPrefix(link, site+"/") {
				queue = append(queue, link)
			}
		}
	}
	return pages
}

var (
	word     = regexp.MustCompile(`[\p{L}\p{M}\p{N}_]+`)
	noPage   = regexp.MustCompile(`(?i)\.(jpg|jpeg|png|gif|ico|css|js)$`)
	noFollow = regexp.MustCompile(`(?i)(^|\s)nofollow(\s|$)`)
)

// look reads a page.
func look(page *url.URL, root *html.Node) *witness {
	w := &witness{}
	inBody := false
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode && inBody && n.Parent.Data != "script" && n.Parent.Data != "style":
			w.texts = append(w.texts, word.FindAllString(strings.ToLower(n.Data), -1))
		case n.Type != html.ElementNode:
		case n.Data == "body":
			inBody = true
		case n.Data == "title" && w.title == "" && n.FirstChild != nil && !inBody:
			w.title = strings.Join(strings.Fields(n.FirstChild.Data), " ")
		case n.Data == "a" || n.Data == "area":
			if link := target(page, n); link != "" {
				w.links = append(w.links, link)
			}
		}
	}
	slices.Sort(w.links)
	w.links = slices.Compact(w.links)
	return w
}

// target returns what an element links to, "" if that is not an edge.
func target(page *url.URL, n *html.Node) string {
	attrs := make(map[string]string)
	for _, a := range n.Attr {
		attrs[a.Key] = a.Val
	}
	href := strings.TrimSpace(attrs["href"])
	toPage, _, _ := strings.Cut(href, "#")
	ref, err := url.Parse(toPage)
	if href == "" || err != nil || noFollow.MatchString(attrs["rel"]) {
		return ""
	}
	to := page.ResolveReference(ref)
	if to.Path == "" {
		to.Path = "/"
	}
	if to.Scheme != "http" && to.Scheme != "https" || noPage.MatchString(to.Path) {
		return ""
	}
	if addr, err := netip.ParseAddr(to.Hostname()); to.Host != page.Host && (to.Hostname() == "localhost" || err == nil && !addr.IsGlobalUnicast()) {
		return ""
	}
	return to.String()
}

const phraseWords = 5

// ownPhrases returns a phrase for each page that no other page has. A phrase is taken from the inside of one piece of
// text, and it is compared with all words of other pages in a row, whatever stands between them.
func ownPhrases(pages map[string]*witness) map[string]string {
	owner := make(map[string]string) // by phrase: the page, or "" if there are several
	for url, w := range pages {
		for _, row := range [][]string{slices.Concat(w.texts...), word.FindAllString(strings.ToLower(w.title), -1)} {
			for i := range len(row) - phraseWords + 1 {
				phrase := strings.Join(row[i:i+phraseWords], " ")
				if known, ok := owner[phrase]; ok && known != url {
					owner[phrase] = ""
				} else {
					owner[phrase] = url
				}
			}
		}
	}
	phrases := make(map[string]string)
	for url, w := range pages {
		for _, text := range w.texts {
			for i := 1; i+phraseWords < len(text) && phrases[url] == ""; i++ {
				if phrase := strings.Join(text[i:i+phraseWords], " "); owner[phrase] == url {
					phrases[url] = phrase
				}
			}
		}
	}
	return phrases
}

// comparePages checks that exactly the pages of the walk are in the index.
func comparePages(t *testing.T, s *service, want map[string]*witness) {
	t.Helper()
	fetched := 0
	for link, err := range s.graph.Links(t.Context(), graph.All, s.graph.Now()) {
		if err != nil {
			t.Fatal(err)
		}
		if link.RetrievedAt.IsZero() {
			continue
		}
		fetched++
		if want[link.URL] == nil {
			t.Errorf("%s was fetched", link.URL)
		}
	}
	for url, w := range want {
		doc, err := s.index.FindByID(t.Context(), graph.LinkID(url))
		if err != nil || doc.URL != url || doc.Title != w.title || doc.Content == "" {
			t.Errorf("%s: the index has %.200v, %v, want the title %q", url, doc, err, w.title)
		}
	}
	if fetched != len(want) {
		t.Errorf("%d pages were fetched, want %d", fetched, len(want))
	}
}

// compareEdges checks that the graph has exactly the edges of the walk.
func compareEdges(t *testing.T, s *service, want map[string]*witness) {
	t.Helper()
	urls := make(map[string]string) // by ID
	for link, err := range s.graph.Links(t.Context(), graph.All, s.graph.Now()) {
		if err != nil {
			t.Fatal(err)
		}
		urls[link.ID.String()] = link.URL
	}
	got := make(map[string][]string)
	edges := 0
	for edge, err := range s.graph.Edges(t.Context(), graph.All, s.graph.Now()) {
		if err != nil {
			t.Fatal(err)
		}
		edges++
		src := urls[edge.Src.String()]
		got[src] = append(got[src], urls[edge.Dst.String()])
	}
	for url, w := range want {
		slices.Sort(got[url])
		if !slices.Equal(got[url], w.links) {
			t.Errorf("%s links to\n%q, want\n%q", url, without(got[url], w.links), without(w.links, got[url]))
		}
		delete(got, url)
	}
	for url := range got {
		t.Errorf("%s has edges", url)
	}
	t.Logf("%d edges", edges)
}

// without returns what only the first list has.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func compareRanks(t *testing.T, s *service) {
	t.Helper()
	now := s.graph.Now()
	ranks, err := rank.Compute(s.graph.Links(t.Context(), graph.All, now), s.graph.Edges(t.Context(), graph.All, now), rank.Options{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, r := range ranks {
		total += r.Value
		if doc, err := s.index.FindByID(t.Context(), r.LinkID); err == nil && doc.Score != r.Value {
			t.Errorf("%s has the score %v, want %v", doc.URL, doc.Score, r.Value)
		}
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("the ranks add up to %v", total)
	}
}
