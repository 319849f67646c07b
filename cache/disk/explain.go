package disk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// ErrUnknown says that a job has never seen such a request.
var ErrUnknown = errors.New("disk: the job does not know this request")

// Explain says what happened to the request with this key, and through which requests it was found. The first Info is the request
// itself, each further one is the request that emitted the one before it, and the last is a seed. The chain ends early at a request
// that another program has removed. [KeyOf] makes a key of a request, [Cache.ExplainURL] asks by a URL. Explain may be called
// during a run: then it also finds what is waiting or in flight.
//
// The job knows the first 100,000 requests that the crawl refused, too: those off site, too deep, with a URL that is too long, or
// refused by a middleware or for lack of room. A key that the job does not know is [ErrUnknown]; if it has refused more
// requests than it keeps, the error says so.
func (c *Cache) Explain(ctx context.Context, key tegenaria.Key) ([]Info, error) {
	if _, err := c.snapshotState(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	w, known, err := c.where(&key)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var chain []Info
	if !known {
		refused, err := c.refusal(&key)
		if err != nil {
			return nil, err
		}
		chain, w.seq = append(chain, refused), refused.Parent
	}
	for number := w.seq; number != 0; number = chain[len(chain)-1].Parent {
		info, err := c.byNumber(ctx, number)
		if errors.Is(err, ErrUnknown) && len(chain) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		chain = append(chain, info)
	}
	return chain, nil
}

// ExplainURL is [Cache.Explain] for a GET request of a URL, in a job whose engine has the default duplicate filter. A URL that
// no crawl can request, because of its scheme say, is a [*tegenaria.RequestError] that says why.
func (c *Cache) ExplainURL(ctx context.Context, url string) ([]Info, error) {
	if _, err := urlx.AskedHost(url); err != nil {
		return nil, &tegenaria.RequestError{URL: url, Field: "Url", Err: urlx.Cure(url, err), Remedy: urlx.Remedy(url, err)}
	}
	key, err := KeyOf(tegenaria.NewRequest(url, tegenaria.GET, nil))
	if err != nil {
		return nil, err
	}
	return c.Explain(ctx, key)
}

// KeyOf returns the key of a filtered request in a job whose engine has the default duplicate filter.
func KeyOf(r *tegenaria.Request) (key tegenaria.Key, err error) {
	sum, err := tegenaria.NewRFPDupeFilter(64, 1).Fingerprint(r)
	if err != nil {
		return key, err
	}
	return tegenaria.Key(sum), nil
}

// Why says in words where the request is or how it ended, with the reason, and what to do if that is known:
// "filtered (offsite): name its host in EngineWithAllowedDomains (or ScopeOptions.Domains)".
func (i *Info) Why() string {
	switch i.State {
	case Waiting:
		return "waiting: it has not ended; the next run of the job goes on with it"
	case Delayed:
		return "waiting until " + i.NotBefore.Format(time.RFC3339)
	}
	outcome := i.Outcome.String()
	text, remedy := outcome, report.Remedy(outcome, i.Reason)
	if i.Reason != "" {
		text += " (" + i.Reason + ")"
	}
	if i.Status != 0 {
		text += fmt.Sprintf(", status %d", i.Status)
	}
	if i.Outcome == tegenaria.Failed || i.Outcome == tegenaria.GaveUp {
		failure := report.Failure{Cause: strings.TrimPrefix(i.Reason, "robots: ")}
		if i.Status >= 400 {
			failure.Cause = fmt.Sprint("status ", i.Status)
		}
		if i.Parent != 0 {
			failure.Referrer = "a page"
		}
		remedy = report.Advice(failure, report.Wired{})
	}
	if remedy != "" {
		text += ": " + remedy
	}
	return text
}
