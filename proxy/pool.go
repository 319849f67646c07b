package proxy

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Choice says which of the proxies that can be used a request goes through.
type Choice int

// The choices.
const (
	Fastest    Choice = iota // of two at random, the one with the shorter time to the first byte: fast ones get more, and each is tried
	InTurn                   // one after the other
	LeastUsed                // the one that was used least often
	StickyHost               // the same one for all requests of a host, and for all sessions that begin there, as long as it works
)

var choices = [...]string{"fastest", "in turn", "least used", "sticky by host"}

// String returns the name of the choice: "fastest", "in turn", "least used" or "sticky by host".
func (c Choice) String() string {
	if c < 0 || int(c) >= len(choices) {
		return fmt.Sprintf("Choice(%d)", int(c))
	}
	return choices[c]
}

// MarshalText writes the name.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a name.
func (c *Choice) UnmarshalText(text []byte) error {
	i := slices.Index(choices[:], string(text))
	if i < 0 {
		return fmt.Errorf("proxy: %q is no choice; there are %q", text, choices)
	}
	*c = Choice(i)
	return nil
}

// Options configures a [Pool]. The zero value is a good beginning.
type Options struct {
	Choose Choice // Fastest

	// Direct lets requests go without a proxy while none can be used. Then the sites see the address of this machine.
	Direct bool

	// Reload is how often the list is read again, 0 for never. Proxies that are new are used from then on, those that are gone are not.
	// If that fails, or the list is empty, the one before stays in use.
	Reload time.Duration

	// Reloaded, unless nil, is told of each time the list was read again: how many proxies it has, or why the one before stays.
	Reloaded func(proxies int, err error)

	// Robots lets the status of a robots.txt count that a site answers with 403: it says that there are no rules. Otherwise it is taken
	// for a ban of the proxy, and the file is asked for through others; if they are all refused, nothing of the site is fetched.
	Robots bool

	// Priority is that of the middleware; 0 means 800, which is next to the downloader: other middlewares see what the pool makes of a
	// failure.
	Priority int
}

const (
	defaultPriority = 800
	robotsTries     = 3       // that a blocked robots.txt gets through other proxies
	freeTries       = 10      // that a request gets for failures of proxies, at no cost to its attempts
	mostPairs       = 1 << 16 // hosts with proxies that are remembered to fail there
	mostUnlisted    = 1000    // proxies that are not listed any more whose counts are kept each by itself
	mostTries       = 1 << 16 // requests whose free tries are counted
)

var errCredentials = errors.New("it requires other credentials (status 407)")

// Pool is a middleware that chooses a proxy for each request, those for robots.txt included. Make one with [NewPool]; it serves one run
// at a time. Its methods may be called concurrently.
type Pool struct {
	source Source
	opts   Options
	stop   context.CancelFunc // of the reloading
	gone   sync.WaitGroup     // the goroutine that reloads

	mu    sync.Mutex // guards the fields below
	list  []*entry
	known map[string]*entry // those that are listed, or were and have been used, by URL
	byID  map[string]*entry // those that are listed
	names map[string]*entry // those that are listed, by name
	// the counts of further ones that were listed
	unlisted tegenaria.ProxyStats
	turn     int
	early    time.Time // when a proxy's rest may be over; zero: none rests
	last     string    // how one of them has failed
	pairs    map[pair]*health
	answered map[*tegenaria.Context]answered // of requests with failures before them
	changes  map[string]bool                 // rests that have begun or ended since they were stored; nil: nothing is stored
	least    leastUsed                       // the list, for LeastUsed
	tries    map[uint64]uint8                // free ones, by request
	waits    map[string]*tegenaria.Gate      // by host; "" for all
	seed     maphash.Seed
}

// pair is a host and a proxy: a site may ban one proxy, and others know nothing of it.
type pair struct {
	host string
	by   *entry
}

// answered is a request that has an answer, which may still be found to be a block.
type answered struct {
	pair
	request uint64 // see keyOf
}

// NewPool makes a pool of the proxies that source gives. The list is read when the crawl begins: one that cannot be used ends it with a
// [*ListError].
func NewPool(source Source, opts Options) *Pool {
	if opts.Priority == 0 {
		opts.Priority = defaultPriority
	}
	return &Pool{source: source, opts: opts, known: make(map[string]*entry),
		pairs: make(map[pair]*health), answered: make(map[*tegenaria.Context]answered), tries: make(map[uint64]uint8),
		waits: make(map[string]*tegenaria.Gate), seed: maphash.MakeSeed()}
}

