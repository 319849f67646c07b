package identity

import "slices"

// asks is how often a chain of redirects may ask for one URL: once more for a gate page that sends back, or a server that keeps
// a state.
const asks = 2

// Chain is what a redirected request inherits from the chain of redirects that led to it. The zero value is that of a request
// that no redirect has led to.
type Chain struct {
	Filtered  bool  // the chain began with a filtered GET: its targets are deduplicated
	Keys      []Key // of the requests of the chain, in their order: of each one its key, then what [Keyer.Sent] returns
	SetCookie bool  // a hop of the chain set a cookie
}

// Hop returns the chain with one request more, which has that key, was sent as sent, and was redirected by an answer that set a
// cookie or not. The chain itself, which may be inherited by others, stays as it is.
func (c Chain) Hop(key, sent Key, setCookie bool) Chain {
	c.Keys = append(slices.Clone(c.Keys), key, sent)
	c.SetCookie = c.SetCookie || setCookie
	return c
}

// Has reports whether a request with a key is of the chain. The next one with this key is another spelling of its URL, or is
// asked for again; to leave it out as a duplicate would mean never to have the page.
func (c *Chain) Has(key Key) bool { return slices.Contains(c.Keys, key) }

// Loops reports whether to send a request would go round in a circle: the chain has sent the same one twice, and no hop has set
// a cookie.
func (c *Chain) Loops(sent Key) bool {
	if c.SetCookie {
		return false
	}
	times := 0
	for _, key := range c.Keys {
		if key == sent {
			times++
		}
	}
	return times >= asks
}
