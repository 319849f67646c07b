package httpx

// heard is what has come over a connection that waits.
type heard uint8

const (
	heardNothing   heard = iota // and it is open
	heardSomething              // that no request has asked for
	heardEnd
	heardNobody // it cannot be asked
)
