package links_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/links"
)

var (
	documentation = flag.String("documentation", "", "a folder of pages, such as that of Debian's python3.11-doc")
	sample        = flag.Int("sample", 100, "how many pages of -documentation are compared; 0 is all")
)

// python is Debian's, which finds the lxml of the package python3-lxml.
const python = "/usr/bin/python3"

// TestDocumentation compares the links of real pages with those that an independent program finds, in
// URL, fragment, text and relation types.
func TestDocumentation(t *testing.T) {
	if *documentation == "" {
		t.Skip("no pages: run this test with -args -documentation DIR")
	}
	const site = "http://docs.example/"
	pages := documentationPages(t)
	witness := exec.CommandContext(t.Context(), python, "testdata/lxml_links.py", site, *documentation)
	witness.Stdin = strings.NewReader(strings.Join(pages, "\n") + "\n")
	witness.Stderr = os.Stderr
	out, err := witness.Output()
	if err != nil {
		t.Fatalf("the witness: %v", err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(pages) {
		t.Fatalf("%d lines for %d pages", len(lines), len(pages))
	}
	total, different := 0, 0
	for i, page := range pages {
		var want [][4]any
		if err := json.Unmarshal(lines[i], &want); err != nil {
			t.Fatal(err)
		}
		body, err := os.ReadFile(filepath.Join(*documentation, page))
		if err != nil {
			t.Fatal(err)
		}
		text, encoding, _ := charset.Decode(body, "")
		checkFrom(t, text, site, links.Charset(encoding))
		found := links.Extract(text, site+(&url.URL{Path: page}).EscapedPath(), links.Unique(false), links.Charset(encoding))
		got := [][4]any{}
		for _, l := range found {
			rel := []any{}
			for _, r := range l.Rel {
				rel = append(rel, r)
			}
			got = append(got, [4]any{l.URL, l.Fragment, l.Text, rel})
		}
		total += len(want)
		if !reflect.DeepEqual(got, want) {
			if different++; different <= 20 {
				t.Errorf("%s: %s", page, firstDifference(got, want))
			}
		}
	}
	if total == 0 {
		t.Error("there were no links")
	}
	t.Logf("%d links on %d pages; %d pages differ", total, len(pages), different)
}

func firstDifference(got, want [][4]any) string {
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			g, _ := json.Marshal(got[i])
			w, _ := json.Marshal(want[i])
			return "link " + string(g) + ", want " + string(w)
		}
	}
	g, _ := json.Marshal(got[min(len(got), len(want)):])
	w, _ := json.Marshal(want[min(len(got), len(want)):])
	return "more: " + string(g) + ", wanted more: " + string(w)
}

// documentationPages returns the pages of the documentation, or an even sample of them.
func documentationPages(t testing.TB) []string {
	t.Helper()
	var pages []string
	err := filepath.WalkDir(*documentation, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		rel, err := filepath.Rel(*documentation, path)
		pages = append(pages, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) == 0 {
		t.Fatalf("no pages in %s", *documentation)
	}
	if *sample <= 0 || len(pages) <= *sample {
		return pages
	}
	var some []string
	for i := range *sample {
		some = append(some, pages[i*len(pages) / *sample])
	}
	return some
}
