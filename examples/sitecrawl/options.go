package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/middleware"
)

// options is the command line.
type options struct {
	urls                       []string
	domains                    []string
	depth, maxPages, hostPages int
	concurrency, perHost       int
	delay, timeout             time.Duration
	agent                      string
	ignoreRobots, allowPrivate bool
	sitemaps, autothrottle     bool
	auth                       *middleware.BasicAuth // nil: there is no login
	out, summary, job, warc    string
	render                     string // never, auto or always
	warnings                   []string
}

// parseOptions reads the command line. It reports all mistakes at once, or flag.ErrHelp when it has
// printed the help that was asked for.
func parseOptions(args []string, help io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("sitecrawl", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Func("url", "`URL` to start from; may be given several times", func(s string) error {
		o.urls = append(o.urls, s)
		return nil
	})
	domains := f.String("domains", "", "comma-separated `hosts` to stay on, their sub-domains included (default: those of the URLs)")
	f.IntVar(&o.depth, "depth", -1, "follow links up to this many `levels` deep: 0 fetches the given URLs alone, -1 has no limit")
	f.IntVar(&o.maxPages, "max-pages", 0, "stop after this `number` of responses; 0 has no limit")
	f.IntVar(&o.hostPages, "host-pages", 0, "ask each host for at most this `number` of pages; 0 has no limit")
	f.IntVar(&o.concurrency, "c", 16, "`requests` in flight")
	f.IntVar(&o.perHost, "per-host", 8, "`requests` in flight at one host")
	f.DurationVar(&o.delay, "delay", 0, "`time` between the starts of two requests at one host")
	f.BoolVar(&o.autothrottle, "autothrottle", false, "let the delay at each host follow its latency, so that one request is under way at a time; it begins with 5s")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "longest `time` of one request, from connecting to the last byte")
	f.StringVar(&o.agent, "agent", "", "User-Agent `name`, also for robots.txt (default tegenaria/"+tegenaria.Version+")")
	f.BoolVar(&o.ignoreRobots, "ignore-robots", false, "do not ask for robots.txt")
	f.BoolVar(&o.allowPrivate, "allow-private", false, "allow hosts with private and loopback addresses")
	f.BoolVar(&o.sitemaps, "sitemaps", false, "start from the pages in the sitemaps of the URLs' sites, too")
	var auth []string
	f.Func("auth", "log in by Basic authentication: `host=user:password` for the -url with that host, or for https if no -url has it;\n"+
		"http://host:port=user:password for that origin; may be given several times", func(s string) error {
		auth = append(auth, s)
		return nil
	})
	f.StringVar(&o.out, "out", "-", "`file` for the pages, in the format of its ending: .jsonl, .json, .csv and .xml, each also with .gz or .zst, .parquet,\n"+
		"or .db for SQLite (table pages); - for lines of JSON on stdout")
	f.StringVar(&o.warc, "warc", "", "web archive, a new `file`, for all that is sent and received; packed by gzip if it ends in .gz")
	f.StringVar(&o.render, "render", "never", "`when` pages are made by Chromium: never, auto (those that look as if they need JavaScript) or always")
	f.StringVar(&o.job, "job", "", "`directory` that keeps the crawl, so that the same command resumes it")
	f.StringVar(&o.summary, "summary", "", "`file` for the summary of the crawl as JSON")

	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(help, "usage: sitecrawl -url URL [flags]")
		f.SetOutput(help)
		f.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s; -h lists the flags", hide(err.Error()))
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q belongs to no flag; URLs are given as -url URL", hide(f.Arg(0)))
	}
	if err := o.check(*domains, auth); err != nil {
		return nil, err
	}
	return o, nil
}

