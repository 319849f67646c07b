package frontier

import (
	"testing"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// The rule of a slot is its own, or that of the nearest domain above it, or the common one; a host may be spelled as in URLs, and
// its own entry counts before another spelling's.
func TestRules(t *testing.T) {
	rule := func(limit int) Rule { return Rule{Policy: slots.Policy{Limit: limit}} }
	r := NewRules(rule(1), map[string]Rule{
		"*.a.test": rule(2), "*.b.a.test": rule(3), "x.b.a.test": rule(4), "*.test": rule(5),
		"WWW.Upper.example": rule(6), "*.Bücher.example": rule(7),
		"Twice.example": rule(8), "twice.example": rule(9), "*.Twice.example": rule(10), "*.twice.example": rule(11),
		"127.0.0.1:80": rule(12),
	})
	for name, want := range map[string]int{
		"other.example": 1, "a.example": 1, "": 1, "test": 1,
		"a.test": 5, "c.a.test": 2, "b.a.test": 2, "y.b.a.test": 3, "z.y.b.a.test": 3, "x.b.a.test": 4, "z.x.b.a.test": 3,
		"www.upper.example": 6, "WWW.Upper.example": 6, "upper.example": 1,
		"www.xn--bcher-kva.example": 7, "xn--bcher-kva.example": 1,
		"Twice.example": 8, "twice.example": 9, "a.twice.example": 11,
		"127.0.0.1:80": 12, "127.0.0.1": 1,
	} {
		if got := r.of(name).Limit; got != want {
			t.Errorf("%q has the rule %d, want %d", name, got, want)
		}
	}
}

// A budget is looked at if any rule has one.
func TestHaveBudgets(t *testing.T) {
	with := map[string]Rule{"a": {Pages: 1}}
	for name, tt := range map[string]struct {
		rules *Rules
		want  bool
	}{
		"none":        {NewRules(Rule{}, map[string]Rule{"a": {}, "*.b": {}}), false},
		"common":      {NewRules(Rule{Pages: 1}, nil), true},
		"of a slot":   {NewRules(Rule{}, with), true},
		"of a domain": {NewRules(Rule{}, map[string]Rule{"*.a": {Pages: 1}, "b": {}}), true},
	} {
		if got := tt.rules.haveBudgets(); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
