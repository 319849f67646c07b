package content

import (
	"fmt"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/html/css"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/metadata"
)

// Article is the main text of a page, and what the page says about it. It refers to the tree and the memory of the page, which must
// not be changed as long as it is in use. It may be used by several goroutines at once.
type Article struct {
	Title     string    // without the name of the site; "" if the page has none
	Byline    string    // who wrote it, as the page says it, without "by"; "" if it does not say
	Site      string    // the name of the site, "" if the page does not say it
	Published time.Time // zero if the page does not say it; see [metadata.Page]
	// Language is the language that the page declares, as a tag of BCP 47 (en, pt-BR): the attribute lang, else the meta element
	// content-language, else og:locale. It is "" if the page declares none; package content/language guesses it.
	Language string
	Excerpt  string // the page's description of itself, else the first paragraph, of at most 300 characters
	// Text is the main text with what plain text has of its structure: an empty line between paragraphs, a line for each item of
	// a list and each row of a table, lines of code as they are. Pictures and their captions are left out.
	Text string
	Kind Kind // what the page is: an article, documentation …
	// Confidence says from 0 to 1 how likely it is that the text is whole: 1 for an element that [Main] names. It is no probability, but a
	// number to order pages by, so that those with the lowest ones are looked at first: see [Article.Left].
	Confidence float64
	// Node is the element that the text is in. It may have parts that do not belong to the text, and were left out.
	Node html.Node

	x *extractor
}

// MaxNodes is how many nodes a page may have for [Extract] and [Markdown]; more is a [*TooLargeError]. No page for readers has so many.
// A node takes about 64 bytes while it is read.
const MaxNodes = 1 << 21

// NoTextError says that a page has no main text.
type NoTextError struct {
	URL    string // of the page, as it was given to [Extract]
	Reason string
}

// Error names the page and says why.
func (e *NoTextError) Error() string {
	return fmt.Sprintf("content: %s has no main text: %s", urlx.Redact(e.URL), e.Reason)
}

// TooLargeError says that a page has more than [MaxNodes] nodes.
type TooLargeError struct {
	URL   string // of the page
	Nodes int    // that it has
}

// Error names the page and both numbers.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("content: %s has %d nodes, of %d that a page may have: read parts of it with selectors instead", urlx.Redact(e.URL), e.Nodes, MaxNodes)
}

// Option changes what [Extract], [Markdown] and the methods of an [Article] do. Options that mean nothing to a function are ignored by it.
type Option func(*options)

type options struct {
	encoding              charset.Encoding
	page                  *metadata.Page
	links, tables, images bool
	count                 func(string) int
	overlap               int
	main                  *css.Selector
	mainText              string
	mainErr               error
}

func newOptions(opts []Option) *options {
	o := &options{encoding: charset.UTF8, links: true, tables: true, images: true, count: Tokens}
	for _, opt := range opts {
		if opt != nil {
			opt(o)
		}
	}
	return o
}

// Charset says which encoding the page was in before it was made UTF-8: see [metadata.Charset]. The default is UTF-8.
func Charset(e charset.Encoding) Option { return func(o *options) { o.encoding = e } }

// Metadata has [Extract] take what the page says about itself from there, and not read it again.
func Metadata(page *metadata.Page) Option { return func(o *options) { o.page = page } }

// WithoutLinks leaves the text of links, and drops where they lead to.
func WithoutLinks() Option { return func(o *options) { o.links = false } }

// WithoutTables drops tables, with what is in them.
func WithoutTables() Option { return func(o *options) { o.tables = false } }

// WithoutImages drops pictures from Markdown. Plain text never has them.
func WithoutImages() Option { return func(o *options) { o.images = false } }

// CountTokens says how many tokens a text has for the model that it is meant for. The default is [Tokens].
func CountTokens(count func(text string) int) Option { return func(o *options) { o.count = count } }

// Main has [Extract] take the first element that a CSS selector matches as the one with the text, where a site is known. Inside of it only
// what is no text by its element, its role or its attributes is left out, such as nav, footer and aria-hidden, whatever
// its names say. If it matches nothing, or an element without text, the error of Extract is a [*NoTextError] that names
// it; if it is none, a [*css.SyntaxError].
func Main(selector string) Option {
	compiled, err := css.Compile(selector)
	return func(o *options) { o.main, o.mainText, o.mainErr = compiled, selector, err }
}

