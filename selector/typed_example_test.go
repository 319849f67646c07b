package selector_test

import (
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/selector"
)

func ExampleDocument_Unmarshal() {
	type Quote struct {
		Text   string   `css:".text"`
		Author string   `css:"small" required:"true"`
		Tags   []string `css:"a.tag"`
		First  string   `css:"a.tag" attr:"href" conv:"url"`
	}
	doc := selector.Parse([]byte(quotes), selector.URL("https://quotes.example/"))
	var first Quote
	fmt.Println(doc.Unmarshal(&first))
	fmt.Printf("%+v\n", first)
	// Output:
	// <nil>
	// {Text:Less is more. Author:Mies Tags:[art design] First:https://quotes.example/tag/art}
}

func ExampleEach() {
	type Quote struct {
		Text   string `css:".text"`
		Author string `css:"small"`
		Page   *int   `css:"a.tag" attr:"href" re:"p=(\\d+)"`
	}
	for quote, err := range selector.Each[Quote](selector.Parse([]byte(quotes)), "div.quote") {
		fmt.Println(quote.Text, quote.Author, quote.Page != nil, err)
	}
	// Output:
	// Less is more. Mies false <nil>
	// Simplicity! Rams true <nil>
}

func ExampleCheck() {
	type Quote struct {
		Text   string `csss:".text"`
		Author string `css:"small["`
		Year   int    `css:".year" conv:"integer"`
	}
	var wrong *selector.FieldError
	err := selector.Check[Quote]()
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range all.Unwrap() {
			if errors.As(one, &wrong) {
				fmt.Println(wrong.Field)
			}
		}
	}
	fmt.Println(errors.As(err, &wrong), wrong.Err)
	// Output:
	// Text
	// Author
	// Year
	// true "csss" is not a word of a field; is "css" meant?
}

func ExampleFieldError() {
	type Book struct {
		Title string `css:"h1" required:"true"`
		Stock uint8  `css:"p"`
	}
	var book Book
	fmt.Println(selector.Parse([]byte("<p>1000</p>")).Unmarshal(&book))
	// Output:
	// selector: Book.Title (css "h1"): required, and the page does not have it
	// selector: Book.Stock (css "p"): "1000": does not fit into uint8
}

func ExampleParseMoney() {
	for _, text := range []string{"£51.7", "1.299,00 €", "1.299 €", "$5"} {
		fmt.Println(selector.ParseMoney(text, "", ""))
	}
	fmt.Println(selector.ParseMoney("1.299", "EUR", "de"))
	// Output:
	// 51.70 GBP <nil>
	// 1299.00 EUR <nil>
	//  not an amount of money: is that 1299 or 1.299? Name the locale, for example "en" or "de"
	//  "$" may be USD, AUD, BBD, BMD, BND, BSD, BZD, CAD, CLP, COP, FJD, GYD, HKD, JMD, KYD, LRD, MXN, NAD, NZD, ARS, SGD, SRD, TTD, TWD, UYU, XCD: say which one is meant, for example conv:"money,USD"
	// 1299.00 EUR <nil>
}

func ExampleMoney() {
	type Book struct {
		Price selector.Money `css:".price" conv:"money,GBP"`
	}
	var a, b Book
	for page, book := range map[string]*Book{"<p class=price>£51.7": &a, "<p class=price>GBP 51.70": &b} {
		if err := selector.Parse([]byte(page)).Unmarshal(book); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(a.Price, a == b)
	// Output: 51.70 GBP true
}

func ExampleFields() {
	fields, err := selector.NewFields("Quote", []selector.DataField{
		{Name: "text", Words: selector.Words{"css": ".text"}},
		{Name: "page", Words: selector.Words{"css": "a", "attr": "href", "re": `p=(\d+)`, "conv": "int", "default": "0"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for item, err := range fields.Each(selector.Parse([]byte(quotes)), "div.quote") {
		fmt.Println(item["text"], item["page"], err)
	}
	// Output:
	// Less is more. 0 <nil>
	// Simplicity! 1 <nil>
}
