package selector_test

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/selector"
)

const bookPage = `<!DOCTYPE html><html><head><base href="/catalogue/"><title>Books</title>
<script type="application/ld+json">{"offers":[{"price":"51.77","seller":{"name":"Ann"},"sizes":["S","M"],"count":7,"live":true}],"n":null}</script></head>
<body data-page='{"id": 17, "tags": ["a", "b"]}'>
<article class="product_page" id="p1"><h1> A  Light
 in the Attic </h1><p class="price_color">£51.77</p><p class="availability">In stock (22 available)</p>
<div class="thumbnail"><img src="../media/a.jpg" alt=""></div><time datetime="3 March 2021"></time>
<a class="tag">poetry</a> <a class="tag"> </a> <a class="tag">light  verse</a>
<table><tr><th>UPC</th><td>a897</td></tr><tr><th>Tax</th><td>£0.00</td></tr><tr><td>none</td></tr></table>
<p class="rating" data-stars="3">three</p></article></body></html>`

type seller struct {
	Name string `path:"name"`
}

type offer struct {
	Price  selector.Money `path:"price" conv:"money,GBP"`
	Seller *seller        `path:"seller"`
	Sizes  []string       `path:"sizes"`
	Count  int            `path:"count"`
	Live   bool           `path:"live"`
}

type bookOfIssue struct {
	Title string            `css:"h1" required:"true" json:"title"`
	Price selector.Money    `css:".price_color" conv:"money,GBP" json:"price"`
	Stock int               `css:".availability" re:"\\d+" default:"0"`
	Cover string            `css:".thumbnail img" attr:"src" conv:"url"`
	Added time.Time         `xpath:"//time/@datetime" conv:"time,2 January 2006,Europe/London"`
	Tags  []string          `css:"a.tag"`
	Specs map[string]string `css:"table tr" key:"th" value:"td"`
	Offer offer             `css:"script[type='application/ld+json']" path:"offers.0"`
	Note  string
	note  string
}

