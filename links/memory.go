package links

import (
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
)

// Charge has memory asked for what is made of a page: the list of links and, where options need one, a tree, whose bounds
// are those of package html. It is asked once more than 256 KiB are needed, before they are taken; when it refuses, its
// error is a panic.
func Charge(memory html.Memory, bounds ...html.Option) Option {
	return func(c *config) { c.memory, c.bounds = memory, bounds }
}

const (
	// uncharged is how many bytes are taken without asking.
	uncharged = 256 << 10
	linkSize  = int64(unsafe.Sizeof(Link{}))
	notedSize = int64(unsafe.Sizeof(noted{}))
	// knownSize is what a URL takes in a set, beside its text.
	knownSize = 48
	// relSize is what each byte of a rel attribute may take as a list of words.
	relSize = 9
)

// take asks for n bytes, or gives them back.
func (p *page) take(n int64) {
	if p.memory == nil {
		return
	}
	p.taken += n
	change := p.taken - p.asked
	if -uncharged <= change && change <= uncharged {
		return
	}
	if err := p.memory.Grow(change); err != nil && change > 0 {
		panic(err)
	}
	p.asked = p.taken
}

// room returns a slice with room for n elements more. Each takes size bytes.
func room[T any](p *page, s []T, n int, size int64) []T {
	if p.memory == nil || cap(s)-len(s) >= n {
		return s
	}
	large := max(2*cap(s), len(s)+n, 16)
	p.take(int64(large) * size)
	grown := append(make([]T, 0, large), s...)
	p.take(-int64(cap(s)) * size)
	return grown
}

// tree parses the page.
func (p *page) tree() *html.Document {
	bounds := p.bounds
	if p.memory != nil {
		bounds = append(bounds[:len(bounds):len(bounds)], html.Charge(p.memory))
	}
	doc, err := html.Parse(p.body, bounds...)
	if err != nil {
		panic(err)
	}
	return doc
}