// Overlap has each chunk begin with the last sentences of the one before it, if both are cut from one section: with as many whole sentences
// as have at most so many tokens, and at most half of those of a chunk. Headings, code and tables are not repeated. The own text of a chunk
// is shorter by these tokens.
func Overlap(tokens int) Option { return func(o *options) { o.overlap = tokens } }

// extractor reads one page.
type extractor struct {
	doc          *html.Document
	docURL       string
	encoding     charset.Encoding
	info         []info // by the numbers of nodes
	root         uint32
	good         int32  // characters that are in no link
	hasFragments bool   // there are links to places in the page
	hasFormulas  bool   // there may be formulas
	forum        bool   // a discussion, as its microdata say
	tabs         *tabs  // nil for a page without tabs
	permalinks   int    // headings with a link to themselves
	slugs        int    // headings with a place that links lead to, or with an id that is made of their words
	code         int32  // characters of code
	manual       bool   // a page of documentation, a reference or a list, or the element with the text was given
	chosen       uint32 // the element that was given; it and those around it are not judged
	lastText     uint32 // the last text of the element with the text
	word         uint32 // the text that was last found to be no number of a line
	base         *urlx.Base
	buf          []byte
}

// Extract finds the main text of a page that was parsed as HTML; docURL is where the page came from. The error is a [*NoTextError] for a
// page without text, for an XML document and for no document at all, a [*TooLargeError], or what [Main] says. The work
// and the memory are in proportion to the page.
func Extract(doc *html.Document, docURL string, opts ...Option) (*Article, error) {
	o := newOptions(opts)
	chosen, err := o.chosen(doc, docURL)
	if err != nil {
		return nil, err
	}
	x, err := newExtractor(doc, docURL, o, chosen)
	if err != nil {
		return nil, err
	}
	page := o.page
	if page == nil {
		page = metadata.Extract(doc, docURL, metadata.Charset(o.encoding))
	}
	manual := x.isManual(page)
	x.manual = x.chosen != 0 || manual
	kind := x.kind(page, manual)
	x.mark()
	x.rate()
	top := x.chosen
	if top == 0 {
		top = x.pick()
	}
	if top == 0 {
		top = x.body()
	}
	switch {
	case x.chosen != 0:
		x.root = top
	case x.manual:
		x.root = x.hold(top)
	default:
		x.root = x.join(top)
	}
	x.prune(x.root)
	if !x.manual {
		x.pruneTitles(x.root)
	}
	if in := &x.info[x.root]; in.density() > 0.5 && (kind == KindArticle || kind == KindDocumentation) {
		kind = KindList
	}
	a := &Article{Kind: kind, Confidence: x.confidence(), Node: doc.Node(x.root), x: x}
	a.Text = strings.TrimLeft(string(x.write(a.Node, o, false).out), "\n") // the first row of a table may be empty
	switch {
	case a.Text == "" && x.chosen != 0:
		return nil, &NoTextError{docURL, fmt.Sprintf("the element that the selector %q of Main matches has no text for readers", o.mainText)}
	case a.Text == "":
		return nil, &NoTextError{docURL, "no element of it has text for readers"}
	}
	a.describe(page)
	return a, nil
}

// chosen returns the element that [Main] names, the zero Node if there is no such option.
func (o *options) chosen(doc *html.Document, docURL string) (html.Node, error) {
	switch {
	case o.mainErr != nil:
		return html.Node{}, fmt.Errorf("content: the selector of Main: %w", o.mainErr)
	case o.main == nil || doc == nil:
		return html.Node{}, nil
	}
	if found, ok := o.main.First(doc.Root()); ok {
		return found.Node(), nil
	}
	return html.Node{}, &NoTextError{docURL, fmt.Sprintf("the selector %q of Main matches nothing", o.mainText)}
}

// newExtractor measures a page. An element that was chosen is taken for text, and so are those around it.
func newExtractor(doc *html.Document, docURL string, o *options, chosen html.Node) (*extractor, error) {
	switch {
	case doc == nil || doc.Len() == 0 || doc.Element().IsZero():
		return nil, &NoTextError{docURL, "there is no document"}
	case doc.IsXML() && !doc.Element().Is(html.AtomHtml):
		return nil, &NoTextError{docURL, "it is XML other than XHTML"}
	case doc.Len() > MaxNodes:
		return nil, &TooLargeError{docURL, doc.Len()}
	}
	x := &extractor{doc: doc, docURL: docURL, encoding: o.encoding, chosen: chosen.ID(), hasFormulas: mayHaveFormulas(doc.Source()), tabs: findTabs(doc)}
	x.measure()
	return x, nil
}

