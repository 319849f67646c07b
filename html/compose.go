package html

// Composer builds an HTML document node by node, for trees that come from elsewhere. Its methods add
// to the innermost open element, which is the document at first; Document ends the work. Nothing is
// checked against the rules of parsing: what is composed is what there is. A Composer is not safe for
// concurrent use.
type Composer struct {
	d    *Document
	open []uint32
	err  error
}

// NewComposer returns a composer of an empty document. Only the option [MaxNodes] counts; there is no
// limit by default.
func NewComposer(options ...Option) *Composer {
	c := &Composer{d: &Document{}}
	c.err = c.d.set(options)
	c.d.empty()
	c.d.coded, c.d.unlike = true, true
	c.open = append(c.open, 1)
	return c
}

// add makes a new node the last child of the innermost open element.
func (c *Composer) add(meta, data, end uint32) {
	limit := c.d.maxNodes
	if limit <= 0 {
		limit = mostNodes
	}
	switch {
	case c.err != nil:
	case c.d.Len() >= limit:
		c.err = &LimitError{What: "nodes", Limit: limit, Pos: len(c.d.source)}
	case len(c.d.source)+len(c.d.side) > maxSource:
		c.err = &LimitError{What: "bytes", Limit: maxSource, Pos: len(c.d.source)}
	default:
		c.d.addLast(c.open[len(c.open)-1], meta, data, end)
	}
}

// Open adds an element and makes it the innermost open one.
func (c *Composer) Open(ns Namespace, name string) {
	before := len(c.d.nodes)
	c.add(elementMeta(c.intern(name), ns), 0, uint32(len(c.d.source)))
	if len(c.d.nodes) > before {
		c.open = append(c.open, uint32(before))
	} else {
		c.open = append(c.open, c.open[len(c.open)-1])
	}
}

// Close closes the innermost open element. The document itself stays open.
func (c *Composer) Close() {
	if len(c.open) > 1 {
		c.open = c.open[:len(c.open)-1]
	}
}

// Attr adds an attribute to the element that was opened last. It has to come before the next node.
// The name of an attribute in a namespace has the prefix.
func (c *Composer) Attr(ns Namespace, name, value string) {
	d := c.d
	id := c.open[len(c.open)-1]
	if c.err != nil || int(id) != len(d.nodes)-1 || id == 1 {
		return
	}
	start := len(d.source)
	// What is kept is a source, in which some bytes stand for others.
	for i := range len(value) {
		switch b := value[i]; b {
		case '&':
			d.source = append(d.source, "&amp;"...)
		case '\r':
			d.source = append(d.source, "&#13;"...)
		default:
			d.source = append(d.source, b)
		}
	}
	n := &d.nodes[id]
	if n.data == 0 {
		n.data = uint32(len(d.attrs))
	} else {
		d.attrs[len(d.attrs)-1].meta &^= attrLast
	}
	meta := uint32(c.intern(name))<<atomShift | uint32(ns)<<nsShift | attrLast
	d.attrs = append(d.attrs, attr{meta, uint32(start), uint32(len(d.source))})
}

func (c *Composer) intern(name string) Atom {
	a := c.d.names.intern([]byte(name), 0)
	if a == 0 && c.err == nil {
		c.err = &LimitError{What: "names", Limit: maxAtom, Pos: len(c.d.source)}
	}
	return a
}

// Text adds a text.
func (c *Composer) Text(text string) { c.data(TextNode, text) }

// Comment adds a comment.
func (c *Composer) Comment(text string) { c.data(CommentNode, text) }

func (c *Composer) data(kind Kind, text string) {
	d := c.d
	at := uint32(len(d.side))
	d.side = append(d.side, text...)
	c.add(uint32(kind)|flagSide, uint32(len(d.source)), d.addSpan(textRange{start: at, end: uint32(len(d.side))}))
}

// Doctype adds a document type, which decides about quirks. There can be only one.
func (c *Composer) Doctype(t Doctype) {
	d := c.d
	part := func(text string, there bool) span {
		if !there {
			return span{}
		}
		if len(d.source) == 0 {
			d.source = append(d.source, ' ') // a range that starts at 0 is missing
		}
		start := uint32(len(d.source))
		d.source = append(d.source, text...)
		return span{start, uint32(len(d.source))}
	}
	if d.doctype.name.start != 0 {
		return
	}
	d.doctype = rawDoctype{
		name:   part(t.Name, true),
		public: part(t.Public, t.HasPublic),
		system: part(t.System, t.HasSystem),
	}
	d.quirks = d.doctype.quirks(d.source)
	c.add(uint32(DoctypeNode), uint32(d.doctype.name.start), 0)
}

// Document returns the document, or the *LimitError over which it could not be made. The source of the
// document and the positions in it mean nothing. The composer is not to be used afterwards.
func (c *Composer) Document() (*Document, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.d, nil
}
