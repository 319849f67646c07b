package httpx_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

var one, two, six = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::6")

// names is a zone that counts the look-ups.
type names struct {
	mu    sync.Mutex
	asked []string
	takes time.Duration
	zone  map[string]any // []netip.Addr or an error
}

func (n *names) look(ctx context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	n.asked = append(n.asked, host)
	found := n.zone[host]
	n.mu.Unlock()
	timer := time.NewTimer(n.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch found := found.(type) {
	case []netip.Addr:
		return found, nil
	case error:
		return nil, found
	}
	return nil, nil
}

func (n *names) lookups() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked)
}

func pause(d time.Duration) { <-time.NewTimer(d).C }

var errServer = errors.New("the server failed")

// Each answer is used for its time, and not longer.
func TestResolverRemembers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		found any
		for_  time.Duration
	}{
		{"addresses", []netip.Addr{one, six}, httpx.DefaultTTL},
		{"no such name", &net.DNSError{Err: "no such host", Name: "h.test", IsNotFound: true}, httpx.DefaultNegativeTTL},
		{"no addresses", []netip.Addr{}, httpx.DefaultNegativeTTL},
		{"a failure", errServer, httpx.DefaultFailureTTL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &names{zone: map[string]any{"h.test": tt.found}}
				r := &httpx.Resolver{Lookup: n.look}
				defer r.Close()
				ask := func() {
					t.Helper()
					addrs, err := r.Resolve(t.Context(), "H.test")
					switch want := tt.found.(type) {
					case error:
						if !errors.Is(err, want) {
							t.Errorf("got %v, %v", addrs, err)
						}
					case []netip.Addr:
						if (err != nil) != (len(want) == 0) || !slices.Equal(addrs, want) {
							t.Errorf("got %v, %v", addrs, err)
						}
					}
				}
				ask()
				pause(tt.for_ - 1)
				ask()
				if got := n.lookups(); got != 1 {
					t.Errorf("%d look-ups within %s", got, tt.for_)
				}
				pause(1)
				ask()
				if got := n.lookups(); got != 2 {
					t.Errorf("%d look-ups after %s", got, tt.for_)
				}
				r.Forget("h.TEST")
				ask()
				if got := n.lookups(); got != 3 {
					t.Errorf("%d look-ups after Forget", got)
				}
			})
		})
	}
}

// Many who ask at the same time share one look-up, which outlives those of them that do not wait for it.
func TestResolverShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{zone: map[string]any{"h.test": []netip.Addr{one}}, takes: 10 * time.Second}
		r := &httpx.Resolver{Lookup: n.look}
		defer r.Close()
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var got atomic.Int64
		for range 100 {
			go func() {
				if addrs, err := r.Resolve(t.Context(), "h.test"); err == nil && slices.Equal(addrs, []netip.Addr{one}) {
					got.Add(1)
				}
			}()
		}
		if _, err := r.Resolve(hurried, "h.test"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who does not wait got %v", err)
		}
		r.Forget("h.test") // an answer that is not there yet cannot be old
		pause(9 * time.Second)
		synctest.Wait()
		if got.Load() != 100 || n.lookups() != 1 {
			t.Errorf("%d answers, %d look-ups", got.Load(), n.lookups())
		}
	})
}

// A look-up that hangs ends by itself, and when the resolver is closed.
func TestResolverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{zone: map[string]any{}, takes: 24 * time.Hour}
		r := &httpx.Resolver{Lookup: n.look}
		began := time.Now()
		if _, err := r.Resolve(t.Context(), "h.test"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		go func() {
			pause(time.Second)
			r.Close()
		}()
		began = time.Now()
		if _, err := r.Resolve(t.Context(), "other.test"); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		synctest.Wait()
		if _, err := r.Resolve(t.Context(), "h.test"); !errors.Is(err, httpx.ErrClosed) {
			t.Errorf("a closed resolver: %v", err)
		}
	})
}

// The number of names is bounded: those forgotten are the ones nobody asked for.
func TestResolverForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{zone: map[string]any{}}
		for i := range 1000 {
			n.zone[fmt.Sprintf("%d.test", i)] = []netip.Addr{one}
		}
		r := &httpx.Resolver{Lookup: n.look, Names: 10}
		defer r.Close()
		for i := range 1000 {
			for _, host := range []string{"0.test", fmt.Sprintf("%d.test", i)} {
				if _, err := r.Resolve(t.Context(), host); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := n.lookups(); got != 1000 {
			t.Errorf("%d look-ups for 1000 names, one of them in use all the time", got)
		}
		for i := 999; i > 990; i-- {
			r.Resolve(t.Context(), fmt.Sprintf("%d.test", i))
		}
		if got := n.lookups(); got != 1000 {
			t.Errorf("%d look-ups: the newest were forgotten", got)
		}
		r.Resolve(t.Context(), "1.test")
		if got := n.lookups(); got != 1001 {
			t.Errorf("%d look-ups: an old one was kept", got)
		}
	})
}

// Literal addresses are not looked up.
func TestResolverLiterals(t *testing.T) {
	n := &names{}
	r := &httpx.Resolver{Lookup: n.look}
	defer r.Close()
	for _, addr := range []netip.Addr{one, six, netip.MustParseAddr("fe80::1%eth0")} {
		if got, err := r.Resolve(t.Context(), addr.String()); err != nil || !slices.Equal(got, []netip.Addr{addr}) {
			t.Errorf("%s: %v, %v", addr, got, err)
		}
	}
	if n.lookups() != 0 {
		t.Error("a literal was looked up")
	}
}

