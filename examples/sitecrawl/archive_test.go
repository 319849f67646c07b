package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/warc"
)

// The archive has a response for each line, and robots.txt. A file that is there is not written to.
func TestArchive(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	path := filepath.Join(t.TempDir(), "site.warc.gz")
	r := start(t, site.URL(), "-url", site.URL()+"/quotes/", "-depth", "1", "-warc", path)
	if r.code != 0 || len(r.lines) < 10 {
		t.Fatalf("exit code %d, %d lines: %s", r.code, len(r.lines), r.stderr)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	responses := make(map[string]int)
	for one, err := range warc.Read(file) {
		if err != nil {
			t.Fatal(err)
		}
		if one.Type() == "response" || one.Type() == "revisit" {
			responses[strings.TrimPrefix(one.URL(), site.URL())]++
		}
	}
	for url := range r.lines {
		if responses[url] != 1 {
			t.Errorf("%s: %d responses", url, responses[url])
		}
	}
	if responses["/robots.txt"] != 1 {
		t.Errorf("%v", responses)
	}
	if r := start(t, site.URL(), "-url", site.URL()+"/quotes/", "-depth", "0", "-warc", path); r.code != 1 || !strings.Contains(r.stderr, "is there already") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}