// GetName returns "proxies".
func (p *Pool) GetName() string { return "proxies" }

// GetPriority returns that of the options.
func (p *Pool) GetPriority() int { return p.opts.Priority }

// SeesInternal is true: a robots.txt goes through a proxy, too.
func (p *Pool) SeesInternal() bool { return true }

// Open reads the list.
func (p *Pool) Open(ctx context.Context, _ tegenaria.SpiderInterface) error {
	p.mu.Lock()
	p.changes = nil // unless RestoreState is called
	p.mu.Unlock()
	if err := p.load(ctx); err != nil {
		return err
	}
	if p.opts.Reload > 0 {
		var reloading context.Context
		reloading, p.stop = context.WithCancel(context.WithoutCancel(ctx))
		p.gone.Go(func() { p.reload(reloading) })
	}
	return nil
}

// Close ends the reloading.
func (p *Pool) Close(context.Context, string) error {
	if p.stop != nil {
		p.stop()
		p.gone.Wait()
	}
	return nil
}

func (p *Pool) reload(ctx context.Context) {
	ticker := time.NewTicker(p.opts.Reload)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := p.load(ctx)
		if ctx.Err() == nil && p.opts.Reloaded != nil {
			p.opts.Reloaded(p.Len(), err)
		}
	}
}

// load reads the list, and puts it in the place of the one before.
func (p *Pool) load(ctx context.Context) error {
	urls, err := p.source.urls(ctx)
	if err != nil {
		var list *ListError
		if !errors.As(err, &list) {
			err = &ListError{Err: err}
		}
		return err
	}
	p.mu.Lock()
	list, err := entries(urls, p.known)
	if err != nil {
		p.mu.Unlock()
		return err
	}
	p.replace(list)
	open := p.openAll()
	p.mu.Unlock()
	open()
	return nil
}

// replace puts a list in the place of the one before. Of proxies that are not listed any more the counts are kept.
func (p *Pool) replace(list []*entry) {
	for _, e := range p.list {
		e.listed = false
	}
	p.list, p.turn = list, 0
	p.byID, p.names = make(map[string]*entry, len(list)), make(map[string]*entry, len(list))
	for _, e := range list {
		e.listed = true
		p.byID[e.id()], p.names[e.name] = e, e
		p.known[e.url] = e
	}
	p.least = nil
	if p.opts.Choose == LeastUsed {
		p.least = newLeastUsed(list)
	}
	for url, e := range p.known {
		if s := e.stats; !e.listed && (s.Requests == 0 || len(p.known) > len(list)+mostUnlisted) {
			delete(p.known, url)
			p.unlisted.Requests, p.unlisted.Responses = p.unlisted.Requests+s.Requests, p.unlisted.Responses+s.Responses
			p.unlisted.Errors, p.unlisted.Blocked = p.unlisted.Errors+s.Errors, p.unlisted.Blocked+s.Blocked
			p.unlisted.Bytes += s.Bytes
		}
	}
}

// Len returns how many proxies are listed.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list)
}

// openAll takes the gates at which requests wait, and returns what opens them; that is called without mu.
func (p *Pool) openAll() (open func()) {
	gates := p.waits
	if len(gates) == 0 {
		return func() {}
	}
	p.waits = make(map[string]*tegenaria.Gate)
	return func() {
		for _, g := range gates {
			g.Open()
		}
	}
}

// AcceptRequest takes the password out of the proxy that the target of a redirect has from its request: a durable job does not store it.
func (p *Pool) AcceptRequest(_ *tegenaria.Response, r *tegenaria.Request) error {
	if r.Proxy == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.known[r.Proxy.ProxyUrl]; e != nil && e.name != e.url {
		r.Proxy = &tegenaria.Proxy{ProxyUrl: e.name}
	}
	return nil
}

// ProcessRequest chooses the proxy. A request that has one of the list keeps it while it can be used: so does the target of a redirect.
func (p *Pool) ProcessRequest(ctx *tegenaria.Context) error {
	r := ctx.Request
	host := urlx.Hostname(r.Url)
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Proxy != nil {
		e := p.known[r.Proxy.ProxyUrl]
		if e == nil {
			e = p.names[r.Proxy.ProxyUrl]
		}
		switch {
		case e == nil || !e.listed:
		case p.usable(e, host, now):
			p.use(e, host, now)
			r.Proxy = &tegenaria.Proxy{ProxyUrl: e.url}
			return nil
		case r.SessionOwn() != nil: // another one would be another identity
			return tegenaria.NotNow(p.wait(host, now))
		}
	}
	e := p.choose(host, now)
	if e == nil {
		if p.opts.Direct {
			r.Proxy = nil
			return nil
		}
		return tegenaria.NotNow(p.wait(host, now))
	}
	p.use(e, host, now)
	r.Proxy = &tegenaria.Proxy{ProxyUrl: e.url}
	return nil
}