// body returns the element body, or the one that stands for it.
func (x *extractor) body() uint32 {
	root := x.doc.Element()
	for c := range root.Children() {
		if c.Is(html.AtomBody) || c.Is(html.AtomFrameset) {
			return c.ID()
		}
	}
	return root.ID()
}

// Markdown returns the article as Markdown: CommonMark with the tables, footnotes and strikethrough of GFM. Links and pictures have
// absolute URLs. Headings keep their levels. Characters that would be markup are escaped, so that a reader of GFM gives back the words,
// the links and the structure of the page. A block of code has the language that its page names, an item of a list of
// tasks begins with [x] or [ ]. Terms, titles of notes and the names of tabs, each before its part, are paragraphs in
// bold; what is said of a term is an item of a list. A formula is its TeX, between $ or, displayed, $$, if the page has
// that, else its text. The elements sub and sup stay.
//
// Left out are emphasis that cannot be written in Markdown (in the middle of a word, beside punctuation), links inside of blocks of code,
// and the structure of tables inside of tables. Relative links need a base of at most 4 KiB. A page
// that would be written as more than 8 times its size has the rest of its text without markup.
func (a *Article) Markdown(opts ...Option) string {
	return string(a.x.clone().write(a.Node, newOptions(opts), true).out)
}

// clone returns an extractor for another goroutine.
func (x *extractor) clone() *extractor {
	c := *x
	c.buf = nil
	return &c
}

// Markdown returns any element of an HTML document as Markdown, with all that it has for readers, hidden parts and asides included, but for
// the elements nav and menu inside of it, controls and scripts: see [Article.Markdown]. docURL is where the document
// came from. It returns "" where [Extract] would fail.
func Markdown(n html.Node, docURL string, opts ...Option) string {
	o := newOptions(opts)
	x, err := newExtractor(n.Document(), docURL, o, n)
	if err != nil {
		return ""
	}
	return string(x.write(n, o, true).out)
}

const script = "javascript:"

// maxBase is the longest URL that relative links are resolved with. A page may have a million links, and each would be as long.
const maxBase = 4 << 10

// most returns how many bytes may be written of the page before links, pictures, tables and nesting are left out: many times what any
// page for readers needs. Without that bound a page of a few megabytes could be written as gigabytes.
func (x *extractor) most() int { return 8*len(x.doc.Source()) + 1<<20 }

// url makes a reference absolute; "" for one that is no link.
func (x *extractor) url(ref string) string {
	if ref = strings.TrimSpace(ref); len(ref) >= len(script) && strings.EqualFold(ref[:len(script)], script) {
		return ""
	}
	if x.base == nil {
		base := links.BaseFrom(x.doc, x.docURL)
		parsed, err := urlx.ParseBase(base)
		if err != nil || len(base) > maxBase { // absolute URLs can still be resolved
			parsed, _ = urlx.ParseBase("about:blank")
		}
		x.base = parsed
	}
	if x.encoding != charset.UTF8 {
		ref = string(x.encoding.AppendReference(nil, ref))
	}
	b, err := x.base.Resolve(x.buf[:0], ref)
	if err != nil {
		return ""
	}
	x.buf = b
	return escapeURL(b)
}

// escapeURL returns a URL as the destination of a link has it: what could end it is written as a reference of percent.
func escapeURL(url []byte) string {
	const hex = "0123456789ABCDEF"
	plain := true
	for _, c := range url {
		plain = plain && !unsafeInLink(c)
	}
	if plain {
		return string(url)
	}
	out := make([]byte, 0, len(url)+16)
	for _, c := range url {
		if unsafeInLink(c) {
			out = append(out, '%', hex[c>>4], hex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// unsafeInLink reports whether a byte would need care in the destination of a link, in a table too.
func unsafeInLink(c byte) bool {
	switch c {
	case '(', ')', '<', '>', ' ', '\\', '|', '*', '_', '`', '"', '[', ']':
		return c != '_' && c != '*'
	}
	return c < ' ' || c == 0x7f
}
