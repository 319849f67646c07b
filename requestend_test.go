package tegenaria_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// RequestEnded is called once for each request that was accepted or sent by Fetch, with what became of it and of its
// last attempt. It is not called for duplicates and for what is refused when it is sent.
func TestRequestEnded(t *testing.T) {
	const root = "http://a.test/"
	want := []string{ // how it ended, the request whose code has sent it, and the time of the download
		root + ": fetched, 200, attempt 0, of , 100ms",
		root + "again: fetched, 200, attempt 1, of " + root + ", 10ms",
		root + "cut: failed (download), 0, attempt 0, of " + root + ", 30ms",
		root + "fetched: fetched, 200, attempt 0, of " + root + "page, 50ms, inline",
		root + "gone: failed (status), 404, attempt 0, of " + root + ", 0s",
		root + "ignored: filtered (dull), 0, attempt 0, of " + root + ", not begun",
		root + "moved: redirected, 302, attempt 0, of " + root + ", 0s",
		root + "never: gave-up (no), 200, attempt 1, of " + root + ", 0s",
		root + "page: fetched, 200, attempt 0, of " + root + ", 200ms",
		root + "target: fetched, 200, attempt 0, of " + root + "moved, 0s",
	}
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprint("durable=", durable), func(t *testing.T) {
			var opts []tegenaria.EngineOption
			want := slices.Clone(want)
			if durable { // the cache keeps no parents
				for i, line := range want {
					if before, after, _ := strings.Cut(line, ", of "); !strings.HasSuffix(line, "inline") {
						_, after, _ = strings.Cut(after, ", ")
						want[i] = before + ", of , " + after
					}
				}
				opts = append(opts, tegenaria.EngineWithCache(&enginetest.CrashCache{CrashStore: enginetest.NewCrashStore()}))
			}
			synctest.Test(t, func(t *testing.T) { testRequestEnded(t, root, want, opts) })
		})
	}
}

func testRequestEnded(t *testing.T, root string, want []string, opts []tegenaria.EngineOption) {
	text := enginetest.Text("x")
	w := enginetest.NewWorld()
	for path, answer := range map[string]enginetest.Answer{
		"": enginetest.After(100*time.Millisecond, text), "page": enginetest.After(200*time.Millisecond, text),
		"fetched": enginetest.After(50*time.Millisecond, text), "again": enginetest.After(10*time.Millisecond, text), "never": text,
		"cut":   enginetest.After(30*time.Millisecond, enginetest.Broken(errors.New("cut"))),
		"moved": enginetest.Redirect(302, "/target"), "target": text, "gone": enginetest.Status(404),
	} {
		w.Page(root+path, answer)
	}
	s := enginetest.NewSpider(root)
	s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		switch path := strings.TrimPrefix(ctx.Request.Url, root); path {
		case "":
			for _, ref := range []string{"page", "page", "moved", "gone", "again", "never", "cut", "ignored"} {
				req <- enginetest.Send(root + ref)
			}
			req <- enginetest.Send("http://offsite.test/")
		case "page":
			if _, err := get(ctx, root+"fetched"); err != nil {
				t.Error(err)
			}
			if _, err := get(ctx, "http://offsite.test/"); err == nil {
				t.Error("Fetch has left the site")
			}
		case "again", "never":
			if path == "never" || ctx.Request.Attempt == 0 {
				return tegenaria.Retry(0, errors.New("no"))
			}
		}
		return nil
	}
	ignores := &enginetest.Hooks{Name: "ignores", Request: func(ctx *tegenaria.Context) error {
		if ctx.Request.Url == root+"ignored" {
			return tegenaria.IgnoreRequest("dull")
		}
		return nil
	}}
	var mu sync.Mutex // guards ends
	var ends []tegenaria.RequestEnd
	e := enginetest.NewEngine(w, s, append(opts, tegenaria.EngineWithMiddlewares(ignores), tegenaria.EngineWithAllowedDomains("a.test"),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 2}),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestEnded: func(end tegenaria.RequestEnd) {
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, end)
		}}))...)
	stats := enginetest.MustRun(t, e)
	if refused := stats.Outcomes[tegenaria.Duplicate] + stats.Reasons["filtered: offsite"]; refused != 3 || stats.Settled-refused != int64(len(ends)) {
		t.Errorf("%d requests settled, %d of them refused; %d have ended", stats.Settled, refused, len(ends))
	}
	urls := make(map[[4]byte]string)
	for _, end := range ends {
		if !end.Inline {
			urls[[4]byte(end.Key[:])] = end.Request.Url
		}
	}
	var got []string
	for _, end := range ends {
		how := end.Outcome.String()
		if end.Reason != "" {
			how += " (" + end.Reason + ")"
		}
		took := end.Took.String()
		if end.Started.IsZero() {
			took = "not begun"
		}
		parent := urls[[4]byte(end.Parent[:])]
		line := fmt.Sprintf("%s: %s, %d, attempt %d, of %s, %s", end.Request.Url, how, end.Status, end.Attempt, parent, took)
		if end.Inline {
			line += ", inline"
		}
		got = append(got, line)
		if starts := w.StartsOf(end.Slot, end.Started); end.Slot != "a.test" || !end.Started.IsZero() && !slices.Contains(starts, 0) {
			t.Errorf("%s: no download of %q has begun at %v", end.Request.Url, end.Slot, end.Started)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// In a job on disk the number of the parent says who has sent a request, also one of Fetch.
func TestRequestEndedOfJob(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := enginetest.NewWorld()
	for _, path := range []string{"", "child", "fetched"} {
		w.Page("http://a.test/"+path, enginetest.Text("x"))
	}
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		if ctx.Request.Depth > 0 {
			return nil
		}
		req <- enginetest.Send("http://a.test/child")
		_, err := get(ctx, "http://a.test/fetched")
		return err
	}
	var mu sync.Mutex // guards ends
	ends := make(map[string]tegenaria.RequestEnd)
	enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithCache(store), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestEnded: func(end tegenaria.RequestEnd) {
			mu.Lock()
			defer mu.Unlock()
			ends[end.Request.Url] = end
		}})))
	root, child, fetched := ends["http://a.test/"], ends["http://a.test/child"], ends["http://a.test/fetched"]
	if root.Seq == 0 || root.ParentSeq != 0 || child.Seq == root.Seq || child.ParentSeq != root.Seq || fetched.ParentSeq != root.Seq ||
		fetched.Parent != root.Key || fetched.Key != (tegenaria.Key{}) {
		t.Errorf("the root %+v, its child %+v, and what it has fetched %+v", root, child, fetched)
	}
}
