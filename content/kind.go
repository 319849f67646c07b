package content

import (
	"strings"

	"github.com/tegenaria/tegenaria/metadata"
)

// Kind says what a page is.
type Kind string

// The kinds. A page is a [KindProduct] or a [KindForum] only if it says so: by og:type, or by a type of schema.org.
const (
	KindArticle       Kind = "article"       // news, blogs, essays, and what is none of the others
	KindDocumentation Kind = "documentation" // manuals, guides, references, wikis, source code
	KindProduct       Kind = "product"       // of a shop
	KindForum         Kind = "forum"         // a discussion, or a question with answers
	KindList          Kind = "list"          // a table of contents, an index: links have most of the text
)

// kind says what a page is before its text is known: all but a list.
func (x *extractor) kind(page *metadata.Page, manual bool) Kind {
	product, article := strings.HasPrefix(page.OpenGraph.Get("og:type"), "product"), false
	for n := range page.Nodes() {
		for _, name := range n.Types() {
			switch {
			case name == "QAPage", name == "DiscussionForumPosting":
				return KindForum
			case name == "Product":
				product = true
			case strings.HasSuffix(name, "Article"), name == "BlogPosting":
				article = true // with the product that it is about
			}
		}
	}
	switch {
	case x.forum:
		return KindForum
	case product && !article:
		return KindProduct
	case manual:
		return KindDocumentation
	}
	return KindArticle
}

// confidence says from 0 to 1 how likely it is that the text is whole. It is higher the more of the page's text without links the element
// with the text has, and, but for documentation, the more of the element's text reads like prose: the rules may take the rest for no text.
func (x *extractor) confidence() float64 {
	if x.chosen != 0 {
		return 1
	}
	all, in := &x.info[1], &x.info[x.root]
	share := float64(in.text-in.link) / float64(max(all.text-all.link, 1))
	prose := 1.0
	if !x.manual {
		prose = min(1, float64(in.good)/float64(max(in.text, 1)))
	}
	return prose * prose * (1 + share) / 2
}
