package selector

import (
	"fmt"
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/xpath"
)

const stringSize = int(unsafe.Sizeof(""))

// result is what one call of a method makes, as it grows. Whoever makes it says how large it becomes before it does.
type result struct {
	doc    *Document
	budget xpath.Budget // of the steps that it takes
}

// begin begins a result of strings, one for each node.
func (s *Selection) begin() result {
	r := result{doc: s.doc}
	r.grow(s.Len() * stringSize)
	return r
}

// few is the size in bytes of what is never too much.
const few = 256 << 10

// grow panics with a [*SizeError] if a result of so many bytes in all is too large.
func (r *result) grow(size int) {
	if size <= few {
		return
	}
	if limit := 1<<26 + len(r.doc.tree.Source()) + len(r.doc.json); size > limit {
		panic(&SizeError{Limit: limit})
	}
}

// What is read counts as one step for so many bytes, in which time a node is visited.
const (
	textPerStep  = 32
	matchPerStep = 8 // of text in which an expression looks for a match
)

// spend counts steps. It panics with a [*WorkError] if there are too many.
func (r *result) spend(steps int) {
	if limit := r.limit(); r.budget.Spend(steps) > limit {
		panic(&WorkError{Limit: limit})
	}
}

// steps returns how many steps were counted.
func (r *result) steps() int { return r.budget.Spend(0) }

// limit returns how many steps one call may take.
func (r *result) limit() int { return r.budget.Limit(r.doc.tree) + len(r.doc.tree.Source()) }

// spendInside counts the steps that it takes to read what is inside of a node, of which size returns the bytes. Elements inside each
// other have that in common. One with few nodes is not measured: it cannot have many others around it that have few nodes, too.
func (r *result) spendInside(n html.Node, size func(html.Node) int) {
	steps := int(n.EndID() - n.ID())
	if steps > fewNodes {
		steps += size(n) / textPerStep
	}
	r.spend(steps)
}

// fewNodes is how many nodes an element has at most that is not measured.
const fewNodes = 64

// markup returns the markup of a node. The result has other bytes beside it.
func (r *result) markup(n html.Node, other int) string {
	size := n.HTMLSize()
	r.grow(other + size)
	b := n.AppendHTML(make([]byte, 0, size))
	return unsafe.String(unsafe.SliceData(b), len(b)) // nobody else has it
}

// SizeError says that the results of one call would be far larger than the page. Nested elements repeat the same text, thousands of
// them repeat it thousands of times; and URLs that are relative to a long URL are long themselves. Methods of a Selection that
// return all results panic with it.
type SizeError struct {
	Limit int // in bytes: 2^26 and the size of the page
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("selector: the results are larger than %d bytes", e.Limit)
}

// WorkError says that one call would take too many steps: to read the text of thousands of elements that are inside each other, or to
// run queries in each of them. Methods of a Selection panic with it, and [Document.Unmarshal] and [Each] return it. To select the
// elements that directly hold what is looked for takes few steps. Expressions of XPath have an [*xpath.WorkError].
type WorkError struct {
	Limit int // in steps: that of an [xpath.WorkError], and one for each byte of the page; in [Each] four times that
}

// Error implements error.
func (e *WorkError) Error() string {
	return fmt.Sprintf("selector: the results take more than %d steps: elements of the page contain each other thousands "+
		"of times; select those that directly hold what is wanted", e.Limit)
}
