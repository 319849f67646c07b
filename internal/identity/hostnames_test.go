package identity

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Names are right whoever else asks, and one that came a moment ago costs no allocation.
func TestHostNames(t *testing.T) {
	names := NewHostNames()
	var asking sync.WaitGroup
	for g := range 4 {
		asking.Go(func() {
			for i := range 20_000 {
				want := fmt.Sprintf("h%d.example", (i*7+g)%5_000) // more than are kept
				if got := names.Of([]byte(want)); got != want {
					t.Errorf("%q, want %q", got, want)
					return
				}
			}
		})
	}
	asking.Wait()
	names.Of([]byte(strings.Repeat("a", longestHostName+1)))
	for i := range names.names {
		if name := names.names[i].Load(); name != nil && len(*name) > longestHostName {
			t.Error("a name is kept that none can be")
		}
	}
	host := []byte("a.example")
	names.Of(host)
	if n := testing.AllocsPerRun(100, func() { names.Of(host) }); n != 0 {
		t.Errorf("%g allocations for a name that is kept", n)
	}
}
