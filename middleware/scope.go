package middleware

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// MetaAllowOffsite is a key of Request.Meta. If its value is true, the domains and ports of [Scope] do not apply to the request.
const MetaAllowOffsite = "allow_offsite"

// ScopeOptions say which URLs belong to the crawl. An empty list allows all; a Deny list takes precedence over the others.
// URLs are matched as the URL standard serialises them, without fragment.
type ScopeOptions struct {
	Priority int // 0: the place in the package comment's table

	Domains     []string // hosts with their sub-domains: "example.com"
	DenyDomains []string
	Ports       []string // "443", "8080"; a URL without one has that of its scheme

	Paths     []string // paths that begin so: "/docs/" (path and query, as sent)
	DenyPaths []string

	// Globs match the whole URL: * stands for anything but a slash, ** for anything, ? for one byte that is not a slash.
	Globs     []string // "https://*.example.com/p/**"
	DenyGlobs []string

	Regexps     []string // match anywhere in the URL (RE2 syntax)
	DenyRegexps []string
}

// Scope refuses requests that do not belong to the crawl before they are queued: seeds, links, redirect targets, Fetch.
// Such requests end as filtered, with offsite, denied (by DenyDomains), port, path, glob or regexp as reason, and robots.txt of other
// hosts is not requested. For domains alone EngineWithAllowedDomains costs less.
type Scope struct {
	part
	domains atomic.Pointer[map[string]bool]
	foreign map[string]bool
	ports   []string
	rules   []scopeRule
}

// scopeRule is a pair of lists.
type scopeRule struct {
	reason      string
	ofPath      bool
	allow, deny []func(string) bool
}

var (
	_ tegenaria.MiddlewaresInterface = (*Scope)(nil)
	_ tegenaria.RequestFilter        = (*Scope)(nil)
)

// NewScope makes a Scope. The error joins those of all invalid entries.
func NewScope(o ScopeOptions) (*Scope, error) {
	m := &Scope{part: newPart("scope", o.Priority, priorityScope), ports: slices.Clone(o.Ports)}
	var errs []error
	domains, err := domainsOf(o.Domains)
	m.domains.Store(&domains)
	errs = append(errs, err)
	m.foreign, err = domainsOf(o.DenyDomains)
	errs = append(errs, err)
	for _, port := range o.Ports {
		if _, err := net.LookupPort("tcp", port); err != nil || strings.Trim(port, "0123456789") != "" {
			errs = append(errs, fmt.Errorf("middleware: %q is no port", port))
		}
	}
	rule := func(reason string, ofPath bool, allow, deny []string, compile func(string) (func(string) bool, error)) {
		if len(allow)+len(deny) == 0 {
			return
		}
		r := scopeRule{reason: reason, ofPath: ofPath}
		for list, texts := range map[*[]func(string) bool][]string{&r.allow: allow, &r.deny: deny} {
			for _, text := range texts {
				match, err := compile(text)
				errs = append(errs, err)
				*list = append(*list, match)
			}
		}
		m.rules = append(m.rules, r)
	}
	rule("path", true, o.Paths, o.DenyPaths, compilePath)
	rule("glob", false, o.Globs, o.DenyGlobs, compileGlob)
	rule("regexp", false, o.Regexps, o.DenyRegexps, compileRegexp)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
}

// Allow adds domains while a crawl runs. It has no effect on a Scope that allows all hosts.
func (m *Scope) Allow(domains ...string) error {
	more, err := domainsOf(domains)
	if err != nil {
		return err
	}
	for {
		old := m.domains.Load()
		if len(*old) == 0 {
			return nil
		}
		all := make(map[string]bool, len(*old)+len(more))
		for _, list := range []map[string]bool{*old, more} {
			for domain := range list {
				all[domain] = true
			}
		}
		if m.domains.CompareAndSwap(old, &all) {
			return nil
		}
	}
}

