package records

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/selector"
)

// Namespaces, as they are known here: by the prefix that is common for each.
const (
	core    = "" // of the feed itself
	atom    = "atom"
	content = "content"
	dc      = "dc"
	itunes  = "itunes"
	media   = "media"
	other   = "?"
)

// spaces are the namespaces by their names, in lower case and without a slash at the end.
var spaces = map[string]string{
	"http://www.w3.org/2005/atom":                          atom,
	"http://purl.org/atom/ns#":                             atom,
	"http://purl.org/rss/1.0":                              core,
	"http://my.netscape.com/rdf/simple/0.9":                core,
	"http://channel.netscape.com/rdf/simple/0.9":           core,
	"http://my.netscape.com/publish/formats/rss-0.91":      core,
	"http://backend.userland.com/rss":                      core,
	"http://backend.userland.com/rss2":                     core,
	"http://blogs.law.harvard.edu/tech/rss":                core,
	"http://www.w3.org/1999/02/22-rdf-syntax-ns#":          core,
	"http://purl.org/rss/1.0/modules/content":              content,
	"http://purl.org/dc/elements/1.1":                      dc,
	"http://purl.org/dc/elements/1.0":                      dc,
	"http://www.itunes.com/dtds/podcast-1.0.dtd":           itunes,
	"http://search.yahoo.com/mrss":                         media,
	"https://search.yahoo.com/mrss":                        media,
	"http://www.w3.org/1999/xhtml":                         other,
	"http://purl.org/dc/terms":                             other,
	"http://purl.org/rss/1.0/modules/syndication":          other,
	"http://purl.org/rss/1.0/modules/slash":                other,
	"http://wellformedweb.org/commentapi":                  other,
	"http://purl.org/syndication/thread/1.0":               other,
	"http://rssnamespace.org/feedburner/ext/1.0":           other,
	"http://www.georss.org/georss":                         other,
	"http://www.w3.org/2003/01/geo/wgs84_pos#":             other,
	"http://backend.userland.com/creativecommonsrssmodule": other,
}

// prefixes are the namespaces of prefixes that are not declared, or declared for a namespace that nobody knows.
var prefixes = map[string]string{"": core, "rss": core, "rdf": core, atom: atom, "atom10": atom, "atom03": atom, content: content, dc: dc, itunes: itunes, media: media}

// spaceOf returns the namespace of an element. In Atom its own one is the core.
func (d *feedDocument) spaceOf(n html.Node) string {
	uri := strings.TrimSuffix(strings.ToLower(n.NamespaceURI()), "/")
	space, known := spaces[uri]
	if !known {
		prefix, _, ok := strings.Cut(n.Name(), ":")
		if !ok {
			prefix = ""
		}
		if space, known = prefixes[strings.ToLower(prefix)]; !known {
			return other
		}
	}
	if d.isAtom && space == atom {
		return core
	}
	return space
}

// readXML reads RSS and Atom.
func (r *feedReader) readXML() error {
	c := newCutter(r.source)
	c.nested, c.keep = false, maxHead
	d := &feedDocument{feedReader: r}
	entry := ""
	c.matches = func() bool {
		if entry == "" { // the root
			switch strings.ToLower(string(c.Name)) {
			case "rss", "rdf":
				entry = "item"
			case "feed":
				entry, d.isAtom = "entry", true
			default:
				entry = "?"
			}
			d.root = strings.ToValidUTF8(string(c.Name[:min(len(c.Name), 40)]), "?")
		}
		prefix := strings.ToLower(string(c.Prefix))
		return strings.EqualFold(string(c.Name), entry) && (prefix == "" || prefixes[prefix] == core && prefix != "" || d.isAtom)
	}
	for headed := 0; ; {
		e, err := c.next()
		switch {
		case entry == "?":
			return r.broken(fmt.Sprintf("<%s> is the root of no feed", d.root), nil)
		case err != nil && !errors.Is(err, io.EOF):
			d.head(c.outside)
			return err
		case err != nil && !c.rooted:
			return r.broken("the document has no elements", nil)
		}
		if len(c.outside) > headed && (headed == 0 || err != nil) { // what came between entries is read at the end
			headed = len(c.outside)
			d.head(c.outside)
		}
		if err != nil {
			return nil
		}
		made, wrong := d.entry(e)
		if err := r.send(made, wrong); err != nil {
			return err
		}
	}
}

