package spidertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/spidertest"
)

// The programs of docs/guides/testing.md.

type Quote struct{ Text, Author string }

func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Quote]) error {
	for _, q := range page.CSS("div.quote").All() {
		if err := out.Item(Quote{q.CSS("span.text").Text(), q.CSS("small.author").Text()}); err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}

func TestFirstPage(t *testing.T) {
	page := spidertest.File("testdata/site/index.html")
	quotes, requests := spidertest.Parse[Quote](t, tegenaria.Handle(parse), page, "https://quotes.example/")
	if len(quotes) != 2 || quotes[0].Author != "Jane Austen" {
		t.Errorf("quotes: %+v", quotes)
	}
	if len(requests) != 1 || requests[0].Url != "https://quotes.example/page/2/" {
		t.Errorf("requests: %+v", requests)
	}
}

func TestWholeCrawl(t *testing.T) {
	site := spidertest.Site(t, os.DirFS("testdata/site"))
	spider := tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site.URL()+"/")
	quotes := spidertest.Crawl[Quote](t, spider, site.Engine())
	if len(quotes) != 3 {
		t.Errorf("quotes: %+v", quotes)
	}
	if pages := site.Crawled(); !slices.Equal(pages, []string{"/", "/page/2/"}) {
		t.Errorf("crawled: %q", pages)
	}
}

func parseLogin(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Quote]) error {
	if page.CSS("form.login").Len() > 0 {
		return errors.New("the session is over")
	}
	return nil
}

func TestLoggedOut(t *testing.T) {
	var err error
	page := spidertest.HTML(`<form class="login"></form>`)
	spidertest.Parse[Quote](t, tegenaria.Handle(parseLogin), page, "https://quotes.example/", spidertest.ParseWithError(&err))
	if err == nil {
		t.Error("a page that asks for a login was parsed without an error")
	}
}

func TestSlowSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := spidertest.Site(t, os.DirFS("testdata/site"), spidertest.SiteWithPages(map[string]spidertest.Page{
			"/old":     spidertest.Redirect("/"),
			"/page/2/": {Status: 503},
		}))
		spider := tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site.URL()+"/old")
		began := time.Now()
		quotes := spidertest.Crawl[Quote](t, spider, site.Engine(),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Minute}),
			tegenaria.EngineWithMiddlewares(middleware.Standard()...))
		t.Log(len(quotes), "quotes in", time.Since(began))
		if pages := site.Crawled(); !slices.Equal(pages, []string{"/", "/old", "/page/2/", "/page/2/", "/page/2/", "/page/2/"}) {
			t.Errorf("crawled: %q", pages)
		}
	})
}

type Card struct{ Price string }

type Product struct{ Title, Price string }

func list(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Product]) error {
	card := page.CSS("div.card")
	return out.Follow(card.CSS("a").Attr("href"), tegenaria.RequestWithParser(tegenaria.Handle(detail)),
		tegenaria.RequestWithData(Card{card.CSS("b").Text()}))
}

func detail(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Product]) error {
	card, err := tegenaria.Data[Card](page)
	if err != nil {
		return err
	}
	return out.Item(Product{page.CSS("h1").Text(), card.Price})
}

func TestPriceOfTheList(t *testing.T) {
	page := spidertest.HTML(`<div class="card"><a href="/pot">A pot</a> <b>£9</b></div>`)
	_, requests := spidertest.Parse[Product](t, tegenaria.Handle(list), page, "https://shop.example/")
	if len(requests) != 1 {
		t.Fatalf("requests: %+v", requests)
	}
	card, err := tegenaria.Data[Card](tegenaria.NewResponse(requests[0], 200, nil, nil))
	if err != nil || card.Price != "£9" {
		t.Errorf("card: %+v, %v", card, err)
	}
	products, _ := spidertest.Parse[Product](t, tegenaria.Handle(detail), spidertest.HTML("<h1>Pot</h1>"), requests[0].Url,
		spidertest.ParseWithRequest(tegenaria.RequestWithData(card)))
	if len(products) != 1 || products[0] != (Product{"Pot", "£9"}) {
		t.Errorf("products: %+v", products)
	}
}

// The two programs that a newcomer looks for are short. TestDocs of e2e sees that the guide has the programs of this file.
func TestGuideIsShort(t *testing.T) {
	guide, err := os.ReadFile("../docs/guides/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"TestFirstPage", "TestWholeCrawl"} {
		_, program, found := strings.Cut(string(guide), "func "+name+"(")
		program, _, _ = strings.Cut(program, "```")
		if n := strings.Count(program, "\n"); !found || n > 12 {
			t.Errorf("%s: found %v, %d lines, want at most 12", name, found, n)
		}
	}
}

// inTest runs an example's code as a test, and prints why it fails.
func inTest(test func(t testing.TB)) {
	if failed := fails(func(m *mock) { test(m) }); failed != "" {
		fmt.Println(failed)
	}
}

func ExampleParse() {
	inTest(func(t testing.TB) { // func TestFirstPage(t *testing.T) {
		page := spidertest.HTML(`<div class="quote"><span class="text">Call me Ishmael</span></div> <li class="next"><a href="2">next</a>`)
		quotes, requests := spidertest.Parse[Quote](t, tegenaria.Handle(parse), page, "https://quotes.example/")
		fmt.Println(quotes[0].Text, requests[0].Url)
	})
	// Output: Call me Ishmael https://quotes.example/2
}

func ExampleSite() {
	inTest(func(t testing.TB) { // func TestWholeCrawl(t *testing.T) {
		site := spidertest.Site(t, os.DirFS("testdata/site"))
		spider := tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site.URL()+"/")
		quotes := spidertest.Crawl[Quote](t, spider, site.Engine())
		fmt.Println(len(quotes), site.Crawled())
	})
	// Output: 3 [/ /page/2/]
}

func ExampleCrawl() {
	inTest(func(t testing.TB) { // func TestWholeCrawl(t *testing.T) {
		site := spidertest.Site(t, os.DirFS("testdata/site"), spidertest.SiteWithPages(map[string]spidertest.Page{
			"/old": spidertest.Redirect("/page/2/"),
		}))
		quotes := spidertest.Crawl[Quote](t, tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site.URL()+"/old"), site.Engine())
		fmt.Println(quotes[0].Author, site.Crawled())
	})
	// Output: Leo Tolstoy [/old /page/2/]
}
