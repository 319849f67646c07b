package xpath_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// shop makes a page of about size bytes that looks like a list of products.
func shop(size int) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><title>Shop</title></head><body><main id="content"><div class="list">`)
	for i := 0; b.Len() < size-40; i++ {
		fmt.Fprintf(&b, `<article class="product card"><h3 class="title"><a href="/p/%d" title="Product %d">Product number %d</a></h3>
<p class="text">Some words about it &amp; <em>why</em> it is good.</p><div class="row"><span class="price">%d.99</span><a class="buy button" href="/buy/%d">Buy</a></div></article>
`, i, i, i, i, i)
	}
	b.WriteString(`</div></main></body></html>`)
	return b.String()
}

var benchExpressions = []struct{ name, expr string }{
	{"name", "//article"},
	{"path", "//article/h3/a/@href"},
	{"class", "//span[@class='price']/text()"},
	{"contains", "//a[contains(@class, 'buy')]"},
	{"text", "//a[contains(., 'number 7')]"},
	{"position", "//article[2]//a[1]"},
	{"reverse", "//span/ancestor::article[1]"},
	{"count", "count(//a)"},
	{"string", "string(//h3)"},
}

func BenchmarkEvaluate(b *testing.B) {
	for _, page := range []struct {
		name string
		size int
	}{{"2KB", 2_000}, {"20KB", 20_000}, {"100KB", 100_000}} {
		doc := parse(b, shop(page.size))
		for _, x := range benchExpressions {
			e := xpath.MustCompile(x.expr)
			b.Run(page.name+"/"+x.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := e.Evaluate(doc.Root().Ref()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		xpath.MustCompile("//div[@class='quote'][position() < 3]/span/a[contains(@href, 'x')]/@href")
	}
}

// TestAllocations checks that an evaluation allocates less than the nodes that it finds.
func TestAllocations(t *testing.T) {
	doc := parse(t, shop(20_000))
	for _, expr := range []string{"//article", "//article/h3/a/@href", "//span[@class='price']/text()", "//a[contains(@class, 'buy')]"} {
		e := xpath.MustCompile(expr)
		found := 0
		allocations := testing.AllocsPerRun(50, func() {
			v, err := e.Evaluate(doc.Root().Ref())
			if err != nil {
				t.Fatal(err)
			}
			found = len(v.Nodes())
		})
		if found < 50 || deep.Checks() && allocations > float64(found)/2 {
			t.Errorf("%s: %v allocations for %d nodes", expr, allocations, found)
		}
	}
}
