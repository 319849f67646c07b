package html

import "iter"

// HasLinkTags reports whether [Document.LinkTags] knows the page. It does not know XML, fragments, and
// those few pages in which the parser reads another part as markup than [Tags] does, where the parser
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

// HasBaseTag reports whether there is a base among [Document.LinkTags].
func (d *Document) HasBaseTag() bool { return d.based }

// CanResume reports whether [Tags.Resume] knows how to read on behind the tags of [Document.LinkTags]: where LinkTags knows the
// page, and none of the tags lies in SVG or MathML.
func (d *Document) CanResume() bool { return d.HasLinkTags() && !d.inForeign }

// Resume starts over behind the start tag that has this attribute, one of [Document.LinkTags], in the page that the attribute is
// of: [Tags.End] returns the position behind it, and [Tags.Next] goes to the tag that follows. It reports false, and starts over
// with nothing, if [Document.CanResume] is false or if the attribute has no value.
func (t *Tags) Resume(a Attr) bool {
	if a.i == 0 || !a.doc.CanResume() || a.doc.attrs[a.i].start == a.doc.attrs[a.i].end {
		t.Reset(nil)
		return false
	}
	t.Reset(a.doc.source)
	pos := int(a.doc.attrs[a.i].start)
	quoted := t.s.src[pos-1] == '"' || t.s.src[pos-1] == '\'' // before a value without quotes is = or white space
	if pos = int(a.doc.attrs[a.i].end); quoted {
		pos++
	}
	t.s.attributes(pos) // the builder has found the end of the tag
	t.s.attrs, t.tag = t.s.attrs[:0], 0
	return true
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
			d.based = d.based || role == linkBase
			d.inForeign = d.inForeign || len(b.regions) > 0
		}
	}
}
