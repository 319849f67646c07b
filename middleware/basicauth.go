package middleware

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Credentials are a user's name and password.
type Credentials struct{ User, Password string }

// String hides the password.
func (c Credentials) String() string { return c.User + ":***" }

// GoString hides the password.
func (c Credentials) GoString() string { return c.String() }

// BasicAuth logs in with the Basic scheme (RFC 7617). Each login belongs to one origin (scheme, host and port) and is never
// sent to another: the header is on the request only during the download, so neither a redirect nor a parser that
// copies headers can leak it. A request's own Authorization, and credentials in its URL, take precedence.
type BasicAuth struct {
	part
	headers map[string]string // by origin
}

var (
	_ tegenaria.MiddlewaresInterface = (*BasicAuth)(nil)
	_ tegenaria.ErrorMiddleware      = (*BasicAuth)(nil)
)

// NewBasicAuth takes logins by origin, written as "https://example.com" or "http://example.com:8080". The error names
// the invalid origins and the users that cannot be sent: a user's name must not contain a colon, and neither
// part a control character (RFC 7617 §2).
func NewBasicAuth(logins map[string]Credentials) (*BasicAuth, error) {
	m := &BasicAuth{newPart("basic auth", 0, priorityBasicAuth), make(map[string]string, len(logins))}
	var errs []error
	for site, login := range logins {
		origin := urlx.Origin(site)
		scheme := urlx.Scheme(site)
		switch {
		case origin == "" || scheme != "http" && scheme != "https" || strings.Contains(site, "@") || urlx.Path(site) != "/":
			errs = append(errs, fmt.Errorf("middleware: %q is no origin; write \"https://example.com\"", hideUser(site)))
		case strings.Contains(login.User, ":"), strings.ContainsFunc(login.User+login.Password, isControlOrTab):
			errs = append(errs, fmt.Errorf("middleware: the login for %s has a colon in the user's name or a control character", origin))
		case m.headers[origin] != "":
			errs = append(errs, fmt.Errorf("middleware: there are two logins for %s", origin))
		default:
			m.headers[origin] = "Basic " + base64.StdEncoding.EncodeToString([]byte(login.User+":"+login.Password))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
}

func isControlOrTab(r rune) bool { return r < 0x20 || r == 0x7f }

// hideUser takes what stands before an @ out of an error's text.
func hideUser(site string) string {
	if i := strings.LastIndexByte(site, '@'); i >= 0 {
		return "…@" + site[i+1:]
	}
	return site
}

// ProcessRequest adds the login of the request's origin.
func (m *BasicAuth) ProcessRequest(ctx *tegenaria.Context) error {
	r := ctx.Request
	header := m.headers[urlx.Origin(r.Url)]
	if header == "" || hasUser(r.Url) {
		return nil
	}
	setDefault(r, "Authorization", header)
	return nil
}

// hasUser reports whether a URL brings its own credentials.
func hasUser(url string) bool {
	_, rest, _ := strings.Cut(url, "//")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return strings.Contains(rest, "@")
}

// ProcessResponse removes the login from the request.
func (m *BasicAuth) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	m.takeOff(ctx.Request)
	return nil
}

// ProcessError removes the login from a request that failed.
func (m *BasicAuth) ProcessError(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
	m.takeOff(ctx.Request)
	return err
}

func (m *BasicAuth) takeOff(r *tegenaria.Request) {
	if own, ok := r.Header["Authorization"]; ok && own == m.headers[urlx.Origin(r.Url)] {
		delete(r.Header, "Authorization")
	}
}
