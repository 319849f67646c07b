package xpath

import (
	"math"
	"slices"
)

type stringLiteral string

func (s stringLiteral) kind() Kind                   { return String }
func (s stringLiteral) eval(*evaluator, focus) value { return stringOf(string(s)) }

type numberLiteral float64

func (n numberLiteral) kind() Kind                   { return Number }
func (n numberLiteral) eval(*evaluator, focus) value { return numberValue(float64(n)) }

// negation is one minus or more.
type negation struct {
	e    expr
	even bool
}

func (n *negation) kind() Kind { return Number }

func (n *negation) eval(ev *evaluator, f focus) value {
	v := ev.toNumber(n.e.eval(ev, f))
	if !n.even {
		v = -v
	}
	return numberValue(v)
}

// union joins node-sets: XPath 1.0, section 3.3.
type union struct{ parts []expr }

func (u *union) kind() Kind { return NodeSet }

func (u *union) eval(ev *evaluator, f focus) value {
	set := u.parts[0].eval(ev, f).set
	for _, part := range u.parts[1:] {
		more := part.eval(ev, f).set
		set = append(ev.room(set, len(more)), more...)
		ev.put(more)
	}
	ev.work += len(set)
	return value{kind: NodeSet, set: inOrder(set)}
}

var operators = map[string]func(op string, l, r expr) expr{
	"or":  func(_ string, l, r expr) expr { return &logic{l, r, true} },
	"and": func(_ string, l, r expr) expr { return &logic{l, r, false} },
	"=":   newComparison, "!=": newComparison,
	"<": newComparison, "<=": newComparison, ">": newComparison, ">=": newComparison,
	"+": newArithmetic, "-": newArithmetic, "*": newArithmetic, "div": newArithmetic, "mod": newArithmetic,
}

// logic is or, and: section 3.4.
type logic struct {
	l, r expr
	or   bool
}

func (o *logic) kind() Kind { return Boolean }

func (o *logic) eval(ev *evaluator, f focus) value {
	if ev.truth(o.l, f) == o.or {
		return boolValue(o.or)
	}
	return boolValue(ev.truth(o.r, f))
}

// arithmetic is the operators of section 3.5.
type arithmetic struct {
	op   string
	l, r expr
}

func newArithmetic(op string, l, r expr) expr { return &arithmetic{op, l, r} }

func (o *arithmetic) kind() Kind { return Number }

func (o *arithmetic) eval(ev *evaluator, f focus) value {
	l, r := ev.toNumber(o.l.eval(ev, f)), ev.toNumber(o.r.eval(ev, f))
	switch o.op {
	case "+":
		l += r
	case "-":
		l -= r
	case "*":
		l *= r
	case "div":
		l /= r
	case "mod":
		l = math.Mod(l, r) // the sign of the left side, as section 3.5 has it
	}
	return numberValue(l)
}

// comparison is the operators of section 3.4.
type comparison struct {
	op   string
	l, r expr
}

func newComparison(op string, l, r expr) expr { return &comparison{op, l, r} }

func (o *comparison) kind() Kind { return Boolean }

func (o *comparison) eval(ev *evaluator, f focus) value {
	l := o.l.eval(ev, f)
	r := o.r.eval(ev, f)
	result := o.compare(ev, l, r)
	ev.put(l.set)
	ev.put(r.set)
	return boolValue(result)
}

func (o *comparison) equality() bool { return o.op == "=" || o.op == "!=" }

func (o *comparison) compare(ev *evaluator, l, r value) bool {
	switch {
	case l.kind == NodeSet && r.kind == NodeSet:
		return o.sets(ev, l.set, r.set)
	case l.kind == Boolean || r.kind == Boolean:
		if o.equality() {
			return (truthOf(l) == truthOf(r)) == (o.op == "=")
		}
	case l.kind == NodeSet:
		return slices.ContainsFunc(l.set, func(n ref) bool { return o.compare(ev, stringOf(ev.stringValue(n)), r) })
	case r.kind == NodeSet:
		return slices.ContainsFunc(r.set, func(n ref) bool { return o.compare(ev, l, stringOf(ev.stringValue(n))) })
	case o.equality() && l.kind == String && r.kind == String:
		return (l.str == r.str) == (o.op == "=")
	}
	return ordered(o.op, numberBeside(ev, l), numberBeside(ev, r))
}

// numberBeside is evaluator.toNumber for a value that is needed again; a set next to a truth value counts
// as one.
func numberBeside(ev *evaluator, v value) float64 {
	if v.kind == NodeSet {
		return numberOf(truthOf(v))
	}
	return ev.toNumber(v)
}

func ordered(op string, l, r float64) bool {
	switch op {
	case "=":
		return l == r
	case "!=":
		return l != r
	case "<":
		return l < r
	case "<=":
		return l <= r
	case ">":
		return l > r
	}
	return l >= r
}

// sets compares two node-sets: whether some node of one and some node of the other compare so. The
// work grows with their sum, not their product.
func (o *comparison) sets(ev *evaluator, l, r []ref) bool {
	if len(l) == 0 || len(r) == 0 {
		return false
	}
	switch o.op {
	case "=":
		if len(l) > len(r) {
			l, r = r, l
		}
		texts := make(map[string]bool, len(l))
		for _, n := range l {
			texts[ev.stringValue(n)] = true
		}
		return slices.ContainsFunc(r, func(n ref) bool { return texts[ev.stringValue(n)] })
	case "!=":
		// Only if all nodes of both have one text is there no such pair.
		first := ev.stringValue(l[0])
		other := func(n ref) bool { return ev.stringValue(n) != first }
		return slices.ContainsFunc(r, other) || slices.ContainsFunc(l, other)
	}
	lLow, lHigh := ev.bounds(l)
	rLow, rHigh := ev.bounds(r)
	if o.op[0] == '<' {
		return ordered(o.op, lLow, rHigh)
	}
	return ordered(o.op, lHigh, rLow)
}

// bounds returns the smallest and largest numbers of a set, those that are not numbers left out; if there is
// none, two that compare with nothing.
func (ev *evaluator) bounds(set []ref) (low, high float64) {
	low, high = math.NaN(), math.NaN()
	for _, n := range set {
		f := parseNumber(ev.stringValue(n))
		if !(low <= f) && !math.IsNaN(f) {
			low = f
		}
		if !(high >= f) && !math.IsNaN(f) {
			high = f
		}
	}
	return low, high
}
