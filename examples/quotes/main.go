// Command quotes is the simplest crawl: it follows a site's pages and prints what it finds, one line
// per quote. The site is the demo site of this repository, served on loopback by the program itself.
//
//	go run ./examples/quotes
package main

import (
	"context"
	"fmt"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
)

type quote struct{ text, author string }

func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
	for _, q := range page.CSS("div.quote").All() {
		if err := out.Item(quote{q.CSS("span.text").Text(), q.CSS("small.author").Text()}); err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}

func main() {
	site := demosite.MustStart()
	defer site.Close()
	spider := tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site.URL()+"/quotes/")
	for q, err := range tegenaria.Crawl[quote](context.Background(), spider) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s — %s\n", q.text, q.author)
	}
}
