package css

import (
	"slices"
	"strings"
)

// parser compiles the grammar of Selectors Level 4, section 18.
type parser struct {
	scanner
	namespaces map[string]string
	prefixes   bool
	relative   bool
	out        *Selector
	depth      int // of open parentheses
}

// maxDepth bounds the nesting of parentheses, so that no selector exhausts the stack.
const maxDepth = 64

// parse compiles the whole text.
func (p *parser) parse() error {
	for {
		b, err := p.branch()
		if err != nil {
			return err
		}
		p.out.branches = append(p.out.branches, b...)
		if p.atEnd() {
			return nil
		}
		if err := p.expect(','); err != nil {
			return err
		}
	}
}

// branch compiles one selector of the list. It gives two branches where parsel's pseudo-elements
// stand behind a space or a star that follows a space: "p ::text" is all text of p, that of p
// itself and of what is inside.
func (p *parser) branch() ([]branch, error) {
	if _, err := p.skipSpace(); err != nil {
		return nil, err
	}
	b := branch{}
	if p.relative && p.accept('>') {
		scope := compound{tests: []test{isScope}}
		b.links, b.spec[1] = []link{{compound: scope, by: child}}, 1
		p.out.scoped = true
		if _, err := p.skipSpace(); err != nil {
			return nil, err
		}
	}
	if err := p.chain(&b.chain, &b); err != nil {
		return nil, err
	}
	universal := b.want == wantText || b.want == wantAttr
	universal = universal && b.links[0].universal()
	switch {
	case universal && len(b.links) == 1:
		b.bare = b.want == wantText
	case universal && b.links[0].by == descendant:
		self := b
		self.links = b.links[1:]
		return []branch{self, b}, nil
	}
	return []branch{b}, nil
}

// universal reports whether the compound is a star or nothing.
func (c *compound) universal() bool {
	return (c.typ == nil || c.typ.any && c.typ.namespace.any) && len(c.ids)+len(c.classes)+len(c.tests) == 0
}

// list compiles the arguments of a pseudo-class up to its closing parenthesis.
func (p *parser) list(relative bool) ([]chain, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, p.fail(p.pos, "parentheses are nested too deeply")
	}
	var chains []chain
	for {
		if _, err := p.skipSpace(); err != nil {
			return nil, err
		}
		c := chain{}
		if relative {
			c.lead = p.combinator()
			if _, err := p.skipSpace(); err != nil {
				return nil, err
			}
			if c.lead == none {
				c.lead = descendant
			}
		}
		if err := p.chain(&c, nil); err != nil {
			return nil, err
		}
		chains = append(chains, c)
		if p.accept(')') {
			return chains, nil
		}
		if p.peek() != ',' {
			return nil, p.fail(p.pos, "expected ), found "+p.found())
		}
		p.pos++
	}
}

// chain compiles a complex selector and the white space behind it. A pseudo-element, which only
// may end the selector, is set in b; where b is nil there may be none.
func (p *parser) chain(c *chain, b *branch) error {
	for {
		start := p.pos
		l := link{}
		if err := p.compound(&l.compound, c, b); err != nil {
			return err
		}
		ended := b != nil && b.want != wantElement
		if p.pos == start {
			return p.fail(p.pos, "expected a selector, found "+p.found())
		}
		c.links = append(c.links, l)
		spaced, err := p.skipSpace()
		if err != nil {
			return err
		}
		if p.atEnd() || p.peek() == ',' || p.peek() == ')' {
			c.reverse()
			return nil
		}
		if ended {
			return p.fail(p.pos, "a pseudo-element must be the end of a selector, found "+p.found())
		}
		by := p.combinator()
		if by == none {
			if !spaced {
				return p.fail(p.pos, "expected a combinator or a comma, found "+p.found())
			}
			by = descendant
		}
		last := &c.links[len(c.links)-1]
		last.by = by
		if by == descendant || by == subsequent {
			last.memo = p.out.searches
			p.out.searches++
		}
		if _, err := p.skipSpace(); err != nil {
			return err
		}
	}
}

