package tegenaria

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// dialled is a connection that knows what it took to make it.
type dialled struct {
	net.Conn
	lookup, connect time.Duration
	handshake       time.Duration        // of TLS on it; with a proxy's own, if it has one
	tls             *tls.ConnectionState // nil without TLS
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

// tracked makes dialled connections of those that are not.
func tracked(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, hostport string) (net.Conn, error) {
		began := time.Now()
		conn, err := dial(ctx, network, hostport)
		if err != nil {
			return nil, err
		}
		if dialledOf(conn) != nil {
			return conn, nil
		}
		return &dialled{Conn: conn, connect: time.Since(began)}, nil
	}
}
