package content

import (
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/metadata"
)

const (
	maxExcerpt = 300 // characters
	maxByline  = 120
)

// describe says what the page says about the article.
func (a *Article) describe(page *metadata.Page) {
	node := articleNode(page)
	a.Published = page.Published
	a.Site = first(page.OpenGraph.Get("og:site_name"), node.Get("publisher.name"), page.Meta.Get("application-name"))
	a.Title = a.title(page, node)
	a.Byline = a.byline(page, node)
	a.Language = a.language(page)
	a.Excerpt = page.Description
	if a.Excerpt == "" {
		a.Excerpt = firstParagraph(a.Text, a.Title)
	}
	a.Excerpt = cut(a.Excerpt, maxExcerpt)
}

// articleNode returns the node of the metadata that the article is.
func articleNode(page *metadata.Page) (found metadata.Node) {
	for n := range page.Nodes() {
		for _, name := range n.Types() {
			if strings.HasSuffix(name, "Article") || strings.HasSuffix(name, "Posting") || name == "Recipe" || name == "Report" {
				return n
			}
		}
	}
	return metadata.Node{}
}

// first returns the first text that has a word, in one line.
func first(texts ...string) string {
	for _, s := range texts {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			return s
		}
	}
	return ""
}

// cut cuts a text at a word.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			if space := strings.LastIndexByte(s[:i], ' '); space > i/2 {
				i = space
			}
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// firstParagraph returns the first line of a text that is not its title; the title if there is no other.
func firstParagraph(text, title string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line != title {
			return line
		}
	}
	return title
}

// titleSeparators stand between the title and the name of the site.
var titleSeparators = []string{" | ", " – ", " — ", " - ", " · ", " » ", " « ", " :: ", " • ", " / "}

func (a *Article) title(page *metadata.Page, node metadata.Node) string {
	title := first(node.Get("headline"), page.OpenGraph.Get("og:title"), page.Twitter.Get("twitter:title"), page.Title)
	if heading := a.x.mainHeading(); heading != "" && (title == "" || strings.Contains(title, heading) && utf8.RuneCountInString(heading) >= 15) {
		return heading
	}
	for _, s := range titleSeparators {
		if a.Site != "" {
			if rest, ok := strings.CutSuffix(title, s+a.Site); ok && rest != "" {
				return rest
			}
			if rest, ok := strings.CutPrefix(title, a.Site+s); ok && rest != "" {
				return rest
			}
		}
	}
	for _, s := range titleSeparators { // a short end is the name of the site
		if i := strings.LastIndex(title, s); i > 0 && len(strings.Fields(title[:i])) >= 4 && len(strings.Fields(title[i+len(s):])) <= 3 {
			return title[:i]
		}
	}
	return title
}

// mainHeading returns the text of the only h1 of the page.
func (x *extractor) mainHeading() string {
	found := html.Node{}
	for id := uint32(1); id < uint32(len(x.info)); id++ {
		if x.info[id].flags&dead != 0 {
			id = x.skip(id)
			continue
		}
		if n := x.doc.Node(id); n.Is(html.AtomH1) && x.info[id].text > 0 {
			if !found.IsZero() {
				return ""
			}
			found = n
		}
	}
	if found.IsZero() || x.info[found.ID()].text > 300 {
		return ""
	}
	return x.line(found)
}

// line returns the text of an element in one line of at most 300 characters, without markup and permalinks.
func (x *extractor) line(n html.Node) string {
	var text []byte
	for id := n.ID() + 1; id < x.info[n.ID()].end; id++ {
		in := &x.info[id]
		c := x.doc.Node(id)
		switch {
		case in.flags&(dead|dropped) != 0:
			id = x.skip(id)
		case c.Kind() == html.TextNode:
			text = append(text, c.Data()...)
		case in.flags&block != 0 || c.Is(html.AtomBr):
			text = append(text, ' ')
		}
	}
	return cut(strings.Join(strings.Fields(string(text)), " "), maxExcerpt)
}

func (a *Article) byline(page *metadata.Page, node metadata.Node) string {
	author := node.Get("author.name")
	if author == "" {
		var names []string
		for _, s := range [...]string{"author.#.name", "author"} {
			if list := node.Get(s); strings.HasPrefix(list, `["`) {
				names = strings.Split(strings.Trim(list, `[]"`), `","`)
			} else if list != "" && !strings.HasPrefix(list, "{") && !strings.HasPrefix(list, "[") && !strings.HasPrefix(list, "http") {
				names = []string{list}
			}
			if len(names) > 0 {
				break
			}
		}
		author = strings.Join(names, ", ")
	}
	own := page.OpenGraph.Get("article:author")
	if strings.Contains(own, "://") {
		own = ""
	}
	by := first(author, strings.Join(page.Meta.All("author"), ", "), own, page.Meta.Get("dc.creator"), page.Meta.Get("parsely-author"), a.x.bylineOf(a.Node))
	for _, p := range [...]string{"By ", "by ", "BY ", "Von ", "Par ", "Por "} {
		by = strings.TrimPrefix(by, p)
	}
	return cut(by, maxByline)
}

// bylineOf looks for the element that has the byline: rel=author, itemprop=author, a class byline.
func (x *extractor) bylineOf(root html.Node) string {
	best := ""
	for id := uint32(1); id < uint32(len(x.info)); id++ {
		in := &x.info[id]
		if in.flags&dead != 0 || in.hint&hintComment != 0 {
			id = x.skip(id)
			continue
		}
		if in.text == 0 || in.text > maxByline {
			continue
		}
		n := x.doc.Node(id)
		if !n.IsElement() {
			continue
		}
		rel := n.FindAttr(html.AtomRel)
		if !rel.IsZero() && string(rel.Raw()) == "author" || string(n.FindAttr(html.AtomItemprop).Raw()) == "author" {
			return n.CollapsedText()
		}
		if best == "" && in.hint&hintMeta != 0 && strings.Contains(strings.ToLower(string(n.FindAttr(html.AtomClass).Raw())), "byline") {
			best = n.CollapsedText()
		}
	}
	return best
}

func (a *Article) language(page *metadata.Page) string {
	lang := a.x.doc.Element().FindAttr(html.AtomLang).Value()
	for n := a.Node; lang == "" && n.IsElement(); n = n.Parent() {
		lang = n.FindAttr(html.AtomLang).Value()
	}
	lang = first(lang, page.Meta.Get("content-language"), page.Meta.Get("language"), page.OpenGraph.Get("og:locale"))
	if lang == "" {
		lang = first(a.x.contentLanguage())
	}
	lang, _, _ = strings.Cut(lang, ",")
	lang = strings.ReplaceAll(strings.TrimSpace(lang), "_", "-")
	for i := range len(lang) {
		if c := lang[i]; !isLetter(c) && (c < '0' || c > '9') && c != '-' {
			return ""
		}
	}
	if len(lang) > 35 {
		return ""
	}
	return lang
}

// contentLanguage returns what <meta http-equiv=content-language> says (HTML standard, section 4.2.5.3).
func (x *extractor) contentLanguage() string {
	for c := range x.doc.Element().Children() {
		if !c.Is(html.AtomHead) {
			continue
		}
		for m := range c.Children() {
			if m.Is(html.AtomMeta) && strings.EqualFold(m.FindAttr(html.AtomHttpEquiv).Value(), "content-language") {
				return m.FindAttr(html.AtomContent).Value()
			}
		}
	}
	return ""
}
