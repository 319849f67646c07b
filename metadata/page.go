package metadata

import (
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/selector"
)

// Page is what a page says about itself. It does not change, and may be used by several goroutines at once. It refers to the
// memory of the tree that it was read from. All URLs are absolute; those that cannot be resolved are left out. Texts have their
// white space trimmed and collapsed to single spaces.
type Page struct {
	Title       string // of the title element, else og:title, else twitter:title
	Description string // of <meta name=description>, else og:description, else twitter:description
	Canonical   string // the URL of <link rel=canonical> (RFC 6596), "" without one; og:url is in OpenGraph
	// Published and Modified are the instants that the page names: datePublished and dateModified of a node, or else the
	// properties of articles in OpenGraph (article:published_time), or else other meta elements that are in use for this (date,
	// dc.date.issued …). They are zero if the page names none that can be understood. A time without a zone is taken for UTC.
	Published, Modified time.Time

	Alternates []Alternate // the page in other languages: <link rel=alternate hreflang=…>
	Feeds      []Feed      // <link rel=alternate> with the type of a feed, and rel=feed
	Icons      []Icon      // <link rel=icon>, apple-touch-icon, mask-icon

	Meta      Properties // all meta elements with a name or property, and a content
	OpenGraph Properties // of them: those with a prefix of ogp.me, product, or one that the page declares
	Twitter   Properties // of them: twitter:card and so on
	JSONLD    []Node     // each object of the JSON-LD blocks as it is written, lists taken apart, and @graph not
	Microdata []*Item    // the top-level items
	RDFa      []*Item    // the same for RDFa Lite
	Notes     []Note     // what was repaired or left out
}

// Alternate is the page in another language.
type Alternate struct {
	Language string // as it is written: a language tag (BCP 47) or x-default
	URL      string
}

// Feed is a feed that the page names.
type Feed struct {
	URL, Title string
	Type       string // the media type, in lower case: application/rss+xml, application/atom+xml …; may be ""
}

// Icon is a picture that stands for the page.
type Icon struct {
	URL   string
	Rel   string // icon, apple-touch-icon, apple-touch-icon-precomposed, mask-icon
	Type  string // the media type, as it is written; may be ""
	Sizes string // as it is written: "16x16 32x32", "any"; may be ""
}

// Property is a name and its value.
type Property struct{ Name, Content string }

// Properties are in document order; a name may occur more than once.
type Properties []Property

// Get returns the first value of a property, "" if there is none.
func (p Properties) Get(name string) string {
	for i := range p {
		if p[i].Name == name {
			return p[i].Content
		}
	}
	return ""
}

// All returns all values of a property.
func (p Properties) All(name string) (values []string) {
	for i := range p {
		if p[i].Name == name {
			values = append(values, p[i].Content)
		}
	}
	return values
}

// Syntax is how metadata is written.
type Syntax uint8

// The syntaxes.
const (
	Head      Syntax = iota // meta and link elements
	JSONLD                  // <script type="application/ld+json">
	Microdata               // itemscope and itemprop (HTML standard, section 5)
	RDFa                    // vocab, typeof, property (RDFa Lite 1.1)
)

// String returns the name of the syntax.
func (s Syntax) String() string {
	return [...]string{"head", "JSON-LD", "microdata", "RDFa"}[min(s, RDFa)]
}

// Note says what was repaired in the metadata of a page, or left out.
type Note struct {
	Syntax Syntax
	Offset int    // of the element, in bytes from the begin of the page
	Text   string // for people: "a comma before a closing bracket was left out"
}

// Option gives [Extract] what a page does not say itself.
type Option func(*extractor)

// Charset says which encoding the page was in before it was made UTF-8: in the query of a URL browsers write characters other
// than ASCII in it (URL standard, section 4.4). The default is UTF-8.
func Charset(e charset.Encoding) Option { return func(x *extractor) { x.encoding = e } }

// For names the program for which the page is parsed, which a [Node] is then unmarshalled for: it resolves URLs, knows the date of the
// page, and counts fields.
func For(h selector.Host) Option { return func(x *extractor) { x.origin.host = h } }

// Extract reads the metadata of a page in HTML or XHTML; docURL is where the page came from. It never fails: what cannot
// be read is left out. The Page of another XML document, and of none, is empty.
func Extract(doc *html.Document, docURL string, opts ...Option) *Page {
	page := new(Page)
	if doc == nil || doc.Len() == 0 || doc.IsXML() && !doc.Element().Is(html.AtomHtml) {
		return page
	}
	x := &extractor{doc: doc, encoding: charset.UTF8, page: page, origin: new(origin)}
	for _, opt := range opts {
		if opt != nil {
			opt(x)
		}
	}
	x.origin.encoding = x.encoding
	x.origin.base = sync.OnceValue(func() *urlx.Base { return baseOf(doc, docURL) })
	x.run()
	return page
}

// Nodes iterates over the things that the page describes: the nodes of JSON-LD, with those of each @graph one by one, then
// the items of microdata and of RDFa.
func (p *Page) Nodes() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, block := range p.JSONLD {
			if !block.eachOfGraph(yield, 0) {
				return
			}
		}
		for _, items := range [][]*Item{p.Microdata, p.RDFa} {
			for _, item := range items {
				if !yield(item.Node()) {
					return
				}
			}
		}
	}
}

// TypeOf iterates over the nodes of a type, also those inside of other nodes: first those of [Page.Nodes], in their order,
// each before what is inside of it. The type is a name of schema.org, in its spelling, or the URL of a type of another
// vocabulary: see [Node.Is].
func (p *Page) TypeOf(name string) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for n := range p.Nodes() {
			if !n.eachOfType(name, yield) {
				return
			}
		}
	}
}

// ByID returns the node with an identifier: the @id of JSON-LD, by which nodes name each other, the itemid of microdata, the
// resource of RDFa. A node that has nothing but its identifier is such a name, and is not returned.
func (p *Page) ByID(id string) (Node, bool) {
	for n := range p.Nodes() {
		if found, ok := n.byID(id); ok {
			return found, true
		}
	}
	return Node{}, false
}

// schemaName returns the name of a type or property of schema.org that is written in any of its forms, and other names as
// they are.
func schemaName(name string) string {
	for _, prefix := range [...]string{"https://schema.org/", "http://schema.org/", "https://www.schema.org/", "http://www.schema.org/", "schema:"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			return rest
		}
	}
	return name
}
