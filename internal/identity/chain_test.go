package identity_test

import (
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/internal/identity"
)

// A target of its own chain is a loop, unless a hop has set a cookie: then it is asked for again, unfiltered.
func TestChain(t *testing.T) {
	a, b, c := identity.Key{1}, identity.Key{2}, identity.Key{3}
	first := identity.Chain{Filtered: true}.Hop(a, false)
	second := first.Hop(b, false)
	if !second.Loops(a) || !second.Loops(b) || !second.Filtered {
		t.Errorf("%+v does not see its loop", second)
	}
	if second.Loops(c) || !second.Filtered {
		t.Errorf("%+v: a new target is a loop", second)
	}
	cookie := first.Hop(b, true).Hop(c, false)
	if cookie.Loops(identity.Key{4}) || !cookie.Filtered {
		t.Errorf("%+v: a new target", cookie)
	}
	if cookie.Loops(a) || cookie.Filtered {
		t.Errorf("%+v: a target that is asked for again with a cookie", cookie)
	}
	if len(first.Keys) != 1 || first.SetCookie {
		t.Errorf("the chain that was inherited is %+v", first)
	}
}

// Two targets of one chain do not write into each other's keys.
func TestChainIsInheritedTwice(t *testing.T) {
	c := identity.Chain{}.Hop(identity.Key{1}, false).Hop(identity.Key{2}, false).Hop(identity.Key{3}, false)
	one, two := c.Hop(identity.Key{4}, false), c.Hop(identity.Key{5}, false)
	if !slices.Equal(one.Keys, []identity.Key{{1}, {2}, {3}, {4}}) || !slices.Equal(two.Keys, []identity.Key{{1}, {2}, {3}, {5}}) {
		t.Errorf("%v and %v", one.Keys, two.Keys)
	}
}
