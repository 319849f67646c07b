package tegenaria

import (
	"fmt"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// extras are the fields of a request that few requests have. Copies of a request share them: a change makes new extras.
type extras struct {
	maxConnsPerHost int
	timeout         time.Duration
	allowStatus     []uint64
	slot            string
	downloader      string
	notBefore       time.Time
	chain           identity.Chain
	data            *wire.Datum // of RequestWithData; nil: none
	err             error       // of an option; reported when the request is accepted
}

// noExtras are those of a request that has none.
var noExtras = new(extras)

// extras returns the request's extras, to be read.
func (r *Request) extras() *extras {
	if r.few == nil {
		return noExtras
	}
	return r.few
}

// newExtras gives the request a copy of its extras, and returns it to be changed.
func (r *Request) newExtras() *extras {
	few := *r.extras()
	r.few = &few
	return r.few
}

// stored reports whether there is anything that the encoding of a request has a place for.
func (x *extras) stored() bool {
	return x.timeout != 0 || len(x.allowStatus) > 0 || x.slot != "" || x.downloader != "" || x.maxConnsPerHost != 0 || x.data != nil ||
		len(x.chain.Keys) > 0 || x.chain.Filtered || x.chain.SetCookie
}

// RequestWithMaxConnsPerHost caps how many requests of this request's slot are in flight at once.
func RequestWithMaxConnsPerHost(n int) RequestOption {
	return func(r *Request) {
		if n < 0 {
			r.fail(fmt.Errorf("tegenaria: MaxConnsPerHost of %s is %d; it must not be negative", r.Url, n))
			return
		}
		r.newExtras().maxConnsPerHost = n
	}
}

// RequestWithTimeout bounds the whole exchange, from connecting to the last body byte. Zero keeps
// the default of 60 s; a negative value sets no bound.
func RequestWithTimeout(timeout time.Duration) RequestOption {
	return func(r *Request) { r.newExtras().timeout = timeout }
}

// RequestWithAllowedStatusCode names codes of 400 and over that reach the parser instead of the
// ErrorHandler.
func RequestWithAllowedStatusCode(codes []uint64) RequestOption {
	return func(r *Request) { r.newExtras().allowStatus = slices.Clone(codes) }
}

// AllowsStatus reports whether [RequestWithAllowedStatusCode] named the code.
func (r *Request) AllowsStatus(code int) bool {
	return code >= 0 && slices.Contains(r.extras().allowStatus, uint64(code))
}

// RequestWithSlot puts the request into the named politeness slot instead of its host's.
func RequestWithSlot(name string) RequestOption {
	return func(r *Request) { r.newExtras().slot = name }
}

// RequestWithDownloader names the registered downloader that fetches the request.
func RequestWithDownloader(name string) RequestOption {
	return func(r *Request) { r.newExtras().downloader = name }
}

// RequestWithNotBefore keeps the request waiting until t.
func RequestWithNotBefore(t time.Time) RequestOption {
	return func(r *Request) { r.newExtras().notBefore = t }
}

// timeoutOrDefault returns the longest that an exchange of the request may take.
func (r *Request) timeoutOrDefault() time.Duration {
	switch timeout := r.extras().timeout; {
	case timeout == 0:
		return DefaultTimeout
	case timeout < 0:
		return 1<<62 - guard.Farewell
	default:
		return timeout
	}
}
