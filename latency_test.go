package tegenaria_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// sleepingBody takes its time before its end.
type sleepingBody struct {
	io.Reader
	pause time.Duration
}

func (b *sleepingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		enginetest.Sleep(b.pause)
	}
	return n, err
}

func (b *sleepingBody) Close() error { return nil }

// The latency of a slot is the time to the first byte, without the body; with a downloader of the user, the whole time. The slowest slot is
// that of the highest latency, the busiest that in which most requests wait.
func TestLatencyOfSlots(t *testing.T) {
	latency := map[string]time.Duration{"many.test": 10 * time.Millisecond, "slow.test": 300 * time.Millisecond, "dead.test": time.Second}
	const body = 2 * time.Second
	transport := cannedAnswer(func(r *http.Request) (*http.Response, error) {
		enginetest.Sleep(latency[r.URL.Host])
		if r.URL.Host == "dead.test" {
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: -1, Request: r,
			Body: &sleepingBody{strings.NewReader("x"), body}}, nil
	})
	for _, tt := range []struct {
		name  string
		users bool          // the downloader is the user's
		body  time.Duration // that counts
	}{
		{"the engine's downloader", false, 0},
		{"a downloader of the user", true, body},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				var seeds []string
				for host, n := range map[string]int{"many.test": 30, "slow.test": 10, "dead.test": 10} {
					for i := range n {
						url := fmt.Sprintf("http://%s/%d", host, i)
						seeds = append(seeds, url)
						w.Page(url, enginetest.After(latency[host]+body, enginetest.Text("x")))
						if host == "dead.test" {
							w.Page(url, enginetest.After(latency[host], enginetest.Broken(io.ErrUnexpectedEOF)))
						}
					}
				}
				s := enginetest.NewSpider(seeds...)
				s.Parse = enginetest.Nothing
				downloader := tegenaria.EngineWithHTTPClient(&http.Client{Transport: transport})
				if tt.users {
					downloader = tegenaria.EngineWithDownloader(w)
				}
				e := enginetest.NewEngine(nil, s, downloader, tegenaria.EngineWithConcurrency(8),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}))
				if e.SlowestSlots(1) != nil {
					t.Error("there are slots before there is a run")
				}
				var watcher sync.WaitGroup
				watcher.Go(func() {
					enginetest.Sleep(9 * time.Second)
					slowest, busiest := e.SlowestSlots(5), e.BusiestSlots(5)
					if len(slowest) != 2 || slowest[0].Name != "slow.test" || slowest[1].Name != "many.test" || len(e.SlowestSlots(1)) != 1 || e.SlowestSlots(0) != nil {
						t.Errorf("the slowest slots are %+v", slowest)
					}
					if len(busiest) == 0 || busiest[0].Name != "many.test" {
						t.Errorf("the busiest slots are %+v", busiest)
					}
					for _, slot := range slowest {
						want := latency[slot.Name] + tt.body
						if slot.Latency != want || (slot.Latency95-want).Abs() > want/16 {
							t.Errorf("%s: latency %v, of 95 %% %v, want %v", slot.Name, slot.Latency, slot.Latency95, want)
						}
					}
				})
				enginetest.MustRun(t, e)
				watcher.Wait()
			})
		})
	}
}
