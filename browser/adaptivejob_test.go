package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// dying is a durable cache whose process ends before a batch is settled: what its requests have sent is stored, and they are not.
type dying struct {
	*enginetest.CrashCache
	settles, last int
}

func (d *dying) Settle(ctx context.Context, batch tegenaria.Batch) error {
	if d.settles++; d.settles == d.last {
		d.Kill()
	}
	return d.CrashCache.Settle(ctx, batch)
}

// linesOf returns the lines of a file, sorted.
func linesOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	return lines
}

// Whenever the process ends, the job that goes on gives each item once: also of a page whose request for the browser was accepted, while
// its own was not settled yet.
func TestAdaptiveSurvivesCrashes(t *testing.T) {
	died := 0
	for last := 1; last <= 12; last++ {
		t.Run(fmt.Sprint(last), func(t *testing.T) {
			w := newWorlds()
			var want []string
			for _, path := range w.list("/p/", 20, func(i int) bool { return i%7 == 6 }) {
				want = append(want, fmt.Sprintf("%q", path))
			}
			slices.Sort(want)
			store, file := enginetest.NewCrashStore(), filepath.Join(t.TempDir(), "items.jsonl")
			run := func(cache tegenaria.CacheInterface) error {
				m := browser.Adaptive(browser.AdaptiveOptions{Agree: 2, Recheck: 5})
				return w.engine(m, tegenaria.EngineWithCache(cache), tegenaria.EngineWithConcurrency(2),
					tegenaria.EngineWithPipelines(feed.JSONL(file))).Run(t.Context(), "test")
			}
			if run(&dying{CrashCache: &enginetest.CrashCache{CrashStore: store}, last: last}) != nil {
				died++
			}
			if err := run(&enginetest.CrashCache{CrashStore: store}); err != nil {
				t.Fatalf("the second run: %v", err)
			}
			if got := linesOf(t, file); !slices.Equal(got, want) {
				t.Errorf("items %q, want %q", got, want)
			}
		})
	}
	if died < 3 {
		t.Errorf("only %d of the first runs were interrupted", died)
	}
}

// What was learnt is stored with the job.
func TestAdaptiveKeepsWhatItHasLearnt(t *testing.T) {
	w, folder := newWorlds(), filepath.Join(t.TempDir(), "job")
	w.list("/p/", 30, func(int) bool { return false })
	run := func(m *browser.AdaptiveMiddleware, opts ...tegenaria.EngineOption) error {
		t.Helper()
		cache, err := disk.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		return errors.Join(w.engine(m, append(opts, tegenaria.EngineWithCache(cache), tegenaria.EngineWithConcurrency(1))...).Run(t.Context(), "test"), cache.Close())
	}
	first, again := browser.Adaptive(browser.AdaptiveOptions{Agree: 2}), browser.Adaptive(browser.AdaptiveOptions{Agree: 2})
	var stopped *tegenaria.StoppedError
	if err := run(first, tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 10})); !errors.As(err, &stopped) {
		t.Fatalf("the first run: %v", err)
	}
	before := w.downloaded()
	if len(first.Learnt()) != 1 || !first.Learnt()[0].Browser {
		t.Fatalf("learnt: %v", first.Learnt())
	}
	if err := run(again); err != nil {
		t.Fatalf("the second run: %v", err)
	}
	if !reflect.DeepEqual(again.Learnt(), first.Learnt()) {
		t.Errorf("learnt were %v, and then %v", first.Learnt(), again.Learnt())
	}
	if more := w.downloaded() - before; more > 6 { // the re-checks
		t.Errorf("the second run downloaded %d pages before they were rendered", more)
	}
	if err := again.RestoreState(map[string][]byte{"1": []byte("nonsense")}); err == nil {
		t.Error("nonsense is restored")
	}
}

// A site whose paths are all of different shapes does not fill the memory, and only what has changed is stored.
func TestAdaptiveIsBounded(t *testing.T) {
	m := browser.Adaptive(browser.AdaptiveOptions{})
	see := func(url string) {
		t.Helper()
		r := tegenaria.NewRequest(url, "", nil)
		ctx := tegenaria.NewContext(r)
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(r, 200, map[string][]string{"Content-Type": {"text/html"}}, []byte(shell))}
		if err := m.ProcessResponse(ctx, nil); !errors.Is(err, tegenaria.ErrIgnoreRequest) {
			t.Fatalf("%s: %v", url, err)
		}
	}
	for i := range 5000 {
		see(fmt.Sprintf("http://h%d.test/%s/x", i, strings.Repeat("/y", 100)))
	}
	if n := len(m.Learnt()); n != 4096 {
		t.Errorf("%d shapes are kept", n)
	}
	state, version, err := m.ChangedState(0)
	if err != nil || len(state) != 64 {
		t.Fatalf("%d parts are stored: %v", len(state), err)
	}
	see("http://h4999.test/" + strings.Repeat("/y", 100) + "/z")
	changed, _, err := m.ChangedState(version)
	if err != nil || len(changed) != 1 {
		t.Errorf("%d parts are stored of one change: %v", len(changed), err)
	}
	again := browser.Adaptive(browser.AdaptiveOptions{})
	for name, part := range changed {
		state[name] = part
	}
	if err := again.RestoreState(state); err != nil || !slices.Equal(again.Learnt(), m.Learnt()) {
		t.Errorf("restored were %d of %d shapes: %v", len(again.Learnt()), len(m.Learnt()), err)
	}
	m.Reset()
	if state, _, _ = m.ChangedState(version); len(state) != 64 || len(m.Learnt()) != 0 {
		t.Errorf("after Reset %d parts are stored", len(state))
	}
}

// What is asked of shapes: which parts of a path stand for themselves.
func TestAdaptiveShapes(t *testing.T) {
	for url, want := range map[string]string{
		"http://A.test": "a.test/", "http://a.test:81/Index.html?p=2#x": "a.test:81/Index.html", "http://a.test/p/12": "a.test/p/*",
		"http://a.test/p/a-blue-shirt/": "a.test/p/*/", "http://a.test/p/6ba7b810-9dad-11d1-80b4-00c04fd430c8/reviews": "a.test/p/*/reviews",
		"http://a.test/caf%C3%A9/x": "a.test/*/x", "http://a.test/averyveryverylongwordindeed": "a.test/*",
	} {
		m := browser.Adaptive(browser.AdaptiveOptions{Requires: "none"})
		r := tegenaria.NewRequest(url, "", nil)
		ctx := tegenaria.NewContext(r)
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(r, 200, http.Header{"Content-Type": {"text/html"}}, []byte(shell))}
		_ = m.ProcessResponse(ctx, nil) // that it is unfinished
		if got := m.Learnt(); len(got) != 1 || got[0].Host+got[0].Path != want {
			t.Errorf("%s has the shape %v, want %s", url, got, want)
		}
	}
}
