package xpath

import (
	"regexp"
	"slices"
	"strings"
)

// The functions with regular expressions, of XPath 2.0 and EXSLT.

// pattern compiles the regular expression of a call, which must be written in the expression.
func pattern(c *callExpr) string { return c.compile("") }

// flagged is pattern where an argument has flags: i, m and s as Go has them, and g for all matches.
func flagged(at int) func(c *callExpr) string {
	return func(c *callExpr) string {
		if len(c.args) <= at {
			return c.compile("")
		}
		text, ok := c.args[at].(stringLiteral)
		if !ok || strings.Trim(string(text), "gims") != "" {
			return "the flags must be a string of g, i, m and s"
		}
		flags := strings.ReplaceAll(string(text), "g", "")
		c.all = len(flags) < len(text)
		return c.compile(flags)
	}
}

func (c *callExpr) compile(flags string) string {
	text, ok := c.args[1].(stringLiteral)
	if !ok {
		return "the regular expression must be a string in quotes"
	}
	expr := string(text)
	if flags != "" {
		expr = "(?" + flags + ")" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return err.Error()
	}
	c.re = re
	return ""
}

// searched returns the text that a regular expression is run on. ok is false if that would be too much work.
func (c *callExpr) searched(ev *evaluator, f focus) (text string, ok bool) {
	text = ev.toString(c.args[0].eval(ev, f))
	return text, ev.spend(1 + len(text)) // a step for each byte that the expression goes through
}

func testPattern(ev *evaluator, f focus, c *callExpr) value {
	text, ok := c.searched(ev, f)
	return boolValue(ok && c.re.MatchString(text))
}

// matchPattern returns the first match. In EXSLT it is the first of several new nodes, and so what it becomes as a string.
func matchPattern(ev *evaluator, f focus, c *callExpr) value {
	text, ok := c.searched(ev, f)
	if !ok {
		return stringOf("")
	}
	return stringOf(c.re.FindString(text))
}

// How groups are named: as in XPath 2.0, and also as in Python, which parsel passes them to.
var (
	groupNumber = regexp.MustCompile(`\$(\d)`)
	anyGroup    = regexp.MustCompile(`[$\\](\d)`)
)

// replacePattern replaces matches by the argument with a number: all, or the first if a function with flags lacks g.
func replacePattern(at int) func(ev *evaluator, f focus, c *callExpr) value {
	group := groupNumber
	if at == 3 { // of EXSLT
		group = anyGroup
	}
	return func(ev *evaluator, f focus, c *callExpr) value {
		text, ok := c.searched(ev, f)
		if !ok {
			return stringOf("")
		}
		// XPath ends the name of a group where Go goes on: $1st.
		by := group.ReplaceAllString(ev.toString(c.args[at].eval(ev, f)), "$${$1}")
		if most := len(text) * len(by); !ev.spend(most/textPerStep) || !ev.fits(len(text)+most) { // what the result may have
			return stringOf("")
		}
		if len(c.args) == 3 || c.all {
			return stringOf(c.re.ReplaceAllString(text, by))
		}
		m := c.re.FindStringSubmatchIndex(text)
		if m == nil {
			return stringOf(text)
		}
		b := c.re.ExpandString([]byte(text[:m[0]]), by, text, m)
		return stringOf(view(append(b, text[m[1]:]...)))
	}
}

// The functions on sets of EXSLT. Sets are in document order, so two are gone through side by side.

// twoSets evaluates two arguments. The caller gives the second set back, and may change the first.
func twoSets(ev *evaluator, f focus, args []expr) (a, b []ref) {
	a, b = args[0].eval(ev, f).set, args[1].eval(ev, f).set
	ev.work += len(a) + len(b)
	return a, b
}

// keep keeps the nodes of a set that are in another, or that are not.
func keep(a, b []ref, shared bool) []ref {
	kept := a[:0]
	for _, r := range a {
		for len(b) > 0 && b[0].compare(r) < 0 {
			b = b[1:]
		}
		if (len(b) > 0 && b[0] == r) == shared {
			kept = append(kept, r)
		}
	}
	return kept
}

func intersection(ev *evaluator, f focus, args []expr) value {
	a, b := twoSets(ev, f, args)
	defer ev.put(b)
	return value{kind: NodeSet, set: keep(a, b, true)}
}

func difference(ev *evaluator, f focus, args []expr) value {
	a, b := twoSets(ev, f, args)
	defer ev.put(b)
	return value{kind: NodeSet, set: keep(a, b, false)}
}

func hasSameNode(ev *evaluator, f focus, args []expr) value {
	v := intersection(ev, f, args)
	defer ev.put(v.set)
	return boolValue(len(v.set) > 0)
}

// distinct keeps the first node with each text.
func distinct(ev *evaluator, f focus, args []expr) value {
	set := args[0].eval(ev, f).set
	seen := make(map[string]bool)
	kept := set[:0]
	for _, r := range set {
		if text := ev.stringValue(r); !seen[text] {
			seen[text] = true
			kept = append(kept, r)
		}
	}
	return value{kind: NodeSet, set: kept}
}

func leading(ev *evaluator, f focus, args []expr) value {
	return around(ev, f, args, func(set []ref, at int) []ref { return set[:at] })
}

func trailing(ev *evaluator, f focus, args []expr) value {
	return around(ev, f, args, func(set []ref, at int) []ref { return append(set[:0], set[at+1:]...) })
}

// around takes a part of a set before or behind the first node of another: all if that is empty, nothing if the node is not in it.
func around(ev *evaluator, f focus, args []expr, take func(set []ref, at int) []ref) value {
	a, b := twoSets(ev, f, args)
	defer ev.put(b)
	if len(b) == 0 {
		return value{kind: NodeSet, set: a}
	}
	at, found := slices.BinarySearchFunc(a, b[0], ref.compare)
	if !found {
		return value{kind: NodeSet, set: a[:0]}
	}
	return value{kind: NodeSet, set: take(a, at)}
}
