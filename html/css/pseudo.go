package css

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// pseudo compiles what starts with a colon.
func (p *parser) pseudo(c *compound, in *chain, b *branch) error {
	start := p.pos
	p.pos++
	element := p.accept(':')
	if !p.startsIdent() {
		return p.fail(p.pos, "expected the name of a pseudo-class, found "+p.found())
	}
	name := lowerASCII(p.name())
	call := p.accept('(')
	if element || !call && singleColon[name] {
		if b == nil {
			return p.fail(start, "pseudo-element ::"+name+" cannot stand inside parentheses")
		}
		in.spec[2]++
		return p.pseudoElement(name, call, start, b)
	}
	if !call {
		t, known := simplePseudo[name]
		if !known {
			if functionOf(name) != nil {
				return p.fail(p.pos, "expected ( after :"+name+", found "+p.found())
			}
			return p.fail(start, "unknown pseudo-class :"+name)
		}
		p.out.scoped = p.out.scoped || name == "scope"
		in.spec[1]++
		for _, one := range t {
			c.tests = append(c.tests, p.own(one))
		}
		return nil
	}
	f := functionOf(name)
	if f == nil {
		return p.fail(start, "unknown pseudo-class :"+name+"()")
	}
	if _, err := p.skipSpace(); err != nil {
		return err
	}
	t, spec, err := f(p, name)
	if err != nil {
		return err
	}
	in.spec.add(spec)
	c.tests = append(c.tests, t)
	return nil
}

// own gives a test that remembers numbers a table of its own.
func (p *parser) own(t test) test {
	switch t := t.(type) {
	case nthTest:
		if t.ofType || t.of != nil {
			t.table = p.table()
		}
		return t
	case disabledTest:
		t.table = p.table()
		return t
	}
	return t
}

func (p *parser) table() int {
	p.out.tables++
	return p.out.tables - 1
}

// singleColon holds the pseudo-elements that may also be written with one colon (Selectors Level 4,
// section 3.6).
var singleColon = map[string]bool{"before": true, "after": true, "first-line": true, "first-letter": true}

// pseudoElements are those of style sheets. They are no nodes of a page, so they select nothing.
var pseudoElements = map[string]bool{
	"before": true, "after": true, "first-line": true, "first-letter": true, "backdrop": true, "cue": true,
	"grammar-error": true, "marker": true, "placeholder": true, "selection": true, "spelling-error": true,
	"file-selector-button": true, "target-text": true,
}

// pseudoElement compiles ::text, ::attr(name) and the pseudo-elements of style sheets.
func (p *parser) pseudoElement(name string, call bool, start int, b *branch) error {
	switch {
	case name == "text" && !call:
		b.want = wantText
	case name == "attr" && call:
		if _, err := p.skipSpace(); err != nil {
			return err
		}
		attr, err := p.attrFunction()
		if err != nil {
			return err
		}
		b.want, b.attr = wantAttr, attr
	case pseudoElements[name] && !call:
		b.want = wantNothing
	case name == "text":
		return p.fail(start, "::text takes no argument")
	case name == "attr":
		return p.fail(start, "::attr wants the name of an attribute, as in ::attr(href)")
	default:
		return p.fail(start, "unknown pseudo-element ::"+name)
	}
	return nil
}

// end reads the end of a function.
func (p *parser) end() error {
	if _, err := p.skipSpace(); err != nil {
		return err
	}
	return p.expect(')')
}

// simplePseudo are the pseudo-classes without arguments, each with the tests that it stands for.
var simplePseudo = map[string][]test{
	"first-child":   {nthTest{b: 1}},
	"last-child":    {nthTest{b: 1, last: true}},
	"only-child":    {nthTest{b: 1}, nthTest{b: 1, last: true}},
	"first-of-type": {nthTest{b: 1, ofType: true}},
	"last-of-type":  {nthTest{b: 1, ofType: true, last: true}},
	"only-of-type":  {nthTest{b: 1, ofType: true}, nthTest{b: 1, ofType: true, last: true}},

	"root":   {isRoot},
	"scope":  {isScope},
	"empty":  {isEmpty},
	"target": {isTarget},

	"any-link": {nodeTest(isLink)},
	"link":     {nodeTest(isLink)}, // no link was visited
	"input":    {nodeTest(isInput)},
	"checked":  {nodeTest(isChecked)},
	"required": {nodeTest(isRequired)},
	"optional": {nodeTest(isOptional)},
	"enabled":  {disabledTest{enabled: true}},
	"disabled": {disabledTest{}},

	// What depends on a user never is.
	"visited": {never{}}, "hover": {never{}}, "active": {never{}}, "focus": {never{}},
	"focus-visible": {never{}}, "focus-within": {never{}},
}

// A function compiles the arguments of a pseudo-class, with its closing parenthesis.
type function func(p *parser, name string) (test, Specificity, error)

var pseudoClass = Specificity{0, 1, 0}

// functionOf returns what compiles the pseudo-class with that name, or nil.
func functionOf(name string) function {
	switch name {
	case "is", "where", "not":
		return (*parser).logical
	case "has", "haschild":
		return (*parser).has
	case "nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type":
		return (*parser).nth
	case "lang":
		return (*parser).lang
	case "contains", "containsown":
		return (*parser).contains
	case "matches", "matchesown":
		return (*parser).matches
	}
	return nil
}

