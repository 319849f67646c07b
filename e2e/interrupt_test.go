package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// endless is a site of pages that link to ten more each. From some request on it hangs, if hang is not 0.
type endless struct {
	*httptest.Server

	mu    sync.Mutex
	asked map[string]bool
	hang  int
	tell  func(n int) // told how many pages were asked for; it must not block
}

func serveEndless(t *testing.T, hang int, tell func(n int)) *endless {
	e := &endless{asked: make(map[string]bool), hang: hang, tell: tell}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		e.mu.Lock()
		e.asked[r.URL.Path] = true
		n := len(e.asked)
		e.tell(n)
		e.mu.Unlock()
		if e.hang > 0 && n >= e.hang {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range 10 {
			fmt.Fprintf(w, `<a href="%s%d/">%d</a> `, r.URL.Path, i, i)
		}
	}))
	t.Cleanup(e.Close)
	return e
}

func TestInterrupt(t *testing.T) {
	tests := []struct {
		name    string
		hang    int // from this request on the site hangs
		signals []os.Signal
	}{
		{"the first lets requests come to their end", 0, []os.Signal{os.Interrupt}},
		{"the second does not", 60, []os.Signal{os.Interrupt, syscall.SIGTERM}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const enough = 67 // 59 pages and 8 that hang: no more are asked for at once
			reached := make(chan struct{})
			site := serveEndless(t, test.hang, func(n int) {
				if n == enough {
					close(reached)
				}
			})
			dir := t.TempDir()
			out, counts := filepath.Join(dir, "pages.jsonl"), filepath.Join(dir, "result.json")
			cmd := start(t, command(t), "crawl", site.URL+"/", "--log-level", "error", "-O", out, "--result", counts)
			select {
			case <-reached:
			case <-t.Context().Done():
				t.Fatal("the crawl did not begin")
			}
			for _, signal := range test.signals { // two equal ones could become one on their way
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
			r := wait(t, cmd)
			if r.code != 3 || r.stdout != "" || !strings.HasPrefix(r.stderr, "tegenaria: interrupted: what waited in memory is lost") || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
			}
			lines := pages(t, readFile(t, out))
			site.mu.Lock()
			defer site.mu.Unlock()
			for _, p := range lines {
				if !site.asked[strings.TrimPrefix(p.URL, site.URL)] || p.Status != 200 || p.Links != 10 {
					t.Errorf("line %+v", p)
				}
			}
			s := summary(t, counts)
			if n := len(lines); n == 0 || s.Stats.Outcomes["fetched"] != int64(n) || s.Reason != "stopped" || s.Stats.Pending == 0 {
				t.Errorf("%d lines, summary %+v", n, s)
			}
			// After one signal all that was asked for is in the output; after two what was not read yet is
			// not.
			if n, asked := len(lines), len(site.asked); n > asked || len(test.signals) == 1 && n != asked {
				t.Errorf("%d lines for %d pages", n, asked)
			}
		})
	}
}
