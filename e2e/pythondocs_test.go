package e2e_test

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var pythonDocs = flag.String("pythondoc", "", "the folder of Debian's python3.11-doc, /usr/share/doc/python3.11/html")

// A real site of some hundred pages is crawled with default flags, and compared with an independent walk of
// it (testdata/walk.py) in what was asked for, by the server's log, and in what was read.
func TestPythonDocs(t *testing.T) {
	if *pythonDocs == "" {
		t.Skip("no documentation to crawl: run this test with -args -pythondoc DIR")
	}
	if _, err := os.Stat(filepath.Join(*pythonDocs, "index.html")); err != nil {
		t.Fatal(err)
	}
	server := serveFiles(t, *pythonDocs)
	seed := server.url + "/index.html"

	walk := exec.CommandContext(t.Context(), python, "testdata/walk.py", seed)
	walk.Stderr = os.Stderr
	walked, err := walk.Output()
	if err != nil {
		t.Fatalf("the witness: %v", err)
	}
	server.take(t)

	dir := t.TempDir()
	out, counts := filepath.Join(dir, "pages.jsonl"), filepath.Join(dir, "result.json")
	// Some pages are linked to and not there, which is logged.
	r := wait(t, start(t, command(t), "crawl", seed, "--log-level", "error", "-O", out, "--result", counts))
	if r.code != 0 || r.stdout != "" || r.stderr != "" {
		t.Fatalf("exit code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	want := compareLogs(t, server, pages(t, string(walked)))
	comparePages(t, pages(t, readFile(t, out)), want)

	s := summary(t, counts)
	fetched, failed := int64(0), int64(0)
	for _, p := range want {
		if p.FinalURL != "" {
			fetched++
		} else if p.Status >= 400 {
			failed++
		}
	}
	c := s.Stats
	if s.Reason != "finished" || c.Settled != c.Discovered || c.Responses != int64(len(want)) || c.RobotsRequests != 1 ||
		c.ItemScraped != fetched || c.Outcomes["fetched"] != fetched || c.Outcomes["failed"] != failed {
		t.Errorf("the summary says %+v; %d pages were fetched and %d failed", s, fetched, failed)
	}
	t.Logf("%d pages, %d of them not there", len(want), failed)
}

// compareLogs checks that the server was asked for exactly what the witness had asked for, each once, and
// for robots.txt. It returns the witness's pages.
func compareLogs(t *testing.T, server *fileServer, walked []page) []page {
	t.Helper()
	if len(walked) < 100 {
		t.Fatalf("the witness found %d pages", len(walked))
	}
	want := []string{"GET /robots.txt 404"}
	for _, p := range walked {
		asked := p.URL
		if p.FinalURL != "" {
			asked = p.FinalURL
		}
		want = append(want, "GET "+strings.TrimPrefix(asked, server.url)+" "+strconv.Itoa(p.Status))
	}
	got := server.take(t)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		times := make(map[string]int)
		for _, line := range got {
			times[line]++
		}
		for _, line := range want {
			times[line]--
		}
		maps.DeleteFunc(times, func(_ string, n int) bool { return n == 0 })
		t.Errorf("asked for too often (positive) or not at all (negative): %v", times)
	}
	return walked
}

// comparePages checks that there is exactly one line for each page that the witness fetched, with what the
// witness read.
func comparePages(t *testing.T, got, want []page) {
	t.Helper()
	lines := make(map[string]page)
	for _, p := range got {
		if _, ok := lines[p.URL]; ok {
			t.Errorf("%s has two lines", p.URL)
		}
		lines[p.URL] = p
	}
	html, other := 0, 0
	for _, p := range want {
		if p.FinalURL == "" {
			continue
		}
		if lines[p.URL] != p {
			t.Errorf("%s\ngot  %+v\nwant %+v", p.URL, lines[p.URL], p)
		}
		delete(lines, p.URL)
		if p.Words > 0 {
			html++
		} else {
			other++
		}
	}
	for url := range lines {
		t.Errorf("%s was not found by the witness", url)
	}
	if html == 0 || other == 0 {
		t.Errorf("%d pages of HTML and %d others: there should be both", html, other)
	}
}
