package cli

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/spiders"
)

// siteFlags are the flags of crawl for URLs.
type siteFlags struct {
	depth, perHost, hostPages            int
	domains, agent                       string
	delay, timeout                       time.Duration
	autothrottle, ignoreRobots, sitemaps bool
	allowPrivate                         bool
	auth                                 []string
}

func (f *siteFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.depth, "depth", -1, "of URLs: follow links up to this many `LEVELS` deep; 0 fetches the URLs alone, -1 has no limit")
	flags.StringVar(&f.domains, "domains", "", "of URLs: comma-separated `HOSTS` to stay on, with their sub-domains "+
		"(default: those of the URLs)")
	flags.IntVar(&f.perHost, "per-host", 8, "of URLs: `REQUESTS` in flight at one host")
	flags.IntVar(&f.hostPages, "host-pages", 0, "of URLs: ask each host for at most this `NUMBER` of pages; 0 has no limit")
	flags.DurationVar(&f.delay, "delay", 0, "of URLs: `TIME` between the starts of two requests at one host")
	flags.BoolVar(&f.autothrottle, "autothrottle", false, "of URLs: let the delay at each host follow its latency; it begins with 5s")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "of URLs: longest `TIME` of one request, from connecting to the last byte")
	flags.StringVar(&f.agent, "agent", "", "of URLs: User-Agent `NAME`, also for robots.txt (default tegenaria/"+tegenaria.Version+")")
	flags.BoolVar(&f.ignoreRobots, "ignore-robots", false, "of URLs: do not ask for robots.txt")
	flags.BoolVar(&f.sitemaps, "sitemaps", false, "of URLs: start from the pages in the sitemaps of their sites, too")
	flags.StringArrayVar(&f.auth, "auth", nil, "of URLs: log in by Basic authentication, `ORIGIN=USER:PASSWORD` such as "+
		"https://example.com=me:secret, or @FILE with such a text; may be repeated")
	flags.BoolVar(&f.allowPrivate, "allow-private", false, "of URLs: allow hosts with private and loopback addresses")
}

// siteWords are the flags by the settings that they stand for.
var siteWords = map[remedy.Setting]string{
	remedy.Depth: "--depth", remedy.Domains: "--domains", remedy.Timeout: "--timeout", remedy.PerSlot: "--per-host",
	remedy.MaxPages: "--host-pages", remedy.Delay: "--delay", remedy.AutoThrottle: "--autothrottle",
	remedy.UserAgent: "--agent", remedy.IgnoreRobots: "--ignore-robots", remedy.EmptyOK: "--empty-ok",
}

// names are those of the flags.
func (f *siteFlags) names() (names []string) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(siteFlags).add(flags)
	flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// refuse refuses the flags where there is a spider.
func (f *siteFlags) refuse(cmd *cobra.Command) error {
	for _, name := range f.names() {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is for crawls of URLs; a spider has the settings of -s", name)
		}
	}
	return nil
}

// entries are the settings that the flags say.
func (f *siteFlags) entries(flags *pflag.FlagSet) (list []entry) {
	depth := f.depth
	switch {
	case depth == -1:
		depth = 0 // no limit
	case depth == 0:
		depth = tegenaria.OnlySeeds
	}
	for _, s := range []struct{ flag, path, text string }{
		{"depth", "limits.depth", strconv.Itoa(depth)},
		{"domains", "allowed_domains", f.domains},
		{"per-host", "politeness.per_slot", strconv.Itoa(f.perHost)},
		{"host-pages", "politeness.max_pages", strconv.Itoa(f.hostPages)},
		{"delay", "politeness.delay", f.delay.String()},
		{"autothrottle", "politeness.auto_throttle.start", "5s"},
		{"agent", "politeness.user_agent", f.agent},
		{"ignore-robots", "politeness.ignore_robots", strconv.FormatBool(f.ignoreRobots)},
		{"allow-private", "politeness.allow_private", "0.0.0.0/0,::/0"},
	} {
		if flags.Changed(s.flag) && !(s.flag == "autothrottle" && !f.autothrottle) && !(s.flag == "allow-private" && !f.allowPrivate) {
			list = append(list, entry{path: strings.Split(s.path, "."), text: s.text, origin: "flag --" + s.flag, where: "--" + s.flag})
		}
	}
	return list
}

