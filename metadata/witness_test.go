package metadata_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/metadata"
)

var (
	readability = flag.String("readability", "", "the folder of the module codeberg.org/readeck/go-readability, whose test-pages are compared")
	trafilatura = flag.String("trafilatura", "", "the folder of the module github.com/markusmobius/go-trafilatura, whose test-files/comparison are compared")
	verbose     = flag.Int("differences", 0, "so many differences that have no rule are printed in full")
	every       = flag.Int("every", 1, "compare one page of so many; the table of differences is compared for all pages alone")
	update      = flag.Bool("update", false, "write the table of differences anew")
)

// python is Debian's, which finds the extruct of the package python3-extruct.
const python = "/usr/bin/python3"

// realPages returns the pages of both modules.
func realPages(t testing.TB) []string {
	if *readability == "" || *trafilatura == "" {
		t.Skip("the pages are not part of the project: run this with -args -readability DIR -trafilatura DIR")
	}
	var pages []string
	n := 0
	for _, pattern := range []string{filepath.Join(*readability, "test-pages", "*", "source.html"), filepath.Join(*trafilatura, "test-files", "comparison", "*")} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no pages are %s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	return slices.DeleteFunc(pages, func(string) bool {
		n++
		return n%*every != 0
	})
}

// decodedPage reads a page, as UTF-8.
func decodedPage(t testing.TB, path string) ([]byte, *html.Document) {
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := charset.Decode(body, "")
	return text, parsed(t, string(text))
}

// TestExtruct compares what we find in real pages with what extruct finds. Where they differ, a rule has to explain it; testdata has
// the table of the rules that were needed.
func TestExtruct(t *testing.T) {
	pages := realPages(t)
	theirs := extruct(t, pages)
	table := map[string]int{}
	equal, explained := 0, 0
	for i, path := range pages {
		text, doc := decodedPage(t, path)
		c := &comparison{ours: metadata.Extract(doc, site), doc: doc, base: links.Base(text, site), page: theirs[i][0], tree: theirs[i][1]}
		needed, ok := c.rules()
		switch {
		case !ok:
			t.Errorf("%s differs, and no rule says why", path)
			if *verbose > 0 {
				*verbose--
				c.print(t)
			}
		case len(needed) == 0:
			equal++
		default:
			explained++
			for _, rule := range needed {
				table[rule]++
			}
		}
	}
	t.Logf("%d pages are equal, %d differ by the rules in the table, of %d", equal, explained, len(pages))
	if *every > 1 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d pages\n%d equal\n", len(pages), equal)
	for _, rule := range allRules {
		if n := table[rule.name]; n > 0 {
			fmt.Fprintf(&b, "%d %s: %s\n", n, rule.name, rule.why)
		} else {
			t.Errorf("no page needs the rule %q", rule.name)
		}
	}
	const file = "testdata/extruct.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != b.String() {
		t.Errorf("the table is\n%sand %s has\n%s%v", b.String(), file, want, err)
	}
}

// witnessed is what extruct finds in one page.
type witnessed struct {
	JSONLD    any `json:"json-ld"`
	Microdata any `json:"microdata"`
	OpenGraph any `json:"opengraph"`
}

// extruct runs the witness on the pages: for each it finds something in the page and in our tree of it.
func extruct(t *testing.T, pages []string) (found [][2]witnessed) {
	var in, errors bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, path := range pages {
		text, doc := decodedPage(t, path)
		if err := encoder.Encode(map[string]any{"page": string(text), "tree": treeOf(doc.Element()), "base": links.Base(text, site)}); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), python, "testdata/extruct_pages.py")
	command.Stdin, command.Stderr = &in, &errors
	out, err := command.Output()
	if err != nil {
		t.Fatalf("the witness: %v\n%s", err, errors.Bytes())
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var both [2]witnessed
		if err := json.Unmarshal(lines.Bytes(), &both); err != nil {
			t.Fatal(err)
		}
		found = append(found, both)
	}
	if len(found) != len(pages) {
		t.Fatalf("the witness has %d lines for %d pages", len(found), len(pages))
	}
	return found
}

// treeOf returns a tree as the witness reads it. What stands in templates is no part of the page.
func treeOf(n html.Node) any {
	attributes, children := map[string]string{}, []any{}
	for a := range n.Attrs() {
		attributes[a.Name()] = a.Value()
	}
	for c := range n.Children() {
		switch {
		case c.Kind() == html.TextNode:
			children = append(children, string(c.Data()))
		case c.IsElement() && !c.Is(html.AtomTemplate):
			children = append(children, treeOf(c))
		}
	}
	return []any{n.LocalName(), attributes, children}
}

// comparison compares the metadata of one page.
type comparison struct {
	ours       *metadata.Page
	doc        *html.Document
	base       string // of the URLs of the page
	page, tree witnessed
	on         map[string]bool // the rules that hold
}

// rules returns the rules that are needed to make both equal; ok is false if all together do not.
func (c *comparison) rules() (needed []string, ok bool) {
	c.on = map[string]bool{}
	if c.equal() {
		return nil, true
	}
	for _, rule := range allRules {
		c.on[rule.name] = true
	}
	if !c.equal() {
		return nil, false
	}
	for i := len(allRules) - 1; i >= 0; i-- { // the first ones are the better explanations
		name := allRules[i].name
		if c.on[name] = false; !c.equal() {
			c.on[name] = true
			needed = append(needed, name)
		}
	}
	slices.Reverse(needed)
	return needed, true
}

func (c *comparison) equal() bool {
	return c.equalJSONLD() && c.equalMicrodata() && c.equalOpenGraph()
}

// print shows what differs.
func (c *comparison) print(t *testing.T) {
	show := func(what string, ours, theirs any) {
		a, _ := json.MarshalIndent(ours, "", " ")
		b, _ := json.MarshalIndent(theirs, "", " ")
		t.Logf("%s\nours %s\ntheirs %s", what, a, b)
	}
	theirs := c.theirs()
	if !c.equalJSONLD() {
		show("JSON-LD", c.ours.JSONLD, theirs.JSONLD)
	}
	if !c.equalMicrodata() {
		show("microdata", c.ours.Microdata, theirs.Microdata)
	}
	if !c.equalOpenGraph() {
		show("OpenGraph", c.openGraph(), theirs.OpenGraph)
	}
	show("notes", c.ours.Notes, nil)
}

// theirs returns what extruct finds: in the page, or by the rule for that in our tree.
func (c *comparison) theirs() witnessed {
	if c.on[ruleParser] {
		return c.tree
	}
	return c.page
}