// logical compiles :is, :where and :not. A wrong selector in the list is an error here, where
// browsers forget it and keep the others.
func (p *parser) logical(name string) (test, Specificity, error) {
	list, err := p.list(false)
	if err != nil {
		return nil, Specificity{}, err
	}
	spec := largest(list)
	if name == "where" {
		spec = Specificity{}
	}
	return isTest{list: list, not: name == "not"}, spec, nil
}

func (p *parser) has(name string) (test, Specificity, error) {
	list, err := p.list(name == "has")
	if err != nil {
		return nil, Specificity{}, err
	}
	spec := largest(list)
	if name == "haschild" {
		list = children(list)
	}
	p.out.sets++
	return hasTest{list: list, set: p.out.sets - 1}, spec, nil
}

// children makes of the selectors that a child must match, with whatever stands around it, selectors
// that are relative to its parent.
func children(list []chain) []chain {
	for i := range list {
		if c := &list[i]; len(c.links) > 1 {
			c.links = []link{{compound: compound{tests: []test{isTest{list: []chain{{links: c.links}}}}}}}
		}
		list[i].lead = child
	}
	return list
}

func (p *parser) nth(name string) (test, Specificity, error) {
	t := nthTest{last: strings.Contains(name, "last"), ofType: strings.Contains(name, "type")}
	var err error
	if t.a, t.b, err = p.steps(); err != nil {
		return nil, Specificity{}, err
	}
	spec := pseudoClass
	if _, err = p.skipSpace(); err != nil {
		return nil, spec, err
	}
	start := p.pos
	if !t.ofType && p.startsIdent() {
		if word := p.name(); !strings.EqualFold(word, "of") {
			return nil, spec, p.fail(start, "expected of or ), found "+word)
		}
		if t.of, err = p.list(false); err != nil {
			return nil, spec, err
		}
		spec.add(largest(t.of))
		return p.own(t), spec, nil
	}
	return p.own(t), spec, p.expect(')')
}

// steps reads odd, even, a number or An+B (CSS Syntax, section 6).
func (p *parser) steps() (a, b int, err error) {
	start := p.pos
	for _, word := range []struct {
		name string
		a, b int
	}{{"odd", 2, 1}, {"even", 2, 0}} {
		if n := len(word.name); len(p.text)-start >= n && strings.EqualFold(p.text[start:start+n], word.name) {
			p.pos += n
			return word.a, word.b, nil
		}
	}
	negative := p.sign()
	digits := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	number := p.text[digits:p.pos]
	if !p.accept('n') && !p.accept('N') {
		if number == "" {
			return 0, 0, p.fail(start, "expected a number, odd, even or An+B, found "+p.found())
		}
		return 0, integer(number, negative), nil
	}
	a = 1
	if number != "" {
		a = integer(number, false)
	}
	if negative {
		a = -a
	}
	if _, err := p.skipSpace(); err != nil {
		return 0, 0, err
	}
	if c := p.peek(); c != '+' && c != '-' {
		return a, 0, nil
	}
	negative = p.sign()
	if _, err := p.skipSpace(); err != nil {
		return 0, 0, err
	}
	digits = p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	if digits == p.pos {
		return 0, 0, p.fail(p.pos, "expected a number, found "+p.found())
	}
	return a, integer(p.text[digits:p.pos], negative), nil
}

func (p *parser) sign() (negative bool) {
	if p.accept('-') {
		return true
	}
	p.accept('+')
	return false
}

// integer returns the value of digits; what is larger than any count of siblings is cut down.
func integer(digits string, negative bool) int {
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		n = math.MaxInt32
	}
	if negative {
		n = -n
	}
	return int(n)
}

func (p *parser) lang(string) (test, Specificity, error) {
	t := langTest{table: p.table()}
	for {
		if _, err := p.skipSpace(); err != nil {
			return nil, pseudoClass, err
		}
		star := p.accept('*') // *-CH without quotes
		var word string
		var err error
		if !star || p.startsIdent() {
			if word, err = p.word("a language"); err != nil {
				return nil, pseudoClass, err
			}
		}
		if star {
			word = "*" + word
		}
		t.ranges = append(t.ranges, strings.Split(lowerASCII(word), "-"))
		if _, err := p.skipSpace(); err != nil {
			return nil, pseudoClass, err
		}
		if !p.accept(',') {
			return t, pseudoClass, p.expect(')')
		}
	}
}

func (p *parser) contains(name string) (test, Specificity, error) {
	word, err := p.word("a string")
	if err != nil {
		return nil, pseudoClass, err
	}
	needle := strings.ToLower(word)
	if name == "containsown" {
		return containsOwnTest{needle}, pseudoClass, p.end()
	}
	return containsTest{needle: needle, table: p.table()}, pseudoClass, p.end()
}

func (p *parser) matches(name string) (test, Specificity, error) {
	re, err := p.regexp(')')
	if err != nil {
		return nil, pseudoClass, err
	}
	if name == "matchesown" {
		return matchesTest{re: re, own: true}, pseudoClass, p.expect(')')
	}
	return newMatchesTest(re, p.table()), pseudoClass, p.expect(')')
}

func (p *parser) regexp(closing byte) (*regexp.Regexp, error) {
	start := p.pos
	expr, err := p.raw(closing)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, p.fail(start, err.Error())
	}
	return re, nil
}
