package selector_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/selector"
	"github.com/tegenaria/tegenaria/spidertest"
)

// The code of docs/guides/typed-items.md.

type Book struct {
	Title string            `json:"title" css:"h1" required:"true"`
	Price selector.Money    `json:"price" css:".price_color" conv:"money,GBP"`
	Stock int               `json:"stock" css:".availability" re:"\\d+" default:"0"`
	Cover string            `json:"cover" css:".thumbnail img" attr:"src" conv:"url"`
	Added time.Time         `json:"added" xpath:"//time/@datetime" conv:"time,2 January 2006,Europe/London"`
	Tags  []string          `json:"tags" css:"a.tag"`
	Specs map[string]string `json:"specs" css:"table tr" key:"th" value:"td"`
	Offer Offer             `json:"offer" css:"script[type='application/ld+json']" path:"offers.0"`
}

type Offer struct {
	Seller string `json:"seller" path:"seller.name"`
	Count  *int   `json:"count" path:"inventoryLevel"`
}

func parseBooks(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[Book]) error {
	for book, err := range tegenaria.Each[Book](page, "article.product_page") {
		if err != nil {
			return err
		}
		if err := out.Item(book); err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}

func parseOne(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[Book]) error {
	var book Book
	if err := page.Unmarshal(&book); err != nil {
		return err
	}
	return out.Item(book)
}

func TestBookTags(t *testing.T) {
	if err := selector.Check[Book](); err != nil {
		t.Error(err)
	}
}

// report prints what was wrong with the fields of an item.
func report(err error) {
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) {
		return
	}
	for _, one := range all.Unwrap() {
		var wrong *selector.FieldError
		if errors.As(one, &wrong) {
			fmt.Printf("%s.%s: %q: %v\n", wrong.Type, wrong.Field, wrong.Value, wrong.Err)
		}
	}
}

type Review struct {
	Author string   `css:".by"`
	Stars  Stars    `css:".stars" attr:"class" re:"stars-(\\w+)" conv:"stars"`
	Images []string `css:"img" attr:"src" conv:"url"`
}

type Stars int

func (Review) Conversions() []selector.Conversion {
	return []selector.Conversion{selector.Conv("stars", func(text string) (Stars, error) {
		for i, word := range []string{"one", "two", "three", "four", "five"} {
			if text == word {
				return Stars(i + 1), nil
			}
		}
		return 0, errors.New("not a number of stars")
	})}
}

type Shop struct {
	_       struct{} `css:"main"`
	Name    string   `css:"h1"`
	Address struct {
		City string `css:".city"`
		Zip  string `css:".zip"`
	} `css:".address"`
	Contact          // its fields, of the same node
	Reviews []Review `css:".review"`
	Owner   *struct {
		Name string `css:"b"`
	} `css:".owner"`
	Has3D bool `css:"model-viewer" conv:"exists"`
}

type Contact struct {
	Mail *url.URL `css:"a[href^=mailto]" attr:"href"`
}

const shopOfGuide = `<h1>Portal</h1><main><h1>Tea &amp; Co</h1><div class=address><i class=city>Hamburg</i> <i class=zip>20095</i></div>
<a href="mailto:tea@shop.example">write</a><div class=review><b class=by>Ann</b><p class="stars stars-four"></p><img src=1.png></div>
<div class=review><b class=by>Bob</b><p class="stars stars-none"></p></div></main>`

const bookOfGuide = `<article class="product_page"><h1>Dune</h1><p class="price_color">£51.7</p><p class="availability">In stock (22 available)</p>
<p class="thumbnail"><img src="dune.jpg"></p><time datetime="1 August 2026"></time><a class="tag">space</a> <a class="tag">sand</a>
<table><tr><th>UPC</th><td>a897</td></tr></table>
<script type="application/ld+json">{"offers": [{"seller": {"name": "Ann"}, "inventoryLevel": 3}]}</script></article>`

// The parsers of the guide send the book of its page.
func TestParsersOfGuide(t *testing.T) {
	page := spidertest.HTML(bookOfGuide + `<ul><li class="next"><a href="/page/2">next</a></ul>`)
	books, requests := spidertest.Parse[Book](t, tegenaria.Handle(parseBooks), page, "https://shop.example/")
	if len(books) != 1 || books[0].Title != "Dune" || len(requests) != 1 || requests[0].Url != "https://shop.example/page/2" {
		t.Errorf("%+v, %d requests", books, len(requests))
	}
	books, _ = spidertest.Parse[Book](t, tegenaria.Handle(parseOne), page, "https://shop.example/")
	if len(books) != 1 || books[0].Price.Amount != "51.70" {
		t.Errorf("%+v", books)
	}
}

func Example_typedGuide() {
	page := selector.Parse([]byte(bookOfGuide), selector.URL("https://shop.example/b/1"))
	var book Book
	if err := page.Unmarshal(&book); err != nil {
		fmt.Println(err)
	}
	fmt.Println(book.Title, book.Price, book.Stock, book.Cover, book.Added, book.Tags, book.Specs, book.Offer.Seller, *book.Offer.Count)

	shop := tegenaria.NewResponse(tegenaria.NewRequest("https://shop.example/", tegenaria.GET, nil), 200, nil, []byte(shopOfGuide))
	var of Shop
	report(shop.Unmarshal(&of))
	fmt.Println(of.Name, of.Address.City, of.Mail, of.Owner, of.Reviews)

	body := `{"products": [{"name": "Sencha", "price": 4.5}, {"name": "Oolong", "price": "8,90"}]}`
	type Product struct {
		Name  string         `path:"name"`
		Price selector.Money `path:"price" conv:"money,EUR"`
	}
	for product, err := range selector.Each[Product](selector.Parse([]byte(body), selector.JSON()), "products") {
		fmt.Println(product.Name, product.Price, err)
	}

	recipe := []selector.DataField{
		{Name: "title", Words: selector.Words{"css": "h1", "required": "true"}},
		{Name: "price", Words: selector.Words{"css": ".price_color", "conv": "money,GBP"}},
		{Name: "isbn", Words: selector.Words{"css": ".isbn"}},
	}
	fields, err := selector.NewFields("Book", recipe)
	if err != nil {
		fmt.Println(err)
	}
	item, err := fields.Get(page)
	fmt.Println(item, err)
	// Output:
	// Dune 51.70 GBP 22 https://shop.example/b/dune.jpg 2026-08-01 00:00:00 +0100 BST [space sand] map[UPC:a897] Ann 3
	// Shop.Reviews[1].Stars: "none": not a number of stars
	// Tea & Co Hamburg mailto:tea@shop.example <nil> [{Ann 4 [https://shop.example/1.png]} {Bob 0 []}]
	// Sencha 4.50 EUR <nil>
	// Oolong 8.90 EUR <nil>
	// map[price:51.70 GBP title:Dune] <nil>
}
