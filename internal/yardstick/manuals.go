package yardstick

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// ManualPages returns the pages below a folder of documentation, without indexes, in the order of their paths.
func ManualPages(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".html") && !strings.Contains(path, "genindex") {
			paths = append(paths, path)
		}
		return err
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("yardstick: there are no pages below %s", dir)
	}
	return paths, err
}

// contents are the elements that generators of documentation make of a document, and what these have that is no text of it.
var contents = []struct {
	class, id string   // of the element; one is empty
	without   []string // classes and ids inside of it
}{
	{class: "body"}, // Sphinx
	{id: "docContent", without: []string{"navheader", "navfooter"}}, // DocBook of PostgreSQL
	{class: "book"},  // DocBook
	{id: "yui-main"}, // Sphinx with the theme of Django
	{id: "page-content", without: []string{"toplang", "bottomlang", "quickview"}}, // Apache
	{id: "header"}, {id: "content"}, {id: "footnotes"}, // AsciiDoc: one beside the other
}

// marks are the classes of what generators add to a document: links from headings to themselves, numbers of lines.
var marks = []string{"headerlink", "permalink", "linenos", "lineno"}

// ManualText returns the text of the part of a page that its generator made of the document, without links of headings
// to themselves, numbers of lines and the elements nav. It returns "" for a page that has no such part and for one of
// fewer than 100 words.
func ManualText(doc *html.Document) string {
	var text strings.Builder
	for _, part := range manualParts(doc) {
		appendText(&text, part.node, part.without)
		text.WriteByte(' ')
	}
	if s := strings.Join(strings.Fields(text.String()), " "); len(strings.Fields(s)) >= 100 {
		return s
	}
	return ""
}

type manualPart struct {
	node    html.Node
	without []string
}

func manualParts(doc *html.Document) (parts []manualPart) {
	for _, c := range contents {
		if c.id == "content" && len(parts) == 0 || c.id == "footnotes" && len(parts) < 2 { // not of AsciiDoc
			return nil
		}
		for n := range doc.Root().Descendants() {
			if n.IsElement() && (c.class != "" && n.Is(html.AtomDiv) && n.Attr("class") == c.class || c.id != "" && n.Attr("id") == c.id) {
				parts = append(parts, manualPart{n, c.without})
				break
			}
		}
		if len(parts) > 0 && c.id != "header" && c.id != "content" {
			break
		}
	}
	return parts
}

// appendText appends the text of an element; elements other than those inside of a line end a word.
func appendText(text *strings.Builder, n html.Node, without []string) {
	for c := range n.Children() {
		if c.Kind() == html.TextNode {
			text.Write(c.Data())
			continue
		}
		if !c.IsElement() || c.Is(html.AtomScript) || c.Is(html.AtomStyle) || c.Is(html.AtomNav) || c.Is(html.AtomButton) || isOne(c, marks) || isOne(c, without) {
			continue
		}
		inLine := false
		switch c.Atom() {
		case html.AtomA, html.AtomB, html.AtomI, html.AtomEm, html.AtomStrong, html.AtomSpan, html.AtomCode, html.AtomTt, html.AtomKbd, html.AtomSamp,
			html.AtomVar, html.AtomCite, html.AtomDfn, html.AtomAbbr, html.AtomAcronym, html.AtomQ, html.AtomSub, html.AtomSup, html.AtomSmall, html.AtomBig, html.AtomU, html.AtomS, html.AtomFont:
			inLine = true
		}
		if !inLine {
			text.WriteByte(' ')
		}
		appendText(text, c, without)
		if !inLine {
			text.WriteByte(' ')
		}
	}
}

// isOne reports whether an element has one of the names as its id or among its classes.
func isOne(n html.Node, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return n.Attr("id") == name || slices.Contains(strings.Fields(n.Attr("class")), name)
	})
}

// IsContents reports whether links have more than half of the text of a page's document.
func IsContents(doc *html.Document) bool {
	all, linked := 0, 0
	for _, part := range manualParts(doc) {
		all += len(part.node.CollapsedText())
		for a := range part.node.Descendants() {
			if a.Is(html.AtomA) {
				linked += len(a.CollapsedText())
			}
		}
	}
	return 2*linked > all
}
