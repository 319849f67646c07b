package hostile

import "time"

// Outcome says how a download may end; several are joined by |.
type Outcome uint8

// The outcomes of a download.
const (
	Error   Outcome = 1 << iota // an error and no response
	Partial                     // an error, and a response with what of the body had come
	OK                          // a response and no error
)

// String names the outcomes.
func (o Outcome) String() string {
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

// Limit is the limit on bodies that the cases are made for: a good page is much smaller, and
// so is a compressed bomb.
const Limit = 4 << 20

// Bomb is how many bytes a bomb has when it is unpacked.
const Bomb = 1 << 30

// Case is one kind of misbehaviour, and the acceptable outcomes of a download.
type Case struct {
	Name   string
	Method string
	Path   string
	Sends  string  // what the server does, in words
	May    Outcome // how a good downloader may end. OK has the body Page, or none if Empty
	Status int     // of a response
	Empty  bool    // a response has no body
	// Damaged says that the body of OK may be cut or changed, if the response says so: its HTTP message is complete, its content
	// coding is not.
	Damaged bool
	// Redirect says that May is for downloaders that follow redirects, and for crawls. One that does not
	// follow them may answer with the redirect itself.
	Redirect bool
	// Stalls says that the server never comes to an end by itself: the timeout of the client has to do it.
	Stalls bool
	Time   time.Duration // longest that it may take, with a timeout that is no longer
	Bytes  int64         // most that a client with Limit takes from the connection, buffers on the way included

	at     tlsKind
	script func(c *connection) bool // answers; false closes the connection
}

// Page is the body that the server sends for a request target: on good paths, and on bad paths that send a whole body.
func Page(target string) string { return "This is the page " + target + ", all of it.\n" }

const (
	mostTime  = 10 * time.Second
	mostBytes = 16 << 20
	flood     = 100 << 20 // where something is to be as large as a header never is
)

// allCases lists all cases.
func allCases() []Case {
	var all []Case
	for _, group := range [][]Case{bombCases(), bodyCases(), lengthCases(), chunkCases(), keptCases(),
		headerCases(), statusCases(), connectionCases(), redirectCases(), handshakeCases()} {
		all = append(all, group...)
	}
	for i := range all {
		c := &all[i]
		c.Path = "/" + c.Name
		c.Time = mostTime
		if c.Bytes == 0 {
			c.Bytes = mostBytes
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
