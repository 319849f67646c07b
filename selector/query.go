package selector

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
	"github.com/tegenaria/tegenaria/html/xpath"
)

// Query is a compiled CSS selector or XPath expression. It may be used by several goroutines at
// once, on any Document.
type Query struct {
	text    string
	matcher matcher
}

// matcher is what a query compiles to. It appends what it selects in the nodes of a Selection,
// which are in document order, to another. The error is a *xpath.WorkError.
type matcher interface {
	match(in, to *Selection) error
}

// SyntaxError is a query that cannot be used.
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

func (q *Query) run(in *Selection) *Selection {
	found := &Selection{doc: in.doc}
	if err := q.matcher.match(in, found); err != nil {
		panic(err)
	}
	return found
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

type cssQuery struct{ selector *css.Selector }

func compileCSS(query string) (*Query, error) {
	s, err := css.Compile(query)
	if err != nil {
		return nil, err
	}
	return &Query{text: query, matcher: cssQuery{s}}, nil
}

func (q cssQuery) match(in, to *Selection) error {
	if len(in.refs) == 1 { // the rule: a page, or one of the items on it
		if !in.refs[0].IsAttr() {
			to.refs = q.selector.Append(nil, in.refs[0].Node())
		}
		return nil
	}
	var roots []html.Node
	end := uint32(0)
	for _, r := range in.refs {
		// What is inside of another node of the Selection is searched with that.
		if n := r.Node(); !r.IsAttr() && n.ID() >= end {
			roots = append(roots, n)
			end = n.EndID()
		}
	}
	to.refs = q.selector.Append(nil, roots...)
	return nil
}

type xpathQuery struct{ expr *xpath.Expr }

func compileXPath(query string) (*Query, error) {
	e, err := xpath.Compile(query)
	if err != nil {
		return nil, err
	}
	return &Query{text: query, matcher: xpathQuery{e}}, nil
}

func (q xpathQuery) match(in, to *Selection) error {
	for i, r := range in.refs {
		if i > 0 && q.expr.Absolute() {
			break
		}
		v, err := q.expr.Evaluate(r)
		if err != nil {
			return err
		}
		switch {
		case v.Kind() != xpath.NodeSet:
			to.values = append(to.values, v.String())
		case i == 0:
			to.refs = v.Nodes()
		default:
			to.refs = append(to.refs, v.Nodes()...)
		}
	}
	if len(in.refs) > 1 {
		if !slices.IsSortedFunc(to.refs, html.Ref.Compare) {
			slices.SortFunc(to.refs, html.Ref.Compare)
		}
		to.refs = slices.Compact(to.refs)
	}
	return nil
}
