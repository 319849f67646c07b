package httpx

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Defaults of a [Resolver].
const (
	// DefaultTTL is how long addresses are remembered. The system's resolver does not say how long they
	// may be; a minute is what browsers assume then.
	DefaultTTL = time.Minute
	// DefaultNegativeTTL is how long it is remembered that a name does not exist (RFC 2308 §5 would take it
	// from the zone).
	DefaultNegativeTTL = 30 * time.Second
	// DefaultFailureTTL is how long a failed look-up is remembered (RFC 2308 §7 allows five minutes at the most).
	DefaultFailureTTL = 5 * time.Second
	// DefaultNames is how many names are remembered.
	DefaultNames = 10_000
	// lookupTimeout bounds a look-up, whoever waits for it.
	lookupTimeout = 30 * time.Second
)

// Resolver looks up host names and remembers what it found, and what it did not find, for a time. Of
// several callers that ask for one name at the same time, one asks the system and all get the answer. The least
// recently used names are forgotten first.
//
// The fields are set before the first use; the zero value has the defaults. The methods may be called
// concurrently.
type Resolver struct {
	// Lookup asks for the addresses of a name. Nil is the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// TTL, NegativeTTL and FailureTTL are how long an answer is used; 0 is the default, negative is not at all.
	TTL, NegativeTTL, FailureTTL time.Duration
	// Names is how many names are remembered; 0 is the default.
	Names int

	mu      sync.Mutex // guards the fields below
	entries map[string]*list.Element
	recent  list.List // of *answer; the last used one first
	closed  bool
	running sync.WaitGroup
	life    context.Context
	cancel  context.CancelFunc
}

// answer is what is known of one name.
type answer struct {
	host    string
	ready   chan struct{} // closed when the look-up is over
	addrs   []netip.Addr
	err     error
	expires time.Time // zero: not looked up yet
}

// ErrClosed is the failure of a look-up by a closed [Resolver].
var ErrClosed = errors.New("httpx: the resolver is closed")

// Resolve returns the addresses of a host, in the order of the system's resolver, which sorts them by RFC 6724.
// A literal address stands for itself, and a name that [IsLocalhost] for this machine: neither is looked up. The
// slice must not be changed. The error is that of the look-up, often a
// [*net.DNSError], or the cause of ctx's end; a look-up that others wait for goes on without ctx.
func (r *Resolver) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	if IsLocalhost(host) {
		return []netip.Addr{loopback4, netip.IPv6Loopback()}, nil
	}
	a, err := r.ask(strings.ToLower(host))
	if err != nil {
		return nil, err
	}
	select {
	case <-a.ready:
		return a.addrs, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// IsLocalhost reports whether a host name is localhost or below it. Such names are this machine's loopback addresses,
// whatever a name server says (RFC 6761 §6.3).
func IsLocalhost(host string) bool {
	const name = "localhost"
	host = strings.TrimSuffix(host, ".")
	above := len(host) - len(name)
	return above >= 0 && strings.EqualFold(host[above:], name) && (above == 0 || host[above-1] == '.')
}

// Forget drops what is known of a host: nothing at its addresses answers.
func (r *Resolver) Forget(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[strings.ToLower(host)]; e != nil && !e.Value.(*answer).expires.IsZero() {
		r.drop(e)
	}
}

// Close ends all look-ups and waits for them.
func (r *Resolver) Close() {
	r.mu.Lock()
	r.closed = true
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
	r.running.Wait()
}

// ask returns the answer for a host, which may not be there yet.
func (r *Resolver) ask(host string) (*answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	if e := r.entries[host]; e != nil {
		a := e.Value.(*answer)
		if a.expires.IsZero() || time.Now().Before(a.expires) {
			r.recent.MoveToFront(e)
			return a, nil
		}
		r.drop(e)
	}
	if r.entries == nil {
		r.entries = make(map[string]*list.Element)
		r.life, r.cancel = context.WithCancel(context.Background())
	}
	a := &answer{host: host, ready: make(chan struct{})}
	r.entries[host] = r.recent.PushFront(a)
	r.running.Go(func() { r.lookUp(a) })
	return a, nil
}

func (r *Resolver) lookUp(a *answer) {
	ctx, cancel := context.WithTimeout(r.life, lookupTimeout)
	defer cancel()
	lookup := r.Lookup
	if lookup == nil {
		lookup = systemLookup
	}
	a.addrs, a.err = lookup(ctx, a.host)
	if a.err == nil && len(a.addrs) == 0 {
		a.err = &net.DNSError{Err: "no such host", Name: a.host, IsNotFound: true}
	}
	defer close(a.ready) // only now, so that what is remembered is true when somebody has the answer
	r.mu.Lock()
	defer r.mu.Unlock()
	a.expires = time.Now().Add(r.ttl(a.err))
	for names := orDefault(r.Names, DefaultNames); r.recent.Len() > names; {
		if !r.dropOldest() {
			break
		}
	}
}

// dropOldest forgets the name that was not asked for the longest time. One that is being looked up stays.
func (r *Resolver) dropOldest() bool {
	for e := r.recent.Back(); e != nil; e = e.Prev() {
		if !e.Value.(*answer).expires.IsZero() {
			r.drop(e)
			return true
		}
	}
	return false
}

// drop forgets an answer. The caller holds mu.
func (r *Resolver) drop(e *list.Element) {
	delete(r.entries, e.Value.(*answer).host)
	r.recent.Remove(e)
}

func (r *Resolver) ttl(err error) time.Duration {
	var failed *net.DNSError
	switch {
	case err == nil:
		return orDefault(r.TTL, DefaultTTL)
	case errors.As(err, &failed) && failed.IsNotFound:
		return orDefault(r.NegativeTTL, DefaultNegativeTTL)
	}
	return orDefault(r.FailureTTL, DefaultFailureTTL)
}

func orDefault[T int | time.Duration](v, standard T) T {
	if v == 0 {
		return standard
	}
	return v
}

func systemLookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}
