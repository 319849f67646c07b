package spidertest

import "time"

// HostileOutcome says how a download may end; several are joined by |.
type HostileOutcome uint8

// The outcomes of a download.
const (
	HostileError   HostileOutcome = 1 << iota // an error and no response
	HostilePartial                            // an error, and a response with what of the body had come
	HostileOK                                 // a response and no error
)

// String names the outcomes.
func (o HostileOutcome) String() string {
	names := ""
	for i, name := range []string{"error", "partial", "ok"} {
		if o&(1<<i) == 0 {
			continue
		}
		if names != "" {
			names += " or "
		}
		names += name
	}
	return names
}

// HostileLimit is the limit on bodies that the cases are made for: a good page is much smaller, and
// so is a compressed bomb.
const HostileLimit = 4 << 20

// HostileBomb is how many bytes a bomb has when it is unpacked.
const HostileBomb = 1 << 30

// HostileCase is one kind of misbehaviour, and the acceptable outcomes of a download.
type HostileCase struct {
	Name   string
	Method string
	Path   string
	Sends  string         // what the server does, in words
	May    HostileOutcome // how a good downloader may end. OK has the body HostilePage, or none if Empty
	Status int            // of a response
	Empty  bool           // a response has no body
	// Damaged says that the body of OK may be cut or changed, if the response says so: its HTTP message is complete, its content
	// coding is not.
	Damaged bool
	// Redirect says that May is for downloaders that follow redirects, and for crawls. One that does not
	// follow them may answer with the redirect itself.
	Redirect bool
	// Stalls says that the server never comes to an end by itself: the timeout of the client has to do it.
	Stalls bool
	Time   time.Duration // longest that it may take, with a timeout that is no longer
	Bytes  int64         // most that a client with HostileLimit takes from the connection, buffers on the way included

	at     hostileTLS
	script func(c *hostileConn) bool // answers; false closes the connection
}

// HostilePage is the body that the server sends for a request target: on good paths, and on bad paths that send a whole body.
func HostilePage(target string) string { return "This is the page " + target + ", all of it.\n" }

const (
	hostileTime  = 10 * time.Second
	hostileBytes = 16 << 20
	hostileFlood = 100 << 20 // where something is to be as large as a header never is
)

// hostileCases lists all cases.
func hostileCases() []HostileCase {
	var all []HostileCase
	for _, group := range [][]HostileCase{hostileBombs(), hostileBodies(), hostileLengths(), hostileChunks(), hostileKept(),
		hostileHeaders(), hostileStatuses(), hostileConnections(), hostileRedirects(), hostileHandshakes()} {
		all = append(all, group...)
	}
	for i := range all {
		c := &all[i]
		c.Path = "/" + c.Name
		c.Time = hostileTime
		if c.Bytes == 0 {
			c.Bytes = hostileBytes
		}
		if c.Method == "" {
			c.Method = "GET"
		}
		if c.Status == 0 {
			c.Status = 200
		}
	}
	return all
}