// feedDocument is a feed in XML.
type feedDocument struct {
	*feedReader
	isAtom bool
	root   string
	bases  map[baseKey]*urlx.Base // of the elements that were read last: many entries have the same ones around them
}

// baseKey is what the base of an element depends on.
type baseKey struct {
	outside *urlx.Base
	ref     string
}

// head reads what the feed says about itself: all of it but its entries.
func (d *feedDocument) head(source []byte) {
	doc := selector.Parse(source[:len(source):len(source)], selector.XML(), selector.URL(d.URL))
	for n := range doc.Root().Children() {
		if !n.IsElement() {
			continue
		}
		fresh := Feed{raw: raw{element: doc.XPath("/*")}}
		base := d.baseOf(d.base, n)
		if d.isAtom {
			d.atomFeed(n, base, &fresh)
		} else {
			d.rssFeed(n, base, &fresh)
		}
		*d.feed = fresh
		return
	}
}

// entry parses an entry.
func (d *feedDocument) entry(e *element) (*Entry, *Error) {
	switch {
	case e.large:
		return nil, d.tooLarge()
	case !utf8.Valid(e.source):
		return nil, d.wrong(notUTF8, nil)
	}
	selection, wrong := e.selection(d.source)
	if wrong != nil {
		return nil, wrong
	}
	nodes := selection.Nodes()
	if len(nodes) == 0 {
		return nil, d.wrong("it is no element", nil)
	}
	base := d.around(nodes[0], d.base)
	made := &Entry{Feed: d.feed, Base: baseURL(base), raw: raw{element: selection}}
	if d.isAtom {
		d.atomEntry(nodes[0], base, made)
	} else {
		d.rssEntry(nodes[0], base, made)
	}
	return made, nil
}

// around returns what references in an element are resolved against (XML Base).
func (d *feedDocument) around(n html.Node, base *urlx.Base) *urlx.Base {
	if parent := n.Parent(); parent.IsElement() {
		base = d.around(parent, base)
	}
	return d.baseOf(base, n)
}

// baseOf returns the base of an element, outside being that of its parent.
func (d *feedDocument) baseOf(outside *urlx.Base, n html.Node) *urlx.Base {
	ref, ok := n.LookupAttr("xml:base")
	if !ok {
		return outside
	}
	key := baseKey{outside, strings.TrimSpace(ref)}
	base, known := d.bases[key]
	if known {
		return base
	}
	base, err := urlx.ParseBase(d.resolve(outside, key.ref))
	if err != nil {
		base = outside
	}
	if d.bases == nil || len(d.bases) == maxLevels {
		d.bases = make(map[baseKey]*urlx.Base)
	}
	key.ref = strings.Clone(key.ref)
	d.bases[key] = base
	return base
}

func baseURL(base *urlx.Base) string {
	if base == nil {
		return ""
	}
	return base.String()
}

// text returns the text of an element; of one that has elements in it, its markup. Characters that XML does not allow are left out.
func text(n html.Node) string {
	s := ""
	if hasElements(n) {
		s = n.InnerHTML()
	} else {
		s = n.Text()
	}
	if strings.ContainsFunc(s, isControl) {
		s = strings.Map(func(r rune) rune {
			if isControl(r) {
				return -1
			}
			return r
		}, s)
	}
	return strings.TrimSpace(s)
}

func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }

func hasElements(n html.Node) bool {
	for child := range n.Children() {
		if child.IsElement() {
			return true
		}
	}
	return false
}

// child returns the text of the first child of an element that has this local name.
func child(n html.Node, name string) string {
	for c := range n.Children() {
		if c.IsElement() && strings.EqualFold(c.LocalName(), name) {
			return text(c)
		}
	}
	return ""
}

// first sets a value that is not set yet.
func first(to *string, value string) {
	if *to == "" {
		*to = value
	}
}
