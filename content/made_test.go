package content_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
)

var made = flag.String("made", "", "the folder in which testdata/made/make has had the tools make their pages")

// TestPagesThatToolsMake reads the same text as several tools show it today. It fails if a heading, code, a row of a table or an item of a
// list is missing, if navigation is text, or if the page is not taken for documentation.
func TestPagesThatToolsMake(t *testing.T) {
	if *made == "" {
		t.Skip("tools make the pages: run testdata/made/make DIR, and this with -args -made DIR")
	}
	for tool, page := range map[string]string{
		"Sphinx": "sphinx/html/loom.html", "MkDocs": "mkdocs/html-mkdocs/loom/index.html", "MkDocs, theme of Read the Docs": "mkdocs/html-readthedocs/loom/index.html",
		"MkDocs Material": "mkdocs/html-material/loom/index.html", "Doxygen": "doxygen/html/md_loom.html", "rustdoc": "rustdoc/html/weaver/index.html", "Javadoc": "javadoc/html/Loom.html",
	} {
		source, err := os.ReadFile(filepath.Join(*made, page))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(source), elsewhere) {
			t.Errorf("%s: the page has no navigation", tool)
		}
		doc := whole(t, string(source))
		a, err := content.Extract(doc, "http://a.test/")
		if err != nil {
			t.Errorf("%s: %v", tool, err)
			continue
		}
		conserved(t, tool, doc, a)
		markdown := a.Markdown(content.WithoutLinks()) + "\n"
		for _, want := range []string{
			`(?m)^#+ Menus and patterns$`, `(?m)^#+ Options of the loom$`, `(?m)^#+ First steps$`, "(?m)^ *weave --width 40 scarf.pattern\n *weave --check\n+```$",
			`(?m)^\| Option +\| What it does +\|$`, `(?m)^\| width +\| how wide the cloth is, in threads +\|$`, `(?m)^\| rows +\| after how many rows the loom stops +\|$`,
			`(?m)^- Wind the warp.\n+- Tie the first knot.\n+- Start the loom.$`, "The loom reads a pattern", "A pattern may name other patterns", "If the thread breaks", "Every option has a default",
		} {
			if !regexp.MustCompile(want).MatchString(markdown) {
				t.Errorf("%s: %q is not in\n%s", tool, want, markdown)
			}
		}
		if strings.Contains(markdown, elsewhere) {
			t.Errorf("%s: navigation is text in\n%s", tool, markdown)
		}
		if a.Kind != content.KindDocumentation {
			t.Errorf("%s: the kind is %s", tool, a.Kind)
		}
	}
}