// check looks at the values and finds the domains.
func (o *options) check(domains string, auth []string) error {
	var mistakes []error
	wrong := func(when bool, format string, args ...any) {
		if when {
			mistakes = append(mistakes, fmt.Errorf(format, args...))
		}
	}
	wrong(len(o.urls) == 0, "there is nothing to crawl; give a -url")
	for _, raw := range o.urls {
		u, err := url.Parse(raw)
		switch {
		case err != nil && strings.Contains(raw, "@"): // which may tell a part of a password
			wrong(true, "-url %q is no URL; in a password write %%2F for /, %%3F for ? and %%23 for #", hide(raw))
		case err != nil:
			wrong(true, "-url: %w", err)
		case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
			wrong(true, "-url %q: write it as http://host/path or https://host/path", hide(raw))
		case domains == "" && !slices.Contains(o.domains, host(u)):
			o.domains = append(o.domains, host(u))
		}
	}
	if strings.Contains(domains, "@") {
		wrong(true, "-domains %q names no host; write it without user and password", hide(domains))
		domains = ""
	}
	for domain := range strings.SplitSeq(domains, ",") {
		if domain = strings.TrimSpace(domain); domain != "" {
			o.domains = append(o.domains, domain)
		}
	}
	wrong(domains != "" && len(o.domains) == 0, "-domains %q names no domain", domains)
	wrong(o.depth < -1, "-depth is %d; it must be -1 (no limit) or more", o.depth)
	wrong(o.maxPages < 0, "-max-pages is %d; it must be 0 (no limit) or more", o.maxPages)
	wrong(o.hostPages < 0, "-host-pages is %d; it must be 0 (no limit) or more", o.hostPages)
	wrong(o.concurrency < 1, "-c is %d; it must be 1 or more", o.concurrency)
	wrong(o.perHost < 1, "-per-host is %d; it must be 1 or more", o.perHost)
	wrong(o.delay < 0, "-delay is %s; it must not be negative", o.delay)
	wrong(o.timeout <= 0, "-timeout is %s; it must be more than 0", o.timeout)
	if err := o.login(auth); err != nil {
		mistakes = append(mistakes, err)
	}
	wrong(!slices.Contains([]string{"never", "auto", "always"}, o.render), "-render is %q; it must be never, auto or always", o.render)
	wrong(o.out == "", "-out is empty; name a file, or - for stdout")
	return errors.Join(mistakes...)
}

// host is the host as a domain, without port.
func host(u *url.URL) string { return strings.ToLower(u.Hostname()) }

// engine says the same to the engine.
func (o *options) engine() []tegenaria.EngineOption {
	politeness := tegenaria.Politeness{
		Delay: o.delay, PerSlot: o.perHost, UserAgent: o.agent, IgnoreRobots: o.ignoreRobots, MaxPages: o.hostPages,
	}
	if o.autothrottle {
		politeness.AutoThrottle = &tegenaria.AutoThrottle{}
	}
	if o.allowPrivate {
		politeness.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	}
	limits := tegenaria.Limits{Pages: o.maxPages}
	switch o.depth {
	case -1: // the engine's zero has no limit
	case 0:
		limits.Depth = tegenaria.OnlySeeds
	default:
		limits.Depth = o.depth
	}
	return []tegenaria.EngineOption{
		tegenaria.EngineWithConcurrency(o.concurrency),
		tegenaria.EngineWithPoliteness(politeness),
		tegenaria.EngineWithLimits(limits),
		tegenaria.EngineWithAllowedDomains(o.domains...),
	}
}

// name names the crawl after what it begins with: a job belongs to the spider of that name.
func (o *options) name() string {
	name := "sitecrawl "
	if o.sitemaps {
		name += "-sitemaps "
	}
	return name + strings.Join(slices.Sorted(slices.Values(o.urls)), " ")
}

// output is the feed of the pages, in the format that the file's ending names. Without a job each crawl begins with an empty file.
func (o *options) output(stdout io.Writer) tegenaria.PipelinesInterface {
	const key = "sitecrawl" // so that a job notices when it is resumed with another file
	fresh := o.job == ""
	switch filepath.Ext(o.out) {
	case ".parquet":
		opts := []parquet.Option{parquet.Key(key)}
		if fresh {
			opts = append(opts, parquet.Overwrite())
		}
		return parquet.New[page](o.out, opts...)
	case ".db":
		opts := []sqlite.Option{sqlite.JobKey(key), sqlite.Table("pages")}
		if fresh {
			opts = append(opts, sqlite.Overwrite())
		}
		return sqlite.New[page](o.out, opts...)
	}
	opts := []feed.Option{feed.Key(key)}
	if o.out == "-" {
		return feed.JSONLTo(stdout, opts...)
	}
	if fresh {
		opts = append(opts, feed.Overwrite())
	}
	name := strings.TrimSuffix(strings.TrimSuffix(o.out, ".gz"), ".zst") // the feed packs by the ending
	switch filepath.Ext(name) {
	case ".json":
		return feed.JSON(o.out, opts...)
	case ".csv":
		return feed.CSV(o.out, opts...)
	case ".xml":
		return feed.XML(o.out, opts...)
	}
	return feed.JSONL(o.out, opts...)
}
