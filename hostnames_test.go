package tegenaria

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// The host of a link is that of the URL, whatever stands beside it.
func TestPlainHost(t *testing.T) {
	parts := strings.Fields(`/ \ ? # : @ [ ] a.example B.example user:pw@ user@ :@ pw 80 :8080 [::1] [::ffff:1.2.3.4] 1.2.3.4 0x7f.1 %41 %40 é . a_b ; & ^`)
	compared := 0
	for seed := range uint64(100_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		raw := []string{"http://", "https://"}[r.IntN(2)]
		for range 1 + r.IntN(6) {
			raw += parts[r.IntN(len(parts))]
		}
		url, err := urlx.Parse(raw)
		if err != nil {
			continue
		}
		compared++
		url, _, _ = strings.Cut(url, "#")
		if got, want := string(plainHost([]byte(url))), urlx.Hostname(url); got != want {
			t.Fatalf("seed %d: %s: %q, want %q", seed, url, got, want)
		}
	}
	if compared < 10_000 {
		t.Errorf("only %d of the URLs are any", compared)
	}
}

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
	names.of([]byte(strings.Repeat("a", longestHostName+1)))
	for i := range names.names {
		if name := names.names[i].Load(); name != nil && len(*name) > longestHostName {
			t.Error("a name is kept that none can be")
		}
	}
	host := []byte("a.example")
	names.of(host)
	if n := testing.AllocsPerRun(100, func() { names.of(host) }); n != 0 {
		t.Errorf("%g allocations for a name that is kept", n)
	}
}
