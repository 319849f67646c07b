package tegenaria_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/selector"
)

type shopItem struct {
	Title string `css:"h1" required:"true" json:"title"`
	Price int    `css:".price" json:"price"`
	Stock int    `css:".stock" default:"0" json:"stock"`
	Offer struct {
		Seller string `css:".seller" json:"seller"`
	} `json:"offer"`
	Note string `json:"note"`
}

func TestResponseUnmarshal(t *testing.T) {
	page := responseOf("text/html; charset=iso-8859-1", "<base href=/b/><h1>Caf\xe9</h1><a href=x?\xe9 class=link>x</a><time>2 hours ago</time>")
	page.Header["Date"] = []string{"Wed, 03 Mar 2021 10:00:00 GMT"}
	var v struct {
		Title string    `css:"h1"`
		Link  string    `css:".link" attr:"href" conv:"url"`
		At    time.Time `css:"time" conv:"time,relative"`
	}
	if err := page.Unmarshal(&v); err != nil {
		t.Fatal(err)
	}
	if v.Title != "Café" || v.Link != "http://a.test/b/x?%E9" || !v.At.Equal(time.Date(2021, 3, 3, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v", v)
	}
	var product struct {
		Name string `path:"product.name" required:"true"`
	}
	for _, media := range []string{"application/json", "application/problem+json; charset=utf-8", "text/json"} {
		if err := responseOf(media, "\uFEFF"+`{"product":{"name":"Dune"}}`).Unmarshal(&product); err != nil || product.Name != "Dune" {
			t.Errorf("%s: %+v, %v", media, product, err)
		}
	}
	err := responseOf("application/json", `{"product":`).Unmarshal(&product)
	var refused *selector.ParseError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "http://a.test/dir/page") {
		t.Errorf("broken JSON: %v", err)
	}
	err = responseOf("application/json", `{}`).Unmarshal(&product)
	if field := (*selector.FieldError)(nil); !errors.As(err, &field) || field.Field != "Name" || !errors.Is(err, selector.ErrRequired) {
		t.Errorf("an empty object: %v", err)
	}
}

// A body of JSON is read as JSON, whatever its Content-Type says. It fails if "&amp;" or a tag in a string is changed, or if
// the same asked of CSS is answered with something else.
func TestResponseJSON(t *testing.T) {
	const body = `{"items": [{"name": "A &amp; B", "url": "x?a=1&amp;b"}, {"name": "<b>C</b>", "url": "/y", "@type": "P"}]}`
	for _, media := range []string{"application/json", "application/problem+json", "text/plain", "text/html; charset=utf-8", ""} {
		page := responseOf(media, body)
		if got := page.JSON("items.#.name").GetAll(); len(got) != 2 || got[0] != "A &amp; B" || got[1] != "<b>C</b>" {
			t.Errorf("%s: got %q", media, got)
		}
		if got := page.JSON("items.#.url").URLs(); len(got) != 2 || got[1] != "http://a.test/y" {
			t.Errorf("%s: URLs %q", media, got)
		}
		if got := page.JSON("items").JSON("@type").Get(); got != "P" || page.JSON("nosuch").Len() != 0 {
			t.Errorf("%s: got %q", media, got)
		}
		for _, query := range []string{"body", "html", "body::text", "p"} {
			var refused *selector.JSONPageError
			err := panicOf(func() { page.CSS(query).JSON("items.#.name") })
			if is := errors.As(err, &refused); is != (query != "p") || is && !strings.Contains(err.Error(), "Response.JSON") {
				t.Errorf("%s, %s: %v", media, query, err)
			}
		}
	}
	for _, media := range []string{"application/json", "text/html"} {
		var wrong *selector.ParseError
		if err := panicOf(func() { responseOf(media, `{"a":`).JSON("a") }); !errors.As(err, &wrong) {
			t.Errorf("%s: broken JSON: %v", media, err)
		}
	}
	if got := responseOf("text/html", `<p>{"a": 1}`).CSS("body").JSON("a").Get(); got != "1" {
		t.Errorf("JSON in HTML: got %q", got)
	}
}

