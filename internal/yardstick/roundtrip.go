package yardstick

import (
	"bytes"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/tegenaria/tegenaria/html"
)

// Facts is what has to be the same in an article and in the HTML that pandoc makes of its Markdown. Each is a list in
// the order of the page.
type Facts struct {
	Words    []string
	Headings []string // level and text
	Links    []string // URLs
	Tables   []string // texts of cells
	Lists    []string // depth and first word of items
	Code     []string // texts of blocks
}

// FactsOf reads the facts of HTML.
func FactsOf(source string) (f Facts) {
	doc := parse(source)
	f.read(doc.Root(), 0, place{})
	f.Words = strings.Fields(collapsed(doc.Root()))
	return f
}

func parse(source string) *html.Document {
	doc, err := html.Parse([]byte(source))
	if err != nil {
		panic(err) // it was made by us or by pandoc
	}
	return doc
}

// place says what a node is in.
type place struct{ table, pre, heading bool }

func (f *Facts) read(n html.Node, depth int, at place) {
	for c := range n.Children() {
		if c.Kind() == html.TextNode {
			continue
		}
		in, down := at, depth
		text := collapsed(c)
		switch a := c.Atom(); {
		case !c.IsElement():
		case a >= html.AtomH1 && a <= html.AtomH6:
			if text != "" && !at.table && !at.heading {
				f.Headings = append(f.Headings, fmt.Sprint(a-html.AtomH1+1, " ", text))
			}
			in.heading = true
		case a == html.AtomA:
			href := c.Attr("href")
			if mail, err := url.PathUnescape(href); err == nil && strings.HasPrefix(href, "mailto:") { // as pandoc has it
				href = mail
			}
			if href != "" && text != "" && !at.pre {
				f.Links = append(f.Links, href)
			}
		case a == html.AtomPre:
			if strings.TrimSpace(c.Text()) != "" && !at.table {
				f.Code = append(f.Code, text)
			}
			in.pre = true
		case a == html.AtomUl, a == html.AtomOl, a == html.AtomDl:
			down++
		case a == html.AtomLi, a == html.AtomDd: // what is said of a term is an item
			if own := firstWord(c); own != "" && !at.table {
				f.Lists = append(f.Lists, fmt.Sprint(depth, " ", own))
			}
		case a == html.AtomTable:
			if cells, ok := dataTable(c); ok {
				f.Tables = append(f.Tables, cells)
				in.table = true
			}
		}
		f.read(c, down, in)
	}
}

// collapsed returns the text of a node in one line, in NFC, as pandoc has it.
func collapsed(n html.Node) string {
	return norm.NFC.String(strings.Join(strings.Fields(n.CollapsedText()), " "))
}

// firstWord returns the first word of an item, "" if it begins with a list.
func firstWord(n html.Node) string {
	for c := range n.Children() {
		if len(Words(collapsed(c))) > 0 {
			if c.Is(html.AtomUl) || c.Is(html.AtomOl) || c.Is(html.AtomDl) && c.FirstChild().Is(html.AtomDd) {
				return ""
			}
			return Words(collapsed(n))[0]
		}
	}
	return ""
}

// dataTable returns the texts of the cells of a table, if it is one of data as package content says.
func dataTable(table html.Node) (cells string, ok bool) {
	columns := 0
	if role := table.Attr("role"); role == "presentation" || role == "none" || strings.Contains(table.Parent().Attr("class"), "admonitionblock") {
		return "", false
	}
	for n := range table.Descendants() {
		switch n.Atom() {
		case html.AtomTable, html.AtomBlockquote, html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6:
			return "", false
		case html.AtomTr:
			count := 0
			for c := range n.Children() {
				if c.Is(html.AtomTd) || c.Is(html.AtomTh) {
					if text := collapsed(c); text != "" {
						cells += "|" + text
					}
					count++
					if s := c.Attr("colspan"); s > "1" {
						count++
					}
				}
			}
			columns = max(columns, count)
		}
	}
	return cells, columns >= 2
}

