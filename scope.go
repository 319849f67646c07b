package tegenaria

import (
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// checkURL reports whether a request's URL can be asked, and its host.
func (c *crawl) checkURL(r *Request) (host string, no *refusal) {
	switch scheme := urlx.Scheme(r.Url); scheme {
	case "http", "https":
	case "":
		return "", &refusal{Filtered, "url", c.urlError(r, urlReason(r.Url))}
	default:
		return "", &refusal{Filtered, "scheme", &RequestError{URL: r.Url, Field: "Url",
			Err: fmt.Errorf("scheme %q is not supported", scheme), Remedy: "use http or https"}}
	}
	host = urlx.Hostname(r.Url)
	if host == "" {
		return "", &refusal{Filtered, "url", c.urlError(r, errNoHost)}
	}
	if len(r.Url) > c.limits.URLLength {
		return "", refuse(Filtered, "url-length")
	}
	return host, nil
}

// urlReason says why an URL is none.
func urlReason(url string) error {
	if _, err := urlx.Parse(url); err != nil {
		var bad *urlx.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return err
	}
	return errNoScheme
}

var (
	errNoScheme = errors.New("not an absolute URL")
	errNoHost   = errors.New("no host")
)

func (c *crawl) urlError(r *Request, err error) error {
	return &RequestError{URL: r.Url, Field: "Url", Err: err, Remedy: "write it as http://host/path or https://host/path"}
}

// scope applies the filters that need no memory: domains, depth, the middlewares' AcceptRequest.
func (c *crawl) scope(from emission, r *Request, host string) *refusal {
	if !c.domains.Has(host, r.Url) {
		return refuse(Filtered, "offsite")
	}
	if c.tooDeep(r.Depth) {
		return refuse(Filtered, "depth")
	}
	var parent *Response
	if from.parent != nil && from.parent.ctx != nil {
		parent = from.parent.ctx.Response()
	}
	for _, f := range c.filters {
		stack, err := guard.Protect(func() error { return f.AcceptRequest(parent, r) })
		var panicked *PanicError
		switch {
		case err == nil:
			continue
		case errors.Is(err, ErrIgnoreRequest):
			return refuse(Filtered, ignoreReason(err))
		case errors.As(err, &panicked):
			return &refusal{Failed, "accept", &stackError{err, stack}}
		}
		if reason, ok := asCloseSpider(err); ok {
			c.requestStop(reason, nil)
		}
		return refuse(Filtered, err.Error())
	}
	return nil
}

func (c *crawl) tooDeep(depth int) bool {
	return c.limits.Depth > 0 && depth > c.limits.Depth || c.limits.Depth == OnlySeeds && depth > 0
}

// allowedDomains reads the domains of EngineWithAllowedDomains; nil if there are none, which allows all.
func allowedDomains(domains []string) (*urlx.HostSet, error) {
	if len(domains) == 0 {
		return nil, nil
	}
	set := urlx.NewHostSet()
	var errs []error
	for _, domain := range domains {
		if err := set.Add(domain); err != nil {
			errs = append(errs, fmt.Errorf("EngineWithAllowedDomains: %w", err))
		}
	}
	return set, errors.Join(errs...)
}
