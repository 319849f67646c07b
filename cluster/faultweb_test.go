//go:build linux

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/feed"
)

// faultWeb is a web of many hosts whose pages do what pages do: some answer 503 first, some are reached by a redirect,
// some are asked for twice on purpose, some have their parser fetch a page of another host, and one kills the process
// that parses it.
type faultWeb struct {
	hosts []string // each with its port
	pages int

	mu   sync.Mutex // guards the fields below
	asks []faultAsk
	busy map[string]int
	peak int // the most requests in flight at one host
}

// faultAsk is a request that came to the web.
type faultAsk struct {
	host, path, by string
	at             time.Time
}

// What the number of a page says of it.
const (
	poisonous  = 10 // it links to one whose parser kills the process
	unwilling  = 97 // every 97th answers 503 first
	redirected = 20 // every 20th is linked to by a page that redirects to it
	repeated   = 30 // every 30th links twice to a page that may be asked for again
	fetching   = 25 // every 25th fetches a page of another host
)

func (w *faultWeb) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	kind, number, _ := strings.Cut(r.URL.Path[1:], "/")
	i, err := strconv.Atoi(number)
	if err != nil {
		http.NotFound(out, r)
		return
	}
	w.mu.Lock()
	first := true
	if kind == "page" && i%unwilling == 1 {
		for _, a := range w.asks {
			first = first && a.path != r.URL.Path
		}
	}
	w.asks = append(w.asks, faultAsk{r.Host, r.URL.Path, r.UserAgent(), time.Now()})
	w.busy[r.Host]++
	w.peak = max(w.peak, w.busy[r.Host])
	w.mu.Unlock()
	pause := time.NewTimer(100 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-r.Context().Done():
	}
	w.mu.Lock()
	w.busy[r.Host]--
	w.mu.Unlock()
	out.Header().Set("Content-Type", "text/html")
	switch {
	case kind == "moved":
		http.Redirect(out, r, w.url("page", i), http.StatusFound)
	case kind == "page" && i%unwilling == 1 && first:
		out.Header().Set("Retry-After", "1")
		out.WriteHeader(http.StatusServiceUnavailable)
	case kind == "page":
		if i == poisonous {
			fmt.Fprintf(out, `<a href="%s">poison</a>`, w.url("poison", i))
		}
		for child := 3*i + 1; child <= 3*i+3 && child < w.pages; child++ {
			kind := "page"
			if child%redirected == 1 {
				kind = "moved"
			}
			fmt.Fprintf(out, `<a href="%s">next</a> <a href="%s">across</a>`, w.url(kind, child), w.url("page", child*7%w.pages))
		}
	}
}

// url returns the URL of a page.
func (w *faultWeb) url(kind string, i int) string {
	host := i
	if kind != "page" {
		host += i/len(w.hosts) + 1
	}
	return fmt.Sprintf("http://%s/%s/%d", w.hosts[host%len(w.hosts)], kind, i)
}

// faultCrawl is what a worker of the fault matrix does, in a process of its own.
type faultCrawl struct {
	DSN, Job, File string
	Options        cluster.Options
	Delay          time.Duration
	Hosts          []string
	Pages          int
	DieInStart     string // the process dies in StartRequest unless this file is there; it makes the file first
}

const (
	faultConcurrency = 16
	faultCallback    = 3 * time.Second // Limits.Callback
	overrunning      = 1000            // one page of so many has a parser that overruns it, another one a pipeline
)

// overrunningPipeline overruns Limits.Callback with the first item of some pages.
type overrunningPipeline struct{ seen sync.Map }

// GetPriority returns the first place.
func (*overrunningPipeline) GetPriority() int { return 0 }

// ProcessItem takes its time.
func (p *overrunningPipeline) ProcessItem(_ tegenaria.SpiderInterface, meta *tegenaria.ItemMeta) error {
	i, err := strconv.Atoi(meta.Item.(string))
	if _, again := p.seen.LoadOrStore(i, true); err == nil && !again && i%overrunning == 4 {
		<-time.After(faultCallback + 2*time.Second)
	}
	return err
}

// run crawls until the job is finished.
func (c *faultCrawl) run(ctx context.Context) error {
	web := &faultWeb{hosts: c.Hosts, pages: c.Pages}
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
		parts := strings.Split(resp.URL, "/") // the scheme, nothing, the host, the kind and the number
		kind, number := parts[3], parts[4]
		i, err := strconv.Atoi(number)
		switch {
		case err != nil:
			return err
		case kind == "poison":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case kind != "page":
			return nil
		case resp.Status == http.StatusServiceUnavailable:
			return tegenaria.Retry(time.Second, errors.New("the page asks to come back"))
		}
		var errs []error
		if i%repeated == 1 {
			for range 2 {
				errs = append(errs, out.Request(tegenaria.NewRequest(web.url("again", i), tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true))))
			}
		}
		if i%fetching == 1 {
			_, err := out.Fetch(tegenaria.NewRequest(web.url("fetched", i), tegenaria.GET, nil))
			errs = append(errs, err)
		}
		errs = append(errs, out.Item(fmt.Sprint(i)), out.FollowLinks())
		if i%overrunning == 2 && resp.Request().Attempt == 0 {
			<-time.After(faultCallback + 2*time.Second)
		}
		return errors.Join(errs...)
	}
	return cluster.Run(ctx, c.DSN, c.Job, c.Options, func(ctx context.Context, cache *cluster.Cache) error {
		err := tegenaria.NewSpiderEngine(
			tegenaria.EngineWithCache(cache),
			tegenaria.EngineWithLimits(tegenaria.Limits{Callback: faultCallback}),
			tegenaria.EngineWithSpiders(&dyingSpider{tegenaria.NewSpider("faults", tegenaria.Handle(parse), web.url("page", 0)), c.DieInStart}),
			tegenaria.EngineWithAllowStatusCode([]uint64{http.StatusServiceUnavailable}),
			tegenaria.EngineWithConcurrency(faultConcurrency),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{
				PerSlot: 1, Delay: c.Delay, UserAgent: c.Options.Worker, IgnoreRobots: true, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			}),
			tegenaria.EngineWithPipelines(new(overrunningPipeline), feed.JSONL(c.File), cluster.Items()),
		).Run(ctx, "faults")
		var abandoned *tegenaria.AbandonedError
		var stopped *tegenaria.StoppedError
		var failed *tegenaria.RunError
		if errors.As(err, &abandoned) && !errors.As(err, &stopped) && !errors.As(err, &failed) {
			return nil // as it should be: their pages have run again
		}
		return err
	})
}

// dyingSpider dies in the first StartRequest of a job.
type dyingSpider struct {
	tegenaria.SpiderInterface
	mark string
}

// StartRequest sends the seeds, and dies if nobody has died here before.
func (s *dyingSpider) StartRequest(req chan<- *tegenaria.Context) {
	s.SpiderInterface.StartRequest(req)
	if file, err := os.OpenFile(s.mark, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = file.Close()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}
