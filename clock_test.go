package tegenaria_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A job is stored by a clock that is hours ahead of that of the next runs. Each pause lasts as long as was left of it:
// the delay of a slot, a Retry-After, and the pause before another attempt. It fails if a stored time is taken for one of
// the present clock, or if the times that such a run stores are not those of the other clock.
func TestClockThatWasSetBack(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&log)
	refused := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, 429, map[string][]string{"Retry-After": {"100"}}, nil), nil
	}
	var again time.Duration // when the second attempt came, in its run
	run := func(t *testing.T, begin time.Duration, pages int) (took time.Duration, err error) {
		synctest.Test(t, func(t *testing.T) { // its clock begins with the year 2000
			enginetest.Sleep(begin)
			store, failed := disk.Open(dir)
			if failed != nil {
				t.Fatal(failed)
			}
			defer store.Close()
			w := enginetest.NewWorld().Page("http://b.test/busy", refused)
			urls := []string{"http://b.test/busy", "http://a.test/again", "http://a.test/1", "http://a.test/2", "http://a.test/3", "http://b.test/2"}
			for _, url := range urls[1:] {
				w.Page(url, enginetest.Text("x"))
			}
			from := time.Now()
			s := enginetest.NewSpider(urls...)
			s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				if strings.HasSuffix(ctx.Request.Url, "/again") && ctx.Request.Attempt == 0 {
					return tegenaria.Retry(50*time.Second, errors.New("not yet"))
				} else if ctx.Request.Attempt > 0 {
					again = time.Since(from)
				}
				return nil
			}
			log.Reset()
			e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(store), tegenaria.EngineWithLogger(logger),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: 2 * time.Second, IgnoreRobots: true}),
				tegenaria.EngineWithLimits(tegenaria.Limits{Pages: pages}))
			err = e.Run(t.Context(), "test")
			took = time.Since(from)
		})
		return took, err
	}
	const behind = "the clock is"
	if took, err := run(t, 6*time.Hour, 3); err == nil || took > 10*time.Second {
		t.Fatalf("first run: %v after %s", err, took)
	}
	if took, err := run(t, 3*time.Hour, 1); err == nil || took > 10*time.Second || !strings.Contains(log.String(), behind+" 3h0m") {
		t.Fatalf("second run: %v after %s\n%s", err, took, log.String())
	}
	took, err := run(t, time.Hour, 0)
	if err != nil || took < 90*time.Second || took > 100*time.Second || again < 40*time.Second || again > 50*time.Second ||
		strings.Count(log.String(), behind) != 1 {
		t.Errorf("third run: %v after %s, the second attempt after %s\n%s", err, took, again, log.String())
	}
}
