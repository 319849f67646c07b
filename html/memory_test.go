package html_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// TestAllocations bounds the allocations of a fresh document and of one that is used again.
func TestAllocations(t *testing.T) {
	for _, s := range sizes {
		src := page(s.size)
		t.Run(s.name, func(t *testing.T) {
			fresh := testing.AllocsPerRun(20, func() {
				if _, err := html.Parse(src); err != nil {
					t.Fatal(err)
				}
			})
			if deep.Checks() && fresh > 10 {
				t.Errorf("%v allocations for a fresh document", fresh)
			}
			var d html.Document
			reset := func() {
				if err := d.Reset(src); err != nil {
					t.Fatal(err)
				}
			}
			reset()
			reset()
			if again := testing.AllocsPerRun(20, reset); deep.Checks() && again != 0 {
				t.Errorf("%v allocations for a document that is used again", again)
			}
		})
	}
}

// TestAccessorsAllocate goes through a document as a query engine does.
func TestAccessorsAllocate(t *testing.T) {
	d := parse(t, string(page(20<<10)))
	count := 0
	if n := testing.AllocsPerRun(10, func() {
		for id := range uint32(d.Len()) {
			n := d.Node(id + 1)
			for a := n.FirstAttr(); !a.IsZero(); a = a.Next() {
				count += len(a.Raw())
			}
			if n.Is(html.AtomA) && !n.FindAttr(html.AtomHref).IsZero() {
				count++
			}
			for c := range n.Children() {
				count += len(c.Data())
			}
			for p := range n.Ancestors() {
				count += int(p.Kind())
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if count == 0 {
		t.Error("nothing was seen")
	}
}

// TestMemory weighs documents against their sources.
func TestMemory(t *testing.T) {
	for _, s := range sizes {
		src := page(s.size)
		t.Run(s.name, func(t *testing.T) {
			docs := make([]*html.Document, 2)
			if deep.Checks() {
				docs = make([]*html.Document, 200)
			}
			before := heap()
			for i := range docs {
				d, err := html.Parse(src)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(d.Source(), src) {
					t.Fatal("the document has another source")
				}
				docs[i] = d
			}
			used := int(heap()-before) / len(docs)
			runtime.KeepAlive(docs)
			t.Logf("%d bytes for a source of %d: %.2f", used, len(src), float64(used)/float64(len(src)))
			if deep.Checks() && used > 3*len(src) {
				t.Errorf("a document of %d bytes takes %d more", len(src), used)
			}
		})
	}
}

// heap returns the bytes of the heap in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
