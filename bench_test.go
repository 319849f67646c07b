//go:build unix

package tegenaria_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The site of the engine's benchmark: on each of its hosts page k links to itself, to its parent, to the
// first page and to seven pages that nobody else links to.
const (
	benchHosts = 8
	benchKnown = 3
	benchNew   = 7
)

type benchItem struct{ Page int }

// benchRefs returns the ten references of a page, in one string.
func benchRefs(prefix string, page int) (refs [benchKnown + benchNew]string) {
	var buf [1024]byte
	var ends [len(refs)]int
	b := buf[:0]
	for i := range refs {
		target := page*benchNew + i - benchKnown + 1
		switch i {
		case 0:
			target = 0
		case 1:
			target = max(page-1, 0) / benchNew
		case 2:
			target = page
		}
		b = strconv.AppendInt(append(b, prefix...), int64(target), 10)
		ends[i] = len(b)
	}
	all, start := string(b), 0
	for i, end := range ends {
		refs[i] = all[start:end]
		start = end
	}
	return refs
}

func benchHasItem(page int) bool { return page%10 < 7 }

// linkedPage is a page that has its links in its HTML.
func linkedPage(page int) []byte {
	b := make([]byte, 0, 512)
	b = append(b, "<!DOCTYPE html><html><head><title>A page</title></head><body>"...)
	for _, ref := range benchRefs("", page) {
		b = append(append(append(b, `<a href="`...), ref...), `">a link</a>`...)
	}
	return append(b, "</body></html>"...)
}

// idleMiddleware does next to nothing.
type idleMiddleware struct{}

func (idleMiddleware) GetPriority() int { return 1 }

func (idleMiddleware) GetName() string { return "idle" }

func (idleMiddleware) ProcessRequest(*tegenaria.Context) error { return nil }

func (idleMiddleware) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error {
	return nil
}

// idleLayer hands on what it is given.
type idleLayer struct{ tegenaria.Downloader }

// BenchmarkEngine measures what the engine costs per page (an op is a page): all of the production path, from the
// cache to the last pipeline, but for the network. cpu-ns/op is the CPU time of the whole process,
// garbage collection and the benchmark's own spider and downloader included.
//
// It runs on one processor, as crawlers are compared: on several there is also what it costs them to share memory and
// to look for work, which depends on the machine. [BenchmarkEngineParallel] is the same on all that there are.
func BenchmarkEngine(b *testing.B) {
	benchEngine(b, 1)
}

func BenchmarkEngineParallel(b *testing.B) { benchEngine(b, runtime.NumCPU()) }

func benchEngine(b *testing.B, processors int) {
	item := func(page int) bool { return benchHasItem(page) }
	output := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[benchItem]) error {
		_, page := enginetest.PageOf(r.URL)
		if item(page) {
			if err := out.Item(benchItem{page}); err != nil {
				return err
			}
		}
		for _, ref := range benchRefs("", page) {
			if err := out.Follow(ref); err != nil {
				return err
			}
		}
		return nil
	})
	b.Run("Output", func(b *testing.B) { benchCrawl(b, processors, enginetest.PlainPage, output) })
	b.Run("Layer", func(b *testing.B) { // the same with a layer that does nothing
		benchCrawl(b, processors, enginetest.PlainPage, output, tegenaria.EngineWithDownloaderLayers(func(next tegenaria.Downloader) tegenaria.Downloader { return idleLayer{next} }))
	})
	b.Run("RequestEnded", func(b *testing.B) { // the same with a func that does nothing
		benchCrawl(b, processors, enginetest.PlainPage, output, tegenaria.EngineWithEvents(tegenaria.Events{RequestEnded: func(tegenaria.RequestEnd) {}}))
	})
	b.Run("CallbackTimes", func(b *testing.B) { // the same with its callbacks measured
		benchCrawl(b, processors, enginetest.PlainPage, output, tegenaria.EngineWithCallbackTimes(true))
	})
	b.Run("OutputFollowLinks", func(b *testing.B) {
		benchCrawl(b, processors, linkedPage, tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[benchItem]) error {
			_, page := enginetest.PageOf(r.URL)
			if item(page) {
				if err := out.Item(benchItem{page}); err != nil {
					return err
				}
			}
			return out.FollowLinks()
		}))
	})
	b.Run("Channels", func(b *testing.B) {
		benchCrawl(b, processors, enginetest.PlainPage, func(resp *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			host, page := enginetest.PageOf(resp.Response().URL)
			if item(page) {
				items <- tegenaria.NewItem(resp, benchItem{page})
			}
			for _, ref := range benchRefs(host+"/page/", page) {
				req <- tegenaria.NewContext(tegenaria.NewRequest(ref, tegenaria.GET, nil))
			}
			return nil
		})
	})
}

