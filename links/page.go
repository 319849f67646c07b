package links

import (
	"bytes"
	"fmt"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// page reads the links of one page.
type page struct {
	config
	body   []byte
	doc    *html.Document // body, parsed; nil if it was not
	docURL string
	base   *urlx.Base
	tags   tagReader

	yield func(*Ref) bool
	open  []int // where the start tags stand that the restrictions admit, in order

	// onTag is nil, or called at each tag before its links are looked for, and at the end, with what
	// stood before it.
	onTag func(before textKind, more bool)

	kept    int       // bytes of the links that are kept
	made    int       // bytes of all URLs
	opens   bool      // the link that is being yielded has a text
	resumes bool      // the text is read when the link is yielded, behind its tag
	href    html.Attr // of the link that is being yielded, where resumes is set
	traced  bool      // origins are noted
	origins []origin

	element html.Node // of a document in XML, of the link that is being yielded

	nested int             // pages around this one
	z      *html.Tokenizer // for attributes of any name, and comments; nil until then
	list   []attribute

	noted []noted
	texts []byte // of noted

	known  map[string]struct{} // the URLs that were found
	few    []Link              // room for those of most pages, empty between pages
	pieces []byte              // of the text of a link
	arena  []byte              // what is left of it for texts

	buf   []byte // the URL of the last link, with fragment
	query []byte // its reference, with the query in the page's encoding
	ref   Ref

	plainTags *html.Tags // what tags has, kept for the next page
}

type origin struct{ tag, attr string }

// noted is a link that is not looked at yet: its element, and where its href and rel end in page.texts.
type noted struct {
	tag       html.Atom
	href, rel int
}

// place is where a reference stands.
type place struct {
	tag, attr string
	rel       []byte
	text      bool // it is a link with a text
}

// pages are those that were read before: nothing of them is left but memory. What a Ref points to is
// part of it, and so only valid inside of the loop that it was handed out in.
var pages = sync.Pool{New: func() any { return new(page) }}

func newPage(body []byte, docURL string, opts []Option) *page {
	p := pages.Get().(*page)
	p.body = body
	for i, opt := range opts {
		if opt == nil {
			panic(fmt.Sprintf("links: option %d is nil; leave it out", i+1))
		}
		opt(&p.config)
	}
	p.docURL, p.base = docURL, parseDocURL(docURL)
	return p
}

// newParsedPage is newPage for the source of a document.
func newParsedPage(doc *html.Document, docURL string, opts []Option) *page {
	p := newPage(doc.Source(), docURL, opts)
	p.doc = doc
	return p
}

// What is worth keeping for the next page.
const (
	maxKept  = 128 << 10 // bytes of a buffer
	maxKnown = 512       // URLs of a set
	fewLinks = 128       // links of a list
)

func (p *page) release() {
	if p.plainTags != nil {
		p.plainTags.Reset(nil)
	}
	kept := page{plainTags: p.plainTags, few: p.few}
	if cap(p.buf) <= maxKept {
		kept.buf = p.buf[:0]
	}
	if cap(p.texts) <= maxKept && cap(p.noted) <= maxKept/int(unsafe.Sizeof(noted{})) {
		kept.texts, kept.noted = p.texts[:0], p.noted[:0]
	}
	if cap(p.pieces) <= maxKept {
		kept.pieces = p.pieces[:0]
	}
	if len(p.known) <= maxKnown {
		clear(p.known)
		kept.known = p.known
	}
	*p = kept
	pages.Put(p)
}

// each calls yield for each link until it returns false.
func (p *page) each(yield func(*Ref) bool) {
	p.yield = yield
	if p.isXML() {
		p.eachOfXML()
		return
	}
	simple := p.simple() && p.onTag == nil
	if simple && p.doc != nil && p.doc.HasLinkTags() {
		p.eachNoted()
		return
	}
	if !simple {
		_, p.base = documentBase(p.body, p.base, p.docURL)
	}
	switch {
	case len(p.restrictions) > 0:
		p.open = p.admitted()
	case p.everything && !p.inHeader():
		return
	}
	tags := p.reader()
	tags.Reset(p.body)
	p.tags = tagReader{Tags: tags}
	switch {
	case simple:
		p.eachAnchor()
	case p.everything && isStylesheet(p.header):
		p.sheet(p.body, place{tag: "style"})
	case p.everything:
		p.eachOfAll()
	case p.inTags != nil || p.inAttrs != nil:
		for p.next() {
			if !p.tags.IsEnd() && p.admits() && !p.anyElement() {
				return
			}
		}
	default:
		for p.next() {
			if p.isAnchor() && p.admits() && !p.anchor() {
				return
			}
		}
	}
}

// simple reports whether no option is about elements and attributes.
func (p *page) simple() bool {
	return !p.everything && p.inTags == nil && p.inAttrs == nil && len(p.restrictions) == 0
}

// reader returns the reader of tags that the page has, wherever it stands.
func (p *page) reader() *html.Tags {
	if p.plainTags == nil {
		p.plainTags = html.NewTags(nil)
	}
	return p.plainTags
}

// eachAnchor is each for what crawlers ask for most, and nothing more. A base element that comes after a
// link is its base too, so links are only noted until the whole page has been read: that is once, where
// looking for the base first is nearly twice.
func (p *page) eachAnchor() {
	based := false
	for p.tags.Next() {
		if p.tags.IsEnd() && p.tags.templates == 0 {
			continue
		}
		switch p.tags.tag = p.tags.Atom(); p.tags.tag {
		case html.AtomA, html.AtomArea:
			p.note()
		case html.AtomBase:
			if href, ok := p.tags.baseHref(); ok && !based {
				_, p.base = resolveBase(p.base, p.docURL, href)
				based = true
			}
		case html.AtomTemplate:
			p.tags.templates = p.tags.count(p.tags.templates)
		}
	}
	from := 0
	for _, n := range p.noted {
		href, rel := p.texts[from:n.href], p.texts[n.href:n.rel]
		from = n.rel
		if !p.settle(href) {
			continue
		}
		if !p.deliver(place{tag: n.tag.String(), attr: "href", rel: rel, text: n.tag == html.AtomA}) {
			return
		}
	}
}

// eachNoted is eachAnchor for a page whose parser has noted these tags.
func (p *page) eachNoted() {
	if p.doc.HasBaseTag() {
		p.notedBase()
	}
	for tag, attr := range p.doc.LinkTags() {
		if tag == html.AtomBase {
			continue
		}
		href := find(attr, html.AtomHref)
		if href.IsZero() {
			continue
		}
		p.texts = href.AppendTo(p.texts[:0])
		if !p.settle(p.texts) {
			continue
		}
		p.href = href
		rel := find(attr, html.AtomRel).AppendTo(p.texts[:0])
		if !p.deliver(place{tag: tag.String(), attr: "href", rel: rel, text: tag == html.AtomA}) {
			return
		}
	}
}

// notedBase sets the base to that of the first base element that has one.
func (p *page) notedBase() {
	for tag, attr := range p.doc.LinkTags() {
		if tag != html.AtomBase {
			continue
		}
		if href := find(attr, html.AtomHref); !href.IsZero() {
			_, p.base = resolveBase(p.base, p.docURL, href.Value())
			return
		}
	}
}

// find returns the attribute with this name; a is the first attribute of an element.
func find(a html.Attr, name html.Atom) html.Attr {
	for !a.IsZero() && a.Atom() != name {
		a = a.Next()
	}
	return a
}

// note notes the link in the a or area element that was just read, if there is one.
func (p *page) note() {
	href, ok := p.tags.Attr(html.AtomHref)
	if !ok || p.tags.IsEnd() {
		return
	}
	n := noted{tag: p.tags.tag}
	p.texts = append(p.texts, href...)
	n.href = len(p.texts)
	rel, _ := p.tags.Attr(html.AtomRel)
	p.texts = append(p.texts, rel...)
	n.rel = len(p.texts)
	p.limit(len(p.noted), "links")
	p.noted = append(p.noted, n)
}

// next advances to the next tag.
func (p *page) next() bool {
	before := p.tags.text
	more := p.tags.next()
	if p.onTag != nil {
		p.onTag(before, more)
	}
	return more
}

// isAnchor reports whether the tag that was just read begins what a reader can click on.
func (p *page) isAnchor() bool {
	return (p.tags.tag == html.AtomA || p.tags.tag == html.AtomArea) && !p.tags.IsEnd()
}

// anchor looks for a link in the a or area element that was just read. It returns false if yield wants no more.
func (p *page) anchor() bool {
	href, ok := p.tags.Attr(html.AtomHref)
	if !ok || !p.settle(href) {
		return true
	}
	// The reader's next answer may take the place of this one, which is resolved already.
	rel, _ := p.tags.Attr(html.AtomRel)
	return p.deliver(place{tag: p.tags.tag.String(), attr: "href", rel: rel, text: p.tags.tag == html.AtomA})
}

// offer makes a link of a reference and yields it, if all options that are about URLs are for it.
// It returns false if yield wants no more.
func (p *page) offer(ref []byte, at place) bool {
	return !p.settle(ref) || p.deliver(at)
}

// settle sets buf to the URL that a reference means and reports whether it means one.
func (p *page) settle(ref []byte) bool {
	if p.process != nil {
		ref = []byte(p.process(string(ref)))
	}
	return !isBlank(ref) && p.resolve(ref)
}

func isBlank(b []byte) bool {
	for _, c := range b {
		if !isSpace(c) {
			return false
		}
	}
	return true
}

// deliver yields the URL in buf, if all options that are about URLs are for it. It returns false if yield wants no
// more.
func (p *page) deliver(at place) bool {
	p.ref.URL, p.ref.Fragment, _ = bytes.Cut(p.buf, []byte("#"))
	p.ref.Tag, p.ref.Attr, p.ref.Rel, p.ref.NoFollow = at.tag, at.attr, at.rel, noFollow(at.rel)
	if !p.admitsURL() {
		return true
	}
	p.opens = at.text
	return p.yield(&p.ref)
}

// resolve sets buf to the absolute form of ref and reports whether that is http or https.
func (p *page) resolve(ref []byte) bool {
	if p.encoding != charset.UTF8 && !isASCII(ref) {
		p.query = p.encoding.AppendReference(p.query[:0], string(ref))
		ref = p.query
	}
	// The bytes stay as they are until the next call. Only an error of Resolve would hold on to the
	// string, and it is dropped here, so the string need not be a copy.
	url, err := p.base.Resolve(p.buf[:0], unsafe.String(unsafe.SliceData(ref), len(ref)))
	if err != nil {
		return false
	}
	p.buf = url
	if p.made += len(url); p.made > mostMade {
		panic(&SizeError{Limit: mostMade})
	}
	return bytes.HasPrefix(url, []byte("http://")) || bytes.HasPrefix(url, []byte("https://"))
}

// admitsURL applies the options that are about the URL and the rel attribute.
func (p *page) admitsURL() bool {
	url := p.ref.URL
	switch {
	case p.skipNoFollow && p.ref.NoFollow,
		p.allowDomains != nil && !p.allowDomains.match(hostOf(url)),
		p.denyDomains != nil && p.denyDomains.match(hostOf(url)),
		p.allow != nil && !matchAny(p.allow, url),
		p.deny != nil && matchAny(p.deny, url):
		return false
	}
	for _, e := range p.denyExtensions {
		if e.match(url) {
			return false
		}
	}
	return true
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// noFollow reports whether a rel attribute has "nofollow".
func noFollow(rel []byte) bool {
	found := false
	if len(rel) > 0 {
		eachWord(rel, true, func(word []byte) bool {
			found = equalFold(word, "nofollow")
			return !found
		})
	}
	return found
}