// reverse puts links that were read from left to right, each with the combinator at its right, in
// the order and form of chain.
func (c *chain) reverse() {
	slices.Reverse(c.links)
	for i := range c.links {
		if i+1 < len(c.links) {
			c.links[i].by, c.links[i].memo = c.links[i+1].by, c.links[i+1].memo
		} else {
			c.links[i].by, c.links[i].memo = none, 0
		}
	}
}

// combinator reads one that is not a space.
func (p *parser) combinator() combinator {
	c := none
	switch p.peek() {
	case '>':
		c = child
	case '+':
		c = next
	case '~':
		c = subsequent
	default:
		return none
	}
	p.pos++
	return c
}

// compound compiles a compound selector. It may read nothing.
func (p *parser) compound(c *compound, in *chain, b *branch) error {
	if err := p.typeSelector(c, in); err != nil {
		return err
	}
	for b == nil || b.want == wantElement {
		var err error
		switch p.peek() {
		case '#':
			p.pos++
			start := p.pos
			name := p.name() // more than an identifier, as browsers' quirks and other engines have it
			if p.pos == start {
				return p.fail(p.pos, "expected an id, found "+p.found())
			}
			c.ids = append(c.ids, slot(&p.out.symbols.words, name))
			in.spec[0]++
		case '.':
			p.pos++
			var name string
			name, err = p.ident("a class")
			c.classes = append(c.classes, slot(&p.out.symbols.words, name))
			in.spec[1]++
		case '[':
			p.pos++
			var t test
			t, err = p.attribute()
			c.tests = append(c.tests, t)
			in.spec[1]++
		case ':':
			err = p.pseudo(c, in, b)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// typeSelector compiles a type selector or star with its namespace, if one comes next.
func (p *parser) typeSelector(c *compound, in *chain) error {
	prefix, found, err := p.namespacePrefix()
	if err != nil {
		return err
	}
	ns := namespaceTest{any: true}
	if found {
		if ns, err = p.namespace(prefix); err != nil {
			return err
		}
	} else if uri, declared := p.namespaces[""]; declared {
		ns = namespaceTest{uri: uri}
	}
	switch {
	case p.accept('*'):
		c.typ = &typeTest{any: true, namespace: ns}
	case p.startsIdent():
		name := p.name()
		names := &p.out.symbols.names
		c.typ = &typeTest{name: slot(names, name), lower: slot(names, lowerASCII(name)), namespace: ns}
		in.spec[2]++
	case found:
		return p.fail(p.pos, "expected the name of an element, found "+p.found())
	case !ns.any && strings.IndexByte("#.[:", p.peek()) >= 0 && !p.atEnd():
		c.typ = &typeTest{any: true, namespace: ns}
	}
	return nil
}

// prefix is what stands in front of a |.
type prefix struct {
	star bool
	name string
	pos  int
}

// namespacePrefix reads a prefix with its bar, if both come next and a name or star follows.
func (p *parser) namespacePrefix() (prefix, bool, error) {
	start := p.pos
	x := prefix{pos: start}
	switch {
	case p.accept('*'):
		x.star = true
	case p.startsIdent():
		x.name = p.name()
	}
	// [a|=b] is an operator, and a||b would be a combinator of tables.
	if p.peek() != '|' || p.peekAt(1) == '=' || p.peekAt(1) == '|' {
		p.pos = start
		return x, false, nil
	}
	p.pos++
	return x, true, nil
}

// namespace finds out what a prefix means.
func (p *parser) namespace(x prefix) (namespaceTest, error) {
	if x.star {
		return namespaceTest{any: true}, nil
	}
	if x.name == "" {
		return namespaceTest{}, nil
	}
	uri, declared := p.namespaces[x.name]
	switch {
	case declared:
	case p.prefixes:
		return namespaceTest{prefix: x.name}, nil
	default:
		return namespaceTest{}, p.fail(x.pos, "namespace prefix "+x.name+" is not declared")
	}
	return namespaceTest{uri: uri}, nil
}

// lowerASCII returns s with the capitals of ASCII in lower case.
func lowerASCII(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
