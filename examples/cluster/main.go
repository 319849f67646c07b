// Command cluster crawls web sites with several programs at the same time, which share a job in a PostgreSQL database:
//
//	go run ./examples/cluster -db postgres://crawler@db/crawls -job docs -worker one -url https://go.dev/doc/ -out one.jsonl
//	go run ./examples/cluster -db postgres://crawler@db/crawls -job docs -worker two -url https://go.dev/doc/ -out two.jsonl
//
// Each has hosts of its own, and a file of its own with a line for each page, as tegenaria crawl URL writes it. Start and stop them at any
// time, on one machine or on many: the others go on with the hosts of one that has ended or died. All end when nothing
// is left to do. If the database is away they go on when it is back. A program that has died is started again with the
// same -worker, -dir and -out: it cuts its file to the pages that nobody else has fetched again.
//
// A job may lie on several servers: -db postgres://crawler@db1/crawls,postgres://crawler@db2/crawls, the same for all programs.
//
// Three more commands look at the job, stop all programs that work on it, which goes on when they are started again, and write the pages of
// all programs, which lie in the database too, to one file. With a -url, -collect does that when the job is finished:
//
//	go run ./examples/cluster -db postgres://crawler@db/crawls -job docs -status
//	go run ./examples/cluster -db postgres://crawler@db/crawls -job docs -stop
//	go run ./examples/cluster -db postgres://crawler@db/crawls -job docs -collect all.jsonl
//
// The exit code is 0 if the job is finished, 1 if the crawl failed, and 3 if it was stopped before, by an interrupt or
// by -stop. -status, -stop and -collect return 0 if they have done what they say.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/spiders"
)

// The exit codes.
const (
	exitFinished = 0
	exitFailed   = 1
	exitStopped  = 3
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case err != nil:
	case o.steers():
		err = o.steer(ctx, stdout)
	default:
		err = cluster.Run(ctx, o.db, o.job, cluster.Options{Worker: o.worker, Dir: o.dir}, func(ctx context.Context, cache *cluster.Cache) error {
			return o.crawl(ctx, cache, stderr)
		})
		if err == nil && o.collect != "" {
			err = o.steer(ctx, stdout)
		}
	}
	var stopped *tegenaria.StoppedError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitFinished
	case errors.As(err, &stopped):
		fmt.Fprintln(stderr, "cluster: stopped before the end:", stopped.Reason)
		return exitStopped
	}
	fmt.Fprintln(stderr, "cluster:", err)
	return exitFailed
}

// options is the command line.
type options struct {
	db, job, worker, dir       string
	out, collect               string
	urls                       []string
	domains                    string
	depth                      int
	concurrency, perHost       int
	delay                      time.Duration
	agent                      string
	ignoreRobots, allowPrivate bool
	status, stop               bool
}

// parse reads the command line.
func parse(args []string, help io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("cluster", flag.ContinueOnError)
	f.SetOutput(help)
	f.StringVar(&o.db, "db", "", "`address` of the database: postgres://user@host/name; several servers of a job are separated by commas")
	f.StringVar(&o.job, "job", "", "`name` of the job, the same for all programs that work on it")
	f.StringVar(&o.worker, "worker", "", "`name` of this program among them (default: the name of the machine)")
	f.StringVar(&o.dir, "dir", "", "`folder` of this program alone, which says after a crash what it was doing (default: "+
		"the name of -worker, and .state)")
	f.StringVar(&o.collect, "collect", "", "write the pages of all programs to this `file`: when the job is finished, or without -url at once")
	f.StringVar(&o.out, "out", "", "`file` for the pages that this program crawls, one line of JSON each")
	f.Func("url", "`URL` to start from; may be given several times", func(s string) error {
		o.urls = append(o.urls, s)
		return nil
	})
	f.StringVar(&o.domains, "domains", "", "comma-separated `hosts` to stay on, their sub-domains included (default: those of the URLs)")
	f.IntVar(&o.depth, "depth", -1, "follow links up to this many `levels` deep: 0 fetches the given URLs alone, -1 has no limit")
	f.IntVar(&o.concurrency, "c", 16, "`requests` in flight in this program")
	f.IntVar(&o.perHost, "per-host", 8, "`requests` in flight at one host")
	f.DurationVar(&o.delay, "delay", 0, "`time` between the starts of two requests at one host")
	f.StringVar(&o.agent, "agent", "", "User-Agent `name`, also for robots.txt")
	f.BoolVar(&o.ignoreRobots, "ignore-robots", false, "do not ask for robots.txt")
	f.BoolVar(&o.allowPrivate, "allow-private", false, "allow hosts with private and loopback addresses")
	f.BoolVar(&o.status, "status", false, "say how the job is doing, and crawl nothing")
	f.BoolVar(&o.stop, "stop", false, "stop all programs that work on the job, and crawl nothing")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q belongs to no flag; URLs are given as -url URL", f.Arg(0))
	case o.db == "":
		return nil, errors.New("give a database with -db; to start one: docker run -d -p 5432:5432 -e " +
			"POSTGRES_HOST_AUTH_METHOD=trust postgres, " +
			"and then -db postgres://postgres@localhost/postgres")
	case o.job == "":
		return nil, errors.New("give the job a name with -job")
	case o.steers(): // the rest is for crawling
	case len(o.urls) == 0:
		return nil, errors.New("there is nothing to crawl; give a -url")
	case o.out == "":
		return nil, errors.New("name a file for the pages with -out")
	}
	if o.worker == "" && !o.steers() {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("the name of the machine: %w; give this program a name with -worker", err)
		}
		o.worker = name
	}
	o.dir = cmp.Or(o.dir, o.worker+".state")
	return o, nil
}

