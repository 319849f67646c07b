package httpx

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// fallbackDelay is how long an attempt to connect has before the next address is tried beside it (RFC 8305 §5).
const fallbackDelay = 250 * time.Millisecond

// Dial connects to the first of the addresses that answers. The families take turns, beginning with that of the
// first address; an attempt that fails, or has not ended after 250 ms, is followed by the next one (Happy Eyeballs,
// RFC 8305). dial must return soon after its context is done: when Dial returns all attempts have ended, and all
// connections but the one it returns are closed. The error joins those of all attempts, in the order of the
// addresses. It panics if there are none.
func Dial(ctx context.Context, addrs []netip.Addr, dial func(context.Context, netip.Addr) (net.Conn, error)) (net.Conn, error) {
	if len(addrs) == 1 {
		return dial(ctx, addrs[0])
	}
	addrs = takeTurns(addrs)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type attempt struct {
		i    int
		conn net.Conn
		err  error
	}
	results := make(chan attempt)
	errs := make([]error, len(addrs))
	timer := time.NewTimer(fallbackDelay)
	defer timer.Stop()
	begun, running := 0, 0
	begin := func() {
		i := begun
		begun++
		running++
		timer.Reset(fallbackDelay)
		go func() { // received below
			conn, err := dial(ctx, addrs[i])
			results <- attempt{i, conn, err}
		}()
	}
	var winner net.Conn
	for begin(); running > 0; {
		var late <-chan time.Time
		more := winner == nil && begun < len(addrs) && ctx.Err() == nil
		if more {
			late = timer.C
		}
		select {
		case a := <-results:
			running--
			switch errs[a.i] = a.err; {
			case a.err != nil && more:
				begin()
			case a.err == nil && winner == nil:
				winner = a.conn
				cancel()
			case a.err == nil:
				a.conn.Close()
			}
		case <-late:
			begin()
		}
	}
	if winner != nil {
		return winner, nil
	}
	return nil, errors.Join(errs...)
}

// takeTurns returns the addresses so that the families alternate, as long as there are two (RFC 8305 §4).
func takeTurns(addrs []netip.Addr) []netip.Addr {
	var first, second []netip.Addr
	for _, addr := range addrs {
		if addr.Unmap().Is4() == addrs[0].Unmap().Is4() {
			first = append(first, addr)
		} else {
			second = append(second, addr)
		}
	}
	turns := make([]netip.Addr, 0, len(addrs))
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			turns = append(turns, first[i])
		}
		if i < len(second) {
			turns = append(turns, second[i])
		}
	}
	return turns
}
