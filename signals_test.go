//go:build unix

package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria"
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
