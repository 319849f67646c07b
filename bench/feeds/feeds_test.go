// Package feeds compares how we read feeds with how gofeed does.
package feeds_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mmcdole/gofeed"

	"github.com/tegenaria/tegenaria/records"
)

var update = flag.Bool("update", false, "write testdata/differences.txt anew")

// feedsOf returns where gofeed's test data are, the names of the files, and how many they are.
func feedsOf(t testing.TB) (dir string, names []string, files int) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/mmcdole/gofeed").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dir = filepath.Join(strings.TrimSpace(string(out)), "testdata")
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		name, _ := filepath.Rel(dir, path)
		names = append(names, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, names, files
}

// isFeed reports whether a file is input of gofeed's tests; the others say what it is to make of them.
func isFeed(name string) bool {
	return strings.HasSuffix(name, ".xml") || strings.Contains(name, "json/") && !strings.HasSuffix(name, "_expected.json") ||
		strings.HasPrefix(name, "parser/universal/")
}

type pair struct{ field, ours, theirs, kind string }

// fields compares what both have made of a feed.
func fields(f *records.Feed, entries []*records.Entry, g *gofeed.Feed) (pairs []pair) {
	add := func(field, ours, theirs string) {
		pairs = append(pairs, pair{field: field, ours: ours, theirs: theirs})
	}
	add("kind", f.Kind, g.FeedType)
	add("version", f.Version, g.FeedVersion)
	add("title", f.Title, g.Title)
	add("description", f.Description, g.Description)
	add("url", f.URL, g.Link)
	add("feed url", f.FeedURL, g.FeedLink)
	add("language", f.Language, g.Language)
	add("copyright", f.Copyright, g.Copyright)
	add("generator", f.Generator, g.Generator)
	add("image", f.Image, imageOf(g.Image))
	add("published", stamp(f.Published), stampOf(g.PublishedParsed))
	add("updated", stamp(f.Updated), stampOf(g.UpdatedParsed))
	add("authors", people(f.Authors), peopleOf(g.Authors))
	add("categories", strings.Join(f.Categories, "|"), strings.Join(g.Categories, "|"))
	add("entries", fmt.Sprint(len(entries)), fmt.Sprint(len(g.Items)))
	for i := range min(len(entries), len(g.Items)) {
		e, h := entries[i], g.Items[i]
		add("entry id", e.ID, h.GUID)
		add("entry url", e.URL, h.Link)
		add("entry title", e.Title, h.Title)
		add("entry summary", e.Summary, h.Description)
		add("entry content", e.Content, h.Content)
		add("entry image", e.Image, imageOf(h.Image))
		add("entry published", stamp(e.Published), stampOf(h.PublishedParsed))
		add("entry updated", stamp(e.Updated), stampOf(h.UpdatedParsed))
		add("entry authors", people(e.Authors), peopleOf(h.Authors))
		add("entry categories", strings.Join(e.Categories, "|"), strings.Join(h.Categories, "|"))
		var ours, theirs []string
		for _, x := range e.Enclosures {
			ours = append(ours, fmt.Sprintf("%s %s %d", x.URL, x.Type, x.Length))
		}
		for _, x := range h.Enclosures {
			theirs = append(theirs, fmt.Sprintf("%s %s %s", x.URL, x.Type, cmp.Or(x.Length, "0")))
		}
		add("entry enclosures", strings.Join(ours, "|"), strings.Join(theirs, "|"))
	}
	return pairs
}

func imageOf(i *gofeed.Image) string {
	if i == nil {
		return ""
	}
	return i.URL
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func stampOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return stamp(*t)
}

func people(list []records.Person) string {
	var s []string
	for _, p := range list {
		s = append(s, fmt.Sprintf("%s <%s>", p.Name, p.Email))
	}
	return strings.Join(s, "|")
}

func peopleOf(list []*gofeed.Person) string {
	var s []string
	for _, p := range list {
		s = append(s, fmt.Sprintf("%s <%s>", p.Name, p.Email))
	}
	return strings.Join(s, "|")
}

// A rule is a difference between gofeed and us that is meant to be.
type rule struct {
	text string
	fits func(p pair) bool
}

