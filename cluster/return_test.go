package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// output is the output of a worker on its machine: it notes how it is used, and outlives the process.
type output struct {
	close func() error // nil: it can be closed

	mu   sync.Mutex // guards the fields below
	used []string
}

var (
	_ tegenaria.Committer = (*output)(nil)
	_ tegenaria.Closer    = (*output)(nil)
)

func (o *output) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.used = append(o.used, what)
}

// uses returns how it was used since the last call.
func (o *output) uses() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	used := strings.Join(o.used, ", ")
	o.used = nil
	return used
}

func (o *output) GetPriority() int  { return 1 }
func (o *output) CommitKey() string { return "output" }
func (o *output) Discard(string)    {}

func (o *output) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error { return nil }

func (o *output) Restore(_ context.Context, checkpoint []byte) error {
	if checkpoint == nil {
		o.note("made")
	} else {
		o.note("restored")
	}
	return nil
}

func (o *output) Prepare(context.Context, []string) ([]byte, error) { return []byte("written"), nil }

func (o *output) Close(ctx context.Context, _ string) error {
	if o.close != nil {
		if err := o.close(); err != nil {
			return err
		}
	}
	if tegenaria.Complete(ctx) {
		o.note("completed")
	} else {
		o.note("closed")
	}
	return nil
}

// A worker that comes back after the end of the job completes its outputs, unless it has done so before: then it
// touches none of them. It fails if the worker that ended the job is the only one that remembers what it has to close.
func TestWorkerReturnsAfterTheEnd(t *testing.T) {
	const pages = 12
	for _, tt := range []struct {
		name    string
		diesAt  int                                      // the page at which the first worker is killed, 0: it is not
		stopsAt int                                      // at which it is asked to stop
		close   func(kill context.CancelCauseFunc) error // of its output, in its first process
		first   string                                   // how its first process uses the output
		back    string                                   // and the one that comes back
	}{
		{name: "killed before others ended the job", diesAt: 3, first: "made", back: "restored, completed"},
		{name: "asked to stop before that", stopsAt: 3, first: "made, closed", back: "restored, completed"},
		{name: "killed while it closes", close: func(kill context.CancelCauseFunc) error {
			kill(errors.New("killed"))
			return errors.New("killed")
		}, first: "made", back: "restored, completed"},
		{name: "cannot close", close: func(context.CancelCauseFunc) error { return errors.New("no space is left") }, first: "made", back: "restored, completed"},
		{name: "has ended the job itself", first: "made, completed", back: ""},
		{name: "has not begun before the end", stopsAt: -1, first: "", back: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				models := models{newModel(location{suffixes: builtIn, servers: 1, partitions: 4})}
				lock := int32(0)
				// run is a process of a worker, which tells of each page that it parses.
				run := func(worker string, o *output, parsed func(page int, kill, stop context.CancelCauseFunc)) error {
					ctx, stop := context.WithCancelCause(t.Context())
					defer stop(nil)
					w := &link{name: "job", patience: time.Minute, random: rand.New(rand.NewPCG(1, uint64(lock))), onDeath: func() {}}
					kill := func(err error) {
						w.mu.Lock()
						w.dead = true
						w.mu.Unlock()
						stop(err)
					}
					if close := tt.close; close != nil && parsed != nil {
						o.close = func() error { return close(kill) }
					} else {
						o.close = nil
					}
					lock++
					cache, err := models.open(ctx, w, member{job: "job", worker: worker, ttl: 2 * time.Second}, lock)
					if err != nil {
						t.Fatal(err)
					}
					world, urls, n := enginetest.NewWorld(), []string(nil), 0
					for i := range pages {
						urls = append(urls, fmt.Sprintf("http://h%d.test/%d", i%3, i))
						world.Page(urls[i], enginetest.Text("x"))
					}
					spider := enginetest.NewSpider(urls...)
					var mu sync.Mutex // guards n
					spider.Parse = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
						items <- tegenaria.NewItem(ctx, ctx.Request.Url)
						mu.Lock()
						defer mu.Unlock()
						if n++; parsed != nil {
							parsed(n, kill, stop)
						}
						return nil
					}
					err = enginetest.NewEngine(world, spider, tegenaria.EngineWithCache(cache), tegenaria.EngineWithPipelines(o),
						tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: 100 * time.Millisecond, IgnoreRobots: true})).Run(ctx, spider.GetName())
					return errors.Join(err, cache.Close())
				}
				own, others := new(output), new(output)
				if tt.stopsAt >= 0 {
					_ = run("own", own, func(page int, kill, stop context.CancelCauseFunc) {
						switch page {
						case tt.diesAt:
							kill(errors.New("killed"))
						case tt.stopsAt:
							stop(errors.New("asked to stop"))
						}
					})
				}
				first := slices.DeleteFunc(strings.Split(own.uses(), ", "), func(use string) bool { return tt.diesAt > 0 && use == "closed" })
				if got := strings.Join(first, ", "); got != tt.first {
					t.Errorf("the first process: %q, want %q", got, tt.first)
				}
				if err := run("another", others, nil); err != nil || !models.isOver() {
					t.Fatalf("the other worker: %v; the job is over: %v", err, models.isOver())
				}
				for _, want := range []string{tt.back, ""} { // once more, and it touches nothing
					if err := run("own", own, nil); err != nil {
						t.Error(err)
					}
					if got := own.uses(); got != want {
						t.Errorf("back after the end: %q, want %q", got, want)
					}
				}
			})
		})
	}
}
