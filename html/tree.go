package html

// builder makes a tree of tags as they are nested, until the rules of the standard are in.
type builder struct {
	d     *Document
	s     scanner
	stack []uint32
}

func (b *builder) run() error {
	d := b.d
	b.stack = append(b.stack, 1)
	for {
		b.s.next()
		s := &b.s
		top := b.stack[len(b.stack)-1]
		switch s.kind {
		case EndToken:
			return nil
		case TextToken:
			if needsDecoding(s.src[s.start:s.end]) {
				at := len(d.side)
				d.side = appendText(d.side, s.src[s.start:s.end], s.textState == DataState || s.textState == RCDATAState, dropNUL)
				d.spans = append(d.spans, span{uint32(at), uint32(len(d.side))})
				b.add(top, node{meta: uint32(TextNode) | flagSide, data: uint32(s.start), end: uint32(len(d.spans) - 1)})
				continue
			}
			b.add(top, node{meta: uint32(TextNode), data: uint32(s.start), end: uint32(s.end)})
		case CommentToken:
			b.add(top, node{meta: uint32(CommentNode), data: uint32(s.start), end: uint32(s.end)})
		case DoctypeToken:
			d.doctype = s.doctype
			b.add(top, node{meta: uint32(DoctypeNode), data: uint32(s.from)})
		case StartTagToken:
			var buf [64]byte
			atom := d.names.intern(appendName(buf[:0], s.src[s.start:s.end]), 0)
			n := node{meta: uint32(atom)<<atomShift | uint32(ElementNode), end: uint32(s.from)}
			if len(s.attrs) > 0 {
				n.data = uint32(len(d.attrs))
				for _, a := range s.attrs {
					m := uint32(d.names.intern(appendName(buf[:0], s.src[a.name:a.nameEnd]), 0)) << atomShift
					d.attrs = append(d.attrs, attr{m | uint32(NoNamespace)<<nsShift, uint32(a.value), uint32(a.valueEnd)})
				}
				d.attrs[len(d.attrs)-1].meta |= attrLast
			}
			id := b.add(top, n)
			switch atom {
			case AtomBr, AtomImg, AtomInput, AtomMeta, AtomLink, AtomHr, AtomBase, AtomArea, AtomWbr, AtomEmbed, AtomSource, AtomTrack, AtomCol:
				continue
			case AtomScript:
				s.state, s.until = ScriptState, "script"
			case AtomStyle:
				s.state, s.until = RawTextState, "style"
			case AtomTitle, AtomTextarea:
				s.state, s.until = RCDATAState, atom.String()
			}
			b.stack = append(b.stack, id)
		case EndTagToken:
			var buf [64]byte
			atom := d.names.lookup(appendName(buf[:0], s.src[s.start:s.end]), 0)
			for i := len(b.stack) - 1; i > 0; i-- {
				if Atom(d.nodes[b.stack[i]].meta>>atomShift) == atom {
					b.stack = b.stack[:i]
					break
				}
			}
		}
	}
}

func (b *builder) add(parent uint32, n node) uint32 {
	d := b.d
	id := uint32(len(d.nodes))
	n.parent = parent
	n.prev = d.nodes[parent].last
	d.nodes = append(d.nodes, n)
	if n.prev != 0 {
		d.nodes[n.prev].next = id
	} else {
		d.nodes[parent].first = id
	}
	d.nodes[parent].last = id
	return id
}
