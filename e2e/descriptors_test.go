//go:build linux && !race

package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/hostile"
)

// What a crawl takes of the operating system, counted by the operating system.

// descriptors counts the open files and sockets of this process.
func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Many requests (10,000 in a deep check), one in five of which goes wrong in some way, leave no goroutine, connection or descriptor
// behind.
func TestManyRequestsLeaveNothing(t *testing.T) {
	n := 1_000
	if deep.Checks() {
		n = 10_000
	}
	quietLog(t)
	server := hostile.NewServer(t)
	bad := []string{"truncated", "extra-response", "closed", "reset-in-body", "chunk-size-letters", "header-cut", "two-lengths",
		"switching-protocols", "tls-self-signed", "redirect-metadata"}
	urls := make(map[string]string)
	for _, c := range server.Cases() {
		urls[c.Name] = server.URL(c)
	}
	requests := func(n int) (all []*tegenaria.Request) {
		for i := range n {
			url := fmt.Sprintf("%s/good?n=%d", server.Plain(), i)
			if i%5 == 0 {
				url = fmt.Sprintf("%s?n=%d", urls[bad[i/5%len(bad)]], i)
			}
			all = append(all, ask(url, "GET", patience, 0))
		}
		return all
	}
	crawl := func(n int) map[string]ending {
		return newWitness(requests(n)...).crawl(t, tegenaria.EngineWithConcurrency(16),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 16}))
	}
	ignore := goleak.IgnoreCurrent()
	crawl(100) // what the process needs once
	enginetest.NoLeaks(t, ignore)
	before := descriptors(t)
	ends := crawl(n)
	enginetest.NoLeaks(t, ignore)
	if after := descriptors(t); after != before || server.Open() != 0 {
		t.Errorf("%d descriptors before, %d after; %d connections are open", before, after, server.Open())
	}
	fetched := 0
	for _, e := range ends {
		if e.resp != nil {
			fetched++
		}
	}
	if len(ends) != n || fetched < n*4/5 {
		t.Errorf("%d of %d requests ended, %d well", len(ends), n, fetched)
	}
}

var helperCrawl = flag.String("helper-crawl", "", "crawl this address with few descriptors (the tests start it themselves)")

// fewDescriptors is what is left to the crawl of TestHelperCrawl.
const fewDescriptors = 64

// TestHelperCrawl is a process with few descriptors that crawls, when it is started as one, and says how that ended.
func TestHelperCrawl(t *testing.T) {
	if *helperCrawl == "" {
		return
	}
	limit := syscall.Rlimit{Cur: fewDescriptors, Max: fewDescriptors}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var requests []*tegenaria.Request
	for i := range 500 {
		requests = append(requests, ask(fmt.Sprintf("%s/?n=%d", *helperCrawl, i), "GET", patience, 0))
	}
	w := newWitness(requests...)
	var once sync.Once
	w.crawl(t, tegenaria.EngineWithConcurrency(4*fewDescriptors),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			if noDescriptor(err) {
				once.Do(func() { fmt.Println("full") })
			}
		}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 4 * fewDescriptors}))
	said := make(map[string]int)
	for _, e := range w.ends {
		switch {
		case e.resp != nil:
			said["fetched"]++
		case e.err != nil && noDescriptor(e.err):
			said["without a descriptor"]++
		default:
			said[e.String()]++
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		t.Fatal(err)
	}
}

// noDescriptor reports whether a request failed because the process had no descriptor left.
func noDescriptor(err error) bool {
	return enginetest.IsA[syscall.Errno](err) && strings.Contains(err.Error(), syscall.EMFILE.Error())
}

// A crawl that runs out of descriptors ends with errors, and does not hang. Nobody is answered before that.
func TestFewDescriptors(t *testing.T) {
	full := make(chan struct{})
	url, _ := enginetest.ServeFunc(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-full:
		case <-r.Context().Done():
		}
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperCrawl$", "-helper-crawl="+url, "-test.timeout=2m")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if lines.Scan(); lines.Text() != "full" {
		t.Errorf("the crawl said %q", lines.Text())
	}
	close(full)
	lines.Scan()
	line := bytes.Clone(lines.Bytes())
	for lines.Scan() { // what the test binary says at its end
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the crawl: %v", err)
	}
	said := make(map[string]int)
	if err := json.Unmarshal(line, &said); err != nil {
		t.Fatalf("%v: %q", err, line)
	}
	if said["fetched"] == 0 || said["without a descriptor"] == 0 || len(said) != 2 {
		t.Errorf("the requests ended as %v", said)
	}
	t.Log(said)
}
