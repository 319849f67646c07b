package urlx

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The reasons why [AskedHost] finds no host.
var (
	ErrNoScheme    = errors.New("the URL has no scheme")
	ErrNotAbsolute = errors.New("not an absolute URL")
	ErrNoHost      = errors.New("no host")
)

// SchemeError is the error of a URL that is asked by another protocol than HTTP. Its value is the scheme.
type SchemeError string

// Error names the scheme.
func (e SchemeError) Error() string { return fmt.Sprintf("scheme %q is not supported", string(e)) }

// AskedHost returns the host of an absolute http or https URL, without its port and without a dot at its end. The error is a [SchemeError],
// [ErrNoScheme], [ErrNotAbsolute], [ErrNoHost] or the standard's name for the fault. It looks at no more than scheme
// and host: the rest may be wrong yet.
func AskedHost(url string) (host string, err error) {
	p, _ := split(url)
	switch p.scheme {
	case "http", "https":
	case "":
		return "", notAbsolute(url)
	default:
		return "", SchemeError(p.scheme)
	}
	if p.host == "" {
		return "", ErrNoHost
	}
	return WithoutDot(p.hostname()), nil
}

// notAbsolute says why a URL without a scheme is none.
func notAbsolute(url string) error {
	if _, err := Parse(url); err != nil {
		var bad *Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return err
	}
	return ErrNotAbsolute
}

// Remedy returns what to do about a URL that cannot be asked because of err, an error of this package: the line to write, for one
// whose scheme was left out.
func Remedy(url string, err error) string {
	var other SchemeError
	switch {
	case errors.As(err, &other) && !hasPort(url):
		return "use http or https"
	case errors.As(err, &other), errors.Is(err, ErrNoScheme):
		return "write " + whole(url)
	}
	return "write it as http://host/path or https://host/path"
}

var errEmpty = errors.New("the URL is empty")

// Cure returns what people call the fault err of a URL: "localhost:8080/a" lacks a scheme, though by the standard "localhost" is one.
func Cure(url string, err error) error {
	if strings.TrimSpace(url) == "" {
		return errEmpty
	}
	if other := SchemeError(""); errors.As(err, &other) && hasPort(url) {
		return ErrNoScheme
	}
	return err
}

// hasPort reports whether what stands before the first colon is a host, since a port follows.
func hasPort(url string) bool {
	_, rest, _ := strings.Cut(url, ":")
	port, _, _ := strings.Cut(rest, "/")
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// whole quotes the absolute URL that is probably meant by one without a scheme; an example if that has no host either.
func whole(url string) string {
	rest := strings.TrimPrefix(strings.TrimSpace(url), "//")
	site := rest
	if end := strings.IndexAny(rest, `/\?#`); end >= 0 {
		site = rest[:end]
	}
	name, _, _ := strings.Cut(site[strings.LastIndexByte(site, '@')+1:], ":")
	switch _, err := netip.ParseAddr(name); {
	case strings.HasPrefix(rest, "/"):
		return "the whole URL, such as " + quote("https://example.com"+rest)
	case err == nil, name == "localhost", strings.HasPrefix(name, "["):
		return quote(Redact("http://" + rest))
	case strings.HasPrefix(name, "."), !strings.Contains(name, "."):
		return `the whole URL, such as "https://example.com/"`
	}
	return quote(Redact("https://" + rest))
}