// AcceptRequest refuses requests that are out of scope.
func (m *Scope) AcceptRequest(_ *tegenaria.Response, r *tegenaria.Request) error {
	if domains := *m.domains.Load(); len(domains)+len(m.foreign)+len(m.ports) > 0 {
		if offsite, _ := r.Meta[MetaAllowOffsite].(bool); !offsite {
			host := urlx.WithoutDot(urlx.Hostname(r.Url))
			switch {
			case covers(m.foreign, host):
				return tegenaria.IgnoreRequest("denied")
			case len(domains) > 0 && !covers(domains, host):
				return tegenaria.IgnoreRequest("offsite")
			case len(m.ports) > 0 && !slices.Contains(m.ports, urlx.Port(r.Url)):
				return tegenaria.IgnoreRequest("port")
			}
		}
	}
	if len(m.rules) == 0 {
		return nil
	}
	url, err := urlx.Parse(urlx.MergeParams(r.Url, r.Params))
	if err != nil {
		return tegenaria.IgnoreRequest("url")
	}
	url, _ = urlx.CutFragment(url)
	path := urlx.Path(url)
	for i := range m.rules {
		text := url
		if m.rules[i].ofPath {
			text = path
		}
		if !m.rules[i].pass(text) {
			return tegenaria.IgnoreRequest(m.rules[i].reason)
		}
	}
	return nil
}

func (r *scopeRule) pass(text string) bool {
	matches := func(match func(string) bool) bool { return match(text) }
	return (len(r.allow) == 0 || slices.ContainsFunc(r.allow, matches)) && !slices.ContainsFunc(r.deny, matches)
}

// domainsOf reads host names.
func domainsOf(names []string) (map[string]bool, error) {
	domains := make(map[string]bool, len(names))
	var errs []error
	for _, name := range names {
		host := strings.Trim(strings.TrimPrefix(name, "."), "[]")
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		normal := urlx.WithoutDot(urlx.Hostname("http://" + host + "/"))
		if normal == "" || strings.ContainsAny(name, "/@?#*") {
			errs = append(errs, fmt.Errorf("middleware: %q is no host; write \"example.com\", which includes its sub-domains", name))
			continue
		}
		domains[normal] = true
	}
	return domains, errors.Join(errs...)
}

// covers reports whether a host is one of the domains or below one.
func covers(domains map[string]bool, host string) bool {
	if len(domains) == 0 {
		return false
	}
	if domains[host] {
		return true
	}
	if host == "" || urlx.IsAddress(host) {
		return false
	}
	for ok := true; ok; {
		if _, host, ok = strings.Cut(host, "."); ok && domains[host] {
			return true
		}
	}
	return false
}

func compilePath(prefix string) (func(string) bool, error) {
	if prefix == "" || prefix[0] != '/' {
		return nil, fmt.Errorf("middleware: the path %q does not begin with a slash", prefix)
	}
	return func(path string) bool { return strings.HasPrefix(path, prefix) }, nil
}

func compileRegexp(text string) (func(string) bool, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("middleware: %w", err)
	}
	return re.MatchString, nil
}

// compileGlob makes a regular expression of a glob: it matches in linear time.
func compileGlob(glob string) (func(string) bool, error) {
	if glob == "" {
		return nil, errors.New("middleware: the glob is empty; write ** for anything")
	}
	var b strings.Builder
	b.WriteString("^(?s:")
	for i := 0; i < len(glob); {
		switch {
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(".*")
			i += 2
			continue
		case glob[i] == '*':
			b.WriteString("[^/]*")
		case glob[i] == '?':
			b.WriteString("[^/]")
		default:
			n := strings.IndexAny(glob[i:], "*?")
			if n < 0 {
				n = len(glob) - i
			}
			b.WriteString(regexp.QuoteMeta(glob[i : i+n]))
			i += n
			continue
		}
		i++
	}
	b.WriteString(")$")
	return compileRegexp(b.String())
}
