package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// middlewares is the standard set, with a timeout and the logins. A meta refresh is not followed as a redirect would
// be: a page that has one is a page with a line, see followRefresh.
func (o *options) middlewares() ([]tegenaria.MiddlewaresInterface, error) {
	set := slices.DeleteFunc(middleware.Standard(), func(m tegenaria.MiddlewaresInterface) bool {
		_, ok := m.(*middleware.MetaRefresh)
		return ok
	})
	set = append(set, timeout(o.timeout))
	if len(o.auth) > 0 {
		auth, err := o.basicAuth()
		if err != nil {
			return nil, err
		}
		set = append(set, auth)
	}
	return set, nil
}

// login is a value of -auth.
type login struct {
	site string // a host, perhaps with its port, or an origin
	middleware.Credentials
}

// addLogin reads a value of -auth. The error does not repeat it: it may be a password.
func (o *options) addLogin(s string) error {
	site, credentials, ok := strings.Cut(s, "=")
	user, password, colon := strings.Cut(credentials, ":")
	if !ok || !colon || site == "" || user == "" {
		return errors.New("write it as host=user:password")
	}
	o.auth = append(o.auth, login{site, middleware.Credentials{User: user, Password: password}})
	return nil
}

// basicAuth logs in at the origins of -url that have the host of a login. A host that none of them has is meant as https.
func (o *options) basicAuth() (*middleware.BasicAuth, error) {
	logins := make(map[string]middleware.Credentials)
	var twice []error
	add := func(origin string, l login) {
		if known, ok := logins[origin]; ok && known != l.Credentials {
			twice = append(twice, fmt.Errorf("two logins for %s", origin))
		}
		logins[origin] = l.Credentials
	}
	for _, l := range o.auth {
		if strings.Contains(l.site, "://") {
			add(l.site, l)
			continue
		}
		found := false
		for _, raw := range o.urls {
			if u, err := url.Parse(raw); err == nil && (strings.EqualFold(u.Host, l.site) || host(u) == strings.ToLower(l.site) && u.Port() == "") {
				add(origin(u), l)
				found = true
			}
		}
		if !found {
			add("https://"+l.site, l)
		}
	}
	auth, err := middleware.NewBasicAuth(logins)
	return auth, errors.Join(append(twice, err)...)
}

// origin is the URL's scheme, host and port.
func origin(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

// timeout is a middleware that gives every request, also those for robots.txt, its timeout.
type timeout time.Duration

// GetName is part of tegenaria.MiddlewaresInterface.
func (timeout) GetName() string { return "timeout" }

// GetPriority is part of tegenaria.MiddlewaresInterface.
func (timeout) GetPriority() int { return 0 }

// SeesInternal makes robots.txt pass too.
func (timeout) SeesInternal() bool { return true }

// ProcessRequest sets the timeout.
func (t timeout) ProcessRequest(ctx *tegenaria.Context) error {
	tegenaria.RequestWithTimeout(time.Duration(t))(ctx.Request)
	return nil
}

// ProcessResponse does nothing.
func (timeout) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }
