package metadata

import (
	"slices"
	"sort"
	"strings"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/links"
)

// microdata reads the items of a page by the HTML standard, section 5. Three things are otherwise: the text of an element is that
// which a reader sees; an attribute content is the value of any element whose text would be, as schema.org's examples have it; and
// an item with an itemprop that belongs to no other item is a top-level item, with a note.
type microdata struct {
	*extractor
	marks  []mark            // the elements with itemscope or itemprop, in document order
	ids    map[string]uint32 // the elements with an id that an itemref may mean; nil until one does
	within []uint32          // the items that the present one is inside of, with itself
	seen   map[uint32]bool   // the items that were read
	values int
	over   bool // whether the page has too many properties, or their texts cost too much
}

// mark is an element that microdata has something on.
type mark struct {
	id, end     uint32
	scope, prop bool
}

func (x *extractor) readMicrodata() {
	m := &microdata{extractor: x, seen: map[uint32]bool{}}
	m.findMarks()
	type top struct {
		id   uint32
		item *Item
	}
	var tops []top
	read := func(mk mark) {
		if len(tops) == maxNodes {
			m.overflow(x.doc.Node(mk.id))
			return
		}
		tops = append(tops, top{mk.id, m.item(x.doc.Node(mk.id))})
	}
	for _, mk := range m.marks {
		if mk.scope && !mk.prop && !m.over {
			read(mk)
		}
	}
	for _, mk := range m.marks {
		if mk.scope && mk.prop && !m.seen[mk.id] && !m.over {
			x.note(Microdata, x.doc.Node(mk.id), "an item has an itemprop and is in no other item: it is taken for one by itself")
			read(mk)
		}
	}
	slices.SortStableFunc(tops, func(a, b top) int { return int(a.id) - int(b.id) })
	for _, t := range tops {
		x.page.Microdata = append(x.page.Microdata, t.item)
	}
}

// findMarks lists the elements of microdata, without those in templates.
func (m *microdata) findMarks() {
	end := uint32(m.doc.Len()) + 1
	for id := uint32(1); id < end; id++ {
		n := m.doc.Node(id)
		if !isHTML(n) {
			continue
		}
		if n.Is(html.AtomTemplate) {
			id = n.EndID() - 1
			continue
		}
		var mk mark
		for a := n.FirstAttr(); !a.IsZero(); a = a.Next() {
			switch a.Atom() {
			case html.AtomItemscope:
				mk.scope = true
			case html.AtomItemprop:
				mk.prop = strings.TrimSpace(a.Value()) != ""
			}
		}
		if mk.scope || mk.prop {
			mk.id, mk.end = id, n.EndID()
			m.marks = append(m.marks, mk)
		}
	}
}

// overflow says once that the page has too much microdata.
func (m *microdata) overflow(n html.Node) {
	if !m.over {
		m.note(Microdata, n, "further microdata was left out: the page has too much")
	}
	m.over = true
}

// item reads an item, with those inside of it.
func (m *microdata) item(n html.Node) *Item {
	m.seen[n.ID()] = true
	m.within = append(m.within, n.ID())
	defer func() { m.within = m.within[:len(m.within)-1] }()
	item := &Item{syntax: Microdata, origin: m.origin, Types: strings.Fields(n.FindAttr(html.AtomItemtype).Value())}
	if len(item.Types) > 0 { // without a type there is no global identifier
		item.ID, _ = m.link(n.FindAttr(html.AtomItemid).Value())
	}
	for _, id := range m.propertiesOf(n) {
		if m.over {
			break
		}
		m.property(item, m.doc.Node(id))
	}
	return item
}

