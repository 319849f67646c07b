package html

import "unsafe"

// Memory is asked for room before what is made of a page grows: the tree, what the parser needs for it, an [Index].
// It may be called by several goroutines at once, and may block.
type Memory interface {
	// Grow asks for so many bytes. Its error refuses them: it ends what they were for. With a negative number, which
	// gives bytes back, the error does not count.
	Grow(bytes int64) error
}

// Charge has a document ask for memory before it takes it, once it takes more than 256 KiB: in steps of at least as
// much, and before each piece that is larger. An error of memory ends [Parse] and [ParseXML], which return it;
// [Document.Index] and its methods panic with it.
func Charge(memory Memory) Option { return func(d *Document) { d.mem.memory = memory } }

// MaxAttributes bounds the number of attributes of a document: those of one tag as they are written, and those of all
// elements together. The default, also for n = 0, is no bound.
func MaxAttributes(n int) Option { return func(d *Document) { d.maxAttrs = n } }

// uncharged is how many bytes are taken without asking.
const uncharged = 256 << 10

// The sizes of the records that there are most of.
const (
	nodeSize = int64(unsafe.Sizeof(node{}))
	attrSize = int64(unsafe.Sizeof(attr{}))
	spanSize = int64(unsafe.Sizeof(sideSpan{}))
)

// meter asks a Memory for what is taken. The zero value asks nobody.
type meter struct {
	memory Memory
	used   int64
	asked  int64 // bytes of used, but for rounding, that were granted
}

// grow asks for n bytes, or gives them back.
func (m *meter) grow(n int64) error {
	if m == nil || m.memory == nil {
		return nil
	}
	m.used += n
	change := m.used - m.asked
	if -uncharged <= change && change <= uncharged {
		return nil
	}
	if err := m.memory.Grow(change); err != nil && change > 0 {
		m.used -= n
		return err
	}
	m.asked = m.used
	return nil
}

// refusal is what ends a parser that gets no memory, or has too many attributes: it panics with it and catches it.
type refusal struct{ err error }

// take is grow for a parser.
func (m *meter) take(n int64) {
	if err := m.grow(n); err != nil {
		panic(refusal{err})
	}
}

// caught makes an error of a panic with a refusal; the deferred func has recovered v.
func caught(v any, err *error) {
	if v == nil {
		return
	}
	no, ok := v.(refusal)
	if !ok {
		panic(v)
	}
	*err = no.err
}

// enlarge returns a slice with room for n elements more than it has, and for as many again as it has. Both the old and the
// new memory count while one is copied to the other.
func enlarge[T any](m *meter, s []T, n int) []T {
	return enlargeTo(m, s, max(2*cap(s), len(s)+n))
}

// enlargeTo returns a slice with room for so many elements.
func enlargeTo[T any](m *meter, s []T, room int) []T {
	size := int64(unsafe.Sizeof(*new(T)))
	m.take(int64(room) * size)
	grown := append(make([]T, 0, room), s...)
	m.take(-int64(cap(s)) * size)
	return grown
}

// fit returns a slice with room for n elements more.
func fit[T any](m *meter, s []T, n int) []T {
	if cap(s)-len(s) < n {
		return enlarge(m, s, n)
	}
	return s
}

// charge asks for memory that is made of the finished document. Little is not asked for. It panics with the error of
// the document's [Memory].
func (d *Document) charge(n int64) {
	if d.mem.memory == nil || n <= uncharged {
		return
	}
	if err := d.mem.memory.Grow(n); err != nil {
		panic(err)
	}
}
