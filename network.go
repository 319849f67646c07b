package tegenaria

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Network is the way to the network that a run gives to a part that makes connections of its own, such as a downloader
// that drives a browser. A connection that it makes is checked like those of the engine's own downloader.
//
// A page that a browser loads makes requests of its own: for scripts, for data, for frames. The engine does not see
// them. The part asks Robots and PausedUntil before it sends such a sub-request, and reports to Refused that a host has
// too much to do. These methods take absolute http and https URLs, and may be called concurrently.
type Network interface {
	// Dial connects to a host:port; network is "tcp". It resolves the host with the engine's resolver and checks the
	// addresses that it is about to dial, after the look-up: special-purpose addresses are refused with a
	// [*PrivateAddressError], except those of Politeness.AllowPrivate and the loopback addresses that seeds have named.
	// Limits.Connect bounds the attempt at each address, and ctx bounds the whole call.
	//
	// The caller closes the connection. Those that are still open when the run is over are closed then, and Dial fails
	// from then on. It may be called concurrently. The engine does not count these connections, and no delay applies to
	// them: politeness is about requests, which the caller has from the engine.
	Dial(ctx context.Context, network, address string) (net.Conn, error)

	// UserAgent returns what the engine sends as User-Agent with requests that have none, see Politeness.UserAgent.
	UserAgent() string

	// Robots returns nil if robots.txt allows a sub-request, or need not be obeyed (Politeness.IgnoreRobots). If the
	// engine does not know the file of the URL's origin, it is fetched by the default downloader, without a wait for
	// the host's turn; Robots waits for that. The error is a [*RobotsError] if the URL is forbidden, and also while the
	// file cannot be read because of server errors: a sub-request does not wait for the next attempt. It is a
	// [*RobotsUnreachableError] if the host cannot be reached, a [*RequestError] if the URL is not one of http or
	// https, and the cause of ctx if that has ended.
	Robots(ctx context.Context, url string) error

	// InScope reports whether the allowed domains of the run (EngineWithAllowedDomains) contain a URL, and no
	// [RequestFilter] refuses a request for it, which has no parent. The part asks before a page goes to another
	// document, not about scripts and data.
	InScope(url string) bool

	// PausedUntil returns when the host of a URL may be asked again, if it has refused requests and is given a pause;
	// the zero time if it may be asked now. The pause is that of the host's slot, see [Politeness]; the delay between
	// requests is not part of it.
	PausedUntil(url string) time.Time

	// Refused reports the answer to a sub-request; retryAfter is its Retry-After field, or empty. With the status 429
	// or 503 the host is given a pause, as by the answer to any other request. Other answers have no effect.
	Refused(url string, status int, retryAfter string)
}

// NetworkUser is an optional interface of any registered part that makes connections of its own. UseNetwork is called
// once in each run, after Open if the part is an [Opener] too, and before the first request. It must not block. The
// Network is of no use after the run.
//
//	func (d *Downloader) UseNetwork(n tegenaria.Network) {
//		d.client.Transport = &http.Transport{DialContext: n.Dial}
//	}
type NetworkUser interface {
	UseNetwork(n Network)
}

// network is the Network of a run. Its connections are of the same guard as those of the engine's own downloader.
type network struct {
	client   *fetch.Client
	acceptor *acceptor
	fetcher  *fetcher
}

var _ Network = network{}

// Dial connects to a host:port.
func (n network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" { // the guard answers for addresses that are dialled, and can do so for no other network
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(network)}
	}
	return n.client.Dial(ctx, address)
}

// UserAgent is what requests send that have no User-Agent.
func (n network) UserAgent() string { return n.fetcher.cfg.Politeness.agent() }

// Robots has a sub-request obey robots.txt.
func (n network) Robots(ctx context.Context, url string) error {
	slot, err := n.slotOf(url)
	if err != nil || n.fetcher.cfg.Politeness.IgnoreRobots {
		return err
	}
	e := &subRequest{fetcher: n.fetcher}
	e.init(Record{Slot: slot}, e)
	e.begin(&Context{Request: NewRequest(url, GET, nil), Ctx: ctx}, nil, n.fetcher.stop.work)
	defer e.call.Life.Cancel(nil)
	for {
		switch look := n.fetcher.robots.Look(&e.job, placeOf(&e.job), false); look.Answer {
		case robotsgate.Wait:
			select {
			case <-look.Changed:
			case <-e.ctx.Done():
				return context.Cause(e.ctx.Ctx)
			}
		case robotsgate.Ask:
			switch err := n.fetcher.askRobots(&e.job); {
			case err == guard.ErrGivenUp:
				return ErrOutputClosed
			case err != nil:
				return bare(err)
			}
		case robotsgate.Later:
			return &RobotsError{URL: url, Unreachable: true}
		default:
			return look.Refused(url)
		}
	}
}

// InScope reports whether a request for a URL would pass the filters of accept.
func (n network) InScope(url string) bool {
	host, err := urlx.AskedHost(url)
	return err == nil && n.acceptor.scope.check(emission{}, NewRequest(url, GET, nil), host) == nil
}

// PausedUntil returns the end of the block of a URL's slot.
func (n network) PausedUntil(url string) time.Time {
	slot, err := n.slotOf(url)
	if err != nil {
		return time.Time{}
	}
	return n.fetcher.frontier.BlockedUntil(slot)
}

// Refused has the slot of a URL heed a refusal.
func (n network) Refused(url string, status int, retryAfter string) {
	slot, err := n.slotOf(url)
	if err != nil || status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return
	}
	after, _ := httpx.RetryAfter(retryAfter, time.Now())
	n.fetcher.frontier.Refused(slot, after)
	n.fetcher.report.blocked()
}

// slotOf returns the slot that requests for a URL are sent by.
func (n network) slotOf(url string) (string, error) {
	r := NewRequest(url, GET, nil)
	host, err := urlx.AskedHost(url)
	if err != nil {
		return "", urlError(r, err)
	}
	return n.acceptor.slotOf(r, host), nil
}

// subRequest is the job of a sub-request that asks for a robots.txt. It is no request of the crawl: it is neither counted
// nor settled, and holds nothing of the frontier.
type subRequest struct {
	job
	fetcher *fetcher
}

// Slow has nothing to report: the part that waits has a clock of its own.
func (e *subRequest) Slow(string, time.Duration) {}

// Abandon lets others ask for the file.
func (e *subRequest) Abandon(guard.Loss) { e.fetcher.abortRobots(&e.job) }

// IsPublicAddr reports whether the default downloader dials an address without permission by Politeness.AllowPrivate:
// the address is a unicast address of the public internet, outside the special-purpose ranges of the IANA registries
// (RFC 6890); and if it is an IPv6 address that a translator or tunnel forwards to an IPv4 address, that address is
// public too. An invalid address is not public. It is for programs with their own http.Client (EngineWithHTTPClient),
// whose dialer has to check the addresses that it dials.
func IsPublicAddr(addr netip.Addr) bool {
	return fetch.IsPublic(addr)
}
