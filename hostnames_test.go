package tegenaria

import (
	"fmt"
	"sync"
	"testing"
)

// Names are right whoever else asks, and one that came a moment ago costs no allocation.
func TestHostNames(t *testing.T) {
	names := newHostNames()
	var asking sync.WaitGroup
	for g := range 4 {
		asking.Go(func() {
			for i := range 20_000 {
				want := fmt.Sprintf("h%d.example", (i*7+g)%5_000) // more than are kept
				if got := names.of([]byte(want)); got != want {
					t.Errorf("%q, want %q", got, want)
					return
				}
			}
		})
	}
	asking.Wait()
	host := []byte("a.example")
	names.of(host)
	if n := testing.AllocsPerRun(100, func() { names.of(host) }); n != 0 {
		t.Errorf("%g allocations for a name that is kept", n)
	}
}