// panicOf returns the error that f panics with.
func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

func TestEach(t *testing.T) {
	type row struct {
		N int `css:"b" required:"true"`
	}
	var got []string
	for r, err := range tegenaria.Each[row](responseOf("text/html", "<p><b>1</b><p><b>x</b><p><b>3</b>"), "p") {
		got = append(got, fmt.Sprint(r.N, err != nil))
	}
	if fmt.Sprint(got) != "[1 false 0 true 3 false]" {
		t.Errorf("got %v", got)
	}
	type value struct {
		N int `path:"n"`
	}
	sum := 0
	for v, err := range tegenaria.Each[value](responseOf("application/json", `{"list":[{"n":1},{"n":2}]}`), "list") {
		if err != nil {
			t.Error(err)
		}
		sum += v.N
	}
	if sum != 3 {
		t.Errorf("the sum is %d", sum)
	}
	for _, err := range tegenaria.Each[value](responseOf("application/json", "["), "list") {
		if err == nil {
			t.Error("broken JSON is no error")
		}
	}
}

// Pages of which one in two has a price, one in three has a stock, and one has a price that is no number; those that have no title fail, and those that have
// failed are counted as well. Each third request is asked for once more by its parser, and counts once.
func TestFieldCounts(t *testing.T) {
	const pages = 60
	type made struct {
		Name string `json:"name"`
		Size int    `json:"size"`
	}
	crawl := func(opts ...tegenaria.EngineOption) tegenaria.Summary {
		w := enginetest.NewWorld()
		refs := make([]string, 0, pages)
		for i := range pages {
			body := fmt.Sprintf("<h1>Page %d</h1>", i)
			if i%2 == 0 {
				body += "<p class=price>7</p>"
			}
			if i == 1 {
				body += "<p class=price>seven</p>"
			}
			if i%3 == 0 {
				body += "<p class=stock>1</p><p class=seller>Ann</p>"
			}
			ref := fmt.Sprintf("/p/%d", i)
			refs = append(refs, ref)
			w.Page("http://a.test"+ref, enginetest.Text(body))
		}
		w.Page("http://a.test/", enginetest.Page(refs...))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			resp := ctx.Response()
			for _, l := range resp.Links() {
				req <- enginetest.Send(l.URL)
			}
			if !strings.Contains(resp.URL, "/p/") {
				return nil
			}
			var v shopItem
			err := resp.Unmarshal(&v)
			if ctx.Request.Attempt == 0 && strings.HasSuffix(resp.URL, "3") {
				return tegenaria.Retry(0, errors.New("once more"))
			}
			if err != nil {
				return err
			}
			item <- tegenaria.NewItem(ctx, v)
			item <- tegenaria.NewItem(ctx, &made{Name: v.Title})
			item <- tegenaria.NewItem(ctx, map[string]any{"a": 1, "b": nil})
			return nil
		}
		e := enginetest.NewEngine(w, s, opts...)
		enginetest.MustRun(t, e)
		if text, err := json.Marshal(e.Summary()); err != nil || strings.Contains(string(text), `"fields"`) != (e.Stats().Fields != nil) {
			t.Errorf("the JSON of the summary: %s, %v", text, err)
		}
		return e.Summary()
	}
	check := func(got, want map[string]tegenaria.FieldStats) {
		t.Helper()
		for key := range want {
			if got[key] != want[key] {
				t.Errorf("%s: got %+v, want %+v", key, got[key], want[key])
			}
		}
		if len(got) != len(want) {
			t.Errorf("got %v", got)
		}
	}
	extracted := map[string]tegenaria.FieldStats{
		"shopItem.title":        {LookedFor: pages},
		"shopItem.price":        {LookedFor: pages, Missing: pages/2 - 1, Failed: 1},
		"shopItem.stock":        {LookedFor: pages, Defaulted: pages * 2 / 3},
		"shopItem.offer.seller": {LookedFor: pages, Missing: pages * 2 / 3},
	}
	check(crawl().Stats.Fields, extracted)
	check(crawl(tegenaria.EngineWithFieldCounts(false)).Stats.Fields, nil)
	all := crawl(tegenaria.EngineWithFieldCounts(true)).Stats.Fields
	for key, filled := range map[string]int64{"title": pages - 1, "price": pages / 2, "stock": pages / 3, "offer": pages / 3, "note": 0} {
		f := extracted["shopItem."+key]
		f.Items, f.Filled = pages-1, filled
		extracted["shopItem."+key] = f
	}
	extracted["made.name"] = tegenaria.FieldStats{Items: pages - 1, Filled: pages - 1}
	extracted["made.size"] = tegenaria.FieldStats{Items: pages - 1}
	extracted["map.a"] = tegenaria.FieldStats{Items: pages - 1, Filled: pages - 1}
	extracted["map.b"] = tegenaria.FieldStats{Items: pages - 1}
	check(all, extracted)
}

