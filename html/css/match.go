package css

import (
	"slices"

	"github.com/tegenaria/tegenaria/html"
)

// matcher runs one selector on one document. Elements are named by their position in the index.
type matcher struct {
	sel   *Selector
	doc   *html.Document
	index *html.Index
	el    []html.Element
	kins  []html.Kin  // nil until a test asks, see kin
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
	spans    []spans   // of :matches, by table
	langs    [][]string
	scratch  []byte
	found    []int32 // the result of find
	counts   map[uint64]int32
}

// newMatcher binds a selector to a document. Matchers that are not in use are kept, with their memory
// and as long as the garbage collector lets them, because the next query is often of the same
// document: then the names in the selector need not be looked up again.
func newMatcher(s *Selector, doc *html.Document) *matcher {
	m, _ := s.matchers.Get().(*matcher)
	if m == nil {
		m = new(matcher)
	}
	if m.index == doc.Index() {
		return m
	}
	m.sel, m.doc, m.index, m.xml, m.words = s, doc, doc.Index(), doc.IsXML(), nil
	m.el, m.kins = m.index.Elements(), nil
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

// maxKept is how many entries of a slice a matcher keeps that is not in use.
const maxKept = 1 << 12

// release gives the matcher back, without what grew large with a document.
func (m *matcher) release() {
	if cap(m.scratch) > maxKept {
		m.scratch = nil
	}
	if cap(m.found) > maxKept {
		m.found = nil
	}
	m.searches, m.tables, m.sets, m.finds, m.spans, m.langs, m.counts = nil, nil, nil, nil, nil, nil, nil
	m.sel.matchers.Put(m)
}

// kin returns the place of an element among its siblings.
func (m *matcher) kin(k int32) *html.Kin {
	if m.kins == nil {
		m.kins = m.index.Kin()
	}
	return &m.kins[k]
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
	m.patient, m.work = true, 0
	clear(m.searches)
	clear(m.tables)
	clear(m.sets)
	clear(m.finds)
	clear(m.spans)
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
	return m.is(&c.links[first].compound, k) && m.leftFrom(c, first, k)
}

// leftFrom reports whether what stands at the left of link i matches as seen from an element that
// the link itself matches.
func (m *matcher) leftFrom(c *chain, i int, k int32) bool {
	for ; ; i++ {
		switch c.links[i].by {
		case none:
			return true
		case child:
			k = m.el[k].Parent
		case next:
			k = m.kin(k).Prev
		default:
			return m.seek(c, i, k)
		}
		if k == 0 || !m.is(&c.links[i+1].compound, k) {
			return false
		}
	}
}

// seek goes from an element that link i matches to its ancestors or earlier siblings, and reports
// whether the rest of the chain matches one of them. Once a query has taken more steps than there
// are elements, the answers are remembered for all elements on the way, which keeps the work in
// proportion to elements and links whatever the page.
func (m *matcher) seek(c *chain, i int, k int32) bool {
	by := c.links[i].by
	if m.patient {
		m.patient = m.work <= int(m.hi-m.lo)+64
		for k = m.step(by, k); k != 0; k = m.step(by, k) {
			if m.chainFrom(c, i+1, k) {
				return true
			}
		}
		return false
	}
	if m.searches == nil {
		m.searches = make([]table, m.sel.searches)
	}
	memo, answer, from := &m.searches[c.links[i].memo], no, k
	for {
		if known := m.get(memo, k); known != unknown {
			answer = known
			break
		}
		m.work++
		up := m.step(by, k)
		if up != 0 && m.chainFrom(c, i+1, up) {
			answer = yes
		}
		if up == 0 || answer == yes {
			m.put(memo, k, answer)
			break
		}
		k = up
	}
	for ; from != k; from = m.step(by, from) {
		m.put(memo, from, answer)
	}
	return answer == yes
}

// step returns the next element on the way of a search.
func (m *matcher) step(by combinator, k int32) int32 {
	if by == descendant {
		return m.el[k].Parent
	}
	return m.kin(k).Prev
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
	if t.namespace.any {
		return true
	}
	n := m.index.Node(k)
	return t.namespace.has(n.Name, n.NamespaceURI)
}

// plan prepares a chain for a search: the candidates for its subject, which are one of the lists of
// the index or everything, and a filter that the ancestors of a match must pass. What the document
// cannot match has no candidates.
type plan struct {
	full  []int32 // the list, if not everything
	all   bool
	exact bool // the candidates are what the subject matches
	above uint64
}

func (m *matcher) plan(links []link) plan {
	p := plan{all: true}
	for i := range links {
		l := &links[i]
		// An ancestor of a sibling is one too; a sibling of an ancestor is not.
		vertical := i > 0 && (links[i-1].by == child || links[i-1].by == descendant)
		for n, slots := range [...][]int{l.ids, l.classes} {
			for _, slot := range slots {
				word := m.wordNumbers[slot]
				switch {
				case word == 0:
					return plan{}
				case vertical:
					p.above |= m.words.WordBit(word)
				case i == 0 && n == 0:
					p.offer(m.words.ByID(word))
				case i == 0:
					p.offer(m.words.ByClass(word))
				}
			}
		}
		if l.typ == nil || l.typ.any {
			continue
		}
		name := m.onlyName(l.typ)
		switch {
		case name == 0 && m.names[l.typ.name]|m.names[l.typ.lower] == 0:
			return plan{}
		case name == 0:
		case vertical:
			p.above |= html.NameBit(name)
		case i == 0:
			p.offer(m.index.ByName(name))
		}
	}
	if m.words == nil {
		p.above = 0
	}
	subject := &links[0].compound
	p.exact = p.attrs(m, subject) || exact(subject)
	return p
}

// exact reports whether all candidates match a compound: where it has one condition, which the index
// has answered, or none.
func exact(c *compound) bool {
	if len(c.tests) > 0 {
		return false
	}
	switch len(c.ids) + len(c.classes) {
	case 0:
		return c.universal() || c.typ.namespace.any && c.typ.name == c.typ.lower && !c.typ.any
	case 1:
		return c.typ == nil || c.typ.any && c.typ.namespace.any
	}
	return false
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

// attrs looks for candidates by attribute where nothing else says more. It reports whether the
// attribute is all that the compound asks for.
func (p *plan) attrs(m *matcher, c *compound) bool {
	if !p.all || m.hi-m.lo < 16 {
		return false
	}
	for _, t := range c.tests {
		if a, ok := t.(*attrTest); ok && a.op != unequal && a.name.simple() && a.name.name == a.name.lower {
			p.offer(m.index.ByAttr(html.Atom(m.attrs[a.name.name])))
			return a.op == present && len(c.tests) == 1 && (c.typ == nil || c.typ.any && c.typ.namespace.any)
		}
	}
	return false
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

// find returns the elements that a chain matches, in document order, limit at most. They stay until
// the next call.
func (m *matcher) find(c *chain, limit int) []int32 {
	p := m.plan(c.links)
	if !p.all {
		list := within(p.full, m.lo, m.hi)
		if p.exact && len(c.links) == 1 {
			m.work += len(list)
			return list[:min(limit, len(list))]
		}
		m.found = m.found[:0]
		for _, k := range list {
			if m.accepts(&p, c, k) {
				if m.found = append(m.found, k); len(m.found) >= limit {
					break
				}
			}
		}
		return m.found
	}
	m.found = m.found[:0]
	if p.exact && len(c.links) == 1 {
		m.work += int(m.hi - m.lo)
		m.found = slices.Grow(m.found, int(m.hi-m.lo))
		for k := m.lo; k < m.hi && len(m.found) < limit; k++ {
			m.found = append(m.found, k)
		}
		return m.found
	}
	for k := m.lo; k < m.hi && len(m.found) < limit; k++ {
		if m.accepts(&p, c, k) {
			m.found = append(m.found, k)
		}
	}
	return m.found
}

// accepts reports whether the chain matches a candidate.
func (m *matcher) accepts(p *plan, c *chain, k int32) bool {
	if p.above != 0 && p.above&^m.words.Path(m.el[k].Parent) != 0 {
		return false
	}
	if !p.exact {
		return m.chainFrom(c, 0, k)
	}
	m.work++
	return m.leftFrom(c, 0, k)
}