func london(t *testing.T) *time.Location {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// The struct of the documentation, filled from the whole page.
func TestUnmarshal(t *testing.T) {
	doc := selector.Parse([]byte(bookPage), selector.URL("https://shop.example/x/y"))
	got := bookOfIssue{Note: "kept", note: "kept", Tags: []string{"old"}}
	if err := doc.Unmarshal(&got); err != nil {
		t.Fatal(err)
	}
	want := bookOfIssue{
		Title: "A Light in the Attic", Price: selector.Money{Amount: "51.77", Currency: "GBP"}, Stock: 22, Cover: "https://shop.example/media/a.jpg",
		Added: time.Date(2021, 3, 3, 0, 0, 0, 0, london(t)), Tags: []string{"poetry", "light verse"},
		Specs: map[string]string{"UPC": "a897", "Tax": "£0.00"},
		Offer: offer{Price: selector.Money{Amount: "51.77", Currency: "GBP"}, Seller: &seller{"Ann"}, Sizes: []string{"S", "M"}, Count: 7, Live: true},
		Note:  "kept", note: "kept",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

type word string

type level struct{ Stars int }

func (l *level) UnmarshalText(text []byte) error {
	words := map[string]int{"one": 1, "two": 2, "three": 3}
	n, ok := words[string(text)]
	if !ok {
		return errors.New("not a number of stars")
	}
	l.Stars = n
	return nil
}

type count int

func (c *count) UnmarshalSelection(s *selector.Selection) error {
	*c = count(s.Len())
	return nil
}

type base struct {
	Head string `css:"h1"`
}

type leaf[T any] struct {
	base
	Value T `css:".rating" attr:"data-stars"`
}

type rated struct {
	Stars  int    `css:".rating" conv:"stars"`
	Copies []int  `css:".rating" conv:"stars"`
	Rating []byte `css:".rating"`
}

func (rated) Conversions() []selector.Conversion {
	return []selector.Conversion{selector.Conv("stars", func(text string) (int, error) {
		if text != "three" {
			return 0, errors.New("unknown")
		}
		return 3, nil
	})}
}

type everything struct {
	Word     word            `css:".rating" conv:"lower"`
	I8       int8            `css:".rating" attr:"data-stars"`
	U16      uint16          `css:".rating" attr:"data-stars"`
	F        float32         `css:".rating" attr:"data-stars"`
	Yes      bool            `css:".availability" conv:"exists"`
	No       bool            `css:".sold-out" conv:"exists"`
	Bytes    []byte          `css:".rating"`
	Link     *url.URL        `css:"img" attr:"src"`
	Absent   *string         `css:".absent"`
	Present  *string         `css:".rating"`
	Twice    **int           `css:".rating" attr:"data-stars"`
	Level    level           `css:".rating"`
	Levels   []*level        `css:".rating"`
	Count    count           `css:"tr"`
	Counts   []count         `css:"tr"`
	Two      [2]string       `css:"td"`
	Four     [4]string       `css:"td"`
	Markup   string          `css:".rating" html:"true"`
	Number   float64         `xpath:"count(//tr)"`
	Text     string          `xpath:"string(//h1)"`
	Node     string          `xpath:"//h1/text()"`
	Page     int             `css:"body" attr:"data-page" path:"id"`
	PageTags []string        `css:"body" attr:"data-page" path:"tags"`
	Object   map[string]any_ `css:"script" path:"offers.0.seller"`
	Split    []string        `css:".availability" conv:"split,("`
	Ints     []int           `css:"article" re:"\\d+"`
	Group    string          `css:".availability" re:"\\((?P<extract>\\d+) (available)"`
	First    string          `css:".availability" re:"(\\d+) (available)"`
	Default  []int           `css:".absent" default:"1;2" conv:"split,;"`
	Rows     []struct {
		Head string `css:"th"`
		Cell string `css:"td"`
	} `css:"tr"`
	Inner struct {
		_    struct{} `css:"article"`
		ID   string   `attr:"id"`
		Deep struct {
			_    struct{} `css:"table"`
			Cell string   `xpath:"/tr[2]/td | //tr[2]/td"`
		}
	}
	Same *struct {
		Title string `css:"title"`
	}
	Gone *struct {
		Title string `css:"nothing"`
	}
}

type any_ string

func TestUnmarshalTypes(t *testing.T) {
	doc := selector.Parse([]byte(bookPage), selector.URL("https://shop.example/x/y"))
	var got everything
	if err := doc.Unmarshal(&got); err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse("https://shop.example/media/a.jpg")
	if err != nil {
		t.Fatal(err)
	}
	three, three3 := "three", new(int)
	*three3 = 3
	want := everything{
		Word: "three", I8: 3, U16: 3, F: 3, Yes: true, Bytes: []byte("three"), Link: link, Present: &three, Twice: &three3,
		Level: level{3}, Levels: []*level{{3}}, Count: 3, Counts: []count{1, 1, 1}, Two: [2]string{"a897", "£0.00"}, Four: [4]string{"a897", "£0.00", "none"},
		Markup: `<p class="rating" data-stars="3">three</p>`, Number: 3, Text: "A Light in the Attic", Node: "A Light in the Attic", Page: 17,
		PageTags: []string{"a", "b"}, Object: map[string]any_{"name": "Ann"}, Split: []string{"In stock", "22 available)"},
		Ints: []int{51, 77, 22, 897, 0, 0}, Group: "22", First: "22", Default: []int{1, 2},
	}
	want.Rows = append(want.Rows, []struct {
		Head string `css:"th"`
		Cell string `css:"td"`
	}{{"UPC", "a897"}, {"Tax", "£0.00"}, {"", "none"}}...)
	want.Inner.ID, want.Inner.Deep.Cell = "p1", "£0.00"
	want.Same = &struct {
		Title string `css:"title"`
	}{"Books"}
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s: got %#v, want %#v", g.Type().Field(i).Name, g.Field(i).Interface(), w.Field(i).Interface())
		}
	}
	var p leaf[int]
	if err := doc.Unmarshal(&p); err != nil || p.Value != 3 || p.Head != "A Light in the Attic" {
		t.Errorf("%+v, %v", p, err)
	}
	var r rated
	if err := doc.Unmarshal(&r); err != nil || r.Stars != 3 || !reflect.DeepEqual(r.Copies, []int{3}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// Ten fields with a mistake each, and ten are reported: by Check, and by the first use.
func TestCheckTen(t *testing.T) {
	type recursive struct {
		Next *recursive `css:"li"`
	}
	type wrong struct {
		A string      `csss:"h1"`
		B string      `css:"h1["`
		C string      `xpath:"//h1["`
		D string      `css:"h1" re:"("`
		E int         `css:"h1" conv:"integer"`
		F int         `css:"h1" default:"none"`
		G complex64   `css:"h1"`
		H *recursive  `css:"ul"`
		I string      `css:"h1" required:"perhaps"`
		J map[int]int `css:"tr" key:"th"`
		K string      `css:"h1"`
	}
	err := selector.Check[wrong]()
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatal(err)
	}
	var fields []string
	for _, e := range list.Unwrap() {
		field := (*selector.FieldError)(nil)
		if !errors.As(e, &field) || field.Type != "wrong" {
			t.Fatalf("%T: %v", e, e)
		}
		fields = append(fields, field.Field)
		t.Log(e)
	}
	if got := strings.Join(fields, " "); got != "A B C D E F G H.Next I J" {
		t.Errorf("mistakes in %s", got)
	}
	if again := selector.Parse([]byte("<h1>x</h1>")).Unmarshal(new(wrong)); again == nil || again.Error() != err.Error() {
		t.Errorf("the first use says %v", again)
	}
	if err := selector.Check[bookOfIssue](); err != nil {
		t.Error(err)
	}
}

// A default that is split fills lists and arrays of any kind as a text of the page would. It fails if one part takes the place of another.
func TestDefaultsOfLists(t *testing.T) {
	type lists struct {
		List     []string  `css:"i" conv:"split,;" default:"a; b;"`
		Pointer  *[]int    `css:"i" default:"1"`
		Pointers []*int    `css:"i" conv:"split,;" default:"1;2"`
		Array    [3]int    `css:"i" conv:"split,;" default:"1;2"`
		Small    [1]string `css:"i" conv:"split,;" default:"a;b"`
		Empty    []string  `css:"i" conv:"split,;" default:""`
		Whole    []string  `css:"i" default:"a;b"`
	}
	one, two := 1, 2
	want := lists{[]string{"a", "b"}, &[]int{1}, []*int{&one, &two}, [3]int{1, 2}, [1]string{"a"}, []string{}, []string{"a;b"}}
	var got lists
	if err := selector.Parse([]byte("<p>")).Unmarshal(&got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What does not fit is an error that names field, query and value; the others are filled all the same.
func TestUnmarshalErrors(t *testing.T) {
	type item struct {
		Title string         `css:"h1" required:"true"`
		Small int8           `css:".big"`
		Float float64        `css:".ambiguous" conv:"float"`
		Price selector.Money `css:".price" conv:"money,USD"`
		Sub   []struct {
			N uint `css:"b"`
		} `css:"p"`
		Good string `css:".good"`
	}
	doc := selector.Parse([]byte(`<i class=big>300</i><i class=ambiguous>1.234</i><i class=price>5 €</i><p><b>1</b><p><b>-1</b><i class=good>g</i>`))
	var got item
	err := doc.Unmarshal(&got)
	for _, part := range []string{
		`item.Title (css "h1"): required`, `item.Small (css ".big"): "300": does not fit into int8`, `item.Float (css ".ambiguous"): "1.234": is that 1234 or 1.234?`,
		`item.Price (css ".price"): "5 €": it is in EUR, and not in USD`, `item.Sub[1].N (css "b"): "-1": does not fit`,
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if !errors.Is(err, selector.ErrRequired) || got.Good != "g" || len(got.Sub) != 2 || got.Sub[0].N != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestEach(t *testing.T) {
	type row struct {
		Name string `css:"td" required:"true"`
		N    int    `css:"td + td"`
	}
	doc := selector.Parse([]byte(`<table><tr><td>a<td>1<tr><td>b<td>x<tr><th>c<tr><td>d</table>`))
	var got []string
	for r, err := range selector.Each[*row](doc, "tr") {
		got = append(got, fmt.Sprint(r.Name, r.N, err != nil))
	}
	if fmt.Sprint(got) != "[a1 false b0 true 0 true d0 false]" {
		t.Errorf("got %v", got)
	}
	for _, err := range selector.Each[row](doc, "tr[") {
		if wrong := (*selector.SyntaxError)(nil); !errors.As(err, &wrong) {
			t.Error(err)
		}
	}
	n := 0
	for range selector.Each[row](doc.CSS("table"), "tr") {
		if n++; n == 2 {
			break
		}
	}
}

func TestUnmarshalJSON(t *testing.T) {
	type item struct {
		Name  string    `path:"name"`
		Price float64   `path:"price" required:"true"`
		Big   int64     `path:"big"`
		Tags  []string  `path:"tags.#.t"`
		At    time.Time `path:"at" conv:"time,unix"`
		Raw   []byte    `path:"tags"`
		Title string    `css:"h1"`
	}
	doc := selector.Parse([]byte(`{"items":[{"name":"A\u00e9","price":1.234,"big":9007199254740993,"tags":[{"t":"x"},{"t":"y"}],"at":86400},{"name":null}]}`), selector.JSON())
	i := 0
	for got, err := range selector.Each[item](doc, "items") {
		if i == 0 && (got.Name != "Aé" || got.Price != 1.234 || got.Big != 9007199254740993 || !reflect.DeepEqual(got.Tags, []string{"x", "y"}) ||
			!got.At.Equal(time.Unix(86400, 0)) || err == nil || !strings.Contains(err.Error(), "only path")) {
			t.Errorf("%+v, %v", got, err)
		}
		if i == 1 && (got.Name != "" || !errors.Is(err, selector.ErrRequired)) {
			t.Errorf("%+v, %v", got, err)
		}
		i++
	}
	if i != 2 {
		t.Errorf("%d items", i)
	}
	if err := selector.Parse([]byte(strings.Repeat("[", 10_001)), selector.JSON()).Unmarshal(new(item)); err == nil {
		t.Error("10,001 levels are read")
	}
}
