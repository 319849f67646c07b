package frontier

import (
	"cmp"
	"maps"
	"strings"

	"github.com/tegenaria/tegenaria/internal/slots"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Rule is how a slot is treated.
type Rule struct {
	slots.Policy
	Pages  int     // downloads that may begin in it; 0: no limit
	Spread float64 // what Jitter was made of, for RuleOf
}

// Rules find the rule of a slot. They are read, and changed by SetRule of a Frontier, under its mutex.
type Rules struct {
	common  Rule
	changed map[string]Rule // by name: those of SetRule
	exact   map[string]Rule // by name
	below   map[string]Rule // by what follows "*."
}

// NewRules makes the rules of a crawl: those of overrides by the name of a slot, or by "*.example.com" for all slots below a
// domain, and the common one for all others. A host may be spelled as in URLs.
func NewRules(common Rule, overrides map[string]Rule) *Rules {
	r := &Rules{common: common, changed: make(map[string]Rule), exact: make(map[string]Rule), below: make(map[string]Rule)}
	for key, rule := range overrides {
		rules, name := r.exact, key
		if domain, ok := strings.CutPrefix(key, "*."); ok {
			rules, name = r.below, domain
		}
		rules[name] = rule
		if host := asHost(name); host != name {
			if _, taken := overrides[strings.TrimSuffix(key, name)+host]; !taken {
				rules[host] = rule
			}
		}
	}
	return r
}

// asHost returns the name as slots of hosts have it if it is another spelling of a host's, as "WWW.Example.com", "example.com." or
// "bücher.example"; others as they are.
func asHost(name string) string {
	if strings.ContainsAny(name, "/\\:@?#%[] ") {
		return name
	}
	return cmp.Or(urlx.WithoutDot(urlx.Hostname("http://"+name+"/")), name)
}

// of returns the rule of a slot: the one that it was given by SetRule, its own, or that of the nearest domain above it.
func (r *Rules) of(name string) Rule {
	if rule, ok := r.changed[name]; ok {
		return rule
	}
	if rule, ok := r.exact[name]; ok {
		return rule
	}
	if len(r.below) > 0 {
		for _, above, ok := strings.Cut(name, "."); ok; _, above, ok = strings.Cut(above, ".") {
			if rule, ok := r.below[above]; ok {
				return rule
			}
		}
	}
	return r.common
}

// haveBudgets reports whether any slot has a page budget.
func (r *Rules) haveBudgets() bool {
	if r.common.Pages > 0 {
		return true
	}
	for _, rules := range []map[string]Rule{r.exact, r.below} {
		for rule := range maps.Values(rules) {
			if rule.Pages > 0 {
				return true
			}
		}
	}
	return false
}
