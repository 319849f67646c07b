package robots_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/robots"
)

// reference decides by the letter of RFC 9309 §2.2.2: try every rule, take the longest. Rules and
// target must be normalised already.
func reference(rules []string, target string) bool {
	best, allowed := 0, true
	for _, rule := range rules {
		name, pattern, _ := strings.Cut(rule, ": ")
		if !referenceMatch(pattern, target) {
			continue
		}
		if allow := name == "Allow"; len(pattern) > best || len(pattern) == best && allow {
			best, allowed = len(pattern), allow
		}
	}
	return allowed
}

// referenceMatch keeps, per octet of the pattern, the set of places in s that it may have reached.
func referenceMatch(pattern, s string) bool {
	at := make([]bool, len(s)+1)
	at[0] = true
	for i := range len(pattern) {
		c := pattern[i]
		if c == '$' && i == len(pattern)-1 {
			return at[len(s)]
		}
		next := make([]bool, len(s)+1)
		for j, ok := range at {
			switch {
			case !ok:
			case c == '*':
				for k := j; k <= len(s); k++ {
					next[k] = true
				}
			case j < len(s) && s[j] == c:
				next[j+1] = true
			}
		}
		at = next
	}
	for _, ok := range at {
		if ok {
			return true
		}
	}
	return false
}

func TestAgainstReference(t *testing.T) {
	seed := deep.Seed()
	rnd := rand.New(rand.NewPCG(seed, 0))
	word := func(alphabet string, n int) string {
		b := []byte{'/'}
		for range rnd.IntN(n) {
			b = append(b, alphabet[rnd.IntN(len(alphabet))])
		}
		return string(b)
	}
	for range 3000 {
		rules := make([]string, rnd.IntN(20))
		for i := range rules {
			pattern := word("aab/?**", 8)
			if rnd.IntN(4) == 0 {
				pattern += "$"
			}
			if rnd.IntN(8) == 0 {
				pattern = "*" + pattern[1:]
			}
			rules[i] = []string{"Allow: ", "Disallow: "}[rnd.IntN(2)] + pattern
		}
		g := robots.Parse([]byte(star(rules...))).Agent("mybot")
		for range 20 {
			target := word("aab/?", 12)
			if got, want := g.Allowed(target), reference(rules, target); got != want {
				t.Fatalf("seed %d: Allowed(%q) = %v, want %v\n%s", seed, target, got, want, strings.Join(rules, "\n"))
			}
		}
	}
}

// Patterns that make a backtracking matcher exponential, or one that tries all rules quadratic.
func TestHostileRules(t *testing.T) {
	stars := strings.Repeat("*a", robots.MaxBytes/2-100)
	wide := []string{"Disallow: /x"}
	for i := range 20000 {
		wide = append(wide, fmt.Sprintf("Disallow: /%05d*aaaa*b", i))
	}
	nested := []string{}
	for i := range 700 {
		nested = append(nested, "Allow: /"+strings.Repeat("a", i))
	}
	long := "/" + strings.Repeat("a", 1<<16)
	for name, rules := range map[string][]string{
		"stars": {"Disallow: /" + stars + "b"}, "short stars": {"Disallow: /*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", "Disallow: /*a*a*a*a*a*a*a*a*a*a*ab$"},
		"wide": wide, "nested": nested,
	} {
		t.Run(name, func(t *testing.T) {
			if !robots.Parse([]byte(star(rules...))).Agent("mybot").Allowed(long) {
				t.Error("disallowed, though no rule matches")
			}
		})
	}
}
