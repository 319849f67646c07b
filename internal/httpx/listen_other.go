//go:build !unix

package httpx

import "net"

// canListen reports whether the system can be asked which bytes have come over a connection.
const canListen = false

func listen(net.Conn) heard { return heardNobody }

func hasCome(net.Conn) bool { return false }

func isBroken(error) bool { return false }
