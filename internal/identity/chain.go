package identity

import "slices"

// Chain is what a redirected request inherits from the chain of redirects that led to it. The zero value is that of a request
// that no redirect has led to.
type Chain struct {
	Filtered  bool  // the chain began with a filtered GET: its targets are deduplicated
	Keys      []Key // of the requests of the chain, in their order
	SetCookie bool  // a hop of the chain set a cookie
}

// Hop returns the chain with one request more, which has that key and was redirected by an answer that set a cookie or not.
// The chain itself, which may be inherited by others, stays as it is.
func (c Chain) Hop(key Key, setCookie bool) Chain {
	c.Keys = append(slices.Clone(c.Keys), key)
	c.SetCookie = c.SetCookie || setCookie
	return c
}

// Loops reports whether to ask for a target would go round in a circle: its key is of the chain, and no hop has set a cookie. One
// that is asked for again because of a cookie is not filtered from then on.
func (c *Chain) Loops(target Key) bool {
	if !slices.Contains(c.Keys, target) {
		return false
	}
	if c.SetCookie {
		c.Filtered = false
		return false
	}
	return true
}
