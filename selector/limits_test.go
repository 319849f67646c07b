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

// counter grants all memory and counts it.
type counter struct{ bytes int64 }

func (c *counter) Resolve(ref string) (string, error) { return ref, nil }

func (c *counter) Grow(n int64) error {
	c.bytes += n
	return nil
}

// Real pages stay thirty times below the limits that a crawl has by default, a million nodes and a million attributes, and
// five times below the 64 MiB that may be made of one. A bound of 4,000 nodes makes it fail.
func TestH01RealPagesMeetNoLimit(t *testing.T) {
	const most, memory = 1_000_000 / 30, 64 << 20 / 5
	files, err := filepath.Glob(filepath.Join(conformance.Path(t, "article-extraction", "html"), "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	nodes, attributes, bytes := 0, 0, int64(0)
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
		host := &counter{}
		doc := selector.Parse(page, selector.For(host), selector.Bounds(html.MaxNodes(most), html.MaxAttributes(most)))
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
		nodes, attributes, bytes = max(nodes, tree.Len()), max(attributes, count), max(bytes, host.bytes)
		if host.bytes > memory {
			t.Errorf("%s takes %d bytes", filepath.Base(name), host.bytes)
		}
	}
	t.Logf("%d pages: at most %d nodes, %d attributes, %d bytes of memory", len(files), nodes, attributes, bytes)
}
