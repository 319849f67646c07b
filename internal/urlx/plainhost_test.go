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

// What the accessors take apart without parsing it is what parsing would make of it.
func TestPlainAuthority(t *testing.T) {
	parts := strings.Fields(`/ \ ? # : @ a.example example B.example 1.2.3.4 1.2.3.04 1.2.3.256 1.2.3 0.0.0.0 :80 :443 :8080 :65535 :65536 :080 :0 :123456 . .. a_b 0x7f - 9 é`)
	parts = append(parts, "\x00", "\t", " ", "\x7f", "|", "%00")
	plain := 0
	for seed := range uint64(100_000) {
		r := rand.New(rand.NewPCG(seed, 2))
		raw := []string{"http://", "https://"}[r.IntN(2)]
		for range 1 + r.IntN(4) {
			raw += parts[r.IntN(len(parts))]
		}
		if !urlx.PlainAuthority(raw) {
			continue
		}
		plain++
		authority := raw
		if i := strings.IndexAny(raw[len("https://"):], "/?#"); i >= 0 {
			authority = raw[:len("https://")+i]
		}
		if url, err := urlx.Parse(raw); err != nil || !strings.HasPrefix(url, authority+"/") {
			t.Fatalf("seed %d: %s is taken for plain, and is %q, %v", seed, raw, url, err)
		}
	}
	if plain < 5_000 {
		t.Errorf("only %d of the URLs are plain", plain)
	}
	for _, url := range []string{"http://127.0.0.1:8080/", "https://a.example:1", "http://1.2.3.4?q"} {
		if !urlx.PlainAuthority(url) {
			t.Errorf("%s is not taken for plain", url)
		}
	}
}
