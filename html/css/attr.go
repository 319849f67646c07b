package css

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// attrName is the name of an attribute. Attributes of HTML elements in HTML documents have names in
// lower case and are found without regard to case, others are not (HTML standard, section 4.17.2).
type attrName struct {
	lower, name int    // slots of Selector.symbols.attrs
	local       string // as given
	namespace   namespaceTest
}

// simple reports whether the name has no namespace, as most have.
func (a *attrName) simple() bool { return a.namespace == namespaceTest{} }

// attr returns the attribute of an element, the zero Attr if there is none. Names of SVG and XML
// attributes with a prefix are found as they are written too: xlink\:href.
func (m *matcher) attr(a *attrName, k int32) html.Attr {
	n := m.index.Node(k)
	number := m.attrs[a.name]
	if m.el[k].Namespace == html.HTML && !m.xml {
		number = m.attrs[a.lower]
	}
	if a.simple() {
		if number == 0 {
			return html.Attr{}
		}
		return n.FindAttr(html.Atom(number))
	}
	at, steps := a.search(n)
	m.work += steps
	return at
}

// search finds the attribute where its namespace matters.
func (a *attrName) search(n html.Node) (found html.Attr, steps int) {
	for at := n.FirstAttr(); !at.IsZero(); at = at.Next() {
		steps++
		if at.LocalName() == a.local && a.namespace.has(at.Name, at.NamespaceURI) {
			return at, steps
		}
	}
	return html.Attr{}, steps
}

// attrTest is an attribute selector.
type attrTest struct {
	name  attrName
	op    operator
	value string
	re    *regexp.Regexp // of matchesRegexp
	fold  folding
}

// operator says how a value is compared.
type operator uint8

const (
	present       operator = iota
	equal                  // =
	unequal                // != which is :not([a=b])
	hasWord                // ~=
	hasLanguage            // |=
	hasPrefix              // ^=
	hasSuffix              // $=
	contains               // *=
	matchesRegexp          // #=
)

var operators = map[byte]operator{'!': unequal, '~': hasWord, '|': hasLanguage, '^': hasPrefix, '$': hasSuffix,
	'*': contains, '#': matchesRegexp}

// folding says when letters that differ only in ASCII case are equal.
type folding uint8

const (
	asWritten folding = iota
	foldHTML          // in HTML elements of HTML documents, for the attributes in foldedAttrs
	foldCases         // always: the flag i
)

// foldedAttrs are the attributes whose values selectors compare without regard to ASCII case (HTML
// standard, section 4.17.2, the list at its end).
var foldedAttrs = func() map[string]bool {
	set := make(map[string]bool)
	for name := range strings.FieldsSeq(`accept accept-charset align alink axis bgcolor charset checked clear
		codetype color compact declare defer dir direction disabled enctype face frame hreflang http-equiv
		lang language link media method multiple nohref noresize noshade nowrap readonly rel rev rules scope
		scrolling selected shape target text type valign valuetype vlink`) {
		set[name] = true
	}
	return set
}()

// attribute compiles what follows an opening bracket.
func (p *parser) attribute() (test, error) {
	if _, err := p.skipSpace(); err != nil {
		return nil, err
	}
	t := &attrTest{}
	var err error
	if t.name, err = p.attrName(); err != nil {
		return nil, err
	}
	if _, err = p.skipSpace(); err != nil {
		return nil, err
	}
	if p.accept(']') {
		return t, nil
	}
	start := p.pos
	t.op = equal
	if op, ok := operators[p.peek()]; ok {
		t.op = op
		p.pos++
	}
	if !p.accept('=') {
		return nil, p.fail(start, "expected ], = or another operator, found "+p.found())
	}
	if _, err = p.skipSpace(); err != nil {
		return nil, err
	}
	if t.op == matchesRegexp {
		if t.re, err = p.regexp(']'); err != nil {
			return nil, err
		}
		return t, p.expect(']')
	}
	if t.value, err = p.word("a value"); err != nil {
		return nil, err
	}
	if t.name.simple() && foldedAttrs[lowerASCII(t.name.local)] {
		t.fold = foldHTML
	}
	if _, err = p.skipSpace(); err != nil {
		return nil, err
	}
	if p.startsIdent() {
		start := p.pos
		switch lowerASCII(p.name()) {
		case "i":
			t.fold = foldCases
		case "s":
			t.fold = asWritten
		default:
			return nil, p.fail(start, "expected ], i or s, found "+p.text[start:p.pos])
		}
		if _, err = p.skipSpace(); err != nil {
			return nil, err
		}
	}
	return t, p.expect(']')
}

