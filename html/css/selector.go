package css

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria/html"
)

// Selector is a compiled list of selectors. It may be used by several goroutines at once, on any
// documents.
type Selector struct {
	text     string
	branches []branch
	symbols  symbols
	searches int // combinators that search: a space, ~
	tables   int // tests that remember a number for each element
	sets     int // of :has
	fragment string
	swept    bool      // sweeps can answer it, see canSweep
	scoped   bool      // it has :scope
	matchers sync.Pool // of *matcher
}

// branch is one selector of the list.
type branch struct {
	chain
	want want
	attr attrName // of wantAttr
	bare bool     // "::text" alone, which also selects a text node that is the root of a query
}

// want is what a branch selects of the elements that it matches.
type want uint8

const (
	wantElement want = iota
	wantText         // ::text
	wantAttr         // ::attr(name)
	wantNothing      // a pseudo-element of style sheets, such as ::before
)

// chain is a complex selector: compounds with combinators between them (Selectors Level 4,
// section 3.1). It is matched from right to left, so links[0] is the subject.
type chain struct {
	links []link
	lead  combinator // of a relative selector: between its anchor and the last link
	spec  Specificity
}

// link is one compound with the combinator at its left.
type link struct {
	compound
	by   combinator // none for the last link
	memo int        // number of the search along by, if by is one
}

type combinator uint8

const (
	none       combinator = iota
	descendant            // a space
	child                 // >
	next                  // +
	subsequent            // ~
)

// compound is what one element must be. The zero compound is *.
type compound struct {
	typ     *typeTest
	ids     []int // slots of Selector.symbols.words
	classes []int // slots of Selector.symbols.words
	tests   []test
}

// test is any other condition on an element.
type test interface {
	match(m *matcher, k int32) bool
}

// typeTest is a type selector: div, svg|a, *|a, |a. Elements of HTML in HTML documents have names
// in lower case and match without regard to case, others do not (HTML standard, section 4.17.2).
type typeTest struct {
	any         bool // a star
	lower, name int  // slots of Selector.symbols.names: the name in lower case and as given
	namespace   namespaceTest
}

// namespaceTest says which namespaces are right.
type namespaceTest struct {
	any    bool
	prefix string // as it is written in the document, or
	uri    string // "" is no namespace
}

// has reports whether a name is in one of the namespaces, from how it is written and what it means.
func (t *namespaceTest) has(written func() string, uri func() string) bool {
	switch {
	case t.any:
		return true
	case t.prefix != "":
		prefix, _, found := strings.Cut(written(), ":")
		return found && prefix == t.prefix
	}
	return uri() == t.uri
}

// symbols are the names in a selector that a document's index knows as integers.
type symbols struct {
	names []string // of elements
	words []string // ids and classes
	attrs []string // names of attributes

	// The numbers of the names that have the same one in all HTML documents, 0 for others.
	nameAtoms, attrAtoms []html.Atom
}

// atoms returns the numbers of names that are the same in all HTML documents.
func atoms(names []string) []html.Atom {
	list := make([]html.Atom, len(names))
	for i, name := range names {
		list[i] = html.LookupAtom(name)
	}
	return list
}

// slot returns the place of s in list, which it is added to.
func slot(list *[]string, s string) int {
	if i := slices.Index(*list, s); i >= 0 {
		return i
	}
	*list = append(*list, s)
	return len(*list) - 1
}

// Specificity is how specific a selector is: the numbers of its ids; of its classes, attribute
// selectors and pseudo-classes; and of its type selectors and pseudo-elements (Selectors Level 4,
// section 17). Arrays compare in the order of the standard: see slices.Compare.
type Specificity [3]int

func (s *Specificity) add(t Specificity) {
	for i := range s {
		s[i] += t[i]
	}
}

// largest returns the specificity of the most specific chain.
func largest(chains []chain) Specificity {
	var most Specificity
	for i := range chains {
		if slices.Compare(chains[i].spec[:], most[:]) > 0 {
			most = chains[i].spec
		}
	}
	return most
}

// SyntaxError says what is wrong with a selector and where.
type SyntaxError struct {
	Query   string // the selector as given
	Offset  int    // of the mistake, in bytes from the start of Query
	Message string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("css: compiling %q: at byte %d: %s", e.Query, e.Offset, e.Message)
}

// Options are what selectors may need to know besides their own text. The zero value is right for
// HTML pages.
type Options struct {
	// Namespaces gives the prefixes that selectors such as svg|a use, by prefix. The prefix "" is
	// the default namespace, that of type selectors without a prefix; without it these match
	// elements of any namespace. (CSS Namespaces Level 3; Selectors Level 4, sections 5.1 and 5.3.)
	Namespaces map[string]string
	// Prefixes lets a prefix that Namespaces does not have stand for itself, as in XPath: media|title is an element of an XML
	// document that is written <media:title>, whatever its prefix means there. Without it such a prefix is an error.
	Prefixes bool
	// Fragment is the part of the page's URL behind the #, decoded. The element with that id is
	// what :target selects. Without a fragment :target selects nothing.
	Fragment string
	// Relative lets a selector of the list begin with >, as those of :has may: "> td" means ":scope > td".
	Relative bool
}

// Compile compiles a list of selectors. The error is a [*SyntaxError].
func Compile(selector string) (*Selector, error) { return Options{}.Compile(selector) }

// MustCompile is like [Compile] but panics with the error. It is for selectors that are part of the
// program text.
func MustCompile(selector string) *Selector {
	s, err := Compile(selector)
	if err != nil {
		panic(err)
	}
	return s
}

// maxLength bounds a selector in bytes: one of a hundred million combinators would exhaust the stack.
const maxLength = 1 << 20

// Compile compiles a list of selectors with these options. The error is a [*SyntaxError].
func (o Options) Compile(selector string) (*Selector, error) {
	if len(selector) > maxLength {
		return nil, &SyntaxError{Query: selector, Offset: maxLength, Message: "the selector is too long"}
	}
	p := &parser{scanner: scanner{text: selector}, namespaces: o.Namespaces, prefixes: o.Prefixes, relative: o.Relative, out: &Selector{text: selector, fragment: o.Fragment}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	s := p.out
	s.symbols.nameAtoms, s.symbols.attrAtoms = atoms(s.symbols.names), atoms(s.symbols.attrs)
	s.swept = s.canSweep()
	return s, nil
}

// String returns the selector as given.
func (s *Selector) String() string { return s.text }

// Scoped reports whether the selector has :scope, so that what it selects in a root depends on which node is the root.
func (s *Selector) Scoped() bool { return s.scoped }

// Specificity returns the specificity of the most specific selector of the list.
func (s *Selector) Specificity() Specificity {
	chains := make([]chain, len(s.branches))
	for i := range s.branches {
		chains[i] = s.branches[i].chain
	}
	return largest(chains)
}
