package metadata

import (
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/links"
)

// rdfa reads RDFa Lite 1.1: vocab, typeof, property, resource and prefix. A property that is in no typed resource is one of the page
// itself, and is among the Properties of the Page if it is a meta element.
type rdfa struct {
	*extractor
	vocab, typeOf, property, resource, prefix html.Atom
	values                                    int
}

// scope is what holds inside of an element.
type scope struct {
	end      uint32 // the number of the first node behind it
	item     *Item  // whose properties these are, nil for the page's own
	vocab    string
	prefixes map[string]string
	depth    int // of items
}

// readRDFa goes through the elements in document order, with a stack of the scopes that are open.
func (x *extractor) readRDFa() {
	d := x.doc
	r := &rdfa{extractor: x, vocab: d.LookupAtom("vocab"), typeOf: d.LookupAtom("typeof"),
		property: d.LookupAtom("property"), resource: d.LookupAtom("resource"), prefix: d.LookupAtom("prefix")}
	end := uint32(d.Len()) + 1
	open := []scope{{end: end}}
	for id := uint32(1); id < end; id++ {
		n := d.Node(id)
		if !n.IsElement() {
			continue
		}
		for open[len(open)-1].end <= id {
			open = open[:len(open)-1]
		}
		if n.Is(html.AtomTemplate) && isHTML(n) {
			id = n.EndID() - 1
			continue
		}
		inner, changed, ok := r.element(n, open[len(open)-1])
		if !ok {
			x.note(RDFa, n, "further RDFa was left out: the page has too much")
			return
		}
		if changed {
			open = append(open, inner)
		}
	}
}

// element reads one element in the scope that it is in, and returns the scope of what is inside if that is another one. ok
// is false if the page has too much.
func (r *rdfa) element(n html.Node, s scope) (inner scope, changed, ok bool) {
	var property, typeOf, resource, vocab, prefix html.Attr
	for a := n.FirstAttr(); !a.IsZero(); a = a.Next() {
		switch a.Atom() {
		case 0:
		case r.property:
			property = a
		case r.typeOf:
			typeOf = a
		case r.resource:
			resource = a
		case r.vocab:
			vocab = a
		case r.prefix:
			prefix = a
		}
	}
	if !vocab.IsZero() {
		s.vocab, changed = strings.TrimSpace(vocab.Value()), true
	}
	if !prefix.IsZero() {
		if !r.charge(len(prefix.Raw()) + 16*len(s.prefixes)) {
			return s, false, false
		}
		s.prefixes, changed = parsePrefixes(s.prefixes, prefix.Value()), true
	}
	var item *Item
	if !typeOf.IsZero() {
		if item, ok = r.item(n, typeOf, resource, s); !ok {
			return s, false, false
		}
	}
	if !property.IsZero() && s.item != nil && !r.add(s, n, property, resource, item) {
		return s, false, false
	}
	if item != nil {
		if property.IsZero() || s.item == nil {
			r.addTop(item)
		}
		s.item, s.depth, changed = item, s.depth+1, true
	}
	if changed {
		s.end = n.EndID()
	}
	return s, changed, true
}

// item makes the item of an element with typeof, or adds its types to the one with the same resource.
func (r *rdfa) item(n html.Node, typeOf, resource html.Attr, s scope) (item *Item, ok bool) {
	if s.depth == maxItems || !r.charge(len(typeOf.Raw())) {
		return nil, false
	}
	item = &Item{syntax: RDFa, origin: r.origin}
	if !resource.IsZero() {
		id, ok := r.url(resource)
		if !ok {
			return nil, false
		}
		item.ID = id
	}
	for _, t := range strings.Fields(typeOf.Value()) {
		if t = s.name(t); !r.charge(len(t)) {
			return nil, false
		}
		item.Types = append(item.Types, t)
	}
	return item, true
}

// addTop adds a top-level item.
func (r *rdfa) addTop(item *Item) {
	if len(r.page.RDFa) < maxNodes {
		r.page.RDFa = append(r.page.RDFa, item)
	}
}

// add adds a property to the item of the scope. inner is the item that the element is itself, nil if it is none.
func (r *rdfa) add(s scope, n html.Node, property, resource html.Attr, inner *Item) bool {
	var names []string
	for name := range strings.FieldsSeq(property.Value()) {
		if name = s.name(name); !slices.Contains(names, name) && len(names) < maxItems {
			names = append(names, name)
		}
	}
	text := ""
	if inner == nil {
		var ok bool
		if text, ok = r.valueOf(n, resource); !ok {
			return false
		}
	} else if len(names) > 1 {
		names = names[:1] // an item has one place
	}
	for _, name := range names {
		if r.values++; r.values > maxValues || !r.charge(len(name)+len(text)) {
			return false
		}
		s.item.Properties = append(s.item.Properties, ItemProperty{Name: name, Text: text, Item: inner})
	}
	return true
}

// name returns a term with its vocabulary, and a prefixed name with that of its prefix.
func (s *scope) name(name string) string {
	prefix, rest, prefixed := strings.Cut(name, ":")
	switch url, declared := s.prefixes[prefix]; {
	case prefixed && declared:
		return url + rest
	case prefixed && prefix == "schema":
		return "http://schema.org/" + rest
	case prefixed:
		return name
	}
	return s.vocab + name
}

// valueOf returns the value of a property that is no item (RDFa 1.1 in HTML): an attribute content, else the URL that the element
// names, else the instant of a time element, else its text. ok is false if it costs too much.
func (r *rdfa) valueOf(n html.Node, resource html.Attr) (value string, ok bool) {
	if a := n.FindAttr(html.AtomContent); !a.IsZero() {
		return r.attribute(a)
	}
	if !resource.IsZero() {
		return r.url(resource)
	}
	if lazy := links.Lazy(n); lazy != "" {
		return r.reference(lazy)
	}
	for _, name := range [...]html.Atom{html.AtomHref, html.AtomSrc, html.AtomData} {
		if a := n.FindAttr(name); !a.IsZero() && (name != html.AtomData || n.Is(html.AtomObject)) {
			return r.url(a)
		}
	}
	if a := n.FindAttr(html.AtomDatetime); !a.IsZero() {
		return r.attribute(a)
	}
	return r.text(n)
}
