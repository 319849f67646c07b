package robotsgate

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// AnsweredBy notes which middlewares between the crawler and the server have answered a request, or emptied the
// response. Its zero value is ready. One goroutine uses it at a time.
type AnsweredBy struct {
	answered string // the middleware that answered instead of the server; "": none did
	emptied  string // the middleware that left the response without a body; "": none, as far as is known
}

// Answered notes that a middleware of this name has answered in the place of the server.
func (h *AnsweredBy) Answered(by string) { h.answered, h.emptied = by, by }

// Emptied notes that a middleware of this name has taken the body of the response away.
func (h *AnsweredBy) Emptied(by string) { h.emptied = by }

// Check refuses a response that would allow everything only because its rules were lost on the way, by an [*AnswerError]. hasBody
// says whether the response has a body in the end.
func (h *AnsweredBy) Check(url string, status int, header map[string][]string, hasBody bool) error {
	switch {
	case status >= 300 && status < 400 && h.answered != "" && !fetch.IsRedirect(status, header):
		return &AnswerError{URL: url, Middleware: h.answered, Missing: "Location"}
	case status < 300 && h.emptied != "" && !hasBody && !saysEmpty(status, header):
		return &AnswerError{URL: url, Middleware: h.emptied, Missing: "body"}
	}
	return nil
}

// saysEmpty reports whether a response says that it is meant to have no body.
func saysEmpty(status int, header map[string][]string) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent ||
		strings.TrimSpace(fetch.FirstHeader(header, "Content-Length")) == "0"
}

// AnswerError is the failure of a request whose robots.txt a middleware has answered, or changed, so that nothing of it is left:
// that would allow everything, and the site has not said so.
type AnswerError struct {
	URL        string // of robots.txt
	Middleware string // its name
	Missing    string // "body", or "Location" of a redirect
}

// Error names middleware, URL and remedy.
func (e *AnswerError) Error() string {
	if e.Missing == "Location" {
		return fmt.Sprintf("the middleware %q answered %s by a redirect without Location; store the header of a response "+
			"with its status, or do not answer", e.Middleware, urlx.Redact(e.URL))
	}
	return fmt.Sprintf("the middleware %q left %s without a body, which would allow everything; hand on the body that ProcessResponse saw, "+
		"or say that there are no rules by the status 404 or the header Content-Length: 0", e.Middleware, urlx.Redact(e.URL))
}
