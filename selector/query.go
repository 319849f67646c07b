package selector

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
	"github.com/tegenaria/tegenaria/html/xpath"
)

// Query is a compiled CSS selector or XPath expression. It may be used by several goroutines at
// once, on any Document.
type Query struct {
	text  string
	css   *css.Selector // or
	xpath *xpath.Expr
}

// SyntaxError describes an invalid query.
type SyntaxError struct {
	Query string // as given
	Err   error  // what is wrong with it
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("selector: compiling %q: %v", e.Query, e.Err)
}

// Unwrap returns what is wrong with the query.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Compile compiles a CSS selector. The error is a [*SyntaxError], which wraps a [*css.SyntaxError].
func Compile(selector string) (*Query, error) { return cssQueries.get(selector) }

// CompileXPath compiles an XPath expression. The error is a [*SyntaxError], which wraps a
// [*xpath.SyntaxError].
func CompileXPath(expr string) (*Query, error) { return xpathQueries.get(expr) }

// String returns the query as given.
func (q *Query) String() string { return q.text }

// run selects in nodes and attributes of a document, which are in document order. It panics with an
// *xpath.WorkError.
func (q *Query) run(doc *Document, in []html.Ref) *Selection {
	found := &Selection{doc: doc}
	if q.css != nil {
		found.refs = selectCSS(q.css, found.one[:0], in)
		doc.queried(CSS, q.text, len(found.refs) > 0)
		return found
	}
	if err := found.evaluate(q.xpath, in); err != nil {
		panic(err)
	}
	doc.queried(XPath, q.text, len(found.refs) > 0 || slices.ContainsFunc(found.values, isText))
	return found
}

func isText(value string) bool { return value != "" }

// queried reports a query to the host.
func (d *Document) queried(language Language, query string, found bool) {
	if d.watcher != nil {
		d.watcher.Queried(language, query, found)
	}
}

func mustCompile[T any](text string, in *language[T]) T {
	compiled, err := in.get(text)
	if err != nil {
		panic(err)
	}
	return compiled
}

// A language keeps what was compiled: at most maxQueries of at most maxQueryLen bytes, which is
// far more than the queries of a program. Programs that make up queries as they go start over with
// an empty cache when it is full.
type language[T any] struct {
	compile func(text string) (T, error)

	mu    sync.RWMutex // guards known
	known map[string]T
}

const (
	maxQueries  = 1024
	maxQueryLen = 4096
)

var (
	cssQueries   = &language[*Query]{compile: compileCSS}
	xpathQueries = &language[*Query]{compile: compileXPath}
	patterns     = &language[pattern]{compile: compilePattern}
)

// get compiles a text unless that was done before. The error is a [*SyntaxError].
func (l *language[T]) get(text string) (T, error) {
	l.mu.RLock()
	compiled, known := l.known[text]
	l.mu.RUnlock()
	if known {
		return compiled, nil
	}
	compiled, err := l.compile(text)
	if err != nil {
		return compiled, &SyntaxError{Query: text, Err: err}
	}
	if len(text) > maxQueryLen {
		return compiled, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxQueries {
		l.known = make(map[string]T)
	}
	l.known[text] = compiled
	return compiled, nil
}

func compileCSS(query string) (*Query, error) {
	s, err := css.Options{Relative: true, Prefixes: true}.Compile(query)
	if err != nil {
		return nil, err
	}
	return &Query{text: query, css: s}, nil
}

// selectCSS appends what a selector selects to found.
func selectCSS(s *css.Selector, found, in []html.Ref) []html.Ref {
	if len(in) == 1 && !in[0].IsAttr() { // the rule: a page, or one of the items on it
		return s.Append(found, in[0].Node())
	}
	var roots, outer []html.Node
	nodes, end := uint64(0), uint32(0)
	for _, r := range in {
		if r.IsAttr() {
			continue
		}
		n := r.Node()
		roots = append(roots, n)
		nodes += uint64(max(n.EndID(), n.ID()+1) - n.ID())
		if n.ID() >= end {
			outer = append(outer, n)
			end = n.EndID()
		}
	}
	// What is inside of another node is searched with that, unless each has to be :scope once. Where nodes lie very deep inside of
	// each other that would take the square of their number.
	if !s.Scoped() || len(roots) == len(outer) || nodes > maxNesting*uint64(end) {
		return s.Append(found, outer...)
	}
	found = s.Append(found, roots...)
	slices.SortFunc(found, html.Ref.Compare)
	return slices.Compact(found)
}

// maxNesting is how many roots may contain a node on average.
const maxNesting = 256

func compileXPath(query string) (*Query, error) {
	e, err := xpath.Compile(query)
	if err != nil {
		return nil, err
	}
	return &Query{text: query, xpath: e}, nil
}

// Variable is a variable of an XPath expression with its value. Make it with [Var].
type Variable struct {
	name  string
	value any
}

// Var gives the variable $name of an XPath expression its value: a string, a bool or a number. Use it to compare with
// a text that may contain quotes:
//
//	page.XPath("//a[. = $text]/@href", selector.Var("text", title))
func Var(name string, value any) Variable { return Variable{name, value} }

// mustCompileXPath compiles an expression, which is kept if it has no variables.
func mustCompileXPath(expr string, vars []Variable) *Query {
	if len(vars) == 0 {
		return mustCompile(expr, xpathQueries)
	}
	values := make(map[string]any, len(vars))
	for _, v := range vars {
		values[v.name] = v.value
	}
	e, err := xpath.Options{Variables: values}.Compile(expr)
	if err != nil {
		panic(&SyntaxError{Query: expr, Err: err})
	}
	return &Query{text: expr, xpath: e}
}

// evaluate makes the results of an expression those of the Selection.
func (s *Selection) evaluate(e *xpath.Expr, in []html.Ref) error {
	r, total := result{doc: s.doc}, 0
	for i, context := range in {
		if i > 0 && e.Absolute() {
			break
		}
		v, err := e.EvaluateIn(&r.budget, context)
		if err != nil {
			return err
		}
		total += len(v.Nodes())*int(unsafe.Sizeof(html.Ref{}))*4 + 2*stringSize // in its own list, and in one that grows
		r.grow(total)
		switch {
		case v.Kind() != xpath.NodeSet:
			value := v.String()
			total += len(value)
			r.grow(total)
			s.values = append(s.values, value)
		case i == 0:
			s.refs = v.Nodes()
		default:
			s.refs = append(s.refs, v.Nodes()...)
		}
	}
	if len(in) > 1 {
		if !slices.IsSortedFunc(s.refs, html.Ref.Compare) {
			slices.SortFunc(s.refs, html.Ref.Compare)
		}
		s.refs = slices.Compact(s.refs)
	}
	return nil
}
