package metadata

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/sitemap"
)

// The names of meta elements that say when a page was published and modified, in lower case; the first one that the page has
// and that can be understood counts.
var (
	publishedNames = []string{"article:published_time", "og:published_time", "og:article:published_time", "datepublished", "dc.date.issued", "dcterms.issued",
		"dc.date.created", "dcterms.created", "dc.date", "dcterms.date", "parsely-pub-date", "sailthru.date", "publish-date", "publish_date", "publication_date",
		"pubdate", "date", "citation_publication_date"}
	modifiedNames = []string{"article:modified_time", "og:updated_time", "og:article:modified_time", "article:updated_time", "datemodified", "dc.date.modified",
		"dcterms.modified", "last-modified", "lastmod"}
)

// readDates reads when the page was published and modified.
func (x *extractor) readDates() {
	p := x.page
	x.readNodeDates()
	for _, name := range publishedNames {
		if p.Published.IsZero() {
			p.Published = x.metaDate(name)
		}
	}
	for _, name := range modifiedNames {
		if p.Modified.IsZero() {
			p.Modified = x.metaDate(name)
		}
	}
}

// readNodeDates takes the dates of the first node that has them. What is inside of other nodes has dates of its own: a comment, a
// video.
func (x *extractor) readNodeDates() {
	p := x.page
	take := func(to *time.Time, text string) {
		if to.IsZero() {
			*to, _ = parseTime(text)
		}
	}
	for _, block := range p.JSONLD {
		block.eachOfGraph(func(n Node) bool {
			gjson.Parse(n.raw).ForEach(func(k, v gjson.Result) bool {
				switch k.Str {
				case "datePublished":
					take(&p.Published, v.Str)
				case "dateModified":
					take(&p.Modified, v.Str)
				}
				return true
			})
			return p.Published.IsZero() || p.Modified.IsZero()
		}, 0)
	}
	for _, items := range [...][]*Item{p.Microdata, p.RDFa} {
		for _, item := range items {
			for _, property := range item.Properties {
				switch schemaName(property.Name) {
				case "datePublished":
					take(&p.Published, property.Text)
				case "dateModified":
					take(&p.Modified, property.Text)
				}
			}
		}
	}
}

// metaDate returns the instant that a meta element names, whichever attribute has its name.
func (x *extractor) metaDate(name string) time.Time {
	for _, m := range x.page.Meta {
		if strings.EqualFold(m.Name, name) {
			if t, ok := parseTime(m.Content); ok {
				return t
			}
		}
	}
	for _, id := range x.found.metas { // itemprop outside of an item, as many articles have it
		n := x.doc.Node(id)
		if a := n.FindAttr(html.AtomItemprop); !a.IsZero() && strings.EqualFold(a.Value(), name) {
			if t, ok := parseTime(n.FindAttr(html.AtomContent).Value()); ok {
				return t
			}
		}
	}
	return time.Time{}
}

// parseTime reads an instant. Dates whose day and month could be changed for each other are not understood.
func parseTime(s string) (time.Time, bool) {
	if s = strings.TrimSpace(s); len(s) < 4 {
		return time.Time{}, false
	}
	t, err := sitemap.ParseTime(s)
	return t, err == nil && t.Year() > 0
}
