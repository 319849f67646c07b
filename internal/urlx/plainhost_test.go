package urlx_test

import (
	"math/rand/v2"
	"strings"
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
		if got, want := string(urlx.PlainHost([]byte(url))), urlx.Hostname(url); got != want {
			t.Fatalf("seed %d: %s: %q, want %q", seed, url, got, want)
		}
	}
	if compared < 10_000 {
		t.Errorf("only %d of the URLs are any", compared)
	}
}
