package middleware

import (
	"slices"
	"strconv"

	"github.com/tegenaria/tegenaria"
)

// HTTPErrorOptions say which responses [HTTPErrors] lets pass.
type HTTPErrorOptions struct {
	Priority int   // 0: the place in the package comment's table
	Allow    []int // status codes besides 2xx that reach the parser
	Drop     bool  // the others end as filtered: status 404, without an error; otherwise they are failures
}

// HTTPErrors lets only responses with a 2xx status reach the parser. Without it those below 400 do, including a 3xx that
// is not followed (304, 300, a redirect that the request does not allow). Codes that the request allows by
// RequestWithAllowedStatusCode pass. Unless Drop is set, [Retry] still retries its codes.
type HTTPErrors struct {
	part
	allow []int
	drop  bool
}

var _ tegenaria.MiddlewaresInterface = (*HTTPErrors)(nil)

// NewHTTPErrors makes an HTTPErrors.
func NewHTTPErrors(o HTTPErrorOptions) *HTTPErrors {
	return &HTTPErrors{newPart("HTTP errors", o.Priority, priorityHTTPErrors), slices.Clone(o.Allow), o.Drop}
}

// ProcessResponse checks the status.
func (m *HTTPErrors) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	r, resp := ctx.Request, ctx.Response()
	status := resp.Status
	if status >= 200 && status < 300 || slices.Contains(m.allow, status) || r.AllowsStatus(status) || isFollowed(r, resp) {
		return nil
	}
	if m.drop {
		return tegenaria.IgnoreRequest("status " + strconv.Itoa(status))
	}
	return &tegenaria.StatusError{Status: status, URL: resp.URL}
}

// isFollowed reports whether the engine will follow a response as a redirect.
func isFollowed(r *tegenaria.Request, resp *tegenaria.Response) bool {
	switch resp.Status {
	case 301, 302, 303, 307, 308:
		return r.AllowRedirects && r.MaxRedirects > 0 && first(resp.Header, "Location") != ""
	}
	return false
}
