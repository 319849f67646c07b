package selector_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/selector"
)

// counting is a host that counts fields, as the engine does.
type counting struct{ sum []selector.FieldCount }

func (c *counting) Resolve(ref string) (string, error) { return "https://shop.example" + ref, nil }

func (c *counting) Extracted(keys []string, counts []selector.FieldCount) {
	if len(c.sum) < len(keys) {
		c.sum = make([]selector.FieldCount, len(keys))
	}
	for i, n := range counts {
		c.sum[i].LookedFor += n.LookedFor
		c.sum[i].Missing += n.Missing
	}
}

type goods struct {
	Title       string   `css:"h1.title" required:"true"`
	SKU         string   `css:".sku"`
	Price       float64  `css:".price"`
	Description string   `css:".description"`
	Tags        []string `css:".tags li"`
	Rating      *float64 `css:".rating"`
}

func goodsByHand(doc *selector.Document) (g goods, err error) {
	g = goods{Title: doc.CSS("h1.title").Text(), SKU: doc.CSS(".sku").Text(), Description: doc.CSS(".description").Text(), Tags: doc.CSS(".tags li").Texts()}
	if g.Title == "" {
		return g, fmt.Errorf("no title")
	}
	if g.Price, err = strconv.ParseFloat(doc.CSS(".price").Text(), 64); err != nil {
		return g, err
	}
	if rating := doc.CSS(".rating").Text(); rating != "" {
		f, err := strconv.ParseFloat(rating, 64)
		if err != nil {
			return g, err
		}
		g.Rating = &f
	}
	return g, nil
}

type entry struct {
	Name string  `css:"h3 a"`
	Link string  `css:"h3 a" attr:"href"`
	Text string  `css:"p"`
	Cost float64 `css:".price"`
}

func entriesByHand(doc *selector.Document, use func(entry)) error {
	for _, li := range doc.CSS("li.entry").All() {
		link := li.CSS("h3 a")
		cost, err := strconv.ParseFloat(li.CSS(".price").Text(), 64)
		if err != nil {
			return err
		}
		use(entry{Name: link.Text(), Link: link.Attr("href"), Text: li.CSS("p").Text(), Cost: cost})
	}
	return nil
}

// sides are the two ways to the same items: by hand, and typed with its fields counted.
func sides(tb testing.TB, kind string) (hand, typed func()) {
	host := &counting{}
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	if kind == "Unmarshal" {
		doc := selector.Parse(product(), selector.For(host))
		return func() {
				_, err := goodsByHand(doc)
				must(err)
			}, func() {
				var g goods
				must(doc.Unmarshal(&g))
			}
	}
	doc := selector.Parse(listing(), selector.For(host))
	n := 0
	use := func(entry) { n++ }
	return func() { must(entriesByHand(doc, use)) }, func() {
		for e, err := range selector.Each[entry](doc, "li.entry") {
			must(err)
			use(e)
		}
	}
}

// BenchmarkTyped compares typed items with the same parser written by hand, by turns: "ratio" is the time of a typed
// one divided by that of the other. The bars are 1.3 for Unmarshal and 1.2 for Each.
func BenchmarkTyped(b *testing.B) {
	for _, kind := range []string{"Unmarshal", "Each"} {
		b.Run(kind, func(b *testing.B) {
			hand, typed := sides(b, kind)
			least := [2]time.Duration{time.Hour, time.Hour} // of a round, so that other programs disturb little
			for b.Loop() {
				for i, f := range []func(){hand, typed} {
					start := time.Now()
					f()
					least[i] = min(least[i], time.Since(start))
				}
			}
			b.ReportMetric(float64(least[1])/float64(least[0]), "ratio")
			b.ReportMetric(float64(least[1]), "typed-ns/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// A typed item takes at most two allocations more than the same parser written by hand; of Each that is for all items together.
func TestTypedAllocations(t *testing.T) {
	if israce.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, kind := range []string{"Unmarshal", "Each"} {
		hand, typed := sides(t, kind)
		byHand, byTags := testing.AllocsPerRun(200, hand), testing.AllocsPerRun(200, typed)
		t.Logf("%s: %v by hand, %v typed", kind, byHand, byTags)
		if byTags > byHand+2 {
			t.Errorf("%s: %v allocations by hand, %v typed", kind, byHand, byTags)
		}
	}
}
