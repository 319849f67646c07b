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

// file is a page of the documentation.
type file struct {
	path   string
	source []byte
}

// pythonPages reads the pages of the documentation.
func pythonPages(t testing.TB) (files []file) {
	t.Helper()
	if *pythonDoc == "" {
		t.Skip("no documentation to parse: run this with -args -pythondoc DIR")
	}
	err := filepath.WalkDir(*pythonDoc, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		source, err := os.ReadFile(path)
		files = append(files, file{path, source})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestDocumentation compares the trees of real pages with those of x/net, node by node. Where x/net
// does not follow the standard the page is counted with the reason.
func TestDocumentation(t *testing.T) {
	compared, noted := 0, 0
	reasons := map[string]int{}
	var again html.Document
	files := pythonPages(t)
	for _, f := range files {
		if err := again.Reset(f.source); err != nil {
			t.Errorf("%s: %v", f.path, err)
			continue
		}
		if err := check(&again); err != nil {
			t.Errorf("%s: %v", f.path, err)
		}
		if checkLinkTags(t, &again) {
			noted++
		}
		theirs, why := witnessTree(f.source, &again)
		if why != "" {
			reasons[why]++
			continue
		}
		compared++
		if ours := dump(&again); ours != theirs {
			t.Errorf("%s: the trees differ", f.path)
		}
	}
	t.Logf("%d pages, %d compared; %d know their links", len(files), compared, noted)
	for why, n := range reasons {
		t.Logf("%d not compared: %s", n, why)
	}
	if compared < 100 || noted < 100 {
		t.Errorf("of %d pages only %d were compared, and %d know their links", len(files), compared, noted)
	}
}
