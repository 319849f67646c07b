package metadata

import (
	"maps"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// readHead reads the elements title, meta and link. Browsers put what does not belong into a head into the body, and pages have such
// elements there: they count wherever they are.
func (x *extractor) readHead() {
	p := x.page
	if x.found.title != 0 {
		p.Title, _ = x.text(x.doc.Node(x.found.title))
	}
	x.readMetas()
	for _, id := range x.found.links {
		if !x.readLink(x.doc.Node(id)) {
			x.note(Head, x.doc.Node(id), "this and all further links were left out: the page has too many")
			break
		}
	}
	for _, name := range [...]string{"og:", "twitter:"} {
		if p.Title == "" {
			p.Title = collapse(p.Meta.Get(name + "title"))
		}
	}
	for _, name := range [...]string{"description", "og:description", "twitter:description"} {
		if p.Description == "" {
			p.Description = collapse(p.Meta.Get(name))
		}
	}
}

func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// prefixes are the vocabularies of https://ogp.me, and one that pages have without declaring it.
var prefixes = [...]string{"og", "article", "book", "music", "profile", "video", "product"}

func (x *extractor) readMetas() {
	p := x.page
	if len(x.found.metas) == 0 {
		return
	}
	declared := x.declaredPrefixes()
	property := x.doc.LookupAtom("property")
	for _, id := range x.found.metas {
		n := x.doc.Node(id)
		content := n.FindAttr(html.AtomContent)
		if content.IsZero() {
			continue
		}
		if len(p.Meta) == maxNodes {
			x.note(Head, n, "this and all further meta elements were left out: the page has too many")
			return
		}
		value := content.Value()
		own := ""
		if property != 0 {
			own = strings.TrimSpace(n.FindAttr(property).Value())
		}
		name := strings.TrimSpace(n.FindAttr(html.AtomName).Value())
		if own != "" {
			x.addMeta(own, value, declared)
		}
		if name != "" && name != own {
			x.addMeta(name, value, declared)
		}
	}
}

// addMeta takes a property. The names that this package knows are in lower case; those of OpenGraph are not, by accident.
func (x *extractor) addMeta(name, content string, declared map[string]string) {
	p := x.page
	prefix, _, hasPrefix := strings.Cut(name, ":")
	switch lower := strings.ToLower(prefix); {
	case !hasPrefix:
		if strings.EqualFold(name, "description") {
			name = "description"
		}
	case lower == "twitter":
		p.Twitter = append(p.Twitter, Property{name, content})
	default:
		if isOpenGraph(lower) || declared[prefix] != "" {
			p.OpenGraph = append(p.OpenGraph, Property{name, content})
		}
	}
	p.Meta = append(p.Meta, Property{name, content})
}

func isOpenGraph(prefix string) bool {
	for _, known := range prefixes {
		if prefix == known {
			return true
		}
	}
	return false
}

// declaredPrefixes returns what the attributes prefix of html and head declare.
func (x *extractor) declaredPrefixes() map[string]string {
	atom := x.doc.LookupAtom("prefix")
	if atom == 0 {
		return nil
	}
	root := x.doc.Element()
	declared := parsePrefixes(nil, root.FindAttr(atom).Value())
	for c := range root.Children() {
		if c.Is(html.AtomHead) {
			declared = parsePrefixes(declared, c.FindAttr(atom).Value())
		}
	}
	return declared
}

// parsePrefixes adds the pairs of an attribute prefix to a copy of outer: "og: http://ogp.me/ns# fb: http://ogp.me/ns/fb#". Some
// pages have no space in them.
func parsePrefixes(outer map[string]string, value string) map[string]string {
	if strings.TrimSpace(value) == "" {
		return outer
	}
	all := maps.Clone(outer)
	if all == nil {
		all = map[string]string{}
	}
	name := ""
	for field := range strings.FieldsSeq(value) {
		switch before, after, ok := strings.Cut(field, ":"); {
		case name != "":
			all[name], name = field, ""
		case ok && after != "":
			all[before] = after
		case ok:
			name = before
		}
		if len(all) >= maxItems {
			break
		}
	}
	return all
}

// readLink takes a link element. It returns false if there are too many.
func (x *extractor) readLink(n html.Node) bool {
	p := x.page
	// Commas separate words, too, as in the links of package links.
	rels := strings.Fields(strings.ReplaceAll(strings.ToLower(n.FindAttr(html.AtomRel).Value()), ",", " "))
	if len(rels) == 0 {
		return true
	}
	href := n.FindAttr(html.AtomHref).Value()
	var alternate, feed, style bool
	var seen []string // the icons, and whether it is canonical
	for _, rel := range rels {
		switch rel {
		case "canonical", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon":
			if slices.Contains(seen, rel) {
				continue
			}
			seen = append(seen, rel)
		}
		switch rel {
		case "canonical":
			if p.Canonical == "" {
				p.Canonical, _ = x.link(href)
			}
		case "alternate":
			alternate = true
		case "feed":
			feed = true
		case "stylesheet":
			style = true
		case "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon":
			if url, ok := x.link(href); ok {
				p.Icons = append(p.Icons, Icon{URL: url, Rel: rel, Type: n.FindAttr(html.AtomType).Value(), Sizes: n.FindAttr(html.AtomSizes).Value()})
			}
		}
	}
	if (alternate || feed) && !style { // an alternative style sheet is something else
		x.readAlternate(n, href, feed)
	}
	return max(len(p.Icons), len(p.Feeds), len(p.Alternates)) < maxNodes && x.work > 0
}

// readAlternate takes a link to the page in another form. One in another language may be a feed as well.
func (x *extractor) readAlternate(n html.Node, href string, feed bool) {
	p := x.page
	url, ok := x.link(href)
	if !ok {
		return
	}
	media, _, _ := strings.Cut(strings.ToLower(n.FindAttr(html.AtomType).Value()), ";")
	media = strings.TrimSpace(media)
	switch media {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json":
		feed = true
	}
	if feed {
		p.Feeds = append(p.Feeds, Feed{URL: url, Title: collapse(n.FindAttr(html.AtomTitle).Value()), Type: media})
		return
	}
	if language := strings.TrimSpace(n.FindAttr(html.AtomHreflang).Value()); language != "" {
		p.Alternates = append(p.Alternates, Alternate{Language: language, URL: url})
	}
}
