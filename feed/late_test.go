package feed_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// slowText takes its time when it is encoded for the first time.
type slowText func()

func (s slowText) MarshalText() ([]byte, error) {
	s()
	return []byte("the text"), nil
}

// lateFeed says when a feed has staged an item.
type lateFeed struct {
	*feed.Feed
	staged func()
}

func (f *lateFeed) ProcessItem(s tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	err := f.Feed.ProcessItem(s, item)
	f.staged()
	return err
}

// An item whose encoding takes so long that it is given up, and that is staged between the staging and the settling of the second attempt,
// is written once. It fails if both attempts have one CtxId. That every other committer forgets what it stages late is in the conformance
// suite of package spidertest.
func TestItemStagedLate(t *testing.T) {
	for name, open := range map[string]func(string, ...feed.Option) *feed.Feed{
		"items.jsonl": feed.JSONL, "items.json": feed.JSON, "items.csv": feed.CSV, "items.xml": feed.XML,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			synctest.Test(t, func(t *testing.T) {
				var encoded, staged atomic.Int32
				second, late := make(chan struct{}), make(chan struct{})
				slow := slowText(func() {
					if encoded.Add(1) == 1 {
						<-second
					}
				})
				output := &lateFeed{open(path), func() {
					switch staged.Add(1) {
					case 1: // the second attempt's
						close(second)
					case 2:
						close(late)
					}
				}}
				s := enginetest.NewSpider("http://a.test/")
				s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					item <- tegenaria.NewItem(ctx, struct {
						Text slowText `json:"text"`
					}{slow})
					if ctx.Request.Attempt > 0 {
						<-late // it is not settled before
					}
					return nil
				}
				store := enginetest.NewCrashStore()
				e := enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")), s, tegenaria.EngineWithPipelines(output),
					tegenaria.EngineWithCache(&enginetest.CrashCache{CrashStore: store}), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}))
				enginetest.WantAbandoned(t, enginetest.Run(t, e))
				written, err := os.ReadFile(path)
				if n := strings.Count(string(written), "the text"); err != nil || n != 1 || staged.Load() != 2 {
					t.Errorf("the item was staged %d times, and is there %d times: %q, %v", staged.Load(), n, written, err)
				}
			})
		})
	}
}