// conn is a connection that knows whether it was closed.
type conn struct {
	net.Conn
	addr   netip.Addr
	closed atomic.Bool
}

func (c *conn) Close() error {
	c.closed.Store(true)
	return nil
}

// The addresses are tried one after the other, families in turns, the next one after a failure or 250 ms.
func TestDial(t *testing.T) {
	type answers map[netip.Addr]struct {
		after time.Duration
		err   error
	}
	seven := netip.MustParseAddr("2001:db8::7")
	refused := errors.New("refused")
	const never = time.Hour
	for _, tt := range []struct {
		name  string
		addrs []netip.Addr
		answers
		want  netip.Addr // zero: an error
		after time.Duration
		tried []netip.Addr
	}{
		{"one", []netip.Addr{one}, answers{one: {time.Second, nil}}, one, time.Second, []netip.Addr{one}},
		{"one that fails", []netip.Addr{one}, answers{one: {time.Second, refused}}, netip.Addr{}, time.Second, []netip.Addr{one}},
		{"the first answers", []netip.Addr{six, one}, answers{six: {200 * time.Millisecond, nil}}, six, 200 * time.Millisecond, []netip.Addr{six}},
		{"the first fails", []netip.Addr{six, one}, answers{six: {time.Millisecond, refused}, one: {time.Millisecond, nil}}, one, 2 * time.Millisecond, []netip.Addr{six, one}},
		{"the first is silent", []netip.Addr{six, one}, answers{six: {never, nil}, one: {time.Millisecond, nil}}, one, 251 * time.Millisecond, []netip.Addr{six, one}},
		{"the first is late but wins", []netip.Addr{six, one}, answers{six: {300 * time.Millisecond, nil}, one: {time.Second, nil}}, six, 300 * time.Millisecond, []netip.Addr{six, one}},
		{"both at the same time", []netip.Addr{six, one}, answers{six: {500 * time.Millisecond, nil}, one: {250 * time.Millisecond, nil}}, netip.Addr{}, 500 * time.Millisecond, []netip.Addr{six, one}},
		{"families in turns", []netip.Addr{six, seven, one, two}, answers{six: {0, refused}, seven: {0, refused}, one: {0, refused}, two: {0, refused}}, netip.Addr{}, 0, []netip.Addr{six, one, seven, two}},
		{"one family", []netip.Addr{one, two}, answers{one: {never, nil}, two: {0, nil}}, two, 250 * time.Millisecond, []netip.Addr{one, two}},
		{"all silent", []netip.Addr{six, one}, answers{six: {never, nil}, one: {never, nil}}, netip.Addr{}, 10 * time.Second, []netip.Addr{six, one}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var mu sync.Mutex
				var tried []netip.Addr
				var made []*conn
				began := time.Now()
				got, err := httpx.Dial(ctx, tt.addrs, func(ctx context.Context, addr netip.Addr) (net.Conn, error) {
					mu.Lock()
					tried = append(tried, addr)
					mu.Unlock()
					a := tt.answers[addr]
					timer := time.NewTimer(a.after)
					defer timer.Stop()
					select {
					case <-timer.C:
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					if a.err != nil {
						return nil, a.err
					}
					c := &conn{addr: addr}
					mu.Lock()
					made = append(made, c)
					mu.Unlock()
					return c, nil
				})
				if took := time.Since(began); took != tt.after {
					t.Errorf("it took %s, want %s", took, tt.after)
				}
				if !slices.Equal(tried, tt.tried) {
					t.Errorf("tried %v, want %v", tried, tt.tried)
				}
				for _, c := range made {
					if c.closed.Load() == (got == net.Conn(c)) {
						t.Errorf("the connection to %s: closed %v", c.addr, c.closed.Load())
					}
				}
				switch {
				case len(made) > 1: // a tie: any of them
					if err != nil {
						t.Error(err)
					}
				case tt.want == netip.Addr{}:
					if err == nil {
						t.Error("no error")
					}
				case err != nil || got.(*conn).addr != tt.want:
					t.Errorf("got %v, %v; want %s", got, err, tt.want)
				}
			})
		})
	}
}

// Nobody is asked about localhost and the names below it (RFC 6761 §6.3). It fails when Resolve does not ask
// IsLocalhost first.
func TestLocalhostIsNotLookedUp(t *testing.T) {
	var asked []string
	elsewhere := netip.MustParseAddr("169.254.169.254")
	r := &httpx.Resolver{Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
		asked = append(asked, host)
		return []netip.Addr{elsewhere}, nil
	}}
	defer r.Close()
	for _, host := range []string{"localhost", "LocalHost", "localhost.", "foo.localhost", "a.b.LOCALHOST.", "foo.localhost."} {
		addrs, err := r.Resolve(t.Context(), host)
		if err != nil || len(addrs) != 2 || !addrs[0].IsLoopback() || !addrs[1].IsLoopback() {
			t.Errorf("%s: %v, %v", host, addrs, err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("looked up: %q", asked)
	}
	for _, host := range []string{"notlocalhost", "localhost.example", "localhost..", "localhos", "x", ""} {
		if httpx.IsLocalhost(host) {
			t.Errorf("%q is taken for localhost", host)
		}
	}
}
