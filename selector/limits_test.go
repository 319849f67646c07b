package selector_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/selector"
)

// Real pages stay seven times below the limits that a crawl has by default, 250,000 nodes and attributes. A bound of 4,000 nodes makes
// it fail.
func TestRealPagesMeetNoLimit(t *testing.T) {
	const most = 250_000 / 7
	files, err := filepath.Glob(filepath.Join(conformance.Path(t, "article-extraction", "html"), "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	nodes, attributes := 0, 0
	for _, name := range files {
		packed, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		unpacked, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(unpacked)
		if err != nil {
			t.Fatal(err)
		}
		doc := selector.Parse(page, selector.Bounds(html.MaxNodes(most), html.MaxAttributes(most)))
		if err := doc.Err(); err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
			continue
		}
		doc.CSS("#content .title, p:nth-child(2), a[href]").Texts()
		doc.XPath("//body//p[contains(., 'a')]").GetAll()
		doc.CSS("body").Text()
		tree := doc.Root().Document()
		count := 0
		for n := range doc.Root().Descendants() {
			for range n.Attrs() {
				count++
			}
		}
		nodes, attributes = max(nodes, tree.Len()), max(attributes, count)
	}
	t.Logf("%d pages: at most %d nodes, %d attributes", len(files), nodes, attributes)
}
