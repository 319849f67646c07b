package tegenaria_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A download that waits for memory gets it when the pages that have the memory wait for its address: their code fetches from another
// host with that address, to which one request at a time is sent. It fails, by a timeout, if an inline request wants its slot alone.
func TestMemoryForTheGateOfAnother(t *testing.T) {
	begun := make(chan struct{}) // the download that is to wait has begun
	one := sync.OnceFunc(func() { close(begun) })
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/starts" {
			return
		}
		io.WriteString(w, strings.Repeat("x", 300))
		if r.URL.Path == "/waits" {
			w.(http.Flusher).Flush()
			one()
		}
	}))
	defer site.Close()
	at := func(host, path string) string {
		return fmt.Sprintf("http://%s.localhost:%s%s", host, site.URL[strings.LastIndexByte(site.URL, ':')+1:], path)
	}
	var parsing sync.WaitGroup
	parsing.Add(2)
	parse := tegenaria.Handle(func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		switch path := page.URL[strings.LastIndexByte(page.URL, '/'):]; path {
		case "/starts": // while both pages are held, one of them above the bound
			parsing.Wait()
			return out.Request(tegenaria.NewRequest(at("b", "/waits"), tegenaria.GET, nil, tegenaria.RequestWithTimeout(20*time.Second)))
		case "/first", "/second":
			parsing.Done()
			select {
			case <-begun:
			case <-ctx.Done():
				return ctx.Err()
			}
			_, err := out.Fetch(tegenaria.NewRequest(at("c", path), tegenaria.GET, nil))
			return err
		}
		return nil
	})
	e := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("test", parse, at("a", "/first"), at("d", "/second"), at("s", "/starts"))),
		tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithSchedulerNum(4),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerIP: 1, IgnoreRobots: true, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
		tegenaria.EngineWithLimits(tegenaria.Limits{BodiesInFlight: 400}))
	enginetest.WantOutcomes(t, enginetest.MustRun(t, e), map[tegenaria.Outcome]int64{tegenaria.Fetched: 6})
}