// propertiesOf returns the elements that have the properties of an item, in document order: those inside of it and not inside of
// another item, and the same for the elements that its itemref names.
func (m *microdata) propertiesOf(n html.Node) []uint32 {
	list := m.collect(nil, n.ID()+1, m.endOf(n))
	refs := n.FindAttr(html.AtomItemref)
	if refs.IsZero() {
		return list
	}
	for ref := range strings.FieldsSeq(refs.Value()) {
		if m.over || !m.charge(16) {
			m.overflow(n)
			break
		}
		if id := m.byID(ref); id != 0 {
			list = m.collect(list, id, m.doc.Node(id).EndID())
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// endOf returns the EndID of an item, which is noted already.
func (m *microdata) endOf(n html.Node) uint32 {
	k := sort.Search(len(m.marks), func(k int) bool { return m.marks[k].id >= n.ID() })
	return m.marks[k].end
}

// collect adds the elements with properties among the nodes from a number to another, except those inside their items.
func (m *microdata) collect(list []uint32, from, end uint32) []uint32 {
	k := sort.Search(len(m.marks), func(k int) bool { return m.marks[k].id >= from })
	for k < len(m.marks) && m.marks[k].id < end {
		if !m.charge(16) {
			m.overflow(m.doc.Node(m.marks[k].id))
			break
		}
		mk := m.marks[k]
		k++
		if mk.prop {
			list = append(list, mk.id)
		}
		if mk.scope {
			k += sort.Search(len(m.marks)-k, func(i int) bool { return m.marks[k+i].id >= mk.end })
		}
	}
	return list
}

// byID returns the first element with an id, 0 if there is none.
func (m *microdata) byID(id string) uint32 {
	if m.ids == nil {
		m.ids = map[string]uint32{}
		sweep, end := m.doc.Sweep(0), uint32(m.doc.Len())+1
		for at := sweep.With(1, end, html.AtomId); at < end; at = sweep.With(at+1, end, html.AtomId) {
			name := m.doc.Node(at).FindAttr(html.AtomId).Value()
			if _, ok := m.ids[name]; !ok {
				m.ids[name] = at
			}
		}
	}
	return m.ids[id]
}

// property adds the property of an element to an item, once for each of its names.
func (m *microdata) property(item *Item, n html.Node) {
	scope := !n.FindAttr(html.AtomItemscope).IsZero()
	if scope && (slices.Contains(m.within, n.ID()) || len(m.within) == maxItems) {
		m.seen[n.ID()] = true
		m.note(Microdata, n, "an item that is inside of itself, or of too many others, was left out")
		return
	}
	var names []string
	for name := range strings.FieldsSeq(n.FindAttr(html.AtomItemprop).Value()) {
		if !slices.Contains(names, name) && len(names) < maxItems {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if m.values++; m.values > maxValues || !m.charge(len(name)) {
			m.overflow(n)
			return
		}
		p := ItemProperty{Name: name}
		if scope {
			p.Item = m.item(n)
		} else if text, ok := m.valueOf(n); ok {
			p.Text = text
		} else {
			m.overflow(n)
			return
		}
		item.Properties = append(item.Properties, p)
	}
}

// valueOf returns the value of a property that is no item (HTML standard, section 5.2.4). ok is false if it costs too much.
func (m *microdata) valueOf(n html.Node) (value string, ok bool) {
	attribute := html.Atom(0)
	switch n.Atom() {
	case html.AtomMeta:
		attribute = html.AtomContent
	case html.AtomAudio, html.AtomEmbed, html.AtomIframe, html.AtomImg, html.AtomSource, html.AtomTrack, html.AtomVideo:
		if lazy := links.Lazy(n); lazy != "" {
			return m.reference(lazy)
		}
		return m.url(n.FindAttr(html.AtomSrc))
	case html.AtomA, html.AtomArea, html.AtomLink:
		return m.url(n.FindAttr(html.AtomHref))
	case html.AtomObject:
		return m.url(n.FindAttr(html.AtomData))
	case html.AtomData, html.AtomMeter:
		attribute = html.AtomValue
	case html.AtomTime:
		if a := n.FindAttr(html.AtomDatetime); !a.IsZero() {
			return m.attribute(a)
		}
	}
	if attribute != 0 {
		return m.attribute(n.FindAttr(attribute))
	}
	if a := n.FindAttr(html.AtomContent); !a.IsZero() {
		return m.attribute(a)
	}
	return m.text(n)
}

// attribute returns a value as it is written, "" if there is no attribute.
func (x *extractor) attribute(a html.Attr) (value string, ok bool) {
	if a.IsZero() {
		return "", true
	}
	return a.Value(), x.charge(len(a.Raw()))
}

// url returns an attribute as an absolute URL, "" if there is none or it cannot be resolved.
func (x *extractor) url(a html.Attr) (value string, ok bool) {
	if a.IsZero() {
		return "", true
	}
	return x.reference(a.Value())
}

// reference returns a reference as an absolute URL, "" if it cannot be resolved.
func (x *extractor) reference(ref string) (value string, ok bool) {
	value, _ = x.resolve(ref)
	return value, x.charge(len(ref) + len(value))
}
