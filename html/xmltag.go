package html

import (
	"bytes"
	"slices"
)

// binding is the declaration of a namespace (Namespaces in XML 1.0, section 3).
type binding struct {
	prefix Atom
	outer  uint32 // what x.bound had for the prefix before
	space  Namespace
	uri    Atom // of the name of an OtherNamespace
}

// rawSpace says what is known of the namespace of an attribute.
type rawSpace struct {
	prefix []byte // nil: none
	local  []byte
}

// defaultPrefix is the name under which the default namespace is bound. No prefix is like it.
var defaultPrefix = []byte(":")

// startTag takes a start tag or the tag of an empty element.
func (x *xmlParser) startTag() {
	at := x.pos
	if len(x.open) == 1 && x.rooted && x.fault(at, "a second root element") {
		return
	}
	x.rooted = true
	x.pos++
	name := x.name()
	empty := false
	if !x.attributes(&empty) {
		return
	}
	outside := len(x.bindings)
	x.declare()
	space, uri := x.elementSpace(at, name)
	atom := x.intern(name, uri)
	data := x.storeAttrs()
	if x.err != nil {
		return
	}
	id := x.add(uint32(atom)<<atomShift|uint32(space)<<nsShift|uint32(ElementNode), data, uint32(at))
	if empty {
		x.unbind(outside)
		return
	}
	x.open = append(x.open, xmlOpen{id, outside})
	x.count(atom, 1)
}

// attributes takes the attributes of a start tag and its end. It reports false if there is no tag.
func (x *xmlParser) attributes(empty *bool) bool {
	x.attrs = x.attrs[:0]
	src := x.src
	for {
		before := x.pos
		x.skipSpace()
		if x.pos >= len(src) {
			x.fault(before, "a tag does not end")
			return false
		}
		switch c := src[x.pos]; {
		case c == '>':
			x.pos++
			return true
		case c == '/' && x.pos+1 < len(src) && src[x.pos+1] == '>':
			x.pos += 2
			*empty = true
			return true
		case !isXMLName(c, true):
			if x.fault(x.pos, "a character that cannot be in a tag") {
				return false
			}
			x.pos++
			continue
		}
		if x.pos == before && x.fault(x.pos, "no white space before an attribute") {
			return false
		}
		a := rawAttr{name: x.pos}
		x.name()
		a.nameEnd = x.pos
		if !x.value(&a) {
			return false
		}
		if most := x.d.maxAttrs; most > 0 && len(x.attrs) >= most {
			x.err = &LimitError{What: "attributes", Limit: most, Pos: x.pos}
			return false
		}
		x.attrs = append(x.attrs, a)
	}
}

// value takes = and the value of an attribute.
func (x *xmlParser) value(a *rawAttr) bool {
	src := x.src
	a.value, a.valueEnd = x.pos, x.pos
	x.skipSpace()
	if x.pos >= len(src) || src[x.pos] != '=' {
		x.pos = a.nameEnd
		return !x.fault(x.pos, "an attribute without a value")
	}
	x.pos++
	x.skipSpace()
	if x.pos >= len(src) || src[x.pos] != '"' && src[x.pos] != '\'' {
		if x.fault(x.pos, "a value without quotes") {
			return false
		}
		a.value = x.pos
		for x.pos < len(src) && class[src[x.pos]]&endsValue == 0 {
			x.pos++
		}
		a.valueEnd = x.pos
		return true
	}
	quote := src[x.pos]
	x.pos++
	a.value = x.pos
	i := bytes.IndexByte(src[x.pos:], quote)
	if i < 0 {
		x.fault(a.value, "a value does not end")
		x.pos = len(src)
		return false
	}
	x.pos += i
	a.valueEnd = x.pos
	x.pos++
	if i := bytes.IndexByte(src[a.value:a.valueEnd], '<'); i >= 0 && x.fault(a.value+i, "a < in a value") {
		return false
	}
	return true
}

// declare binds the namespaces that the attributes declare and splits the names of the attributes.
func (x *xmlParser) declare() {
	x.spaces = x.spaces[:0]
	for i := range x.attrs {
		a := &x.attrs[i]
		name := x.src[a.name:a.nameEnd]
		s := rawSpace{local: name}
		if at := bytes.IndexByte(name, ':'); at > 0 && at < len(name)-1 {
			s.prefix, s.local = name[:at:at], name[at+1:]
		}
		x.spaces = append(x.spaces, s)
		switch {
		case string(s.prefix) == "xmlns":
			x.bind(a, s.local)
		case string(name) == "xmlns":
			x.bind(a, defaultPrefix)
		}
	}
}

// bind declares a namespace.
func (x *xmlParser) bind(a *rawAttr, prefix []byte) {
	uri := x.src[a.value:a.valueEnd]
	if bytes.ContainsAny(uri, "&\r\n\t") {
		uri, _ = appendXML(nil, uri, true, x.d.entities)
	}
	b := binding{prefix: x.intern(prefix, 0), space: OtherNamespace}
	switch {
	case len(uri) == 0:
		b.space = NoNamespace
		if len(prefix) > 0 && prefix[0] != ':' && x.fault(a.value, "a prefix for no namespace") {
			return
		}
	default:
		for ns, known := range namespaceURIs {
			if known != "" && known == string(uri) {
				b.space = Namespace(ns)
			}
		}
	}
	if isXML := string(prefix) == "xml"; isXML != (b.space == XML) || b.space == XMLNS || string(prefix) == "xmlns" {
		x.fault(a.value, "a reserved prefix or namespace")
		return
	}
	if b.space == OtherNamespace {
		b.uri = x.intern(uri, 0)
	}
	if n := int(b.prefix) + 1; n > len(x.bound) {
		more := n + staticAtoms - len(x.bound)
		x.bound = slices.Grow(x.bound, more)
		x.bound = append(x.bound, make([]uint32, more)...)
	}
	b.outer = x.bound[b.prefix]
	x.bindings = append(x.bindings, b)
	x.bound[b.prefix] = uint32(len(x.bindings))
}

// unbind takes back all declarations but the first n.
func (x *xmlParser) unbind(n int) {
	for len(x.bindings) > n {
		b := &x.bindings[len(x.bindings)-1]
		x.bound[b.prefix] = b.outer
		x.bindings = x.bindings[:len(x.bindings)-1]
	}
}

// space returns the namespace that a prefix is bound to.
func (x *xmlParser) space(prefix []byte) (space Namespace, uri Atom, ok bool) {
	if string(prefix) == "xml" {
		return XML, 0, true
	}
	a := x.d.names.lookup(prefix, 0)
	if int(a) >= len(x.bound) || x.bound[a] == 0 {
		return NoNamespace, 0, false
	}
	b := &x.bindings[x.bound[a]-1]
	return b.space, b.uri, b.space != NoNamespace
}

func (x *xmlParser) elementSpace(at int, name []byte) (space Namespace, uri Atom) {
	prefix := defaultPrefix
	if i := bytes.IndexByte(name, ':'); i > 0 && i < len(name)-1 {
		prefix = name[:i]
	}
	space, uri, ok := x.space(prefix)
	if !ok && prefix[0] != ':' {
		x.fault(at+1, "a prefix that is not declared")
	}
	return space, uri
}

