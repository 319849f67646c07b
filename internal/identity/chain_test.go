package identity_test

import (
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/internal/identity"
)

// What a chain has sent twice is a loop, unless a hop has set a cookie. A key that it has is no duplicate.
func TestChain(t *testing.T) {
	a, b, c := identity.Key{1}, identity.Key{2}, identity.Key{3}
	sentA, sentB, sentC := identity.Key{11}, identity.Key{12}, identity.Key{13}
	first := identity.Chain{Filtered: true}.Hop(a, sentA, false)
	once := first.Hop(b, sentB, false)
	if !once.Has(a) || !once.Has(b) || once.Has(c) || !once.Filtered {
		t.Errorf("%+v does not know its requests", once)
	}
	if once.Loops(sentA) || once.Loops(sentB) || once.Loops(sentC) {
		t.Errorf("%+v: what was sent once is a loop", once)
	}
	if spelled := once.Hop(a, sentC, false); spelled.Loops(sentA) || spelled.Loops(sentC) {
		t.Errorf("%+v: two spellings of a URL are a loop", spelled)
	}
	twice := once.Hop(a, sentA, false)
	if !twice.Loops(sentA) || twice.Loops(sentB) {
		t.Errorf("%+v: what was sent twice is no loop", twice)
	}
	if cookie := twice.Hop(c, sentC, true); cookie.Loops(sentA) || !cookie.Filtered {
		t.Errorf("%+v: a loop, though a hop has set a cookie", cookie)
	}
	if len(first.Keys) != 2 || first.SetCookie {
		t.Errorf("the chain that was inherited is %+v", first)
	}
}

// Two targets of one chain do not write into each other's keys.
func TestChainIsInheritedTwice(t *testing.T) {
	k := func(n byte) identity.Key { return identity.Key{n} }
	c := identity.Chain{}.Hop(k(1), k(2), false).Hop(k(3), k(4), false).Hop(k(5), k(6), false)
	one, two := c.Hop(k(7), k(8), false), c.Hop(k(9), k(10), false)
	if !slices.Equal(one.Keys[6:], []identity.Key{{7}, {8}}) || !slices.Equal(two.Keys[6:], []identity.Key{{9}, {10}}) {
		t.Errorf("%v and %v", one.Keys, two.Keys)
	}
}
