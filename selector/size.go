package selector

import (
	"fmt"
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
)

const stringSize = int(unsafe.Sizeof(""))

// result is what one call of a method makes, as it grows. Whoever makes it says how large it becomes before it does.
type result struct{ doc *Document }

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
