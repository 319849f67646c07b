package tegenaria

import (
	"context"
	"net"
	"sync"
	"time"
)

// dialled is a connection that knows what it took to make it, and whether somebody reads from it.
//
// net/http offers an HTTP/1 connection for reuse before it looks whether something is left that the server has sent
// unasked: the next request could take that for its answer. It looks at once when it begins to read again. So a
// request waits until somebody reads: then nothing was left, or the connection has been closed meanwhile and
// net/http takes another.
type dialled struct {
	net.Conn
	lookup, connect time.Duration
	ready           time.Time // when it was connected

	mu      sync.Mutex // guards what follows
	reading bool
	closed  bool
	quiet   chan struct{} // closed when somebody reads or it is closed; nil unless somebody waits
}

// dialledOf finds the connection under TLS; nil if we have not made it.
func dialledOf(conn net.Conn) *dialled {
	for conn != nil {
		if d, ok := conn.(*dialled); ok {
			return d
		}
		wrapped, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = wrapped.NetConn()
	}
	return nil
}

// tracked makes dialled connections of those that are not.
func tracked(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, hostport string) (net.Conn, error) {
		conn, err := dial(ctx, network, hostport)
		if _, ok := conn.(*dialled); err != nil || ok {
			return conn, err
		}
		return &dialled{Conn: conn, ready: time.Now()}, nil
	}
}

func (d *dialled) Read(p []byte) (int, error) {
	d.set(&d.reading, true)
	n, err := d.Conn.Read(p)
	d.set(&d.reading, false)
	return n, err
}

func (d *dialled) Close() error {
	d.set(&d.closed, true)
	return d.Conn.Close()
}

func (d *dialled) set(what *bool, to bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if *what = to; to && d.quiet != nil {
		close(d.quiet)
		d.quiet = nil
	}
}

// awaitQuiet waits until somebody reads, the connection is closed or ctx is done.
func (d *dialled) awaitQuiet(ctx context.Context) {
	d.mu.Lock()
	if d.reading || d.closed {
		d.mu.Unlock()
		return
	}
	if d.quiet == nil {
		d.quiet = make(chan struct{})
	}
	quiet := d.quiet
	d.mu.Unlock()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
}
