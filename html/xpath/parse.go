package xpath

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// parser reads the grammar of XPath 1.0, section 3, from the tokens of a lexer.
type parser struct {
	lexer
	at         int // the next token
	namespaces map[string]string
	variables  map[string]any
	tests      []*nameTest
	depth      int
	// positional is set where position() or last() is called, so that predicates know whether they
	// depend on them.
	positional bool
}

// maxDepth bounds the nesting of expressions, so that none exhausts the stack.
const maxDepth = 200

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) isSymbol(texts ...string) bool {
	t := p.peek()
	if t.kind != symbol {
		return false
	}
	for _, text := range texts {
		if t.text == text {
			return true
		}
	}
	return false
}

// accept steps over a symbol if it comes next.
func (p *parser) accept(text string) bool {
	if p.isSymbol(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if p.accept(text) {
		return nil
	}
	return p.unexpected("expected " + text)
}

func (p *parser) unexpected(message string) error {
	t := p.peek()
	found := t.text
	if t.kind == end {
		found = "the end"
	}
	return p.fail(t.pos, message+", found "+found)
}

func (p *parser) whole() (expr, error) {
	e, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.peek().kind != end {
		return nil, p.unexpected("expected an operator or the end")
	}
	return e, nil
}

// levels are the binary operators, those that bind weaker first.
var levels = [][]string{{"or"}, {"and"}, {"=", "!="}, {"<", "<=", ">", ">="}, {"+", "-"}, {"*", "div", "mod"}}

// binary reads operators from a level on.
func (p *parser) binary(level int) (expr, error) {
	if level == 0 {
		p.depth++
		defer func() { p.depth-- }()
		if p.depth > maxDepth {
			return nil, p.fail(p.peek().pos, "the expression is nested too deeply")
		}
	}
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for err == nil && p.isSymbol(levels[level]...) {
		op := p.take().text
		var right expr
		if right, err = p.binary(level + 1); err == nil {
			left = operators[op](op, left, right)
		}
	}
	return left, err
}

func (p *parser) unary() (expr, error) {
	minus := 0
	for p.accept("-") {
		minus++
	}
	e, err := p.union()
	if err != nil || minus == 0 {
		return e, err
	}
	return &negation{e: e, even: minus%2 == 0}, nil
}

func (p *parser) union() (expr, error) {
	start := p.peek().pos
	e, err := p.path()
	if err != nil || !p.isSymbol("|") {
		return e, err
	}
	u := &union{}
	for {
		if e.kind() != NodeSet {
			return nil, p.fail(start, "| joins node-sets, not a "+e.kind().String())
		}
		u.parts = append(u.parts, e)
		if !p.accept("|") {
			return u, nil
		}
		start = p.peek().pos
		if e, err = p.path(); err != nil {
			return nil, err
		}
	}
}

// path reads a location path or a filter expression with the path behind it.
func (p *parser) path() (expr, error) {
	t := p.peek()
	switch {
	case p.isSymbol("/"):
		p.at++
		result := &path{absolute: true}
		if !p.startsStep() {
			return result, nil
		}
		return result, p.steps(result)
	case p.isSymbol("//"):
		p.at++
		result := &path{absolute: true, steps: []*step{anyDescendant()}}
		return result, p.steps(result)
	case p.startsStep():
		result := &path{}
		return result, p.steps(result)
	}
	primary, err := p.primary()
	if err != nil {
		return nil, err
	}
	result := &path{start: primary}
	for p.isSymbol("[") {
		if primary.kind() != NodeSet {
			return nil, p.fail(t.pos, "predicates are for node-sets, not for a "+primary.kind().String())
		}
		pred, err := p.predicate()
		if err != nil {
			return nil, err
		}
		result.filters = append(result.filters, pred)
	}
	switch {
	case p.isSymbol("/", "//"):
		if primary.kind() != NodeSet {
			return nil, p.fail(p.peek().pos, "steps start at a node-set, not at a "+primary.kind().String())
		}
		if p.take().text == "//" {
			result.steps = append(result.steps, anyDescendant())
		}
		return result, p.steps(result)
	case len(result.filters) == 0:
		return primary, nil
	}
	return result, nil
}

// anyDescendant is what // stands for.
func anyDescendant() *step { return &step{axis: descendantOrSelf, test: anyNode{}} }

func (p *parser) startsStep() bool {
	switch t := p.peek(); t.kind {
	case name, nodeType, axisName:
		return true
	case symbol:
		return t.text == "." || t.text == ".." || t.text == "@"
	}
	return false
}

// steps reads steps up to the end of the path.
func (p *parser) steps(result *path) error {
	for {
		s, err := p.step()
		if err != nil {
			return err
		}
		// descendant-or-self::node()/child::x is descendant::x, if no predicate counts children.
		if n := len(result.steps); n > 0 && s.axis == childAxis && result.steps[n-1].isAnyDescendant() && !s.counts() {
			s.axis = descendantAxis
			result.steps = result.steps[:n-1]
		}
		result.steps = append(result.steps, s)
		switch {
		case p.accept("/"):
		case p.accept("//"):
			result.steps = append(result.steps, anyDescendant())
		default:
			return nil
		}
	}
}

func (p *parser) step() (*step, error) {
	switch {
	case p.accept("."):
		return &step{axis: selfAxis, test: anyNode{}}, nil
	case p.accept(".."):
		return &step{axis: parentAxis, test: anyNode{}}, nil
	}
	s := &step{axis: childAxis}
	if p.accept("@") {
		s.axis = attributeAxis
	} else if t := p.peek(); t.kind == axisName {
		axis, known := axes[t.text]
		if !known {
			if t.text == "namespace" {
				return nil, p.fail(t.pos, "the namespace axis is not supported; namespace-uri() tells namespaces")
			}
			return nil, p.fail(t.pos, "unknown axis "+t.text)
		}
		s.axis = axis
		p.at++
		if err := p.expect("::"); err != nil {
			return nil, err
		}
	}
	var err error
	if s.test, err = p.nodeTest(s.axis == attributeAxis); err != nil {
		return nil, err
	}
	for p.isSymbol("[") {
		pred, err := p.predicate()
		if err != nil {
			return nil, err
		}
		s.preds = append(s.preds, pred)
	}
	return s, nil
}

// nodeTest reads what nodes a step wants.
func (p *parser) nodeTest(ofAttrs bool) (nodeTest, error) {
	t := p.peek()
	switch t.kind {
	case name:
		p.at++
		return p.newNameTest(t, ofAttrs)
	case nodeType:
		p.at++
		if err := p.expect("("); err != nil {
			return nil, err
		}
		test := nodeTypes[t.text]
		if t.text == "processing-instruction" && p.peek().kind == literal {
			test = instruction{target: p.take().text}
		}
		return test, p.expect(")")
	}
	return nil, p.unexpected("expected a name or a node type")
}

func (p *parser) newNameTest(t token, ofAttrs bool) (nodeTest, error) {
	test := &nameTest{number: len(p.tests), name: t.text, local: t.text, ofAttrs: ofAttrs}
	if t.text == "*" {
		return principal{ofAttrs: ofAttrs}, nil
	}
	if prefix, local, found := strings.Cut(t.text, ":"); found {
		test.local, test.prefix = local, prefix
		test.uri, test.declared = p.namespaces[prefix]
	}
	p.tests = append(p.tests, test)
	return test, nil
}

func (p *parser) predicate() (predicate, error) {
	p.at++ // the bracket
	outer := p.positional
	p.positional = false
	e, err := p.binary(0)
	if err != nil {
		return predicate{}, err
	}
	pred := predicate{e: e, counts: p.positional || e.kind() == Number}
	p.positional = outer
	if n, ok := e.(numberLiteral); ok {
		pred.only = float64(n)
	}
	return pred, p.expect("]")
}

func (p *parser) primary() (expr, error) {
	t := p.take()
	switch {
	case t.kind == symbol && t.text == "(":
		e, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case t.kind == literal:
		return stringLiteral(t.text), nil
	case t.kind == number:
		return numberLiteral(t.value), nil
	case t.kind == variable:
		return p.variable(t)
	case t.kind == call:
		return p.call(t)
	}
	if t.kind != end {
		p.at--
	}
	return nil, p.unexpected("expected an expression")
}

// variable returns the value of a variable as if it stood in the expression.
func (p *parser) variable(t token) (expr, error) {
	value, declared := p.variables[t.text[1:]]
	if !declared {
		return nil, p.fail(t.pos, "variable "+t.text+" is not declared; give its value in Variables, or with selector.Var")
	}
	switch v := reflect.ValueOf(value); {
	case v.Kind() == reflect.String:
		return stringLiteral(v.String()), nil
	case v.Kind() == reflect.Bool:
		return &callExpr{function: functions[strconv.FormatBool(v.Bool())]}, nil
	case v.CanInt():
		return numberLiteral(v.Int()), nil
	case v.CanUint():
		return numberLiteral(v.Uint()), nil
	case v.CanFloat():
		return numberLiteral(v.Float()), nil
	}
	return nil, p.fail(t.pos, fmt.Sprintf("variable %s has the type %T; give it a string, a bool or a number", t.text, value))
}

func (p *parser) call(t token) (expr, error) {
	f, known := functions[t.text]
	if !known {
		return nil, p.fail(t.pos, "unknown function "+t.text)
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	c := &callExpr{function: f}
	if !p.accept(")") {
		for {
			arg := p.peek().pos
			e, err := p.binary(0)
			if err != nil {
				return nil, err
			}
			if f.wantsSet && e.kind() != NodeSet {
				return nil, p.fail(arg, t.text+" wants a node-set, not a "+e.kind().String())
			}
			c.args = append(c.args, e)
			if !p.accept(",") {
				break
			}
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
	}
	if len(c.args) < f.min || f.max >= 0 && len(c.args) > f.max {
		return nil, p.fail(t.pos, "wrong number of arguments for "+t.text)
	}
	if t.text == "position" || t.text == "last" {
		p.positional = true
	}
	if f.check != nil {
		if message := f.check(c); message != "" {
			return nil, p.fail(t.pos, message)
		}
	}
	return c, nil
}
