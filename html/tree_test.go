package html_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// treeCase is a case of html5lib's tree construction tests.
type treeCase struct {
	where          string
	data, document string
	fragment       string
	scriptOn       bool
}

// readCases reads a file of cases.
func readCases(t *testing.T, path string) []treeCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []treeCase
	var c *treeCase
	section := ""
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		text = strings.TrimSuffix(text, "\n")
		switch text {
		case "#data":
			cases = append(cases, treeCase{where: fmt.Sprintf("%s:%d", filepath.Base(path), line)})
			c = &cases[len(cases)-1]
			section = text
			continue
		case "#errors", "#new-errors", "#document", "#document-fragment", "#script-on", "#script-off":
			c.scriptOn = c.scriptOn || text == "#script-on"
			section = text
			continue
		}
		switch section {
		case "#data":
			c.data += text + "\n"
		case "#document":
			c.document += text + "\n"
		case "#document-fragment":
			c.fragment = text
		}
	}
	for i := range cases {
		cases[i].data = strings.TrimSuffix(cases[i].data, "\n")
		cases[i].document = strings.TrimRight(cases[i].document, "\n") + "\n"
	}
	return cases
}

// witness returns the folder of the source of golang.org/x/net, which holds the cases.
func witness(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/net").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// parseCase parses the data of a case.
func parseCase(data, fragment string) (*html.Document, error) {
	if fragment == "" {
		return html.Parse([]byte(data))
	}
	context := html.Context{Name: fragment}
	if space, name, ok := strings.Cut(fragment, " "); ok {
		context.Name = name
		context.Namespace = map[string]html.Namespace{"svg": html.SVG, "math": html.MathML}[space]
	}
	return html.ParseFragment([]byte(data), context)
}

// deviations are the cases of x/net that contradict the standard, with the tree of the standard.
var deviations = map[string]string{
	// The states of a document type, sections 13.2.5.53 to 13.2.5.68, know no character references;
	// x/net replaces them.
	`<!DOCTYPE &gt; PUBLIC "&gt;" "&gt;">`: "| <!DOCTYPE &gt; \"&gt;\" \"&gt;\">\n| <html>\n|   <head>\n|   <body>\n",
}

// TestTreeConformance runs the tree construction cases of html5lib and x/net. Left out are those with
// scripts on and those where a script copies the chosen option into selectedcontent.
func TestTreeConformance(t *testing.T) {
	dir := filepath.Join(witness(t), "html", "testdata")
	var files []string
	for _, pattern := range []string{"html5lib-tests/tree-construction/*.dat", "go/*.dat"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no cases in %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	ran, left, noted := 0, 0, 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, c := range readCases(t, file) {
				if c.scriptOn || strings.Contains(c.data, "<selectedcontent>") {
					left++
					continue
				}
				ran++
				doc, err := parseCase(c.data, c.fragment)
				if err != nil {
					t.Errorf("%s: %v", c.where, err)
					continue
				}
				if document, ok := deviations[c.data]; ok {
					c.document = document
				}
				if got := dump(doc); got != c.document {
					t.Errorf("%s: %q in %q\ngot\n%swant\n%s", c.where, c.data, c.fragment, got, c.document)
				}
				if err := check(doc); err != nil {
					t.Errorf("%s: %q: %v", c.where, c.data, err)
				}
				if checkLinkTags(t, doc) {
					noted++
				}
			}
		})
	}
	t.Logf("%d cases run, %d with scripts left out; %d know their links", ran, left, noted)
	if ran < 1700 || noted < 1500 {
		t.Errorf("only %d cases run, and %d know their links", ran, noted)
	}
}

// dump writes a tree as the cases do.
func dump(d *html.Document) string {
	var b strings.Builder
	var walk func(n html.Node, depth int)
	walk = func(n html.Node, depth int) {
		indent := "| " + strings.Repeat("  ", depth)
		switch n.Kind() {
		case html.DoctypeNode:
			t, _ := d.Doctype()
			b.WriteString(indent + "<!DOCTYPE " + t.Name)
			if t.Public != "" || t.System != "" {
				fmt.Fprintf(&b, ` "%s" "%s"`, t.Public, t.System)
			}
			b.WriteString(">\n")
		case html.TextNode:
			fmt.Fprintf(&b, "%s\"%s\"\n", indent, n.Data())
		case html.CommentNode:
			fmt.Fprintf(&b, "%s<!-- %s -->\n", indent, n.Data())
		case html.ElementNode:
			prefix := map[html.Namespace]string{html.SVG: "svg ", html.MathML: "math "}[n.Namespace()]
			fmt.Fprintf(&b, "%s<%s%s>\n", indent, prefix, n.Name())
			type pair struct{ name, value string }
			var attrs []pair
			for a := range n.Attrs() {
				name := a.Name()
				if a.Namespace() != html.NoNamespace {
					space := map[html.Namespace]string{html.XLink: "xlink", html.XML: "xml", html.XMLNS: "xmlns"}[a.Namespace()]
					name = space + " " + a.LocalName()
				}
				attrs = append(attrs, pair{name, a.Value()})
			}
			slices.SortFunc(attrs, func(a, b pair) int { return cmp.Compare(a.name, b.name) })
			for _, a := range attrs {
				fmt.Fprintf(&b, "%s  %s=\"%s\"\n", indent, a.name, a.value)
			}
			if n.Is(html.AtomTemplate) {
				b.WriteString(indent + "  content\n")
				depth++
			}
		}
		if n.Kind() != html.DocumentNode {
			depth++
		}
		for c := n.FirstChild(); !c.IsZero(); c = c.NextSibling() {
			walk(c, depth)
		}
	}
	walk(d.Root(), 0)
	return b.String()
}

// check verifies that links agree with each other and numbers with document order.
func check(d *html.Document) error {
	next := uint32(1)
	var walk func(n html.Node) error
	walk = func(n html.Node) error {
		if n.ID() != next {
			return fmt.Errorf("%s %s has number %d, not %d", n.Kind(), n.Name(), n.ID(), next)
		}
		next++
		var prev html.Node
		for c := n.FirstChild(); !c.IsZero(); c = c.NextSibling() {
			if c.Parent() != n || c.PrevSibling() != prev {
				return fmt.Errorf("%s %s has wrong neighbours", c.Kind(), c.Name())
			}
			if c.Kind() == html.TextNode && (len(c.Data()) == 0 || prev.Kind() == html.TextNode) {
				return fmt.Errorf("text %q is empty or in pieces", c.Data())
			}
			if err := walk(c); err != nil {
				return err
			}
			prev = c
		}
		if n.LastChild() != prev {
			return fmt.Errorf("%s %s has another last child", n.Kind(), n.Name())
		}
		if n.EndID() != next {
			return fmt.Errorf("%s %s ends at %d, not %d", n.Kind(), n.Name(), n.EndID(), next)
		}
		return nil
	}
	if err := walk(d.Root()); err != nil {
		return err
	}
	if d.Len() != int(next)-1 {
		return fmt.Errorf("%d nodes, of which %d are in the tree", d.Len(), next-1)
	}
	return nil
}
