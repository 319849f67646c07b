package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// One page gives one object with the names that other programs know.
func TestPage(t *testing.T) {
	const page = `<html lang=en><head><title>A day out - The Paper</title><meta property=og:site_name content="The Paper"><meta name=author content="Ann Other">
<meta property=article:published_time content=2024-05-06T07:08:09Z></head><body><nav><a href=/>Home</a> <a href=/news>News</a></nav><article><h1>A day out</h1>
<p>We went to the sea, where it rained, and <a href="/b">came back</a> in the evening.</p><p>Next time, we said, we will stay at home, or take an umbrella with us.</p></article></body></html>`
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-page", "-url", "https://paper.example/a"}, strings.NewReader(page), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Fatalf("%v: %s", err, out.String())
	}
	for name, want := range map[string]string{
		"title": "A day out", "byline": "Ann Other", "language": "en", "published": "2024-05-06T07:08:09Z",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	text, _ := got["text"].(string)
	markdown, _ := got["markdown"].(string)
	if len(got) != 6 || strings.Contains(text, "News") || !strings.Contains(text, "take an umbrella") || !strings.Contains(markdown, "[came back](https://paper.example/b) in the evening") {
		t.Errorf("%s", out.String())
	}
}

// A page without text, and one that is none, have an object too.
func TestNoPage(t *testing.T) {
	for _, page := range []string{"", "<img src=x>", "\x00\xff\x00"} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-page"}, strings.NewReader(page), &out, io.Discard); err != nil {
			t.Errorf("%q: %v", page, err)
		}
		var got readable
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Published != nil {
			t.Errorf("%q: %v, %+v", page, err, got)
		}
	}
}

// The manual of the example becomes chunks: each has its headings and stands in its page, and one of the two pages that
// are the same is marked.
func TestCrawl(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-tokens", "60"}, nil, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	near, pages := map[string]bool{}, map[string]int{}
	seen := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		var c chunk
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		name := c.URL[strings.LastIndexByte(c.URL, '/')+1:]
		pages[name]++
		if c.NearOf != "" {
			near[name] = true
		}
		if c.ID == "" || !strings.HasPrefix(c.URL, "https://manual.example/") || c.Tokens > 60 || len(c.Headings) == 0 || c.Start >= c.End {
			t.Errorf("%+v", c)
			continue
		}
		seen[c.Headings[len(c.Headings)-1]] = true
	}
	if len(pages) != 4 || len(near) != 1 || !near["usage.html"] && !near["usage-print.html"] {
		t.Errorf("%v, near: %v", pages, near)
	}
	for _, heading := range []string{"About Loom", "From a package", "From source", "Order", "Links"} {
		if !seen[heading] {
			t.Errorf("no chunk is below %q", heading)
		}
	}
	if !strings.Contains(out.String(), "```sh\\napt-get install loom\\nloom --version\\n```") {
		t.Error("the code is not what it was")
	}
}

// It fails if the chunks of an edited section are not listed the next day, or if others are.
func TestChanges(t *testing.T) {
	tree := t.TempDir()
	if err := os.CopyFS(tree, manual); err != nil {
		t.Fatal(err)
	}
	tree = filepath.Join(tree, "manual")
	var out, changes bytes.Buffer
	if err := run(t.Context(), []string{"-tree", tree, "-tokens", "60"}, nil, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	monday := filepath.Join(t.TempDir(), "monday.jsonl")
	if err := os.WriteFile(monday, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	all := bytes.Count(out.Bytes(), []byte("\n"))
	page := filepath.Join(tree, "install.html")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.NewReplacer("the easiest way", "the quickest way", "<footer>Loom 2.4.", "<footer>Loom 2.5.", `<a href="usage-print.html">Print</a>`, "").Replace(string(text))
	if err := os.WriteFile(page, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-tree", tree, "-tokens", "60", "-before", monday}, nil, io.Discard, &changes); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(fmt.Sprintf(`^https://manual.example/install.html#from-a-package gone \w{32} \(Installing > From a package\)
https://manual.example/install.html#from-a-package new \w{32} \(Installing > From a package\)
1 chunks are new, 1 are gone, %d are the same
$`, all-1))
	if !want.Match(changes.Bytes()) {
		t.Errorf("%s", changes.String())
	}
	if err := run(t.Context(), []string{"-before", page}, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), page) {
		t.Errorf("a file of another kind: %v", err)
	}
}
