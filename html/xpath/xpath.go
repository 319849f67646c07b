package xpath

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// Expr is a compiled expression. It may be used by several goroutines at once, on any documents.
type Expr struct {
	text   string
	root   expr
	tests  []*nameTest
	inside bool // see Options
}

// SyntaxError says what is wrong with an expression and where.
type SyntaxError struct {
	Expr    string // the expression as given
	Offset  int    // of the mistake, in bytes from the start of Expr
	Message string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("xpath: compiling %q: at byte %d: %s", e.Expr, e.Offset, e.Message)
}

// WorkError says that an evaluation was ended because it took more steps than it may: ten million,
// a thousand for each of the first 200,000 nodes of the document and ten for each other. To read text
// takes steps too. Expressions that look at all pairs of nodes take so many on large pages, and those
// that read the text of every element where elements lie deep inside each other. A set of more than
// 2,097,152 nodes and four for each of the document, and a text of more than 64 MiB and the size of its
// source, count as too many steps.
type WorkError struct {
	Expr  string
	Limit int // the steps that were allowed
}

// Error implements error.
func (e *WorkError) Error() string {
	return fmt.Sprintf("xpath: evaluating %q took more than %d steps", e.Expr, e.Limit)
}

// Options are what expressions may need to know besides their own text.
type Options struct {
	// Namespaces gives the namespaces of the prefixes that an expression uses, by prefix. A prefix
	// that is not there stands for itself: dc:title is an element that is written <dc:title>,
	// whatever its prefix means there.
	Namespaces map[string]string

	// Variables gives the values of the variables that an expression uses, by their names without the dollar sign: strings,
	// bools, and numbers of any type of Go.
	Variables map[string]any

	// Inside has paths that start with a slash begin at the context node of the evaluation, and not at the document.
	Inside bool
}

// Compile compiles an expression. The error is a [*SyntaxError]. All mistakes that XPath 1.0 calls
// errors are found here, except one: see [WorkError].
func Compile(expr string) (*Expr, error) { return Options{}.Compile(expr) }

// MustCompile is like [Compile] but panics with the error. It is for expressions that are part of
// the program text.
func MustCompile(expr string) *Expr {
	e, err := Compile(expr)
	if err != nil {
		panic(err)
	}
	return e
}

// maxLength bounds an expression in bytes: one of a hundred million additions would exhaust the stack.
const maxLength = 1 << 20

// Compile compiles an expression with these options. The error is a [*SyntaxError].
func (o Options) Compile(expr string) (*Expr, error) {
	if len(expr) > maxLength {
		return nil, &SyntaxError{Expr: expr, Offset: maxLength, Message: "the expression is too long"}
	}
	tokens, err := lex(expr)
	if err != nil {
		return nil, err
	}
	p := &parser{lexer: lexer{text: expr, tokens: tokens}, namespaces: o.Namespaces, variables: o.Variables}
	root, err := p.whole()
	if err != nil {
		return nil, err
	}
	return &Expr{text: expr, root: root, tests: p.tests, inside: o.Inside}, nil
}

// String returns the expression as given.
func (e *Expr) String() string { return e.text }

// Kind returns the type of the expression's values, which does not depend on the document.
func (e *Expr) Kind() Kind { return e.root.kind() }

// Absolute reports whether the expression is a path that starts with a slash: its value is the same
// for all contexts in a document.
func (e *Expr) Absolute() bool {
	p, ok := e.root.(*path)
	return ok && p.absolute && !e.inside
}

// Evaluate returns the value of the expression with a node or attribute as context. The error is a
// [*WorkError].
func (e *Expr) Evaluate(context html.Ref) (Value, error) { return e.EvaluateIn(new(Budget), context) }

// Budget counts the steps of evaluations that may not take more together than one of them may alone, see [WorkError]: those of
// one expression for many contexts. They have to be in the same document. The zero value is ready for use; it is not safe for
// concurrent use.
type Budget struct{ steps int }

