package metadata_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/metadata"
	"github.com/tegenaria/tegenaria/selector"
)

// tea is a product as all three syntaxes have it.
type tea struct {
	Name  string         `path:"name" required:"true"`
	SKU   *int           `path:"sku"`
	Image string         `path:"image" conv:"url"`
	Price selector.Money `path:"offers.price" conv:"money,EUR"`
	Until time.Time      `path:"offers.priceValidUntil"`
	Tags  []string       `path:"keywords"`
	Kinds []string       `path:"\\@type"`
}

var teas = map[metadata.Syntax]string{
	metadata.JSONLD: `<script type="application/ld+json">{"@graph": [{"@type": "Product", "name": "Oolong", "sku": "7", "image": "o.jpg?\u00e9",
		"offers": {"price": 8.9, "priceValidUntil": "2026-05-03",}, "keywords": ["green", "hot"]}]}</script>`,
	metadata.Microdata: `<div itemscope itemtype="https://schema.org/Product"><b itemprop=name>Oolong</b><i itemprop=sku>7</i><img itemprop=image src="o.jpg?é">
		<p itemprop=offers itemscope><b itemprop=price>8,90 €</b><time itemprop=priceValidUntil datetime=2026-05-03></time></p>
		<u itemprop=keywords>green</u><u itemprop=keywords>hot</u></div>`,
	metadata.RDFa: `<div vocab="https://schema.org/" typeof=Product><b property=name>Oolong</b><i property=sku>7</i><img property=image src="o.jpg?é">
		<p property=offers typeof=Offer><b property=price>8,90 €</b><time property=priceValidUntil datetime=2026-05-03></time></p>
		<u property=keywords>green</u><u property=keywords>hot</u></div>`,
}

// Unmarshal takes the nodes of each syntax, and resolves URLs by the base and the encoding of the page.
func TestUnmarshal(t *testing.T) {
	seven := 7
	latin, ok := charset.Lookup("iso-8859-1")
	if !ok {
		t.Fatal("no such encoding")
	}
	for syntax, text := range teas {
		page := metadata.Extract(parsed(t, "<base href=/b/>"+text), "https://tea.example/p/1", metadata.Charset(latin))
		n := 0
		for node := range page.TypeOf("Product") {
			n++
			var got tea
			if err := node.Unmarshal(&got); err != nil {
				t.Errorf("%s: %v", syntax, err)
			}
			got.Kinds = slices.DeleteFunc(got.Kinds, func(kind string) bool { return kind != "Product" })
			want := tea{"Oolong", &seven, "https://tea.example/b/o.jpg?%E9", selector.Money{Amount: "8.90", Currency: "EUR"},
				time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC), []string{"green", "hot"}, []string{"Product"}}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, want %+v", syntax, got, want)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d products", syntax, n)
		}
	}
	var none tea
	err := metadata.Node{}.Unmarshal(&none)
	if field := (*selector.FieldError)(nil); !errors.As(err, &field) || field.Field != "Name" || !errors.Is(err, selector.ErrRequired) {
		t.Errorf("the zero node: %v", err)
	}
}

// Each and Fields take what is in a node.
func TestDocument(t *testing.T) {
	page := extract(t, block(`{"@type":"Product","offers":[{"price":"1"},{"price":"x"},{"price":3}]}`))
	type offer struct {
		Price int `path:"price"`
	}
	var got []string
	for node := range page.TypeOf("Product") {
		for o, err := range selector.Each[offer](node.Document(), "offers") {
			got = append(got, fmt.Sprint(o.Price, err == nil))
		}
	}
	if want := []string{"1 true", "0 false", "3 true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The fields of nodes of a response are counted for the page, and their times are relative to it.
func TestUnmarshalOfResponse(t *testing.T) {
	host := &counter{counts: make(map[string]selector.FieldCount)}
	for syntax, text := range teas {
		for node := range metadata.Extract(parsed(t, text), "https://tea.example/", metadata.For(host)).TypeOf("Product") {
			var v struct {
				Image string    `path:"image" conv:"url" json:"image"`
				Color string    `path:"color" json:"color"`
				Since time.Time `path:"since" conv:"time,relative" default:"yesterday" json:"since"`
			}
			if err := node.Unmarshal(&v); err != nil || v.Image != "host" || v.Since.Format(time.DateOnly) != "2026-05-02" {
				t.Errorf("%s: %+v, %v", syntax, v, err)
			}
		}
	}
	want := map[string]selector.FieldCount{"struct.image": {LookedFor: 3}, "struct.color": {LookedFor: 3, Missing: 3}, "struct.since": {LookedFor: 3, Defaulted: 3}}
	if !reflect.DeepEqual(host.counts, want) {
		t.Errorf("got %v, want %v", host.counts, want)
	}
	// The same of a response, which is outside of a run.
	page := tegenaria.NewResponse(tegenaria.NewRequest("https://tea.example/x/", tegenaria.GET, nil), 200,
		map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}, []byte(teas[metadata.JSONLD]))
	for node := range page.Metadata().TypeOf("Product") {
		var got tea
		if err := node.Unmarshal(&got); err != nil || got.Image != "https://tea.example/x/o.jpg?%C3%A9" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// counter is a host that counts fields.
type counter struct {
	counts map[string]selector.FieldCount
}

func (c *counter) Resolve(string) (string, error) { return "host", nil }
func (c *counter) Date() time.Time                { return time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC) }

func (c *counter) Extracted(keys []string, counts []selector.FieldCount) {
	for i, key := range keys {
		sum := c.counts[key]
		sum.LookedFor += counts[i].LookedFor
		sum.Missing += counts[i].Missing
		sum.Defaulted += counts[i].Defaulted
		c.counts[key] = sum
	}
}

func ExampleNode_Unmarshal() {
	doc, err := html.Parse([]byte(`<script type="application/ld+json">
		{"@type": "Product", "name": "Oolong", "image": "/oolong.jpg", "offers": {"price": "8,90", "priceCurrency": "EUR"}}</script>`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var product struct {
		Name  string         `path:"name" required:"true"`
		Image string         `path:"image" conv:"url"`
		Price selector.Money `path:"offers.price" conv:"money,EUR"`
	}
	for node := range metadata.Extract(doc, "https://tea.example/p/1").TypeOf("Product") {
		if err := node.Unmarshal(&product); err != nil {
			fmt.Println(err)
		}
		fmt.Println(product.Name, product.Image, product.Price)
	}
	// Output: Oolong https://tea.example/oolong.jpg 8.90 EUR
}
