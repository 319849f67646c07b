package css

import (
	"slices"
	"sync"

	"github.com/tegenaria/tegenaria/html"
)

// matcher runs one selector on one document. Elements are named by their position in the index.
type matcher struct {
	sel   *Selector
	index *html.Index
	el    []html.Element
	words *html.Words // nil if the selector has neither id nor class
	xml   bool

	// What the names in the selector are in this document, 0 for those that it does not have.
	names, wordNumbers, attrs []uint32
	bound                     [16]uint32 // the memory of the three, if they are few

	root    int32 // the element that is searched, 0 for the whole document
	lo, hi  int32 // what is searched: from lo to without hi
	work    int   // elements tested and steps taken
	patient bool  // searches need not be remembered yet

	searches []table // by link.memo
	tables   []table // by test
	sets     [][]relation
	finds    [][]int32 // of :contains, by table: where the words start in the text
	langs    [][]string
	scratch  []byte
	counts   map[uint64]int32
}

// matchers keeps the memory of matchers that are not in use.
var matchers = sync.Pool{New: func() any { return new(matcher) }}

// newMatcher binds a selector to a document.
func newMatcher(s *Selector, doc *html.Document) *matcher {
	m := matchers.Get().(*matcher)
	m.sel, m.index, m.xml, m.work = s, doc.Index(), doc.IsXML(), 0
	m.el = m.index.Elements()
	n := len(s.symbols.names) + len(s.symbols.words) + len(s.symbols.attrs)
	all := m.bound[:0]
	if n > len(m.bound) {
		all = make([]uint32, 0, n)
	}
	for _, name := range s.symbols.names {
		all = append(all, m.index.Name(name))
	}
	m.names = all[0:len(all):len(all)]
	if len(s.symbols.words) > 0 {
		m.words = m.index.Words()
	}
	start := len(all)
	for _, word := range s.symbols.words {
		all = append(all, m.words.Lookup(word))
	}
	m.wordNumbers = all[start:len(all):len(all)]
	start = len(all)
	for _, name := range s.symbols.attrs {
		all = append(all, uint32(doc.LookupAtom(name)))
	}
	m.attrs = all[start:len(all):len(all)]
	return m
}

// release gives the memory of the matcher back, but for what grows with the document.
func (m *matcher) release() {
	*m = matcher{scratch: m.scratch[:0]}
	if cap(m.scratch) > 1<<12 {
		m.scratch = nil
	}
	matchers.Put(m)
}

// search sets what is searched: an element with all that is inside, or the whole document.
func (m *matcher) search(root html.Node) {
	m.root, m.lo, m.hi = 0, 1, int32(len(m.el))
	switch root.Kind() {
	case html.ElementNode:
		m.root = m.index.Position(root)
		m.lo, m.hi = m.root, m.el[m.root].End
	case html.DocumentNode:
	default:
		m.lo, m.hi = 1, 1
	}
	m.patient = true
	clear(m.searches)
	clear(m.tables)
	clear(m.sets)
	clear(m.finds)
}

// A table remembers a number for elements: a slice for those that are searched, a map for their
// ancestors and the siblings of these. 0 is nothing.
type table struct {
	in  []int32
	out map[int32]int32
}

func (m *matcher) get(t *table, k int32) int32 {
	if m.lo <= k && k < m.hi {
		if t.in == nil {
			return 0
		}
		return t.in[k-m.lo]
	}
	return t.out[k]
}

func (m *matcher) put(t *table, k, v int32) {
	switch {
	case m.lo <= k && k < m.hi:
		if t.in == nil {
			t.in = make([]int32, m.hi-m.lo)
		}
		t.in[k-m.lo] = v
	case t.out == nil:
		t.out = map[int32]int32{k: v}
	default:
		t.out[k] = v
	}
}

// table returns the table of a test.
func (m *matcher) table(number int) *table {
	if len(m.tables) < m.sel.tables {
		m.tables = make([]table, m.sel.tables)
	}
	return &m.tables[number]
}

// Values in tables.
const (
	nothing int32 = iota - 1 // it was looked for and is not there
	unknown
	yes
	no
)

// anyOf reports whether one of the chains matches an element.
func (m *matcher) anyOf(chains []chain, k int32) bool {
	for i := range chains {
		if m.chainFrom(&chains[i], 0, k) {
			return true
		}
	}
	return false
}

// chainFrom reports whether the chain without its first links matches the element.
func (m *matcher) chainFrom(c *chain, first int, k int32) bool {
	for i := first; ; i++ {
		l := &c.links[i]
		if !m.is(&l.compound, k) {
			return false
		}
		switch l.by {
		case none:
			return true
		case child:
			k = m.el[k].Parent
		case next:
			k = m.el[k].Prev
		default:
			return m.seek(c, i, k)
		}
		if k == 0 {
			return false
		}
	}
}