var rules = []rule{
	{"URLs are written as browsers write them: http://example.org is http://example.org/", func(p pair) bool {
		return strings.HasSuffix(p.field, "url") && p.ours == p.theirs+"/"
	}},
	{"of several links in RSS the first counts, with gofeed the last", func(p pair) bool {
		return strings.HasSuffix(p.field, "url") && p.theirs == "http://example3.org"
	}},
	{"references in HTML are left as they are written; Entry.Base says what they are relative to", func(p pair) bool {
		return strings.Contains(p.ours, `href="test.html"`) && strings.Contains(p.theirs, `href="http://example.com/`)
	}},
	{"the id of an entry is left as it is written", func(p pair) bool {
		return p.field == "entry id" && strings.HasSuffix(p.theirs, "/"+p.ours)
	}},
	{"the generator is its name and its version, without a v and its URL", func(p pair) bool {
		return p.field == "generator" && strings.HasPrefix(strings.TrimPrefix(strings.Replace(p.theirs, " v", " ", 1), "v"), p.ours)
	}},
	{"an author who has neither name nor address is none", func(p pair) bool {
		return strings.HasSuffix(p.field, "authors") && p.ours == "" && p.theirs == " <>"
	}},
	{"a JSON Feed has no dates, with gofeed those of its first entry", func(p pair) bool {
		return (p.field == "published" || p.field == "updated") && p.ours == "" && p.kind == "json"
	}},
	{"pictures in HTML are not looked for", func(p pair) bool {
		return strings.HasSuffix(p.field, "image") && p.ours == "" && p.kind == "rss"
	}},
	{"content of a type of XML is markup, and so are its references", func(p pair) bool {
		return p.field == "entry content" && p.ours == "<x/>" && p.theirs == "&lt;x/&gt;"
	}},
}

// refused are the files that neither we nor gofeed can read, with the reason that we give.
var refused = map[string]string{
	"parser/json/invalid/invalid.json":  "the document breaks off",
	"parser/universal/invalid.json":     "the document breaks off",
	"parser/universal/empty_feed.xml":   "the document is empty",
	"parser/universal/unknown_feed.xml": "<note> is the root of no feed",
}

// All files of gofeed's test data are read without an error, or with the reason why they are not; and both find the
// same in them, but for the rules. The files that say what gofeed is to find are JSON, and are read as that.
func TestGofeed(t *testing.T) {
	dir, names, files := feedsOf(t)
	if files != 1113 {
		t.Errorf("%d files; 1,113 were expected", files)
	}
	counts := make(map[string]int)
	feeds, equal, expectations := 0, 0, 0
	for _, name := range names {
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !isFeed(name) {
			expectations++
			for _, err := range records.JSON("").Read(bytes.NewReader(source), records.Source{URL: name}) {
				if err != nil {
					t.Error(err)
				}
			}
			continue
		}
		feeds++
		feed, sequence := records.ReadFeed(bytes.NewReader(source), records.Source{})
		var entries []*records.Entry
		var failed error
		for e, err := range sequence {
			if err != nil {
				failed = err
				continue
			}
			entries = append(entries, e)
		}
		theirs, theirError := gofeed.NewParser().Parse(bytes.NewReader(source))
		if want, ok := refused[name]; ok {
			if failed == nil || !strings.Contains(failed.Error(), want) || theirError == nil {
				t.Errorf("%s: the error is %v, want %s; gofeed's is %v", name, failed, want, theirError)
			}
			continue
		}
		if failed != nil || theirError != nil {
			t.Errorf("%s: our error is %v, gofeed's %v", name, failed, theirError)
			continue
		}
		same := true
		for _, p := range fields(feed, entries, theirs) {
			if p.ours == p.theirs {
				continue
			}
			same = false
			p.kind = feed.Kind
			i := slices.IndexFunc(rules, func(r rule) bool { return r.fits(p) })
			if i < 0 {
				t.Errorf("%s: %s is %q, gofeed's %q: no rule says why", name, p.field, p.ours, p.theirs)
				continue
			}
			counts[rules[i].text]++
		}
		if same {
			equal++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d files: %d feeds, %d expectations. %d feeds are equal in all fields, %d cannot be read by either, the others differ by these rules:\n\n",
		files, feeds, expectations, equal, len(refused))
	for _, r := range rules {
		if counts[r.text] == 0 {
			t.Errorf("the rule %q fits nothing", r.text)
		}
		fmt.Fprintf(&b, "%4d  %s\n", counts[r.text], r.text)
	}
	golden := filepath.Join("testdata", "differences.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	t.Logf("%d of %d feeds are equal", equal, feeds)
}

// large is a feed of many entries.
func large(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title><link>http://a.test/</link>`)
	for i := range n {
		fmt.Fprintf(&b, "<item><title>Entry %d</title><link>http://a.test/%d</link><guid>http://a.test/%d</guid><pubDate>Mon, 02 Jan 2006 15:04:05 GMT</pubDate><dc:creator>Author</dc:creator>"+
			"<category>one</category><content:encoded><![CDATA[<p>%s</p>]]></content:encoded></item>", i, i, i, strings.Repeat("Some words of text. ", 40))
	}
	b.WriteString("</channel></rss>")
	return b.Bytes()
}

// BenchmarkFeed reads a feed of 1,000 entries, by turns with us and with gofeed.
func BenchmarkFeed(b *testing.B) {
	source := large(1000)
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(source)))
		b.ReportAllocs()
		for b.Loop() {
			_, entries := records.ReadFeed(bytes.NewReader(source), records.Source{URL: "http://a.test/feed"})
			for _, err := range entries {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("gofeed", func(b *testing.B) {
		b.SetBytes(int64(len(source)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := gofeed.NewParser().Parse(bytes.NewReader(source)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