func ExampleEach() {
	type Quote struct {
		Text   string   `css:".text"`
		Author string   `css:".author" required:"true"`
		Tags   []string `css:".tag"`
	}
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Quote]) error {
		for quote, err := range tegenaria.Each[Quote](page, "div.quote") {
			if err != nil {
				return err
			}
			if err := out.Item(quote); err != nil {
				return err
			}
		}
		return nil
	}
	body := `<div class="quote"><p class="text">Less is more.</p><b class="author">Robert Browning</b><a class="tag">brevity</a></div>`
	spider := tegenaria.NewSpider("quotes", tegenaria.Handle(parse), "http://quotes.example/")
	engine := []tegenaria.EngineOption{tegenaria.EngineWithQuiet(), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithDownloader(enginetest.NewWorld().Page("http://quotes.example/", enginetest.Text(body)))}
	for quote, err := range tegenaria.Crawl[Quote](context.Background(), spider, engine...) {
		fmt.Println(quote.Text, "–", quote.Author, quote.Tags, err)
	}
	// Output: Less is more. – Robert Browning [brevity] <nil>
}

func ExampleResponse_Unmarshal() {
	type Book struct {
		Title string         `css:"h1" required:"true"`
		Price selector.Money `css:".price" conv:"money,GBP"`
		Cover string         `css:"img" attr:"src" conv:"url"`
	}
	body := `<h1>Dune</h1><p class="price">£9.5</p><img src="dune.jpg">`
	page := tegenaria.NewResponse(tegenaria.NewRequest("https://shop.example/books/1", tegenaria.GET, nil), 200, nil, []byte(body))
	var book Book
	if err := page.Unmarshal(&book); err != nil {
		fmt.Println(err)
	}
	fmt.Println(book.Title, book.Price, book.Cover)
	// Output: Dune 9.50 GBP https://shop.example/books/dune.jpg
}

func ExampleEngineWithFieldCounts() {
	type Book struct {
		Title string `json:"title" css:"h1"`
		Price string `json:"price" css:".price"`
	}
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Book]) error {
		var book Book
		if err := page.Unmarshal(&book); err != nil {
			return err
		}
		return out.Item(book)
	}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithFieldCounts(true), tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithDownloader(enginetest.NewWorld().Page("http://shop.example/", enginetest.Text("<h1>Dune</h1><p class=amount>7</p>"))),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", tegenaria.Handle(parse), "http://shop.example/")))
	if err := engine.Run(context.Background(), "books"); err != nil {
		fmt.Println(err)
	}
	price := engine.Stats().Fields["Book.price"]
	fmt.Println(price.Missing, "of", price.LookedFor, "missing,", price.Filled, "of", price.Items, "filled")
	// Output: 1 of 1 missing, 0 of 1 filled
}
