package content_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
)

// elsewhere is in each text of navigation of the pages in testdata/tools, and in nothing else.
const elsewhere = "Elsewhere"

// known is what is wrong with a page: what is missing, or navigation that is text.
var known = map[string]string{
	"phpbb": "Code: Elsewhere select", // a link beside code
}

// It fails if a page with the elements and classes of a generator, a wiki, a forum or a shop loses a heading, code, a
// row of a table, an item of a list or a note, if its navigation becomes text, or if its kind is wrong.
func TestPagesOfTools(t *testing.T) {
	paths, err := filepath.Glob("testdata/tools/*.html")
	if err != nil || len(paths) < 19 {
		t.Fatal(len(paths), err)
	}
	wants := []string{
		"## Menus and patterns\n", "## Options of the loom\n", "## First steps\n",
		"weave --width 40 scarf.pattern\nweave --check\n```\n",
		"| Option | What it does |\n| --- | --- |\n| `width` | how wide the cloth is, in threads |\n| `colour` |", "| `rows` | after how many rows the loom stops |",
		"- Wind the warp.\n", "first knot", "- Start the loom.",
		"The loom reads a pattern", "A pattern may name other patterns", "If the thread breaks", "Every option has a default",
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".html")
		doc := whole(t, string(source))
		a, err := content.Extract(doc, "http://a.test/"+name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		conserved(t, name, doc, a)
		kind := content.KindDocumentation
		switch name {
		case "discourse":
			kind = content.KindForum
		case "woocommerce":
			kind = content.KindProduct
		case "phpbb": // it does not say that it is a forum
			kind = content.KindArticle
		}
		if a.Kind != kind {
			t.Errorf("%s: the kind is %s, want %s", name, a.Kind, kind)
		}
		markdown := a.Markdown(content.WithoutLinks()) + "\n"
		for _, want := range wants {
			if name == "phpbb" && (strings.HasPrefix(want, "#") || strings.HasPrefix(want, "|")) { // posts have neither
				continue
			}
			if !strings.Contains(markdown, want) && known[name] != want {
				t.Errorf("%s: %q is not in\n%s", name, want, markdown)
			}
		}
		if strings.Contains(string(source), "Cotton shrinks") && !strings.Contains(markdown, "Cotton shrinks") {
			t.Errorf("%s: the note is not in\n%s", name, markdown)
		}
		if wrong := known[name]; wrong != "" && strings.Contains(markdown, wrong) != strings.HasPrefix(wrong, elsewhere) && name != "phpbb" {
			t.Errorf("%s: %q is right now: it is not to be among those that are known", name, wrong)
		}
		for line := range strings.Lines(markdown) {
			if strings.Contains(line, elsewhere) && known[name] != strings.TrimSpace(line) {
				t.Errorf("%s: navigation is text: %s", name, line)
			}
		}
	}
}
