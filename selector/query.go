package selector

import (
	"fmt"
	"sync"
)

// Query is a compiled CSS selector or XPath expression. It may be used by several goroutines at
// once, on any Document.
type Query struct {
	text    string
	matcher matcher
}

// matcher is what a query language compiles to: it runs on the given contexts, which are in
// document order, and returns results in document order.
type matcher interface {
	match(doc *Document, contexts []item) ([]item, error)
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

// Compile compiles a CSS selector. The error is a [*SyntaxError].
func Compile(css string) (*Query, error) { return cssQueries.compile(css) }

// CompileXPath compiles an XPath expression. The error is a [*SyntaxError].
func CompileXPath(expr string) (*Query, error) { return xpathQueries.compile(expr) }

// String returns the query as given.
func (q *Query) String() string { return q.text }

func (q *Query) run(doc *Document, contexts []item) *Selection {
	items, err := q.matcher.match(doc, contexts)
	if err != nil {
		panic(&SyntaxError{Query: q.text, Err: err})
	}
	return &Selection{doc: doc, items: items}
}

func mustCompile(query string, in *language) *Query {
	q, err := in.compile(query)
	if err != nil {
		panic(err)
	}
	return q
}

// A language keeps its compiled queries: at most maxQueries of at most maxQueryLen bytes, which is
// far more than the queries of a program. Programs that make up queries as they go start over with
// an empty cache when it is full.
type language struct {
	parse func(query string) (matcher, error)

	mu      sync.RWMutex // guards queries
	queries map[string]*Query
}

const (
	maxQueries  = 1024
	maxQueryLen = 4096
)

var (
	cssQueries   = &language{parse: parseCSS}
	xpathQueries = &language{parse: parseXPath}
)

func (l *language) compile(query string) (*Query, error) {
	l.mu.RLock()
	q := l.queries[query]
	l.mu.RUnlock()
	if q != nil {
		return q, nil
	}
	m, err := l.parse(query)
	if err != nil {
		return nil, &SyntaxError{Query: query, Err: err}
	}
	q = &Query{text: query, matcher: m}
	if len(query) > maxQueryLen {
		return q, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queries == nil || len(l.queries) >= maxQueries {
		l.queries = make(map[string]*Query)
	}
	l.queries[query] = q
	return q, nil
}
