package urlx

import (
	"errors"

	whatwgerrors "github.com/nlnwa/whatwg-url/errors"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// slowParser follows the standard of today, which percent-encodes ^ in paths; the library's own
// set is that of 2023.
var slowParser = whatwg.NewParser(
	whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^')),
)

// appendSlow is appendURL by the library.
func appendSlow(dst []byte, b *Base, ref string, fragment bool) ([]byte, error) {
	// The base is parsed anew, because the library writes to a base while it resolves.
	var base string
	if b != nil {
		base = b.href
	}
	if len(base)+len(ref) > MaxSlow {
		return dst, slowError(b, ref, ErrTooLong)
	}
	var u *whatwg.Url
	var err error
	if b != nil {
		u, err = slowParser.ParseRef(base, ref)
	} else {
		u, err = slowParser.Parse(ref)
	}
	if err != nil {
		return dst, slowError(b, ref, reason(err))
	}
	return append(dst, u.Href(!fragment)...), nil
}

func slowError(b *Base, ref string, err error) error {
	if b == nil {
		return &Error{Op: opParsing, URL: ref, Err: err}
	}
	return &Error{Op: opResolving, URL: b.href, Ref: ref, Err: err}
}

// reason drops the URL from the library's error: [Error] names it.
func reason(err error) error {
	if whatwgerrors.Type(err) == whatwgerrors.MissingSchemeNonRelativeURL {
		return ErrNoScheme
	}
	kind := words(whatwgerrors.Type(err))
	if kind == "" {
		return err
	}
	if d := whatwgerrors.Description(err); d != "" {
		return errors.New(kind + ": " + quote(d))
	}
	return errors.New(kind)
}

// words returns the standard's name for a fault, or plainer words for one that people make when they write a URL by hand.
func words(kind whatwgerrors.ErrorType) string {
	switch kind {
	case whatwgerrors.DomainInvalidCodePoint:
		return "the host has a character that no host can have"
	case whatwgerrors.HostMissing:
		return "it has no host"
	case whatwgerrors.PortOutOfRange:
		return "the port is larger than 65535"
	case whatwgerrors.PortInvalid:
		return "the port is not a number"
	case whatwgerrors.IPv6Unclosed:
		return "an IPv6 address lacks the closing ]"
	}
	return string(kind)
}