// seek goes from an element that link i matches to its ancestors or earlier siblings, and reports
// whether the rest of the chain matches one of them. Once a query has taken more steps than there
// are elements, the answers are remembered for all elements on the way, which keeps the work in
// proportion to elements and links whatever the page.
func (m *matcher) seek(c *chain, i int, k int32) bool {
	l := &c.links[i]
	step := func(k int32) int32 {
		if l.by == descendant {
			return m.el[k].Parent
		}
		return m.el[k].Prev
	}
	if m.patient {
		m.patient = m.work <= int(m.hi-m.lo)+64
		for k = step(k); k != 0; k = step(k) {
			if m.chainFrom(c, i+1, k) {
				return true
			}
		}
		return false
	}
	if m.searches == nil {
		m.searches = make([]table, m.sel.searches)
	}
	memo, answer, from := &m.searches[l.memo], no, k
	for {
		if known := m.get(memo, k); known != unknown {
			answer = known
			break
		}
		m.work++
		up := step(k)
		if up != 0 && m.chainFrom(c, i+1, up) {
			answer = yes
		}
		if up == 0 || answer == yes {
			m.put(memo, k, answer)
			break
		}
		k = up
	}
	for ; from != k; from = step(from) {
		m.put(memo, from, answer)
	}
	return answer == yes
}

// is reports whether an element matches a compound.
func (m *matcher) is(c *compound, k int32) bool {
	m.work++
	if c.typ != nil && !m.typeIs(c.typ, k) {
		return false
	}
	for _, slot := range c.ids {
		if id := m.wordNumbers[slot]; id == 0 || id != m.words.ID(k) {
			return false
		}
	}
	for _, slot := range c.classes {
		if class := m.wordNumbers[slot]; class == 0 || !slices.Contains(m.words.Classes(k), class) {
			return false
		}
	}
	for _, t := range c.tests {
		if !t.match(m, k) {
			return false
		}
	}
	return true
}

func (m *matcher) typeIs(t *typeTest, k int32) bool {
	e := &m.el[k]
	if !t.any {
		name := m.names[t.name]
		if e.Namespace == html.HTML && !m.xml {
			name = m.names[t.lower]
		}
		if name == 0 || e.Name != name {
			return false
		}
	}
	return t.namespace.any || m.index.Node(k).NamespaceURI() == t.namespace.uri
}

// plan prepares a chain for a search: the candidates for its subject, which are one of the lists of
// the index or everything, and a filter that the ancestors of a match must pass. What the document
// cannot match has no candidates.
type plan struct {
	full  []int32 // the list, if not everything
	all   bool
	above uint64
}

func (m *matcher) plan(c *chain) plan {
	p := plan{all: true}
	vertical := false
	for i := range c.links {
		l := &c.links[i]
		if i > 0 {
			by := c.links[i-1].by
			vertical = vertical || by == child || by == descendant
		}
		for _, slots := range [...][]int{l.ids, l.classes} {
			for _, slot := range slots {
				word := m.wordNumbers[slot]
				if word == 0 {
					return plan{}
				}
				if vertical {
					p.above |= m.words.WordBit(word)
				}
				if i == 0 {
					p.offer(m.words.ByWord(word))
				}
			}
		}
		if l.typ == nil || l.typ.any {
			continue
		}
		name := m.onlyName(l.typ)
		if name == 0 {
			if m.names[l.typ.name]|m.names[l.typ.lower] == 0 {
				return plan{}
			}
			continue
		}
		if vertical {
			p.above |= html.NameBit(name)
		}
		if i == 0 {
			p.offer(m.index.ByName(name))
		}
	}
	if m.words == nil {
		p.above = 0
	}
	p.attrs(m, &c.links[0].compound)
	return p
}

// onlyName returns the one name that elements of a type have in this document, 0 if there is none or
// more than one.
func (m *matcher) onlyName(t *typeTest) uint32 {
	name, lower := m.names[t.name], m.names[t.lower]
	switch {
	case m.xml || name == lower:
		return name
	case len(m.index.ByName(name)) == 0:
		return lower
	case len(m.index.ByName(lower)) == 0:
		return name
	}
	return 0
}

// offer takes a list of candidates that is shorter than the present one.
func (p *plan) offer(list []int32) {
	if p.all || len(list) < len(p.full) {
		p.all, p.full = false, list
	}
}

// attrs looks for candidates by attribute where nothing else says more.
func (p *plan) attrs(m *matcher, c *compound) {
	if !p.all || m.hi-m.lo < 16 {
		return
	}
	for _, t := range c.tests {
		if a, ok := t.(*attrTest); ok && !a.absent() && a.name.simple() && a.name.name == a.name.lower {
			p.offer(m.index.ByAttr(html.Atom(m.attrs[a.name.name])))
			return
		}
	}
}

// within returns the part of a list of positions that lies from lo to without hi.
func within(list []int32, lo, hi int32) []int32 {
	if lo <= 1 && (len(list) == 0 || list[len(list)-1] < hi) {
		return list
	}
	from, _ := slices.BinarySearch(list, lo)
	list = list[from:]
	to, _ := slices.BinarySearch(list, hi)
	return list[:to]
}

// find appends the elements that a chain matches to dst, in document order, limit at most.
func (m *matcher) find(dst []int32, c *chain, limit int) []int32 {
	p := m.plan(c)
	try := func(k int32) {
		if p.above == 0 || p.above&^m.words.Above(k) == 0 {
			if m.chainFrom(c, 0, k) {
				dst = append(dst, k)
			}
		}
	}
	enough := len(dst) + limit
	if p.all {
		for k := m.lo; k < m.hi && len(dst) < enough; k++ {
			try(k)
		}
		return dst
	}
	for _, k := range within(p.full, m.lo, m.hi) {
		if try(k); len(dst) >= enough {
			break
		}
	}
	return dst
}
