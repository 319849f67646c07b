package yardstick

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// ManualPages returns every eighth page below a folder of documentation, without indexes.
func ManualPages(dir string) (paths []string, err error) {
	n := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".html") && !strings.Contains(path, "genindex") {
			if n++; n%8 == 0 {
				paths = append(paths, path)
			}
		}
		return err
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("yardstick: there are no pages below %s", dir)
	}
	return paths, err
}

// ManualText returns the text of the part of a page that its generator made of the document: div.body of Sphinx, #docContent of DocBook
// without the lines of navigation above and below. It returns "" for a page that has no such part, for one of fewer than 100 words, and
// for a table of contents, of which links have more than half of the text.
func ManualText(doc *html.Document) string {
	if text := manualBody(doc); len(strings.Fields(text)) >= 100 && !isContents(doc) {
		return text
	}
	return ""
}

func manualBody(doc *html.Document) string {
	for n := range doc.Root().Descendants() {
		if n.Is(html.AtomDiv) && n.Attr("class") == "body" {
			return n.CollapsedText()
		}
		if n.IsElement() && n.Attr("id") == "docContent" {
			text := ""
			for c := range n.Children() {
				if class := c.Attr("class"); class != "navheader" && class != "navfooter" {
					text += " " + c.CollapsedText()
				}
			}
			return text
		}
	}
	return ""
}

// isContents reports whether links have more than half of the text of a page's document.
func isContents(doc *html.Document) bool {
	all, linked := 0, 0
	for n := range doc.Root().Descendants() {
		if n.Is(html.AtomDiv) && n.Attr("class") == "body" || n.IsElement() && n.Attr("id") == "docContent" {
			all = len(n.CollapsedText())
			for a := range n.Descendants() {
				if a.Is(html.AtomA) {
					linked += len(a.CollapsedText())
				}
			}
			break
		}
	}
	return 2*linked > all
}
