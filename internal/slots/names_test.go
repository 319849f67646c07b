package slots

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// The table of names does what a map does, at sizes where runs wrap around the end.
func TestNames(t *testing.T) {
	seed := deep.Seed()
	r := rand.New(rand.NewPCG(seed, 1))
	for _, most := range []int{3, 13, 100, 5_000} {
		n, want := newNames(), map[string]*Slot{}
		for range 20 * most {
			name := fmt.Sprint("host", r.IntN(2*most))
			switch s := want[name]; {
			case n.get(name) != s:
				t.Fatalf("%s is not what it was (seed %d)", name, seed)
			case s == nil && len(want) < most:
				s = &Slot{name: name}
				n.put(s)
				want[name] = s
			case s != nil:
				n.remove(s)
				delete(want, name)
			}
		}
		found := 0
		for s := range n.all() {
			if found++; want[s.name] != s {
				t.Errorf("%s is too much (seed %d)", s.name, seed)
			}
		}
		if found != len(want) || n.used != len(want) {
			t.Errorf("%d slots, counted %d, want %d (seed %d)", found, n.used, len(want), seed)
		}
		for _, s := range want {
			if n.get(s.name) != s {
				t.Errorf("%s is lost (seed %d)", s.name, seed)
			}
			n.remove(s)
		}
		if n.used != 0 || len(n.cells) > 1024 {
			t.Errorf("%d left in %d cells (seed %d)", n.used, len(n.cells), seed)
		}
	}
}