// Spend counts steps that are taken beside evaluations, and returns how many there are now.
func (b *Budget) Spend(steps int) int {
	b.steps += steps
	return b.steps
}

// Limit returns how many steps evaluations may take in a document.
func (b *Budget) Limit(doc *html.Document) int { return workLimit(doc.Len()) }

// EvaluateIn is [Expr.Evaluate] with a budget. The error is a [*WorkError].
func (e *Expr) EvaluateIn(b *Budget, context html.Ref) (Value, error) {
	if context.IsZero() {
		return Value{kind: e.Kind(), num: math.NaN()}, nil
	}
	ev := newEvaluator(e, context.Node().Document())
	ev.work = b.steps
	at := ref{context.Node().ID(), context.Attr().ID()}
	if e.inside {
		ev.top = at
	}
	v := e.root.eval(ev, focus{ref: at, pos: 1, size: 1})
	b.steps = ev.work + 1
	if ev.exhausted() {
		return Value{}, &WorkError{Expr: e.text, Limit: ev.limit}
	}
	result := Value{kind: v.kind, num: v.num, str: strings.Clone(v.str), boolean: v.boolean}
	if v.kind == NodeSet {
		result.nodes = make([]html.Ref, len(v.set))
		for i, r := range v.set {
			result.nodes[i] = ev.doc.Ref(r.node, r.attr)
		}
		ev.put(v.set)
	}
	ev.release()
	return result, nil
}

// Append appends the nodes that the expression selects, in document order, to dst. It appends
// nothing if the value is no node-set. The error is a [*WorkError].
func (e *Expr) Append(dst []html.Ref, context html.Ref) ([]html.Ref, error) {
	v, err := e.Evaluate(context)
	if len(dst) == 0 && cap(dst) == 0 {
		return v.nodes, err
	}
	return append(dst, v.nodes...), err
}

// Kind is the type of a value: XPath 1.0, section 1.
type Kind uint8

// The types.
const (
	NodeSet Kind = iota
	String
	Number
	Boolean
)

// String returns the name of the type as the standard has it.
func (k Kind) String() string {
	switch k {
	case NodeSet:
		return "node-set"
	case String:
		return "string"
	case Number:
		return "number"
	case Boolean:
		return "boolean"
	}
	return "unknown"
}

// Value is the value of an expression. The zero Value is an empty node-set.
type Value struct {
	kind    Kind
	nodes   []html.Ref
	num     float64
	str     string
	boolean bool
}

// Kind returns the type of the value.
func (v Value) Kind() Kind { return v.kind }

// Nodes returns the nodes and attributes of a node-set in document order, nil for other values.
func (v Value) Nodes() []html.Ref { return v.nodes }

// String returns the value converted as by the function string: XPath 1.0, section 4.2.
func (v Value) String() string {
	switch v.kind {
	case NodeSet:
		if len(v.nodes) == 0 {
			return ""
		}
		first := v.nodes[0]
		return strings.Clone(stringValue(first.Node().Document(), ref{first.Node().ID(), first.Attr().ID()}))
	case Number:
		return formatNumber(v.num)
	case Boolean:
		return strconv.FormatBool(v.boolean)
	}
	return v.str
}

// Number returns the value converted as by the function number: XPath 1.0, section 4.4.
func (v Value) Number() float64 {
	switch v.kind {
	case Number:
		return v.num
	case Boolean:
		return numberOf(v.boolean)
	}
	return parseNumber(v.String())
}

// Bool returns the value converted as by the function boolean: XPath 1.0, section 4.3.
func (v Value) Bool() bool {
	switch v.kind {
	case NodeSet:
		return len(v.nodes) > 0
	case Number:
		return v.num != 0 && !math.IsNaN(v.num)
	case Boolean:
		return v.boolean
	}
	return v.str != ""
}
