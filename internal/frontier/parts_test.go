package frontier

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// A job does at each step what two plain numbers do: it is over with its last part, lost while all its parts are, and nothing opens then.
func TestPartsModel(t *testing.T) {
	first := deep.Seed() >> 1
	for seed := first; seed < first+300; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		l := NewLedger(2)
		l.Inline()
		var p Parts
		p.Add()
		open, lost := 1, 0
		for step := 0; step < 200 && open > 0; step++ {
			alive := open > lost
			switch op := r.IntN(8); {
			case op <= 1:
				if p.Open() != alive {
					t.Fatalf("seed %d, step %d: open is %v; %d parts, %d lost", seed, step, !alive, open, lost)
				}
				if alive {
					open++
				}
			case op <= 4 && alive:
				open--
				if p.Close(l) != (open == 0) {
					t.Fatalf("seed %d, step %d: done is wrong; %d parts, %d lost", seed, step, open, lost)
				}
			case op == 5 && alive:
				p.Lose()
				p.Close(l)
				lost++
			case op == 6 && lost > 0:
				if !p.Find(l) {
					t.Fatalf("seed %d, step %d: not found; %d parts, %d lost", seed, step, open, lost)
				}
				lost--
			}
			if isLost := open > 0 && open == lost; p.AreLost() != (open == lost) || l.inHand() == 1 == isLost {
				t.Fatalf("seed %d, step %d: %d in hand; %d parts, %d lost", seed, step, l.inHand(), open, lost)
			}
		}
	}
}

// Parts that end, are lost and are found at the same time leave the ledger as it was. It fails if Find tells the ledger after the part
// was found, or asks it without need.
func TestPartsAtTheSameTime(t *testing.T) {
	for range 2000 {
		l := NewLedger(2)
		l.Inline()
		var p Parts
		p.Add()
		p.Add()
		p.Lose()
		p.Close(l)
		var both sync.WaitGroup
		found := false
		both.Go(func() { found = p.Find(l) })
		both.Go(func() { p.Lose(); p.Close(l) })
		both.Wait()
		if !found || l.inHand() != 1 || p.AreLost() {
			t.Fatalf("found: %v, %d in hand", found, l.inHand())
		}
	}
}
