package proxy

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tegenaria/tegenaria"
)

// Source gives the URLs of the proxies of a [Pool]: one of [List], [File] and [Func]. A URL is http://, https://, socks5:// or socks5h://
// with host and port, and user and password where they are needed: "http://user:password@proxy.example:3128". Without a scheme it is
// that of an http proxy: "192.0.2.7:3128".
type Source interface {
	urls(ctx context.Context) ([]string, error)
}

type sourceFunc func(ctx context.Context) ([]string, error)

func (f sourceFunc) urls(ctx context.Context) ([]string, error) { return f(ctx) }

// List is the proxies with these URLs.
func List(urls ...string) Source {
	return sourceFunc(func(context.Context) ([]string, error) { return urls, nil })
}

// File reads the URLs from a file, one in a line. Empty lines and those that begin with # are left out. It is read when the crawl
// begins, and again as [Options].Reload says.
func File(path string) Source {
	return sourceFunc(func(context.Context) ([]string, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var list []string
		for i, line := range strings.Split(string(text), "\n") {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if _, err := parse(line); err != nil {
				return nil, &ListError{File: path, Number: i + 1, Err: err}
			}
			list = append(list, line)
		}
		return list, nil
	})
}

// Func asks a func of your own for the URLs: one that reads the list of a provider, for example. It is called when the crawl begins,
// and again as [Options].Reload says; ctx ends with the crawl.
func Func(urls func(ctx context.Context) ([]string, error)) Source { return sourceFunc(urls) }

// ListError is a list of proxies that cannot be used.
type ListError struct {
	File   string // "" if it does not come from a file
	Number int    // of the line, or of the entry of another list; from 1; 0: the list itself
	Err    error
}

// Error names the entry and what is wrong with it, without its user and password.
func (e *ListError) Error() string {
	switch {
	case e.Number == 0:
		return "proxy: " + e.Err.Error()
	case e.File != "":
		return fmt.Sprintf("proxy: %s, line %d: %v", e.File, e.Number, e.Err)
	}
	return fmt.Sprintf("proxy: entry %d of the list: %v", e.Number, e.Err)
}

// Unwrap returns Err.
func (e *ListError) Unwrap() error { return e.Err }

// parse returns the URL of a proxy.
func parse(entry string) (*url.URL, error) {
	bare := !strings.Contains(entry, "://")
	if bare {
		entry = "http://" + entry
	}
	u, err := url.Parse(entry)
	if err != nil { // its text has the password
		return nil, fmt.Errorf("no URL; write http://user:password@host:port, with %%40 for an @ within the password")
	}
	switch {
	case !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return nil, fmt.Errorf("unknown scheme %q; use http, https, socks5 or socks5h", u.Scheme)
	case u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s: no proxy; write http://host:port", nameOf(u))
	}
	if port := u.Port(); port == "" && bare {
		return nil, fmt.Errorf("%s: no port; write host:port, or http://host for port 80", u.Hostname())
	} else if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("%s: no port %s; ports are 1 to 65535", nameOf(u), port)
		}
	}
	u.Path = ""
	return u, nil
}

// nameOf names a proxy without its password. The user tells apart the many proxies of a provider behind one address.
func nameOf(u *url.URL) string {
	if user := u.User.Username(); user != "" {
		return u.Scheme + "://" + user + "@" + u.Host
	}
	return u.Scheme + "://" + u.Host
}

// entries makes the proxies of a list, each once. Those that are known keep what was learnt of them.
func entries(list []string, known map[string]*entry) ([]*entry, error) {
	all := make([]*entry, 0, len(list))
	taken := make(map[string]bool)
	for i, text := range list {
		u, err := parse(strings.TrimSpace(text))
		if err != nil {
			return nil, &ListError{Number: i + 1, Err: err}
		}
		key := u.String()
		if taken[key] {
			continue
		}
		taken[key] = true
		one := known[key]
		if one == nil {
			one = &entry{url: key, name: nameOf(u)}
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, &ListError{Err: fmt.Errorf("the list is empty: name at least one proxy")}
	}
	return all, nil
}

// entry is one proxy.
type entry struct {
	url  string
	name string // without the password
	hash string // see id
	health
	listed  bool
	place   int     // in the heap of LeastUsed
	latency float64 // mean time to the first byte in seconds, in which the newest answer counts an eighth; 0: none came
	stats   tegenaria.ProxyStats
}
