package spiders_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"slices"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/records"
	"github.com/tegenaria/tegenaria/spiders"
	"github.com/tegenaria/tegenaria/spidertest"
)

// teaSite is a web of one site: two lists of products, a feed, and a table.
func teaSite() *spidertest.Web {
	return spidertest.NewWeb(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<a class="product" href="/cup">Cup</a> <a class="next" href="/2">next</a> <a href="/imprint">Imprint</a>`)
		case "/2":
			fmt.Fprint(w, `<a class="product" href="/pot">Pot</a>`)
		case "/cup", "/pot":
			fmt.Fprintf(w, "<h1>%s</h1>", r.URL.Path[1:])
		case "/feed.xml":
			fmt.Fprint(w, `<rss><channel><item><title>Tea is hot</title><link>/tea</link></item></channel></rss>`)
		case "/prices.csv":
			fmt.Fprint(w, "name;price\nCup;3\nPot;12\n")
		default:
			http.NotFound(w, r)
		}
	}))
}

func ExampleNewCrawl() {
	web := teaSite() // in place of the network
	defer web.Close()

	product := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(page.CSS("h1").Text())
	})
	spider := spiders.NewCrawl("tea", nil, "http://tea.example/")
	spider.Rules = []spiders.LinkRule{
		{Links: []links.Option{links.CSS(".product")}, Parser: product},
		{Links: []links.Option{links.CSS(".next")}, Follow: true},
	}
	var found []string
	for item, err := range tegenaria.Crawl[string](context.Background(), spider, tegenaria.EngineWithHTTPClient(web.Client()), tegenaria.EngineWithQuiet()) {
		if err != nil {
			log.Print(err)
			return
		}
		found = append(found, item)
	}
	slices.Sort(found)
	fmt.Println(found)
	// Output: [cup pot]
}

func ExampleNewFeed() {
	web := teaSite()
	defer web.Close()

	type article struct{ Title, URL string }
	spider := spiders.NewFeed("news", func(_ context.Context, entry *records.Entry, out *tegenaria.Output[article]) error {
		return out.Item(article{entry.Title, entry.URL})
	}, "http://tea.example/feed.xml")
	for item, err := range tegenaria.Crawl[article](context.Background(), spider, tegenaria.EngineWithHTTPClient(web.Client()), tegenaria.EngineWithQuiet()) {
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(item.Title, item.URL)
	}
	// Output: Tea is hot http://tea.example/tea
}

func ExampleNewRecords() {
	web := teaSite()
	defer web.Close()

	type price struct{ Name, Price string }
	format := records.CSV(records.Dialect{Delimiter: ';'})
	spider := spiders.NewRecords("prices", format, func(_ context.Context, row records.Row, out *tegenaria.Output[price]) error {
		return out.Item(price{row.Get("name"), row.Get("price")})
	}, "http://tea.example/prices.csv")
	var found []price
	for item, err := range tegenaria.Crawl[price](context.Background(), spider, tegenaria.EngineWithHTTPClient(web.Client()), tegenaria.EngineWithQuiet()) {
		if err != nil {
			log.Print(err)
			return
		}
		found = append(found, item)
	}
	slices.SortFunc(found, func(a, b price) int { return len(a.Price) - len(b.Price) })
	fmt.Println(found)
	// Output: [{Cup 3} {Pot 12}]
}