// storeAttrs stores the attributes of the tag and returns the index of the first, 0 if there are none.
func (x *xmlParser) storeAttrs() uint32 {
	if len(x.attrs) == 0 {
		return 0
	}
	d := x.d
	first := len(d.attrs)
	x.seen.begin()
	for i := range x.attrs {
		a, s := &x.attrs[i], &x.spaces[i]
		name := x.src[a.name:a.nameEnd]
		space, uri := NoNamespace, Atom(0)
		switch {
		case string(s.prefix) == "xmlns" || string(name) == "xmlns":
			space = XMLNS
		case s.prefix != nil:
			var ok bool
			if space, uri, ok = x.space(s.prefix); !ok && x.fault(a.name, "a prefix that is not declared") {
				return 0
			}
		}
		atom := x.intern(name, uri)
		d.work++
		if x.seen.add(atom) || x.twice(s, space, uri) {
			if x.fault(a.name, "an attribute appears twice") {
				return 0
			}
			continue
		}
		if raw := x.src[a.value:a.valueEnd]; d.coded && bytes.IndexByte(raw, '&') >= 0 {
			// The value is decoded when it is asked for; what is wrong with it is reported now.
			if _, entity := appendXML(nil, raw, true, d.entities); entity != nil && x.refuse(entity, a.value) {
				return 0
			}
		}
		d.attrs = append(d.attrs, attr{uint32(atom)<<atomShift | uint32(space)<<nsShift, uint32(a.value), uint32(a.valueEnd)})
	}
	if d.maxAttrs > 0 && len(d.attrs)-1 > d.maxAttrs {
		x.err = &LimitError{What: "attributes", Limit: d.maxAttrs, Pos: x.pos}
		return 0
	}
	d.attrs[len(d.attrs)-1].meta |= attrLast
	return uint32(first)
}

// twice reports whether the tag has an attribute with the same local name and namespace already, under
// another prefix (Namespaces in XML 1.0, section 6.3).
func (x *xmlParser) twice(s *rawSpace, space Namespace, uri Atom) bool {
	if s.prefix == nil || space == NoNamespace || space == XMLNS || len(x.attrs) == 1 {
		return false
	}
	if uri == 0 {
		uri = x.intern([]byte(space.URI()), 0)
	}
	return x.seen.add(x.intern(s.local, uri))
}

// endTag takes an end tag.
func (x *xmlParser) endTag() {
	at := x.pos
	x.pos += len("</")
	name := x.name()
	x.skipSpace()
	if x.pos >= len(x.src) || x.src[x.pos] != '>' {
		if x.fault(x.pos, "an end tag does not end") {
			return
		}
		i := bytes.IndexByte(x.src[x.pos:], '>')
		if i < 0 {
			i = len(x.src) - x.pos - 1
		}
		x.pos += i
	}
	x.pos++
	d := x.d
	top := d.nodes[x.open[len(x.open)-1].node].meta
	if len(x.open) > 1 && d.isNamed(Atom(top>>atomShift), name) {
		x.close()
		return
	}
	if x.fault(at, "an end tag that matches no start tag") {
		return
	}
	// Which namespace the name is in cannot be told; the innermost element with the name is meant.
	if a := x.d.names.lookup(name, 0); int(a) < len(x.opened) && x.opened[a] > 0 {
		for {
			top := Atom(d.nodes[x.open[len(x.open)-1].node].meta >> atomShift)
			x.close()
			d.work++
			if d.isNamed(top, name) {
				return
			}
		}
	}
}

// isNamed reports whether an atom has a name.
func (d *Document) isNamed(a Atom, name []byte) bool {
	if a < staticAtoms {
		return a.String() == string(name)
	}
	return string(d.names.bytes(a)) == string(name)
}

// close closes the innermost element.
func (x *xmlParser) close() {
	e := x.open[len(x.open)-1]
	x.open = x.open[:len(x.open)-1]
	x.unbind(e.bindings)
	x.count(Atom(x.d.nodes[e.node].meta>>atomShift), ^uint32(0))
}

// count keeps the number of open elements with a name, whatever their namespace.
func (x *xmlParser) count(a Atom, change uint32) {
	if !x.lenient {
		return
	}
	if a >= staticAtoms && x.d.names.list[a-staticAtoms].space != 0 {
		a = x.intern(x.d.names.bytes(a), 0)
	}
	if int(a) >= len(x.opened) {
		more := int(a) + staticAtoms - len(x.opened)
		x.opened = slices.Grow(x.opened, more)
		x.opened = append(x.opened, make([]uint32, more)...)
	}
	x.opened[a] += change
}
