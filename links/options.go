package links

import (
	"maps"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
)

// Option says which links are found. Options of different kinds must all be met; given twice, one of
// a kind adds to the first: what either allows is allowed. Options can be made once and used for any
// number of pages, also at the same time. Their patterns, names and queries are constants of a
// program as a rule: wrong ones panic when the option is made, or when it is first used. A nil option panics too. In a
// crawl such a panic is the failure of the page.
type Option func(*config)

// IsFollowOption makes it an option of FollowLinks of package tegenaria.
func (Option) IsFollowOption() {}

type config struct {
	everything bool
	inTags     names
	inAttrs    names

	allow, deny               []*pattern
	allowDomains, denyDomains domains
	denyExtensions            []extensions
	skipNoFollow              bool
	text                      []*pattern
	accept                    []func(Link) bool
	process                   func(string) string

	restrictions []restriction
	header       map[string][]string
	encoding     charset.Encoding
	repeats      bool
	most         int // links, 0: any number
	tree         func() *html.Document
}

// plain reports whether the URL alone decides about a link.
func (c *config) plain() bool { return len(c.text) == 0 && len(c.accept) == 0 }

// Allow keeps only the links whose URL, without its fragment, matches one of the regular expressions
// anywhere. They are compiled once, at their first use. [Glob] makes patterns of a simpler kind.
func Allow(patterns ...string) Option {
	compiled := mustCompile(patterns)
	return func(c *config) { c.allow = merge(c.allow, compiled) }
}

// Deny leaves out the links whose URL, without its fragment, matches one of the regular expressions
// anywhere. It takes precedence over Allow.
func Deny(patterns ...string) Option {
	compiled := mustCompile(patterns)
	return func(c *config) { c.deny = merge(c.deny, compiled) }
}

// Domains keeps only the links to these hosts and their subdomains: "example.com" includes
// www.example.com. International names may be written in Unicode.
func Domains(names ...string) Option {
	list := mustDomains(names)
	return func(c *config) { c.allowDomains = merge(c.allowDomains, list) }
}

// DenyDomains leaves out the links to these hosts and to those below them.
func DenyDomains(names ...string) Option {
	list := mustDomains(names)
	return func(c *config) { c.denyDomains = merge(c.denyDomains, list) }
}

// DenyExtensions leaves out the links whose path ends in one of these extensions, such as "pdf" or
// "tar.gz", in any case. Without this option no extension is left out: a path says little about what
// a server sends. [IgnoredExtensions] is a list to begin with.
func DenyExtensions(list ...string) Option {
	set := newExtensions(list)
	return func(c *config) { c.denyExtensions = append(c.denyExtensions, set) }
}

// SkipNoFollow leaves out the links whose rel attribute has "nofollow", between white space or commas.
func SkipNoFollow() Option {
	return func(c *config) { c.skipNoFollow = true }
}

// Text keeps only the links in whose [Link.Text] one of the regular expressions is found.
func Text(patterns ...string) Option {
	compiled := mustCompile(patterns)
	return func(c *config) { c.text = merge(c.text, compiled) }
}

// Accept keeps only the links for which f returns true; of several, all must. f is called in document
// order, after all other options, for each repetition of a URL until one is accepted.
func Accept(f func(Link) bool) Option {
	return func(c *config) { c.accept = append(c.accept, f) }
}

// Process passes the value of each attribute through f, as the page has it but with its character
// references replaced. What f returns is resolved instead; "" means that it is not a link. With it, links that
// scripts make can be found:
//
//	links.Process(func(href string) string {
//		_, rest, _ := strings.Cut(href, "javascript:goTo('")
//		page, _, _ := strings.Cut(rest, "'")
//		return page
//	})
//
// Of several such options the later ones see what the earlier ones return.
func Process(f func(value string) string) Option {
	return func(c *config) {
		before := c.process
		if before == nil {
			c.process = f
			return
		}
		c.process = func(value string) string { return f(before(value)) }
	}
}

