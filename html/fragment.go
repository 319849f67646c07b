package html

// Context is the element whose contents a fragment is: it decides what the parser makes of tags like
// tr and of text. The zero Context is a body.
type Context struct {
	Name       string // of the element, in the case that its namespace has; "" is body
	Namespace  Namespace
	QuirksMode QuirksMode // of the document that the element is in
}

// ParseFragment parses the contents of an element (section 13.4, what innerHTML does). The nodes are
// the children of the document's root. Options and errors are those of [Parse].
func ParseFragment(source []byte, context Context, options ...Option) (*Document, error) {
	d := newDocument()
	if err := d.set(options); err != nil {
		return nil, err
	}
	if err := d.begin(source); err != nil {
		return nil, err
	}
	if err := d.parse(&context); err != nil {
		return nil, err
	}
	return d, nil
}

// startFragment takes the document itself for the html element that the standard makes for a while.
func (b *builder) startFragment(context Context) {
	if context.Name == "" {
		context.Name = "body"
	}
	b.fragment, b.d.unlike = true, true
	b.d.quirks = context.QuirksMode
	b.context, b.contextSpace = LookupAtom(context.Name), context.Namespace

	p := propsOf(AtomHtml, HTML)
	if context.Namespace != HTML {
		// The current node stands in for the context: the adjusted current node.
		p = p&^propHTML | propsOf(b.context, context.Namespace)&(propMathText|propHTMLText|propAnnotation)
	}
	b.stack.root = b.stack.push(1, uint32(AtomHtml)<<1, p)
	b.stack.cur().html = b.stack.root
	if context.Namespace == HTML {
		b.s.enter(b.context)
		b.s.until = "" // no start tag has come, so no end tag is appropriate
		switch b.context {
		case AtomTemplate:
			b.modes = append(b.modes, inTemplateMode)
		case AtomForm:
			b.form = 1
		}
	}
	b.resetMode()
}