// benchCrawl crawls b.N pages on a number of processors.
func benchCrawl(b *testing.B, processors int, body func(int) []byte, parser tegenaria.Parser, opts ...tegenaria.EngineOption) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors)) // what -cpu says is set for each benchmark again
	var seeds []string
	for i := range benchHosts {
		seeds = append(seeds, "http://h"+strconv.Itoa(i)+".example/page/0")
	}
	e := tegenaria.NewSpiderEngine(append(opts,
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("bench", parser, seeds...)),
		tegenaria.EngineWithDownloader(&enginetest.MemoryDownloader{
			Header: map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}, Body: body,
		}),
		tegenaria.EngineWithMiddlewares(idleMiddleware{}),
		tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, item benchItem) (benchItem, error) { return item, nil })),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithLimits(tegenaria.Limits{Pages: b.N}),
		tegenaria.EngineWithLogger(enginetest.Quiet()),
	)...)
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	cpu := enginetest.CPUTime(b)
	err := e.Run(context.Background(), "bench")
	cpu = enginetest.CPUTime(b) - cpu
	b.StopTimer()

	var stopped *tegenaria.StoppedError
	if err != nil && !errors.As(err, &stopped) {
		b.Fatal(err)
	}
	stats := e.Stats()
	if stats.Responses != int64(b.N) || stats.ErrorCount != 0 {
		b.Fatalf("%d responses and %d errors for %d pages", stats.Responses, stats.ErrorCount, b.N)
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}

// formsPage is a page of about 20 KB with 34 links, three of them to pages that no other page links to.
func formsPage(page int) []byte {
	b := make([]byte, 0, 22_000)
	b = append(b, "<!DOCTYPE html><html><head><title>A page</title></head><body><ul>"...)
	for i := range 34 {
		target := 3*page + 1 + i
		if i >= 3 {
			target = (page*31 + i*67) % 512
		}
		b = strconv.AppendInt(append(b, `<li><a href="/page/`...), int64(target), 10)
		b = append(b, `">plain words</a></li>`...)
	}
	b = append(b, "</ul>"...)
	for len(b) < 20_000 {
		b = append(b, `<div class="row"><p>amber basket candle desk engine fabric garden hammer island jacket kettle</p><span data-n="1">ladder</span></div>`...)
	}
	return append(b, "</body></html>"...)
}