func (p *Pool) use(e *entry, host string, now time.Time) {
	e.stats.Requests++
	if e.listed && p.least != nil {
		heap.Fix(&p.least, e.place)
	}
	e.try(now)
	if h := p.pairs[pair{host, e}]; h != nil {
		h.try(now)
	}
}

// wait closes a gate for requests of a host until a proxy may be tried again.
func (p *Pool) wait(host string, now time.Time) *tegenaria.Gate {
	name, all := "a proxy for "+host, true
	first := time.Time{}
	for _, e := range p.list {
		at := e.at()
		all = all && at.After(now)
		if h := p.pairs[pair{host, e}]; h != nil && h.at().After(at) {
			at = h.at()
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if all {
		name, host = "a proxy", ""
	}
	g := p.waits[host]
	if g == nil {
		g = tegenaria.NewGate(name)
		p.waits[host] = g
	}
	if p.last != "" {
		g.Because("none can be used at the moment; the last failure is that of " + p.last)
	}
	g.CloseFor(max(first.Sub(now), time.Millisecond))
	return g
}

// ProcessResponse notes how the proxy does. One that wants other credentials is not used for a while.
func (p *Pool) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	resp := ctx.Response()
	if ctx.Request.Proxy == nil || resp == nil || isStored(resp) {
		return nil
	}
	switch {
	case resp.Status == http.StatusProxyAuthRequired:
		return p.failed(ctx, errCredentials, true, errCredentials)
	case resp.Status == http.StatusForbidden && !p.opts.Robots && isRobots(ctx.Request):
		return &tegenaria.BlockedError{URL: resp.URL, Rule: "status 403"}
	}
	host := urlx.Hostname(ctx.Request.Url)
	p.mu.Lock()
	e := p.known[ctx.Request.Proxy.ProxyUrl]
	if e == nil {
		p.mu.Unlock()
		return nil
	}
	e.stats.Responses++
	e.stats.Bytes += int64(resp.ContentLength)
	if took := resp.Transfer(); took.FirstByte > 0 {
		e.took((took.Lookup + took.Connect + took.Handshake + took.FirstByte).Seconds())
	} else {
		e.took(resp.Delay)
	}
	rested := e.worked()
	if rested {
		p.changed(e, "")
	}
	by := pair{host, e}
	h := p.pairs[by]
	switch {
	case isLogin(ctx.Request):
		if h != nil {
			h.trying = time.Time{} // a page is to try
		}
	case len(p.tries) > 0 || h != nil:
		if len(p.answered) >= mostTries {
			clear(p.answered)
		}
		p.answered[ctx] = answered{by, p.keyOf(ctx.Request)}
	}
	open := func() {}
	if rested {
		open = p.openAll()
	}
	p.mu.Unlock()
	open()
	return nil
}

// Released notes that a proxy works with a host, now that no middleware has found the answer to be a block.
func (p *Pool) Released(ctx *tegenaria.Context) {
	open := func() {}
	p.mu.Lock()
	if a, ok := p.answered[ctx]; ok {
		delete(p.answered, ctx)
		delete(p.tries, a.request)
		if h := p.pairs[a.pair]; h != nil {
			if h.resting() {
				p.changed(a.by, a.host)
				open = p.openAll()
			}
			delete(p.pairs, a.pair)
		}
	}
	p.mu.Unlock()
	open()
}

// isLogin reports whether a request is one of a login, whose answer says nothing of how the proxy does with pages.
func isLogin(r *tegenaria.Request) bool {
	own, ok := r.SessionOwn().(interface{ IsRepeated() bool })
	return ok && own.IsRepeated()
}

// isStored reports whether a cache has answered, and nothing went through the proxy.
func isStored(resp *tegenaria.Response) bool {
	state := resp.Cached().State
	return state == tegenaria.CacheHit || state == tegenaria.CacheStale
}

// took counts a latency, in seconds.
func (e *entry) took(seconds float64) {
	if e.latency == 0 {
		e.latency = seconds
		return
	}
	e.latency += (seconds - e.latency) / 8
}

// ProcessError notes failures of proxies, and has their requests go through others.
func (p *Pool) ProcessError(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
	r := ctx.Request
	if r.Proxy == nil || errors.Is(err, tegenaria.ErrIgnoreRequest) {
		return err
	}
	if blocked, ok := errors.AsType[*tegenaria.BlockedError](err); ok {
		return p.banned(ctx, blocked, err)
	}
	if _, steers := errors.AsType[*tegenaria.RetryError](err); steers {
		return err
	}
	if errors.Is(err, errCredentials) { // ProcessResponse has seen to it
		return err
	}
	if proxy, ok := errors.AsType[*tegenaria.ProxyError](err); ok {
		// What it refuses may be the site's fault, what does not answer is not.
		return p.failed(ctx, proxy.Err, !proxy.Refused(), err)
	}
	timeout, late := errors.AsType[*tegenaria.TimeoutError](err)
	switch {
	case late && timeout.Proxy != "":
		return p.failed(ctx, timeout, true, err)
	case !late && !isNetwork(err):
		return err
	case !late && strings.HasPrefix(r.Url, "http:") && !strings.HasPrefix(r.Proxy.ProxyUrl, "socks"):
		return p.failed(ctx, err, true, err) // the connection is one to the proxy
	}
	p.mu.Lock()
	if e := p.known[r.Proxy.ProxyUrl]; e != nil {
		e.stats.Errors++
		p.failsWith(urlx.Hostname(r.Url), e, false)
	}
	p.mu.Unlock()
	return err
}

// isNetwork reports whether an error is one of a connection.
func isNetwork(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// failed notes a failure of the request's proxy, everywhere or with this host alone, and returns what becomes of the request: it goes
// through another proxy, if it has not tried too many. Otherwise the error is failure, as one of the proxy.
func (p *Pool) failed(ctx *tegenaria.Context, why error, everywhere bool, failure error) error {
	r, now := ctx.Request, time.Now()
	host := urlx.Hostname(r.Url)
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.known[r.Proxy.ProxyUrl]
	if e == nil {
		return failure
	}
	e.stats.Errors++
	if everywhere {
		e.fails(now, why == errCredentials)
		if e.resting() {
			p.changed(e, "")
		}
		p.rests(&e.health)
	} else {
		p.failsWith(host, e, false)
	}
	p.last = e.name + ": " + why.Error()
	if _, known := errors.AsType[*tegenaria.ProxyError](failure); !known {
		failure = &tegenaria.ProxyError{Proxy: e.name, Err: why}
	}
	if !p.mayTry(r, freeTries) || why == errCredentials && p.choose(host, now) == nil { // which does not pass by itself
		return failure
	}
	return tegenaria.NotNow(nil)
}

// banned notes that a site does not serve a proxy, and returns what becomes of the request. A robots.txt is asked for through three others
// at once; a page has been given another attempt by whoever has recognised the block.
func (p *Pool) banned(ctx *tegenaria.Context, blocked *tegenaria.BlockedError, err error) error {
	r := ctx.Request
	open := func() {}
	defer func() { open() }()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.answered, ctx)
	e := p.known[r.Proxy.ProxyUrl]
	if e == nil || ctx.Response() == nil {
		return err
	}
	if blocked.HostLost { // what waits for a proxy ends without one
		open = p.openAll()
	}
	e.stats.Blocked++
	p.failsWith(urlx.Hostname(r.Url), e, r.SessionOwn() == nil) // it may be the session that is banned
	if !isRobots(r) || p.choose(urlx.Hostname(r.Url), time.Now()) == nil || !p.mayTry(r, robotsTries) {
		return err
	}
	return tegenaria.NotNow(nil)
}

// isRobots reports whether a request is for a robots.txt.
func isRobots(r *tegenaria.Request) bool { return urlx.Path(r.Url) == "/robots.txt" }

// mayTry counts a free try of a request, and returns false if it has had as many as it may.
func (p *Pool) mayTry(r *tegenaria.Request, most uint8) bool {
	key := p.keyOf(r)
	if p.tries[key] >= most {
		delete(p.tries, key)
		return false
	}
	if len(p.tries) >= mostTries {
		clear(p.tries)
	}
	p.tries[key]++
	return true
}

// rests notes when a proxy may be tried again.
func (p *Pool) rests(h *health) {
	if h.resting() && (p.early.IsZero() || h.until.Before(p.early)) {
		p.early = h.until
	}
}

// failsWith notes a failure of a proxy with one host.
func (p *Pool) failsWith(host string, e *entry, atOnce bool) {
	h := p.pairOf(host, e)
	h.fails(time.Now(), atOnce)
	if h.resting() {
		p.changed(e, host)
	}
}

// pairOf returns what is known of a proxy with a host.
func (p *Pool) pairOf(host string, e *entry) *health {
	key := pair{host, e}
	h := p.pairs[key]
	if h == nil {
		if len(p.pairs) >= mostPairs {
			for old := range p.pairs { // any one: it is learnt again
				delete(p.pairs, old)
				p.changed(old.by, old.host)
				break
			}
		}
		h = new(health)
		p.pairs[key] = h
	}
	return h
}

// keyOf tells requests apart, for the number of their free tries.
func (p *Pool) keyOf(r *tegenaria.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	h.WriteString(r.Method)
	h.WriteString(r.Url)
	h.Write(r.Body)
	return h.Sum64()
}

// usable reports whether a request of a host may use a proxy now.
func (p *Pool) usable(e *entry, host string, now time.Time) bool {
	if e.resting() && e.at().After(now) {
		return false
	}
	if len(p.pairs) == 0 {
		return true
	}
	h := p.pairs[pair{host, e}]
	return h == nil || !h.resting() || !h.at().After(now)
}

// choose returns the proxy for a request of a host; nil if none can be used. One whose rest is over comes first, so that it is tried.
func (p *Pool) choose(host string, now time.Time) *entry {
	if !p.early.IsZero() && !now.Before(p.early) {
		if e := p.rested(host, now); e != nil {
			return e
		}
	}
	n := len(p.list)
	from := 0
	switch p.opts.Choose {
	case InTurn:
		from = p.turn
		p.turn = (p.turn + 1) % n
	case StickyHost:
		from = int(maphash.String(p.seed, host) % uint64(n))
	case LeastUsed:
		if e := p.least[0]; p.usable(e, host, now) {
			return e
		}
		return p.leastUsable(host, now)
	default:
		var best *entry
		for range 8 {
			e := p.list[rand.IntN(n)]
			switch {
			case !p.usable(e, host, now):
			case best == nil:
				best = e
			default:
				if e.latency < best.latency {
					best = e
				}
				return best
			}
		}
		if best != nil {
			return best
		}
		from = rand.IntN(n)
	}
	for i := range n {
		if e := p.list[(from+i)%n]; p.usable(e, host, now) {
			return e
		}
	}
	return nil
}

func (p *Pool) leastUsable(host string, now time.Time) (best *entry) {
	for _, e := range p.list {
		if (best == nil || e.stats.Requests < best.stats.Requests) && p.usable(e, host, now) {
			best = e
		}
	}
	return best
}

// leastUsed is a heap of proxies by the number of their requests.
type leastUsed []*entry

func newLeastUsed(list []*entry) leastUsed {
	l := slices.Clone(leastUsed(list))
	for i, e := range l {
		e.place = i
	}
	heap.Init(&l)
	return l
}

// Len is part of heap.Interface, as are the other methods.
func (l leastUsed) Len() int           { return len(l) }
func (l leastUsed) Less(i, j int) bool { return l[i].stats.Requests < l[j].stats.Requests }
func (l leastUsed) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].place, l[j].place = i, j
}
func (l *leastUsed) Push(any) {} // the list does not grow
func (l *leastUsed) Pop() any { return nil }

// rested returns a proxy that is to be tried after its rest; nil if there is none.
func (p *Pool) rested(host string, now time.Time) (next *entry) {
	p.early = time.Time{}
	for _, e := range p.list {
		switch {
		case !e.resting():
		case next == nil && p.usable(e, host, now):
			next = e
		default:
			if at := e.at(); p.early.IsZero() || at.Before(p.early) {
				p.early = at
			}
		}
	}
	return next
}

// ProxyStats returns the counts of the proxies that were used in this run.
func (p *Pool) ProxyStats() []tegenaria.ProxyStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []tegenaria.ProxyStats
	for _, e := range p.known {
		if s := e.stats; s.Requests > 0 {
			s.Name, s.Latency = e.name, time.Duration(e.latency*float64(time.Second))
			list = append(list, s)
		}
	}
	if p.unlisted.Requests > 0 {
		s := p.unlisted
		s.Name = "proxies that are not listed any more"
		list = append(list, s)
	}
	return list
}
