//go:build !unix

package httpx

import "net"

// canListen tells whether the system can be asked what has come over a connection.
const canListen = false

func newListener(net.Conn) func() heard { return nil }

func isBroken(error) bool { return false }
