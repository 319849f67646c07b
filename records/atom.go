package records

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// atomFeed reads the element feed (RFC 4287, and Atom 0.3), of which the entries were taken out.
func (d *feedDocument) atomFeed(root html.Node, base *urlx.Base, f *Feed) {
	f.Kind, f.Version = "atom", strings.TrimSpace(root.Attr("version"))
	if f.Version == "" {
		if f.Version = "1.0"; strings.Contains(root.NamespaceURI(), "purl.org/atom") {
			f.Version = "0.3"
		}
	}
	f.Language = strings.TrimSpace(root.Attr("xml:lang"))
	icon := ""
	for n := range root.Children() {
		if !n.IsElement() || d.spaceOf(n) != core {
			continue
		}
		switch strings.ToLower(n.LocalName()) {
		case "title":
			first(&f.Title, d.atomText(n))
		case "subtitle", "tagline":
			first(&f.Description, d.atomText(n))
		case "link":
			switch href := d.atomLink(n, base); strings.ToLower(strings.TrimSpace(n.Attr("rel"))) {
			case "", "alternate":
				first(&f.URL, href)
			case "self":
				first(&f.FeedURL, href)
			}
		case "rights", "copyright":
			first(&f.Copyright, d.atomText(n))
		case "generator":
			first(&f.Generator, generator(n))
		case "logo":
			first(&f.Image, d.link(n, base))
		case "icon":
			first(&icon, d.link(n, base))
		case "updated", "modified":
			readDate(&f.Updated, text(n), &f.UnreadDate)
		case "published", "issued":
			readDate(&f.Published, text(n), &f.UnreadDate)
		case "author":
			f.Authors = d.appendAuthor(f.Authors, n, base)
		case "category":
			f.Categories = appendText(f.Categories, category(n))
		}
	}
	first(&f.Image, icon)
}

// atomEntry reads an entry.
func (d *feedDocument) atomEntry(entry html.Node, base *urlx.Base, e *Entry) {
	for n := range entry.Children() {
		if !n.IsElement() {
			continue
		}
		space := d.spaceOf(n)
		if space == media {
			var less found
			d.less(n, strings.ToLower(n.LocalName()), space, base, &less)
			first(&e.Image, less.image)
		}
		if space != core {
			continue
		}
		switch strings.ToLower(n.LocalName()) {
		case "id":
			first(&e.ID, text(n))
		case "title":
			first(&e.Title, d.atomText(n))
		case "summary":
			first(&e.Summary, d.atomText(n))
		case "content":
			first(&e.Content, d.atomText(n))
			e.Base = baseURL(d.baseOf(base, n))
		case "link":
			href := d.atomLink(n, base)
			switch strings.ToLower(strings.TrimSpace(n.Attr("rel"))) {
			case "", "alternate":
				first(&e.URL, href)
			case "replies":
				first(&e.Comments, href)
			case "enclosure":
				length, _ := strconv.ParseInt(strings.TrimSpace(n.Attr("length")), 10, 64)
				e.Enclosures = append(e.Enclosures, Enclosure{href, strings.TrimSpace(n.Attr("type")), max(length, 0)})
			}
		case "published", "issued":
			readDate(&e.Published, text(n), &e.UnreadDate)
		case "updated", "modified":
			readDate(&e.Updated, text(n), &e.UnreadDate)
		case "author":
			e.Authors = d.appendAuthor(e.Authors, n, base)
		case "category":
			e.Categories = appendText(e.Categories, category(n))
		}
	}
	if e.Published.IsZero() {
		e.Published = e.Updated
	}
}

// atomText returns a text construct (RFC 4287 §3.1), or content: HTML as it would be written in a page, or text.
func (d *feedDocument) atomText(n html.Node) string {
	kind := strings.ToLower(strings.TrimSpace(n.Attr("type")))
	if isBinary(kind) || strings.EqualFold(strings.TrimSpace(n.Attr("mode")), "base64") { // Atom 0.3 says it by mode
		plain := text(n)
		if b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(plain), "")); err == nil && utf8.Valid(b) {
			return string(b)
		}
		return plain
	}
	if strings.Contains(kind, "xhtml") || kind == "html" {
		var only html.Node
		for c := range n.Children() {
			if c.IsElement() && only.IsZero() && c.LocalName() == "div" {
				only = c
			} else if c.IsElement() || strings.TrimSpace(string(c.Data())) != "" {
				return text(n)
			}
		}
		switch {
		case only.IsZero():
		case kind == "html":
			return text(only)
		default:
			return strings.TrimSpace(only.InnerHTML()) // the div is not part of it (RFC 4287 §3.1.1.3)
		}
	}
	return text(n)
}

// isBinary reports whether content of this type is base64 (RFC 4287 §4.1.3.3).
func isBinary(kind string) bool {
	family, _, ok := strings.Cut(kind, "/")
	if !ok || family == "text" || strings.HasSuffix(kind, "xml") {
		return false
	}
	return family != "multipart" && family != "message"
}

// atomLink returns the URL of a link.
func (d *feedDocument) atomLink(n html.Node, base *urlx.Base) string {
	base = d.baseOf(base, n)
	href, ok := n.LookupAttr("href")
	if href = strings.TrimSpace(href); ok && href == "" {
		return baseURL(base)
	}
	return d.resolve(base, href)
}

// generator returns the name of a program, its version and its URL.
func generator(n html.Node) string {
	name := text(n)
	if version := strings.TrimSpace(n.Attr("version")); version != "" {
		name += " " + version
	}
	return strings.TrimSpace(name)
}

// category returns the label of a category, or else its term.
func category(n html.Node) string {
	if label := strings.TrimSpace(n.Attr("label")); label != "" {
		return label
	}
	if term := strings.TrimSpace(n.Attr("term")); term != "" {
		return term
	}
	return text(n)
}

// appendAuthor appends a person construct (RFC 4287 §3.2).
func (d *feedDocument) appendAuthor(list []Person, n html.Node, base *urlx.Base) []Person {
	uri := child(n, "uri")
	first(&uri, child(n, "url")) // Atom 0.3
	p := Person{Name: child(n, "name"), Email: child(n, "email"), URL: d.resolve(d.baseOf(base, n), uri)}
	if p == (Person{}) && !hasElements(n) {
		p = person(text(n))
	}
	if p == (Person{}) {
		return list
	}
	return append(list, p)
}
