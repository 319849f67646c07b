package spiders_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"regexp"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/sitemap"
	"github.com/tegenaria/tegenaria/spiders"
	"github.com/tegenaria/tegenaria/spidertest"
)

// shopSite is a web of one site.
func shopSite() *spidertest.Web {
	return spidertest.NewWeb(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprintln(w, "Sitemap: http://shop.example/sitemap.xml")
		case "/sitemap.xml":
			fmt.Fprintln(w, `<urlset><url><loc>/product/1</loc><lastmod>2024-05-06</lastmod></url><url><loc>/imprint</loc></url></urlset>`)
		default:
			fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
		}
	}))
}

func ExampleNewSitemap() {
	web := shopSite() // in place of the network
	defer web.Close()

	product := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(fmt.Sprintf("%s, changed in %d", page.CSS("title").Text(), page.Request().Meta["changed"]))
	})
	spider := spiders.NewSitemap("shop", nil, "http://shop.example")
	spider.Rules = []spiders.Rule{{Match: regexp.MustCompile("/product/"), Parser: product}}
	spider.Filter = func(entry sitemap.Entry, r *tegenaria.Request) bool {
		tegenaria.RequestWithRequestMeta(map[string]any{"changed": entry.LastMod.Year()})(r)
		return true
	}
	for item, err := range tegenaria.Crawl[string](context.Background(), spider, tegenaria.EngineWithHTTPClient(web.Client())) {
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(item)
	}
	// Output: /product/1, changed in 2024
}
