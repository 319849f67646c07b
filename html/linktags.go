package html

import "iter"

// HasLinkTags reports whether [Document.LinkTags] knows the page. It does not know XML, fragments, and
// those few pages of which the parser read another part as markup than [Tags] does, where the parser
// dropped a tag that links are made of (as in a frameset), or where a base may be in a template.
func (d *Document) HasLinkTags() bool { return !d.xml && !d.unlike }

// LinkTags iterates over the start tags that links are made of, a, area and base, in the order of the
// source: the name and the first attribute of each. They are those that [Tags] finds in the page, with
// nothing read again, and not those of the tree: the parser makes copies of elements, and puts some in
// other places. Left out are tags without attributes, and the base of SVG and of MathML. If
// [Document.HasLinkTags] is false, some may be missing.
func (d *Document) LinkTags() iter.Seq2[Atom, Attr] {
	return func(yield func(Atom, Attr) bool) {
		for i := range d.attrs {
			if role := d.attrs[i].meta & linkMask; role != 0 && !yield(linkNames[role], Attr{d, uint32(i)}) {
				return
			}
		}
	}
}

// What is noted in the first attribute of a start tag that links are made of.
const (
	linkA = 1 + iota
	linkArea
	linkBase

	linkMask = 3
)

var linkNames = [...]Atom{linkA: AtomA, linkArea: AtomArea, linkBase: AtomBase}

// Other start tags that matter for LinkTags.
const (
	opensForeign = 1 << (2 + iota) // svg, math
	opensTemplate
	holdsText // one whose contents are no markup in HTML
)

// roles says what start tags matter for LinkTags, and for what.
var roles = [elementAtoms]uint8{
	AtomA: linkA, AtomArea: linkArea, AtomBase: linkBase,
	AtomSvg: opensForeign, AtomMath: opensForeign, AtomTemplate: opensTemplate,
	AtomTitle: holdsText, AtomTextarea: holdsText, AtomStyle: holdsText, AtomXmp: holdsText, AtomIframe: holdsText,
	AtomNoembed: holdsText, AtomNoframes: holdsText, AtomScript: holdsText, AtomPlaintext: holdsText,
}

// follow does with a start tag, when the tree has it, what Tags does with it, and notes it if links are
// made of it. Its attributes, if they were stored, begin at first.
func (b *builder) follow(tag Atom, first int) {
	isHTML := b.regions.start(&b.s, tag)
	if tag >= elementAtoms {
		return
	}
	d, role := b.d, uint32(roles[tag])
	switch role {
	case holdsText:
		if isHTML != (b.s.state != DataState) {
			d.unlike = true
		}
	case opensTemplate:
		b.templates = b.templates || isHTML
	case linkBase:
		if !isHTML {
			return
		}
		if b.templates {
			d.unlike = true
		}
		fallthrough
	case linkA, linkArea:
		switch {
		case len(b.s.attrs) == 0:
		case len(d.attrs) == first:
			d.unlike = true
		default:
			d.attrs[first].meta |= role
		}
	}
}