// BenchmarkForms measures what the forms cost in which a parser may follow the links of a page that it has asked about by a
// selector. An op is a page.
func BenchmarkForms(b *testing.B) {
	type output = tegenaria.Output[benchItem]
	handler := func(follow func(r *tegenaria.Response, out *output) error) tegenaria.Parser {
		return tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *output) error {
			r.CSS("div.product").First()
			return follow(r, out)
		})
	}
	for _, form := range []struct {
		name   string
		parser tegenaria.Parser
	}{
		{"FollowLinks", handler(func(_ *tegenaria.Response, out *output) error { return out.FollowLinks() })},
		{"Links", handler(func(r *tegenaria.Response, out *output) error {
			for _, l := range r.Links() {
				if err := out.Follow(l.URL); err != nil {
					return err
				}
			}
			return nil
		})},
		{"Attrs", handler(func(r *tegenaria.Response, out *output) error {
			for _, ref := range r.CSS("a").Attrs("href") {
				if err := out.Follow(ref); err != nil {
					return err
				}
			}
			return nil
		})},
		{"Channels", func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			resp.Response().CSS("div.product").First()
			for _, l := range resp.Response().Links() {
				req <- tegenaria.NewContext(tegenaria.NewRequest(l.URL, tegenaria.GET, nil))
			}
			return nil
		}},
	} {
		b.Run(form.name, func(b *testing.B) { benchCrawl(b, 1, formsPage, form.parser) })
	}
}

// cardsPage is a page of about 6 KB with 24 products, of which none has a discount, and the links of the other pages.
func cardsPage(page int) []byte {
	b := append(make([]byte, 0, 8_000), "<!DOCTYPE html><html><head><title>A page</title></head><body>"...)
	for i := range 24 {
		b = append(b, `<div class="card"><h3><a href="/p">Kettle</a></h3><p class="price">12.50</p><p class="text">amber basket candle desk engine fabric garden</p><span class="stock">`...)
		b = append(strconv.AppendInt(b, int64(i), 10), "</span></div>"...)
	}
	for _, ref := range benchRefs("/page/", page) {
		b = append(append(append(b, `<a class="next" href="`...), ref...), `">more</a>`...)
	}
	return append(b, "</body></html>"...)
}

// BenchmarkSelectors measures what it costs to ask a page by selectors, whose matches are counted for the warnings at the end. An op
// is a page with 24 cards and four selectors for each of them, one of which matches nothing.
func BenchmarkSelectors(b *testing.B) {
	benchCrawl(b, 1, cardsPage, tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[benchItem]) error {
		_, page := enginetest.PageOf(r.URL)
		for _, card := range r.CSS("div.card").All() {
			if card.CSS("h3").Len()+card.CSS(".price").Len()+card.CSS(".stock").Len()+card.CSS(".discount").Len() != 3 {
				return errors.New("the card is not complete")
			}
		}
		for _, ref := range r.CSS("a.next").Attrs("href") {
			if err := out.Follow(ref); err != nil {
				return err
			}
		}
		return out.Item(benchItem{page})
	}))
}

// BenchmarkFeeds measures what feeds add to the page of 20 KB of [BenchmarkForms], one product a page. An op is a page.
func BenchmarkFeeds(b *testing.B) {
	type product struct {
		SKU, Title, Price, Description string
		Tags                           []string
	}
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[product]) error {
		_, page := enginetest.PageOf(r.URL)
		item := product{strconv.Itoa(page), r.CSS("title").Text(), "12.50", "amber basket candle desk engine fabric garden hammer", []string{"a", "b"}}
		return errors.Join(out.Item(item), out.FollowLinks())
	})
	for _, feeds := range []struct {
		name string
		make func(dir string) []tegenaria.PipelinesInterface
	}{
		{"none", func(string) []tegenaria.PipelinesInterface { return nil }},
		{"JSONL", func(dir string) []tegenaria.PipelinesInterface {
			return []tegenaria.PipelinesInterface{feed.JSONL(filepath.Join(dir, "products.jsonl"))}
		}},
		{"JSONLAndCSV", func(dir string) []tegenaria.PipelinesInterface {
			return []tegenaria.PipelinesInterface{feed.JSONL(filepath.Join(dir, "products.jsonl")), feed.CSV(filepath.Join(dir, "products.csv"))}
		}},
	} {
		b.Run(feeds.name, func(b *testing.B) {
			benchCrawl(b, 1, formsPage, parser, tegenaria.EngineWithPipelines(feeds.make(b.TempDir())...))
		})
	}
}