// crawlSite crawls the sites of URLs.
func (c *call) crawlSite(cmd *cobra.Command, f *crawlFlags, site *siteFlags, raw []string) error {
	var errs []error
	var urls, hosts []string
	for _, one := range raw {
		u, err := url.Parse(one)
		switch {
		case !isURL(one):
			errs = append(errs, fmt.Errorf("%q is no URL; a crawl of URLs takes URLs alone", urlx.Redact(one)))
		case err != nil || u.Hostname() == "":
			errs = append(errs, fmt.Errorf("%q is no URL that can be fetched: write it as https://host/path", urlx.Redact(one)))
		default:
			urls = append(urls, bare(one))
			hosts = append(hosts, strings.ToLower(u.Hostname()))
		}
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	wrong := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(site.depth < -1, "--depth is %d; -1 has no limit", site.depth)
	wrong(site.perHost < 1, "--per-host is %d; it must be 1 or more", site.perHost)
	wrong(site.hostPages < 0, "--host-pages is %d; 0 has no limit", site.hostPages)
	wrong(site.delay < 0, "--delay is %s; it must not be negative", site.delay)
	wrong(site.timeout <= 0, "--timeout is %s; it must be more than 0", site.timeout)
	wrong(cmd.Flags().Changed("domains") && strings.Trim(site.domains, " ,") == "", "--domains names no host")
	wrong(strings.Contains(site.domains, "@"), "--domains is no list of hosts; write them without user and password")
	auth, unused, err := loginsOf(raw, site.auth)
	if err := errors.Join(append(errs, err)...); err != nil {
		return &usageError{err}
	}
	for _, origin := range unused {
		fmt.Fprintf(c.err, "%s: --auth: no URL is at %s, the only place where its login is used\n", c.name, printable(origin))
	}
	f.flags = append(f.flags, site.entries(cmd.Flags())...)
	c.speak(siteWords)
	name := hosts[0]
	if len(hosts) > 1 {
		name += fmt.Sprintf(" and %d more", len(hosts)-1)
	}
	set := []tegenaria.MiddlewaresInterface{tegenaria.MiddlewareFuncs{Name: "timeout", Internal: true, Request: func(ctx *tegenaria.Context) error {
		tegenaria.RequestWithTimeout(site.timeout)(ctx.Request)
		return nil
	}}}
	if auth != nil {
		set = append(set, auth)
	}
	spider := func(*layers) (tegenaria.SpiderInterface, task, error) {
		return spiders.NewSite(name, site.sitemaps, nil, urls...), task{URLs: slices.Sorted(slices.Values(urls)), Sitemaps: site.sitemaps}, nil
	}
	return c.crawl(cmd, f, nil, spider, tegenaria.EngineWithAllowedDomains(hosts...), tegenaria.EngineWithMiddlewares(set...))
}

// siteMiddlewares is the standard set for a crawl of URLs: a page with a meta refresh has a line of its own.
func siteMiddlewares() []tegenaria.MiddlewaresInterface {
	return slices.DeleteFunc(middleware.Standard(), func(m tegenaria.MiddlewaresInterface) bool {
		_, ok := m.(*middleware.MetaRefresh)
		return ok
	})
}

// loginsOf gathers the logins of URLs and of --auth, by origin; nil if there are none. unused are the origins of --auth that no URL is at.
// No error repeats what may be a password.
func loginsOf(urls, auth []string) (logins *middleware.BasicAuth, unused []string, err error) {
	known := make(map[string]middleware.Credentials)
	var errs []error
	add := func(origin string, c middleware.Credentials) {
		if other, ok := known[origin]; ok && other != c {
			errs = append(errs, fmt.Errorf("there are two logins for %s", origin))
		}
		known[origin] = c
	}
	for _, raw := range urls {
		if u, err := url.Parse(raw); err == nil && u.User.String() != "" {
			password, _ := u.User.Password()
			add(urlx.Origin(raw), middleware.Credentials{User: u.User.Username(), Password: password})
		}
	}
	entries := make([]entry, len(auth))
	for i, text := range auth {
		entries[i] = entry{path: []string{"auth"}, text: text, where: "--auth"}
	}
	if entries, err = fromFiles(entries, ".", false); err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		origin, login, ok := strings.Cut(e.text, "=")
		user, password, colon := strings.Cut(login, ":")
		if !ok || !colon || user == "" || !isURL(origin) || urlx.Path(origin) != "/" || strings.Contains(origin, "@") {
			errs = append(errs, errors.New("--auth: write it as https://host=user:password or http://host:port=user:password"))
			continue
		}
		origin = urlx.Origin(origin)
		add(origin, middleware.Credentials{User: user, Password: password})
		if !slices.ContainsFunc(urls, func(raw string) bool { return urlx.Origin(raw) == origin }) {
			unused = append(unused, origin)
		}
	}
	if err := errors.Join(errs...); err != nil || len(known) == 0 {
		return nil, nil, err
	}
	logins, err = middleware.NewBasicAuth(known)
	return logins, unused, err
}
