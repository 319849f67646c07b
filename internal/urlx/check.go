package urlx

import (
	"errors"
	"fmt"
)

// The reasons why [AskedHost] finds no host.
var (
	ErrNotAbsolute = errors.New("not an absolute URL")
	ErrNoHost      = errors.New("no host")
)

// SchemeError is the error of a URL that is asked by another protocol than HTTP. Its value is the scheme.
type SchemeError string

// Error names the scheme.
func (e SchemeError) Error() string { return fmt.Sprintf("scheme %q is not supported", string(e)) }

// AskedHost returns the host of an absolute http or https URL, without its port. The error is a [SchemeError],
// [ErrNotAbsolute], [ErrNoHost] or the standard's name for the fault. It looks at no more than scheme and host: the rest may be
// wrong yet.
func AskedHost(url string) (host string, err error) {
	switch scheme := Scheme(url); scheme {
	case "http", "https":
	case "":
		return "", notAbsolute(url)
	default:
		return "", SchemeError(scheme)
	}
	if host = Hostname(url); host == "" {
		return "", ErrNoHost
	}
	return host, nil
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
