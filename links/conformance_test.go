package links_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/links"
)

// TestScrapyLinks has the pages of Scrapy's link extractor and what it finds there.
func TestScrapyLinks(t *testing.T) {
	type link struct{ url, text, fragment string }
	const site = "http://example.com/"
	for _, test := range []struct {
		page     string
		encoding charset.Encoding
		want     []link
	}{
		{"linkextractor.html", charset.UTF8, []link{
			{site + "sample1.html", "", ""},
			{site + "sample2.html", "sample 2", ""},
			{site + "sample3.html", "sample 3 text", ""},
			{site + "sample3.html", "sample 3 repetition", ""},
			{site + "sample3.html", "sample 3 repetition", ""},
			{site + "sample3.html", "sample 3 repetition with fragment", "foo"},
			{"http://www.google.com/something", "", ""},
			{site + "innertag.html", "inner tag", ""},
			{site + "page%204.html", "href with whitespaces", ""},
		}},
		{"linkextractor_noenc.html", charset.UTF8, []link{
			{site + "sample_%C3%B1.html", "", ""},
			{site + "sample_%E2%82%AC.html", "sample € text", ""},
		}},
		// The data holds this page in UTF-8. It says that it is in "latin-1", a label that Scrapy knows
		// and browsers do not.
		{"linkextractor_latin1.html", charset.Windows1252, []link{
			{site + "sample_%C3%B1.html", "", ""},
			{site + "sample_%C3%A1.html", "sample á text", ""},
			{site + "sample_%C3%B6.html?price=%A332&%B5=unit", "", ""},
		}},
		{"linkextractor_no_href.html", charset.UTF8, []link{
			{site + "author/Albert-Einstein", "(about)", ""},
			{site + "page/1/", "Page 1", ""},
			{site + "page/3/", "Page 3", ""},
			{site + "page/4/", "Page 4", ""},
		}},
	} {
		t.Run(test.page, func(t *testing.T) {
			body := conformance.Read(t, "scrapy-links", test.page)
			var got []link
			for _, l := range links.Extract(body, "http://other.example/index", links.Unique(false), links.Charset(test.encoding)) {
				got = append(got, link{l.URL, l.Text, l.Fragment})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
	unique := links.Extract(conformance.Read(t, "scrapy-links", "linkextractor.html"), site)
	if len(unique) != 6 {
		t.Errorf("%d unique links, want 6 (Scrapy has 7: for it a fragment makes another link)", len(unique))
	}
}

// TestScrapyOptions has what Scrapy's link extractor finds in one of these pages with its options.
func TestScrapyOptions(t *testing.T) {
	const site = "http://example.com/"
	body := conformance.Read(t, "scrapy-links", "linkextractor.html")
	sample := func(names ...string) []string {
		for i, name := range names {
			names[i] = site + name
		}
		return names
	}
	google := []string{"http://www.google.com/something"}
	for _, test := range []struct {
		name string
		opts []links.Option
		want []string
	}{
		{"allow", []links.Option{links.Allow("sample")}, sample("sample1.html", "sample2.html", "sample3.html")},
		{"allow and deny", []links.Option{links.Allow("sample"), links.Deny("3")}, sample("sample1.html", "sample2.html")},
		{"allow a domain", []links.Option{links.Domains("google.com")}, google},
		{"deny a domain", []links.Option{links.DenyDomains("example.com")}, google},
		{"restrict by selector", []links.Option{links.CSS("#subwrapper")}, sample("sample1.html", "sample2.html")},
		{"restrict by selector of links", []links.Option{links.CSS("#subwrapper a")}, sample("sample2.html")},
		{"restrict by selector, and deny", []links.Option{links.CSS("#wrapper"), links.Deny("sample", "google", "innertag", "page")}, nil},
		{"restrict by expression", []links.Option{links.XPath(`//div[@id="subwrapper"]`)}, sample("sample1.html", "sample2.html")},
		{"restrict by text", []links.Option{links.Text("dog")}, nil},
		{"restrict by text with a fragment", []links.Option{links.Text("fragment")}, sample("sample3.html")},
		{"attributes", []links.Option{links.Tags("a", "area", "img"), links.Attrs("href", "src"), links.CSS("#subwrapper")},
			sample("sample1.html", "sample2.html", "sample2.jpg")},
		{"attributes without pictures", []links.Option{links.Tags("a", "area", "img"), links.Attrs("href", "src"), links.CSS("#subwrapper"),
			links.DenyExtensions(links.IgnoredExtensions()...)}, sample("sample1.html", "sample2.html")},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkStrings(t, "Extract", urls(links.Extract(body, "http://other.example/index", test.opts...)), test.want...)
		})
	}
}

// mazeSite is where the pages of the maze think they are.
const mazeSite = "https://maze.example"

// mazePage returns what the maze serves at a path below /test/: its file, or, where that says that
// a program makes the page, what that program makes, which is what the name of the page says.
func mazePage(t *testing.T, path string) (body []byte, header map[string][]string) {
	t.Helper()
	body = conformance.Read(t, append([]string{"crawl-maze"}, strings.Split(path, "/")...)...)
	if strings.HasSuffix(path, ".html") {
		return body, nil
	}
	folder, name, _ := cutLast(path, "/")
	found := "/test/" + path + ".found"
	if folder == "headers" {
		switch name {
		case "link":
			return nil, map[string][]string{"Link": {"<" + found + ">"}}
		case "refresh":
			return nil, map[string][]string{"Refresh": {"999; url=" + found}}
		}
		return nil, map[string][]string{name: {found}}
	}
	switch name {
	case "full-url":
		found = mazeSite + found
	case "protocol-relative-url":
		found = strings.TrimPrefix(mazeSite, "https:") + found
	case "path-relative-url":
		found = name + ".found"
	case "url-string":
		return []byte("<p>" + mazeSite + found), nil
	}
	return []byte("<a href='" + found + "'></a>"), nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

// mazePages returns the paths of all pages of the maze.
func mazePages(t *testing.T) []string {
	t.Helper()
	root := conformance.Path(t, "crawl-maze")
	var pages []string
	for _, folder := range []string{"css", "headers", "html"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(root, path)
			pages = append(pages, filepath.ToSlash(rel))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

// TestCrawlMaze looks for all that a[href], area[href] and meta refresh name in the maze, and for
// nothing else: no pings, images, scripts or strings.
func TestCrawlMaze(t *testing.T) {
	var found []string
	for _, path := range mazePages(t) {
		body, _ := mazePage(t, path)
		page := mazeSite + "/test/" + path
		for _, l := range links.Extract(body, page) {
			if l.URL != page {
				found = append(found, strings.TrimPrefix(l.URL, mazeSite))
			}
		}
		if url, _, ok := links.Refresh(body, page); ok {
			found = append(found, strings.TrimPrefix(url, mazeSite))
		}
	}
	slices.Sort(found)
	checkStrings(t, "found", found,
		"/test/html/body/a/href.found",
		"/test/html/head/meta/content-redirect.found",
		"/test/html/misc/url/full-url.found",
		"/test/html/misc/url/path-relative-url.found",
		"/test/html/misc/url/protocol-relative-url.found",
		"/test/html/misc/url/root-relative-url.found",
	)
	base := links.Base(conformance.Read(t, "crawl-maze", "html", "head", "base", "href.html"), mazeSite)
	if base != mazeSite+"/test/html/head/base/href.found" {
		t.Errorf("Base = %q", base)
	}
}

// TestCrawlMazeWithEverything finds what the maze hides in markup, headers and style sheets.
func TestCrawlMazeWithEverything(t *testing.T) {
	var expected []string
	if err := json.Unmarshal(conformance.Read(t, "crawl-maze", "expected-results.json"), &expected); err != nil {
		t.Fatal(err)
	}
	expected = slices.DeleteFunc(expected, func(path string) bool {
		return !strings.HasPrefix(path, "/test/html/") && !strings.HasPrefix(path, "/test/headers/") && !strings.HasPrefix(path, "/test/css/")
	})
	found := map[string]bool{}
	for _, path := range mazePages(t) {
		body, header := mazePage(t, path)
		for _, l := range links.Extract(body, mazeSite+"/test/"+path, links.Everything(), links.Header(header)) {
			found[strings.TrimPrefix(l.URL, mazeSite)] = true
		}
	}
	// The maze's style sheet is one rule.
	if !found["/css/font-face.css"] {
		t.Error("the style sheet was not found")
	}
	for _, l := range links.Stylesheet([]byte(`@font-face { font-family: x; src: url("/test/css/font-face.found") }`), mazeSite+"/css/font-face.css") {
		found[strings.TrimPrefix(l.URL, mazeSite)] = true
	}
	missed := slices.DeleteFunc(slices.Clone(expected), func(path string) bool { return found[path] })
	t.Logf("%d of %d found", len(expected)-len(missed), len(expected))
	if len(expected) != 62 {
		t.Errorf("the maze has %d finds in markup, headers and style sheets, expected 62", len(expected))
	}
	checkStrings(t, "missed", missed,
		"/test/html/body/img/src-data.found",                // in a picture that is a data: URL, which no relative reference can be resolved against
		"/test/html/head/meta/content-reading-view.found",   // markup in a meta element that says who has the copyright
		"/test/html/misc/string/dot-dot-slash-prefix.found", // the rest is running text
		"/test/html/misc/string/dot-slash-prefix.found",
		"/test/html/misc/string/string-known-extension.pdf",
		"/test/html/misc/string/url-string.found",
	)
}

// TestAgreesWithTree compares with a full HTML parser on every page of the conformance data.
func TestAgreesWithTree(t *testing.T) {
	pages, total := 0, 0
	err := filepath.WalkDir(conformance.Path(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".html", ".xhtml", ".htm"}, filepath.Ext(path)) {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want := fromTree(t, body, "http://example.com/")
		if got := each(body, "http://example.com/"); !slices.Equal(got, want) {
			t.Errorf("%s: got %q\nwant %q", path, got, want)
		}
		for _, opts := range optionSets {
			checkFrom(t, body, "http://example.com/", opts...)
		}
		pages++
		total += len(want)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pages, %d links", pages, total)
}
