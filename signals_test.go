//go:build unix

package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The first signal drains, the second one cancels, one that comes while the parts are closed cancels that. It fails if
// Execute heeds two signals only.
func TestExecuteSignals(t *testing.T) {
	server, _ := enginetest.Serve(t, map[string]string{"/": "x"})
	for _, signals := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(signals), func(t *testing.T) {
			s := enginetest.NewSpider(server + "/")
			parsing, stopping := make(chan struct{}), make(chan struct{})
			cancelled := false
			s.Parse = parserOf(func(ctx *tegenaria.Context) error {
				close(parsing)
				select {
				case <-stopping:
					if signals > 1 {
						<-ctx.Done()
						cancelled = true
					}
				case <-ctx.Done():
				}
				return nil
			})
			watching := &starting{s, func(ctx context.Context, req chan<- *tegenaria.Context) error {
				s.StartRequest(req)
				<-ctx.Done() // the crawl is stopping
				close(stopping)
				if signals > 1 {
					return syscall.Kill(syscall.Getpid(), syscall.SIGINT)
				}
				return nil
			}}
			var closed error // why the closing ended
			e := enginetest.NewEngine(nil, watching, tegenaria.EngineWithMiddlewares(&opening{close: func(ctx context.Context, _ string) error {
				if signals < 3 {
					return nil
				}
				err := syscall.Kill(syscall.Getpid(), syscall.SIGINT)
				<-ctx.Done()
				closed = ctx.Err()
				return err
			}}))
			result := make(chan error, 1)
			go func() { result <- e.Execute("test") }()
			<-parsing
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			enginetest.WantStopped(t, <-result, "stopped")
			if cancelled != (signals > 1) {
				t.Errorf("after %d signals the work was cancelled: %t", signals, cancelled)
			}
			if signals == 3 && !errors.Is(closed, context.Canceled) {
				t.Errorf("the closing ended with %v, want it cancelled", closed)
			}
		})
	}
}

// With EngineWithSignals the loop of Crawl gets the items of the work in hand, and then the error that says how to go on: with a queue on
// disk by the same command, with one in memory not at all.
func TestCrawlObeysSignals(t *testing.T) {
	for name, durable := range map[string]bool{"memory": false, "disk": true} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/2", enginetest.Text("x"))
			s := enginetest.NewSpider("http://a.test/")
			var log bytes.Buffer
			stopping, told := make(chan struct{}), make(chan struct{})
			watching := &starting{s, func(ctx context.Context, req chan<- *tegenaria.Context) error {
				req <- enginetest.Send("http://a.test/")
				<-ctx.Done() // the crawl is stopping
				close(stopping)
				return nil
			}}
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				req <- enginetest.Send("http://a.test/2", tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour)))
				if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
					return err
				}
				<-stopping
				<-told // so that it is in work when the log says so
				item <- tegenaria.NewItem(ctx, 1)
				return nil
			}
			logger := logrus.New()
			logger.SetOutput(&log)
			logger.AddHook(holdUp{func(entry *logrus.Entry) {
				if strings.HasPrefix(entry.Message, "stopping (interrupted)") {
					close(told)
				}
			}})
			opts := []tegenaria.EngineOption{tegenaria.EngineWithSignals(), tegenaria.EngineWithDownloader(w), tegenaria.EngineWithLogger(logger),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})}
			want := "tegenaria: interrupted: what waited in memory is lost (1 request)"
			if durable {
				store, err := disk.Open(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				opts = append(opts, tegenaria.EngineWithCache(store))
				want = "tegenaria: interrupted: run the same command to go on (1 request waiting)"
			}
			items := 0
			var last error
			for _, err := range tegenaria.Crawl[int](t.Context(), watching, opts...) {
				if last = err; err == nil {
					items++
				}
			}
			var interrupted *tegenaria.InterruptedError
			if items != 1 || !errors.As(last, &interrupted) || interrupted.Durable != durable || !strings.HasPrefix(last.Error(), want) {
				t.Errorf("%d items, then %v; want it to begin with %q", items, last, want)
			}
			enginetest.WantStopped(t, last, "stopped")
			for _, line := range []string{"stopping (interrupted): waiting up to 20s", "interrupted: 1 page"} {
				lineWith(t, &log, line)
			}
		})
	}
}
