package links_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/links"
)

// TestScrapyLinks has the pages of Scrapy's link extractor and what it finds there.
func TestScrapyLinks(t *testing.T) {
	type link struct{ url, text, fragment string }
	const site = "http://example.com/"
	for _, test := range []struct {
		page string
		want []link
	}{
		{"linkextractor.html", []link{
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
		{"linkextractor_noenc.html", []link{
			{site + "sample_%C3%B1.html", "", ""},
			{site + "sample_%E2%82%AC.html", "sample € text", ""},
		}},
		// The data holds this page in UTF-8. Deviation: Scrapy encodes the query in the charset that
		// the page declares (%A332&%B5), as browsers do; Extract is given UTF-8 and knows no other.
		{"linkextractor_latin1.html", []link{
			{site + "sample_%C3%B1.html", "", ""},
			{site + "sample_%C3%A1.html", "sample á text", ""},
			{site + "sample_%C3%B6.html?price=%C2%A332&%C2%B5=unit", "", ""},
		}},
		{"linkextractor_no_href.html", []link{
			{site + "author/Albert-Einstein", "(about)", ""},
			{site + "page/1/", "Page 1", ""},
			{site + "page/3/", "Page 3", ""},
			{site + "page/4/", "Page 4", ""},
		}},
	} {
		t.Run(test.page, func(t *testing.T) {
			body := conformance.Read(t, "scrapy-links", test.page)
			var got []link
			for _, l := range links.Extract(body, "http://other.example/index", links.Unique(false)) {
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

// TestCrawlMaze looks for all that a[href], area[href] and meta refresh name in the maze, and for
// nothing else: no pings, images, scripts or strings.
func TestCrawlMaze(t *testing.T) {
	root := conformance.Path(t, "crawl-maze")
	const site = "https://maze.example"
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		page := site + "/test/" + filepath.ToSlash(rel)
		for _, l := range links.Extract(body, page) {
			if l.URL != page {
				found = append(found, strings.TrimPrefix(l.URL, site))
			}
		}
		if url, _, ok := links.Refresh(body, page); ok {
			found = append(found, strings.TrimPrefix(url, site))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	checkStrings(t, "found", found,
		"/test/html/body/a/href.found",
		"/test/html/head/meta/content-redirect.found",
		"/test/html/misc/url/root-relative-url.found",
	)
	base := links.Base(conformance.Read(t, "crawl-maze", "html", "head", "base", "href.html"), site)
	if base != site+"/test/html/head/base/href.found" {
		t.Errorf("Base = %q", base)
	}
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
		pages++
		total += len(want)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pages, %d links", pages, total)
}