// Tags looks for links in these elements instead of a and area; "*" is any element. The attribute is
// href, or those of [Attrs]. Together with [Everything] all URLs of these elements are found.
func Tags(list ...string) Option {
	set := newNames(list)
	return func(c *config) { c.inTags = c.inTags.join(set) }
}

// Attrs looks for links in these attributes of the elements instead of href. One that ends in srcset, a ping and a
// style attribute are read as what they are, so is srcdoc, others as one URL. "*" is any attribute
// that [Everything] knows.
func Attrs(list ...string) Option {
	set := newNames(list)
	return func(c *config) { c.inAttrs = c.inAttrs.join(set) }
}

// Everything finds all URLs, not only those that a reader can click on: link, img, iframe,
// frame, script, form, media and objects, in all attributes that the HTML standard and its
// predecessors give a URL (srcset, poster, action, ping, cite, background, manifest …), also in SVG;
// what scripts load later (data-src, data-lazy-src, data-original, and all attributes that end in srcset);
// meta refresh, the report-uri of a Content-Security-Policy, and the properties of meta elements that
// name pages, pictures and media; the base element; url() and @import in style sheets and style
// attributes; the document in srcdoc; the content of conditional comments, and a document type's private
// system identifier. With [Header], also the header of the response. URLs in plain text and in
// scripts are not searched for.
func Everything() Option {
	return func(c *config) { c.everything = true }
}

// CSS looks for links only in the elements that match one of these selectors, and in their
// descendants: CSS("a.next") finds the links that match, CSS("nav") those inside of an element that matches.
// Elements other than a and area are links only with [Tags], as in Tags("link"), CSS("link[rel=next]"). CSS
// parses the page into a tree, and panics with an *html.LimitError if the page is crafted to exhaust the memory.
func CSS(selectors ...string) Option {
	return restrict(compileCSS, selectors)
}

// XPath looks for links only in the elements that one of these XPath 1.0 expressions finds, and in
// what is inside of them, as [CSS] does. It parses the page into a tree. An expression that takes more work than it
// may panics with an *xpath.WorkError when it is used, a page as with [CSS].
func XPath(exprs ...string) Option {
	return restrict(compileXPath, exprs)
}

// Header adds, together with [Everything], the links in the header of the response that the page came
// with: Link, Refresh, Location and Content-Location. They come first, but not if [CSS] or [XPath] ask
// for a part of the page. A Content-Type of text/css says that the page is a style sheet.
func Header(header map[string][]string) Option {
	return func(c *config) { c.header = header }
}

// Charset says which encoding the page was in before it was made UTF-8: in the query of a URL
// browsers write it (URL standard, section 4.4), so that on a page in ISO-8859-15 "?c=€" is
// "?c=%A4". The default is UTF-8.
func Charset(e charset.Encoding) Option {
	return func(c *config) { c.encoding = e.Output() }
}

// Unique says whether Extract returns each URL once, the default: the first link that was accepted.
// Links that differ only in the fragment have the same URL. Unique(false) returns every link. It
// means nothing to Each.
func Unique(on bool) Option {
	return func(c *config) { c.repeats = !on }
}

// names are names of elements or attributes in lower case.
type names map[string]bool

func newNames(list []string) names {
	n := make(names, len(list))
	for _, name := range list {
		n[strings.ToLower(name)] = true
	}
	return n
}

func (n names) join(other names) names {
	if n == nil {
		return other
	}
	both := maps.Clone(n)
	maps.Copy(both, other)
	return both
}

// has reports whether a name is one of them.
func (n names) has(name []byte) bool { return n[string(name)] || n["*"] }

// merge adds the values of an option to those of an earlier one of the same kind, which stay as they
// are: options are shared.
func merge[S ~[]T, T any](before, list S) S {
	if before == nil {
		return list
	}
	return slices.Concat(before, list)
}

// Bounds bounds the list of links of a page, and the attributes of one tag that are read for it, to so many: [Extract] panics with
// a [*html.LimitError] if there are more. Where options such as [CSS] need a tree of the page, tree makes it, unless it is nil.
func Bounds(most int, tree func() *html.Document) Option {
	return func(c *config) { c.most, c.tree = most, tree }
}
