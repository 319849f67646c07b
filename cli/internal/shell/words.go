package shell

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/tegenaria/tegenaria/html"
)

// words are the names that a page has, sorted.
type words struct{ tags, classes, ids, attrs []string }

// mostWords bounds the names of one kind.
const mostWords = 10_000

// pageWords reads the words of the page, once.
func (s *Shell) pageWords() *words {
	if s.words != nil {
		return s.words
	}
	tags, classes, ids, attrs := make(set), make(set), make(set), make(set)
	for _, root := range s.page.XPath("/").Nodes() {
		for n := range root.Descendants() {
			if !n.IsElement() {
				continue
			}
			tags.add(n.Name(), s.host.Printable)
			for a := range n.Attrs() {
				attrs.add(a.Name(), s.host.Printable)
				switch a.Atom() {
				case html.AtomClass:
					for class := range strings.FieldsSeq(a.Value()) {
						classes.add(class, s.host.Printable)
					}
				case html.AtomId:
					ids.add(a.Value(), s.host.Printable)
				}
			}
		}
	}
	s.words = &words{tags.sorted(), classes.sorted(), ids.sorted(), attrs.sorted()}
	return s.words
}

// set is a bounded set of names.
type set map[string]bool

// add adds a name, unless that would steer a terminal or end a word.
func (s set) add(name string, printable func(string) string) {
	if len(s) < mostWords && !strings.ContainsFunc(name, unicode.IsSpace) && printable(name) == name {
		s[name] = true
	}
}

func (s set) sorted() []string { return slices.Sorted(maps.Keys(s)) }