// Difference says in which facts two pages differ, and from which one on.
type Difference struct {
	Fact      string // words, headings …
	Want, Got int    // how many there are
	Around    string // the place
}

// String says it in three lines.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %d and %d, %s", d.Fact, d.Want, d.Got, d.Around)
}

// RoundTrip compares an article with what pandoc made of its Markdown, both as HTML.
func RoundTrip(article, rendered string) (differences []Difference) {
	if strings.Contains(rendered, `role="doc-endnotes"`) {
		return checkNotes(article, rendered)
	}
	a, b := FactsOf(article), FactsOf(rendered)
	for _, of := range []struct {
		name      string
		want, got []string
	}{{"words", a.Words, b.Words}, {"headings", a.Headings, b.Headings}, {"links", a.Links, b.Links}, {"tables", a.Tables, b.Tables}, {"lists", a.Lists, b.Lists}, {"code", a.Code, b.Code}} {
		if !slices.Equal(of.want, of.got) {
			i := 0
			for i < len(of.want) && i < len(of.got) && of.want[i] == of.got[i] {
				i++
			}
			around := func(l []string) []string { return l[min(max(0, i-3), len(l)):min(len(l), i+4)] }
			differences = append(differences, Difference{of.name, len(of.want), len(of.got),
				fmt.Sprintf("from %d on:\n    %.600q\n    %.600q", i, around(of.want), around(of.got))})
		}
	}
	return differences
}

// checkNotes compares the letters alone, and not their order: pandoc puts the notes at the end, and makes links back, which have no
// letters; those of the page are left out. A note that is named several times pandoc writes as often, and one that another note names not
// at all.
func checkNotes(article, rendered string) []Difference {
	doc := parse(article)
	count, linked, repeated := map[rune]int{}, map[rune]int{}, map[rune]int{} // letters: the numbers of notes stand beside words without a space
	add := func(to map[rune]int, text string, n int) {
		for _, r := range text {
			if unicode.IsLetter(r) {
				to[r] += n
			}
		}
	}
	items := map[string]html.Node{} // that links may lead to
	for n := range doc.Root().Descendants() {
		if id := n.Attr("id"); n.Is(html.AtomLi) && id != "" {
			items[id] = n
		}
	}
	for n := range doc.Root().Descendants() {
		_, to, found := strings.Cut(n.Attr("href"), "#")
		if !n.Is(html.AtomA) || !found {
			continue
		}
		add(linked, collapsed(n), 1)
		for up := n.Parent(); !up.IsZero(); up = up.Parent() {
			if note, ok := items[to]; ok && up.Is(html.AtomLi) && up.Attr("id") != "" && up != note {
				add(linked, collapsed(note), 1)
			}
		}
	}
	notes := map[string]bool{}
	for n := range parse(rendered).Root().Descendants() {
		if n.Is(html.AtomLi) && strings.HasPrefix(n.Attr("id"), "fn") {
			text := collapsed(n)
			if notes[text] {
				add(repeated, text, 1)
			}
			notes[text] = true
		}
	}
	add(count, strings.Join(FactsOf(article).Words, " "), 1)
	add(count, strings.Join(FactsOf(rendered).Words, " "), -1)
	for r, n := range count {
		if n < -repeated[r] || n > linked[r] {
			return []Difference{{Fact: "words", Around: fmt.Sprintf("%d times %q, in a page with notes", n, r)}}
		}
	}
	return nil
}

// Pandoc has the program pandoc make HTML of Markdown.
func Pandoc(program, markdown string) (string, error) {
	cmd := exec.Command(program, "-f", "gfm", "-t", "html", "--wrap=none", "--no-highlight", "--email-obfuscation=none")
	cmd.Stdin = strings.NewReader(markdown)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("yardstick: pandoc: %w: %s", err, stderr.Bytes())
	}
	return string(out), nil
}
