package selector

import (
	"fmt"
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
)

// uncharged is the size in bytes of results that no memory is asked for. Larger ones ask in steps of as much.
const uncharged = 256 << 10

const (
	refSize    = int(unsafe.Sizeof(html.Ref{}))
	stringSize = int(unsafe.Sizeof(""))
)

// tenant is a Document as package html asks it for memory.
type tenant Document

// Grow asks the host. The error is a [*ParseError].
func (t *tenant) Grow(bytes int64) error {
	if err := t.host.Grow(bytes); err != nil {
		return parseError(err)
	}
	return nil
}

// charge asks for the memory of a result that grows from so many bytes to more. The largest result of a page counts; the
// ones before it are garbage, for all that is known. It panics with the error of the host.
func (d *Document) charge(from, to int64) {
	for {
		most := d.results.Load()
		// Up to the size of the largest, the result replaces others: their memory is given back and asked for again.
		again := max(min(to, most)-from, 0)
		if to > most && !d.results.CompareAndSwap(most, to) {
			continue
		}
		if again > 0 {
			_ = (*tenant)(d).Grow(-again)
		}
		if err := (*tenant)(d).Grow(again + max(to-most, 0)); err != nil {
			d.results.CompareAndSwap(max(to, most), most-again)
			panic(err)
		}
		return
	}
}

// room asks for the memory of a result that may have so many bytes, unless a larger one was asked for.
func (d *Document) room(bytes int) {
	if most := d.results.Load(); d.host != nil && bytes > uncharged && int64(bytes) > most {
		d.charge(most, int64(bytes))
	}
}

// result is what one call of a method makes, as it grows. Whoever makes it says how large it becomes before it does.
type result struct {
	doc   *Document
	asked int // bytes that memory was asked for
}

// begin begins a result of strings, one for each node.
func (s *Selection) begin() result {
	r := result{doc: s.doc}
	r.grow(s.Len() * stringSize)
	return r
}

// grow asks for the memory of a result of so many bytes in all. It panics with a [*SizeError] if they are too many.
func (r *result) grow(size int) {
	if size <= r.asked || size <= uncharged {
		return
	}
	if limit := r.doc.largest(); size > limit {
		panic(&SizeError{Limit: limit})
	}
	if r.doc.host == nil {
		r.asked = size
		return
	}
	size = (size + uncharged - 1) / uncharged * uncharged
	r.doc.charge(int64(r.asked), int64(size))
	r.asked = size
}

// largest is how large the results of one call may be, in bytes.
func (d *Document) largest() int { return 1<<26 + 16*(len(d.tree.Source())+len(d.json)) }

// append returns b with room for n bytes more. Beside b, the result has other bytes.
func (r *result) append(b []byte, other, n int) []byte {
	if n <= cap(b)-len(b) || n <= uncharged {
		return b
	}
	room := max(len(b)+n, min(2*cap(b), r.doc.largest()))
	r.grow(other + cap(b) + room)
	return append(make([]byte, 0, room), b...)
}

// markup returns the markup of a node, of which the result has so many bytes beside it.
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
	Limit int // in bytes: 2^26 and 16 for each byte of the page
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("selector: the results are larger than %d bytes", e.Limit)
}
