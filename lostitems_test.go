package tegenaria_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/pipeline"
)

// priced is an item with a rule.
type priced struct {
	Price int `json:"price" min:"1"`
}

// ruled returns a pipeline that ends items by what they are.
func ruled() tegenaria.PipelinesInterface {
	return enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
		switch item.Item {
		case "long":
			return tegenaria.DropItem(errors.New("the text has 512 letters"))
		case "longer":
			return fmt.Errorf("wrapped: %w", tegenaria.DropItem(errors.New("the text has 1024 letters")))
		case "silent":
			return tegenaria.DropItem(nil)
		case "broken":
			return errors.New("no connection")
		case "panic":
			panic("oh")
		}
		return nil
	}}
}

// sending returns a spider whose one page sends these items.
func sending(items ...any) *enginetest.Spider {
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		for _, one := range items {
			item <- tegenaria.NewItem(ctx, one)
		}
		return nil
	}
	return s
}

// The texts of reasons with other numbers are one reason, as failures with other numbers are one kind.
var endings = []struct {
	name   string
	item   any
	reason string // in Stats.ItemReasons; "": it is scraped
	says   string // of its line at info level
}{
	{"rule", priced{0}, "dropped: price: min", "price: 0, the least is 1"},
	{"text", "long", "dropped: the text has # letters", "the text has 512 letters"},
	{"wrapped", "longer", "dropped: the text has # letters", "the text has 1024 letters"},
	{"no reason", "silent", "dropped: no reason given", "no reason given"},
	{"failed", "broken", "failed: no connection", ""},
	{"panic", "panic", "failed: panic", ""},
	{"scraped", "good", "", ""},
}

// crawlDebug runs a crawl of these items with a log at debug level.
func crawlDebug(t *testing.T, items ...any) (stats tegenaria.Stats, ends []tegenaria.ItemEnd, log *bytes.Buffer) {
	log = new(bytes.Buffer)
	logger := logrus.New()
	logger.SetOutput(log)
	logger.SetLevel(logrus.DebugLevel)
	logger.SetFormatter(&logrus.TextFormatter{DisableColors: true, DisableTimestamp: true, DisableQuote: true})
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	e := enginetest.NewEngine(w, sending(items...), tegenaria.EngineWithLogger(logger), tegenaria.EngineWithItemConcurrency(1),
		tegenaria.EngineWithEvents(tegenaria.Events{ItemEnded: func(end tegenaria.ItemEnd) { ends = append(ends, end) }}),
		tegenaria.EngineWithPipelines(ruled(), pipeline.Validate[priced](pipeline.ValidateOptions{Drop: true})))
	enginetest.MustRun(t, e)
	return e.Stats(), ends, log
}

func TestItemReasons(t *testing.T) {
	for _, tt := range endings {
		t.Run(tt.name, func(t *testing.T) {
			stats, ends, log := crawlDebug(t, tt.item)
			want := make(map[string]int64)
			if tt.reason != "" {
				want[tt.reason] = 1
			}
			if !maps.Equal(stats.ItemReasons, want) {
				t.Errorf("the reasons are %v, want %v", stats.ItemReasons, want)
			}
			outcome, reason, _ := strings.Cut(tt.reason, ": ")
			if outcome == "" {
				outcome = "scraped"
			}
			if len(ends) != 1 || ends[0].Outcome != outcome || ends[0].Reason != reason || ends[0].Request.Url != "http://a.test/" ||
				ends[0].Item.Item != tt.item || (ends[0].Err != nil) != (outcome != "scraped") {
				t.Errorf("ItemEnded was told %+v", ends)
			}
			line := lineWith(t, log, "level=debug msg=item ended")
			for _, part := range []string{"outcome=" + outcome, "url=http://a.test/", fmt.Sprintf("type=%T", tt.item), reason} {
				if !strings.Contains(line, part) {
					t.Errorf("%q is not in the line of debug level %s", part, line)
				}
			}
			if tt.says != "" {
				line := lineWith(t, log, "level=info msg=item dropped: ")
				for _, part := range []string{tt.says, "reason=" + reason, "url=http://a.test/"} {
					if !strings.Contains(line, part) {
						t.Errorf("%q is not in the line %s", part, line)
					}
				}
			}
			if tt.reason != "" {
				lineWith(t, log, "items: 1 "+outcome+" ("+reason+")")
			}
		})
	}
}

// The first three drops of a kind have a line each; the others are counted with the next line of progress.
func TestDropsAreLoggedAsFailuresAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := sending("long", "long", "long", "longer", "longer", "silent", "broken", "broken", "broken", "broken")
		parse := s.Parse
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			err := parse(ctx, item, req)
			<-time.After(2 * time.Minute)
			return err
		}
		enginetest.MustRun(t, enginetest.NewEngine(w, s, logTo(&log), tegenaria.EngineWithPipelines(ruled()),
			tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Hour})))
		if n := strings.Count(log.String(), "item dropped: the text"); n != 3 {
			t.Errorf("%d lines of one kind, want 3:\n%s", n, log.String())
		}
		lineWith(t, &log, "msg=2 more items dropped: the text has ")
		if n := strings.Count(log.String(), "more items "); n != 1 {
			t.Errorf("%d lines about more items, want 1 for the dropped ones alone:\n%s", n, log.String())
		}
		lineWith(t, &log, "items: 6 dropped (5 the text has # letters, 1 no reason given), 4 failed (no connection)")
	})
}

// A durable job keeps the counts of all runs, each with the batch that settles the page of the items.
func TestJobKeepsItemReasons(t *testing.T) {
	dir := t.TempDir()
	var job tegenaria.Stats
	for _, page := range []string{"http://a.test/1", "http://a.test/2"} {
		store, err := disk.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		w := enginetest.NewWorld()
		for _, url := range []string{"http://a.test/1", "http://a.test/2"} {
			w.Page(url, enginetest.Text("x"))
		}
		s := sending("long", "longer", "broken")
		s.Start = func(req chan<- *tegenaria.Context) {
			for _, url := range []string{"http://a.test/1", "http://a.test/2"} {
				req <- enginetest.Send(url)
			}
		}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(store), tegenaria.EngineWithPipelines(ruled()),
			tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1}))
		if err := enginetest.Run(t, e); err != nil && !errors.As(err, new(*tegenaria.StoppedError)) {
			t.Fatal(page, err)
		}
		job = e.JobStats()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if want := map[string]int64{"dropped: the text has # letters": 4, "failed: no connection": 2}; !maps.Equal(job.ItemReasons, want) {
		t.Errorf("the job has the reasons %v, want %v", job.ItemReasons, want)
	}
}