// steers reports whether the command line asks for something else than to crawl.
func (o *options) steers() bool { return o.status || o.stop || o.collect != "" && len(o.urls) == 0 }

// steer stops the job, writes its pages or says how it is doing.
func (o *options) steer(ctx context.Context, stdout io.Writer) (err error) {
	job, err := cluster.Dial(ctx, o.db, o.job)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	if o.stop {
		if err := job.Stop(ctx, ""); err != nil {
			return err
		}
	}
	if o.collect != "" {
		c, err := cluster.Collect(ctx, job, o.collect)
		if err != nil {
			return err
		}
		state := "the job is not finished yet"
		if c.Finished {
			state = "these are all"
		}
		fmt.Fprintf(stdout, "%d pages in %s; %s\n", c.Items, o.collect, state)
	}
	if !o.status {
		return nil
	}
	s, err := job.Status(ctx)
	if err != nil {
		return err
	}
	for name, reason := range map[string]string{"finished": s.Finished, "stopped": s.Stopped} {
		if reason != "" {
			fmt.Fprintf(stdout, "%s: %s\n", name, reason)
		}
	}
	fmt.Fprintf(stdout, "%d requests queued, %d delayed, %d handed on\n", s.Queued, s.Delayed, s.Messages)
	for _, name := range slices.Sorted(maps.Keys(s.Outcomes)) {
		fmt.Fprintf(stdout, "%d %s\n", s.Outcomes[name], name)
	}
	for _, w := range s.Workers {
		state := "silent"
		switch {
		case w.Expired:
			state = "ended"
		case w.Alive:
			state = "alive"
		}
		fmt.Fprintf(stdout, "worker %s: %s, %d partitions, heard of %s ago\n", w.Name, state, w.Partitions, w.Silent.Round(time.Second/10))
	}
	return nil
}

// page is one line of output.
type page spiders.SitePage

// crawl crawls until the job is finished.
func (o *options) crawl(ctx context.Context, cache *cluster.Cache, stderr io.Writer) error {
	logger := logrus.New()
	logger.SetOutput(stderr)
	domains := strings.FieldsFunc(o.domains, func(r rune) bool { return r == ',' || r == ' ' })
	if len(domains) == 0 {
		for _, raw := range o.urls {
			u, err := url.Parse(raw)
			if err != nil || u.Hostname() == "" {
				return fmt.Errorf("-url %q: write it as http://host/path or https://host/path", raw)
			}
			domains = append(domains, strings.ToLower(u.Hostname()))
		}
	}
	politeness := tegenaria.Politeness{Delay: o.delay, PerSlot: o.perHost, UserAgent: o.agent, IgnoreRobots: o.ignoreRobots}
	if o.allowPrivate {
		politeness.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	}
	limits := tegenaria.Limits{}
	switch o.depth {
	case -1: // the engine's zero has no limit
	case 0:
		limits.Depth = tegenaria.OnlySeeds
	default:
		limits.Depth = o.depth
	}
	read := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[page]) error {
		return spiders.ReadSite(resp, out, func(p spiders.SitePage) page { return page(p) })
	}
	name := "cluster " + strings.Join(o.urls, " ")
	return tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithLogger(logger),
		tegenaria.EngineWithSpiders(spiders.NewSite(name, false, tegenaria.Handle(read), o.urls...)),
		tegenaria.EngineWithConcurrency(o.concurrency),
		tegenaria.EngineWithPoliteness(politeness),
		tegenaria.EngineWithLimits(limits),
		tegenaria.EngineWithAllowedDomains(domains...),
		tegenaria.EngineWithMiddlewares(slices.DeleteFunc(middleware.Standard(), func(m tegenaria.MiddlewaresInterface) bool {
			_, ok := m.(*middleware.MetaRefresh) // ReadSite follows refreshes, and writes a line of the page that has one
			return ok
		})...),
		tegenaria.EngineWithPipelines(feed.JSONL(o.out, feed.Key("pages")), cluster.Items()),
		tegenaria.EngineWithSignals(),
	).Run(ctx, name)
}
