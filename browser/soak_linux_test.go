package browser_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/browser"
)

var soak = flag.Int("soak", 0, "how many pages TestSoak makes; 0: it is skipped")

// It fails if memory or processes grow with the number of pages, or if a page of many is wrong.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("needs -soak")
	}
	const tabs = 4
	b := openBrowser(t, browser.Options{Tabs: tabs})
	dir := temporary(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/data":
			fmt.Fprint(w, `["right"]`)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><ul></ul><p>`, string(bytes.Repeat([]byte("text "), 1<<13)), `<script>
				window.all = new Uint8Array(1 << 24).fill(1)
				fetch("/data").then(r => r.json()).then(all => {
					for (const text of all) document.querySelector("ul").append(Object.assign(document.createElement("li"), {textContent: text}))
				})</script>`)
		}
	}))
	t.Cleanup(server.Close)
	inRun(t, b, server.URL, func(get getter) {
		// makePages gets pages, as many at a time as there are tabs, and returns what Chromium takes afterwards.
		done := 0
		makePages := func(until int) (kilobytes, count int) {
			var all sync.WaitGroup
			numbers := make(chan int)
			for range tabs {
				all.Go(func() {
					for n := range numbers {
						resp, err := get(fmt.Sprint(server.URL, "/page/", n), time.Minute)
						if err != nil || resp.CSS("li").Text() != "right" {
							t.Errorf("page %d: %v, %v", n, resp, err)
						}
					}
				})
			}
			for ; done < until; done++ {
				numbers <- done
			}
			close(numbers)
			all.Wait()
			return shareOf(t, dir)
		}
		early, earlyProcesses := makePages(*soak * 3 / 10)
		late, lateProcesses := makePages(*soak)
		t.Logf("after %d pages %d MiB in %d processes, after %d pages %d MiB in %d processes",
			*soak*3/10, early>>10, earlyProcesses, *soak, late>>10, lateProcesses)
		if late > early*115/100 {
			t.Errorf("memory grows")
		}
		if lateProcesses > earlyProcesses+1 {
			t.Errorf("processes grow")
		}
	})
}

// shareOf returns the proportional set size of the processes that name a folder, and how many they are.
func shareOf(t *testing.T, dir string) (kilobytes, count int) {
	t.Helper()
	for _, pid := range processes(t, dir) {
		rollup, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(rollup, []byte("\nPss:"))
		n, _ := strconv.Atoi(string(bytes.Fields(rest)[0]))
		kilobytes += n
		count++
	}
	return kilobytes, count
}
