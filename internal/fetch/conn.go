package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// dialled is a connection that knows how long it took to make it.
type dialled struct {
	net.Conn
	lookup, connect time.Duration
	handshake       time.Duration        // of TLS on it; with a proxy's own, if it has one
	tls             *tls.ConnectionState // nil without TLS
	live            *liveConns
}

// Close closes the connection.
func (d *dialled) Close() error {
	if d.live != nil {
		d.live.remove(d)
	}
	return d.Conn.Close()
}

// SyscallConn lets the system be asked about the connection.
func (d *dialled) SyscallConn() (syscall.RawConn, error) {
	if below, ok := d.Conn.(syscall.Conn); ok {
		return below.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// liveConns are the open connections of a downloader. net/http forgets some of HTTP/2 while they are open: those that
// it must not use again, but on which a stream has not ended. It may be used concurrently; the zero value is empty.
type liveConns struct {
	mu     sync.Mutex // guards the fields below
	open   map[*dialled]struct{}
	closed bool
}

// add adds a connection. It returns false if the downloader was closed.
func (l *liveConns) add(d *dialled) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.open == nil {
		l.open = make(map[*dialled]struct{})
	}
	l.open[d] = struct{}{}
	return true
}

func (l *liveConns) remove(d *dialled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, d)
}

// close closes all connections, and lets none be added any more.
func (l *liveConns) close() {
	l.mu.Lock()
	l.closed = true
	open := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()
	for _, d := range open {
		d.Close()
	}
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

type dialFunc func(ctx context.Context, network, hostport string) (net.Conn, error)

// tracked makes dialled connections of those that are not, and keeps them while they are open.
func tracked(dial dialFunc, live *liveConns) dialFunc {
	return func(ctx context.Context, network, hostport string) (net.Conn, error) {
		began := time.Now()
		conn, err := dial(ctx, network, hostport)
		if err != nil {
			return nil, err
		}
		made := dialledOf(conn)
		if made == nil {
			made = &dialled{Conn: conn, connect: time.Since(began)}
			conn = made
		}
		made.live = live
		if !live.add(made) {
			conn.Close()
			return nil, &net.OpError{Op: "dial", Net: network, Err: net.ErrClosed}
		}
		return conn, nil
	}
}
