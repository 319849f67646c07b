package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/middleware"
)

// logins are users and passwords by origin.
type logins map[string]middleware.Credentials

// add notes a login, unless the origin has another one.
func (l logins) add(origin string, c middleware.Credentials) error {
	if known, ok := l[origin]; ok && known != c {
		return fmt.Errorf("two logins for %s", origin)
	}
	l[origin] = c
	return nil
}

// login gathers the logins of -url and -auth. What the URLs have is a login for their origin and leaves them: so it is sent
// with all pages of the site, and stands in no output. No error and no warning repeats what may be a password.
func (o *options) login(auth []string) error {
	known := make(logins)
	var mistakes []error
	for i, raw := range o.urls {
		if u, err := url.Parse(raw); err == nil && u.User.String() != "" {
			password, _ := u.User.Password()
			if err := known.add(urlx.Origin(raw), middleware.Credentials{User: u.User.Username(), Password: password}); err != nil {
				mistakes = append(mistakes, fmt.Errorf("-url: %w", err))
			}
		}
		o.urls[i] = bare(raw)
	}
	for _, value := range auth {
		if err := o.addAuth(known, value); err != nil {
			mistakes = append(mistakes, fmt.Errorf("-auth: %w", err))
		}
	}
	if len(mistakes) > 0 || len(known) == 0 {
		return errors.Join(mistakes...)
	}
	var err error
	o.auth, err = middleware.NewBasicAuth(known)
	return err
}

// addAuth adds a login of -auth. A host stands for the origins of -url that have it.
func (o *options) addAuth(known logins, value string) error {
	site, credentials, ok := strings.Cut(value, "=")
	user, password, colon := strings.Cut(credentials, ":")
	if !ok || !colon || site == "" || user == "" {
		return errors.New("write it as host=user:password or http://host:port=user:password")
	}
	c := middleware.Credentials{User: user, Password: password}
	var seeds []string
	for _, raw := range o.urls {
		if origin := urlx.Origin(raw); !slices.Contains(seeds, origin) {
			seeds = append(seeds, origin)
		}
	}
	origins := []string{originOf(site)}
	if !strings.Contains(site, "://") {
		origins = slices.DeleteFunc(slices.Clone(seeds), func(seed string) bool {
			return originOf(urlx.Scheme(seed)+"://"+site) != seed
		})
		if len(origins) == 0 {
			origins = []string{originOf("https://" + site)}
		}
	}
	if origins[0] == "" {
		return errors.New("what stands before the = is no origin; write host=user:password or http://host:port=user:password")
	}
	if !slices.Contains(seeds, origins[0]) {
		o.warnings = append(o.warnings, fmt.Sprintf("-auth: no -url is at %s, the only place where this login is used; if it is for another origin, write that before the =, as in http://host:port=user:password", origins[0]))
	}
	var mistakes []error
	for _, origin := range origins {
		mistakes = append(mistakes, known.add(origin, c))
	}
	return errors.Join(mistakes...)
}

// originOf returns the origin that a URL consists of, "" if there is more to it or it is none of the web.
func originOf(site string) string {
	scheme, rest, _ := strings.Cut(site, "://")
	if strings.ContainsAny(strings.TrimSuffix(rest, "/"), `/\?#@ `) {
		return ""
	}
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return ""
	}
	return urlx.Origin(site)
}

// bare returns a URL without user and password.
func bare(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "//")
	if !ok {
		return raw
	}
	end := len(rest)
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		end = i
	}
	return scheme + "//" + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}

// bareWords does that to all URLs of a crawl's name, which an older version has stored with their passwords.
func bareWords(name string) string {
	words := strings.Fields(name)
	for i, word := range words {
		words[i] = bare(word)
	}
	return strings.Join(words, " ")
}

// hide takes what may be a password out of a mistake of the command line, which need not be a URL.
func hide(text string) string {
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "…" + text[i:]
	}
	return text
}
