package robotsgate

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

const (
	Timeout   = 15 * time.Second // for a robots.txt with its redirects
	Redirects = 5                // that are followed, RFC 9309 §2.3.1.2
)

// ErrNotNow is the error of an [Exchange] that was not begun, because nothing may be sent to the host at the moment.
var ErrNotNow = errors.New("the slot does not let it start now")

// Response is what came for a request for a robots.txt.
type Response struct {
	Status int
	Header map[string][]string
	Body   []byte // or its beginning; that of a redirect is not looked at
}

// Exchange sends a request for a robots.txt and returns the response. left is how long it may take; first is false for a
// request that follows a redirect.
type Exchange func(url string, left time.Duration, first bool) (Response, error)

// Fetch asks for the robots.txt of an origin, and follows redirects. Where those lead nowhere the status is 404: such a file
// counts as one that is not there (RFC 9309 §2.3.1.2). The error is that of the exchange; it may come with a response.
func Fetch(origin string, exchange Exchange) (Response, error) {
	url := origin + "/robots.txt"
	deadline := time.Now().Add(Timeout)
	asked := make(map[string]int)
	for hop := 0; hop <= Redirects && asked[url] < 2; hop++ { // once more for a gate page that sends back
		asked[url]++
		resp, err := exchange(url, max(time.Until(deadline), time.Millisecond), hop == 0)
		if err != nil || !fetch.IsRedirect(resp.Status, resp.Header) {
			return resp, err
		}
		url, err = urlx.Resolve(url, fetch.FirstHeader(resp.Header, "Location"))
		if scheme := urlx.Scheme(url); err != nil || scheme != "http" && scheme != "https" {
			break
		}
		url, _ = urlx.CutFragment(url)
	}
	return Response{Status: http.StatusNotFound}, nil
}

// SameHeader reports whether a request with this header is answered as the gate's own request for a robots.txt was.
func SameHeader(header, own map[string]string) bool {
	for name, value := range header {
		switch http.CanonicalHeaderKey(name) {
		case "Accept", "Accept-Language", "Referer": // files do not depend on them
		default:
			if own[name] != value {
				return false
			}
		}
	}
	return true
}

// End is what the asking for a file has led to.
type End[J comparable] struct {
	Released[J]
	New  bool // the file came, and its rules hold
	Lost bool // the file is given up: for a time of [Refresh] all jobs of its origin are [Unreachable]
}

// Ask fetches the file that a job asks for, and ends the asking by what came:
//
//   - No response: the rules that were known stay in force, for a time of [Again]. If there are none, another job may ask, and
//     Ask returns an [*UnreachableError].
//   - 429 and 5xx: the same, but without an error; the file may be asked for again a little later, and is lost after some failures.
//   - Any other 3xx and 4xx: there is no such file, and everything is allowed for a time of [Refresh].
//   - 2xx: the rules hold for a time of Refresh.
//
// A job whose exchange fails by [ErrNotNow] asks no more, without an error. Nothing comes of the asking of a job that was
// aborted meanwhile.
func (g *Gate[J]) Ask(j J, origin string, exchange Exchange) (End[J], error) {
	resp, err := Fetch(origin, exchange)
	if errors.Is(err, ErrNotNow) {
		return End[J]{Released: g.Abort(j)}, nil
	}
	failed := resp.Status == http.StatusTooManyRequests || resp.Status >= 500
	var said rules
	if err == nil && resp.Status < 300 { // RFC 9309 §2.3.1.3
		said = newRules(g.parse(resp.Body))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.askers[j]
	switch {
	case f == nil:
		return End[J]{}, nil
	case (failed || err != nil) && f.rules != nil: // RFC 9309 §2.4
		return End[J]{Released: g.settle(j, known, f.rules, Again)}, nil
	case err != nil:
		return End[J]{Released: g.settle(j, unknown, nil, 0)}, &UnreachableError{Origin: origin, Err: err}
	case failed:
		return g.failed(j, f), nil
	}
	return End[J]{Released: g.settle(j, known, &said, Refresh), New: true}, nil
}

// failed ends the asking of a job that the server has answered by an error. The caller holds mu.
func (g *Gate[J]) failed(j J, f *file[J]) End[J] {
	if f.tries == len(backoff) {
		return End[J]{Released: g.settle(j, unreachable, nil, Refresh), Lost: true}
	}
	if at := time.Now().Add(backoff[f.tries]); at.After(f.retryAt) {
		f.retryAt = at
	}
	f.tries++
	return End[J]{Released: g.settle(j, unknown, nil, 0)}
}

// UnreachableError is the failure of a request whose robots.txt could not be asked for because of the network, as that of a
// dead host: until it is known, nothing of that origin may be fetched (RFC 9309 §2.3.1.4).
type UnreachableError struct {
	Origin string // "https://example.com"
	Err    error  // how the host failed
}

// Error names origin, cause and remedy.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s cannot be reached: %s (robots.txt is asked for first, and nothing is fetched without it)",
		e.Origin, errtext.Beside(e.Err, e.Origin+"/robots.txt"))
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }
