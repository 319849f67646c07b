package html_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

var pythonDoc = flag.String("pythondoc", "", "a folder of documentation in HTML, such as that of Debian's python3.11-doc, /usr/share/doc/python3.11/html")

// TestDocumentation compares the trees of real pages with those of x/net, node by node. Where x/net
// does not follow the standard the page is counted with the reason.
func TestDocumentation(t *testing.T) {
	if *pythonDoc == "" {
		t.Skip("no documentation to parse: run this test with -args -pythondoc DIR")
	}
	pages, compared, noted := 0, 0, 0
	reasons := map[string]int{}
	var again html.Document
	err := filepath.WalkDir(*pythonDoc, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		if err := again.Reset(source); err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		if err := check(&again); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if checkLinkTags(t, &again) {
			noted++
		}
		theirs, why := witnessTree(source, &again)
		if why != "" {
			reasons[why]++
			return nil
		}
		compared++
		if ours := dump(&again); ours != theirs {
			t.Errorf("%s: the trees differ", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pages, %d compared; %d know their links", pages, compared, noted)
	for why, n := range reasons {
		t.Logf("%d not compared: %s", n, why)
	}
	if compared < 100 || noted < 100 {
		t.Errorf("of %d pages only %d were compared, and %d know their links", pages, compared, noted)
	}
}