// attrName compiles the name of an attribute with its namespace.
func (p *parser) attrName() (attrName, error) {
	a := attrName{}
	prefix, found, err := p.namespacePrefix()
	if err != nil {
		return a, err
	}
	if found {
		// The default namespace is not that of attributes.
		if a.namespace, err = p.namespace(prefix); err != nil {
			return a, err
		}
	}
	if a.local, err = p.ident("the name of an attribute"); err != nil {
		return a, err
	}
	p.slots(&a)
	return a, nil
}

func (p *parser) slots(a *attrName) {
	a.name, a.lower = slot(&p.out.symbols.attrs, a.local), slot(&p.out.symbols.attrs, lowerASCII(a.local))
}

// attrFunction compiles the argument of ::attr, which may be a string in quotes. A prefix may stand before a colon, as in the
// source of a page.
func (p *parser) attrFunction() (attrName, error) {
	if c := p.peek(); c == '"' || c == '\'' {
		start := p.pos
		name, err := p.quoted()
		if err != nil {
			return attrName{}, err
		}
		if name == "" {
			return attrName{}, p.fail(start, "expected the name of an attribute, found an empty string")
		}
		a := attrName{local: name}
		p.slots(&a)
		return a, p.end()
	}
	a, err := p.attrName()
	if err != nil {
		return a, err
	}
	if a.simple() && p.accept(':') {
		local, err := p.ident("the name of an attribute")
		if err != nil {
			return a, err
		}
		a.local += ":" + local
		p.slots(&a)
	}
	return a, p.end()
}

func (t *attrTest) match(m *matcher, k int32) bool {
	return t.holds(m.attr(&t.name, k), m.el[k].Namespace == html.HTML && !m.xml)
}

// holds reports whether the attribute of an element passes, with none as the zero Attr. inHTML is
// whether the element is one of HTML in an HTML document.
func (t *attrTest) holds(a html.Attr, inHTML bool) bool {
	if a.IsZero() {
		return t.op == unequal
	}
	if t.op == present {
		return true
	}
	value := a.Raw()
	if n := min(len(value), len(t.value)); t.op == hasPrefix && isPlain(value[:n]) {
		value = value[:n]
	} else {
		value = a.View(nil)
	}
	if t.op == matchesRegexp {
		return t.re.Match(value)
	}
	return t.compare(value, t.fold == foldCases || t.fold == foldHTML && inHTML)
}

// isPlain reports whether the start of a value as written stands for itself: it holds no character
// reference and nothing else that parsing changes.
func isPlain(start []byte) bool {
	for _, c := range start {
		if c == '&' || c == '\r' || c == 0 {
			return false
		}
	}
	return true
}

// compare implements the operators (Selectors Level 4, sections 6.1 and 6.2).
func (t *attrTest) compare(value []byte, fold bool) bool {
	want := t.value
	switch t.op {
	case equal:
		return same(value, want, fold)
	case unequal:
		return !same(value, want, fold)
	case hasWord:
		return t.hasWord(value, fold)
	case hasLanguage:
		return len(value) >= len(want) && same(value[:len(want)], want, fold) &&
			(len(value) == len(want) || value[len(want)] == '-')
	}
	if want == "" || len(value) < len(want) {
		return false
	}
	switch t.op {
	case hasPrefix:
		return same(value[:len(want)], want, fold)
	case hasSuffix:
		return same(value[len(value)-len(want):], want, fold)
	}
	if !fold {
		return bytes.Contains(value, []byte(want))
	}
	for ; len(value) >= len(want); value = value[1:] {
		if same(value[:len(want)], want, true) {
			return true
		}
	}
	return false
}

func (t *attrTest) hasWord(value []byte, fold bool) bool {
	if t.value == "" || strings.ContainsAny(t.value, space) {
		return false
	}
	for len(value) > 0 {
		n := bytes.IndexAny(value, space)
		if n < 0 {
			n = len(value)
		}
		if same(value[:n], t.value, fold) {
			return true
		}
		value = value[min(n+1, len(value)):]
	}
	return false
}

// same reports whether two texts are equal, with fold up to ASCII case.
func same(a []byte, b string, fold bool) bool {
	if len(a) != len(b) {
		return false
	}
	if !fold {
		return string(a) == b
	}
	for i, c := range a {
		if lowerByte(c) != lowerByte(b[i]) {
			return false
		}
	}
	return true
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
