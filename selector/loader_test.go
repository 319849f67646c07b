package selector_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/selector"
)

// loaded compares what a struct is filled with from a page to a value of the same type.
func loaded[T any](page string, want T) func(t *testing.T) {
	return func(t *testing.T) {
		var got T
		if err := selector.Parse([]byte(page), selector.URL("http://www.scrapy.org")).Unmarshal(&got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

const loaderPage = `<html><body><div id="id">marta</div><p>paragraph</p><a href="http://www.scrapy.org">homepage</a>
<img src="/images/logo.png" width="244" height="65" alt="Scrapy"><script>{"name":"data","tags":["a","b"]}</script></body></html>`

// TestItemLoader holds what users of Scrapy's ItemLoader rely on, as its documentation and that of itemloaders have it:
// what its processors and methods do is done by words of tags.
func TestItemLoader(t *testing.T) {
	for name, run := range map[string]func(t *testing.T){
		"add_css with ::text, TakeFirst": loaded(loaderPage, struct {
			Name string `css:"div::text"`
		}{"marta"}),
		"add_css of several": loaded(loaderPage, struct {
			Name []string `css:"div::text, p::text"`
		}{[]string{"marta", "paragraph"}}),
		"add_css with ::attr": loaded(loaderPage, struct {
			URL string `css:"a::attr(href)"`
		}{"http://www.scrapy.org"}),
		"add_css with re": loaded(loaderPage, struct {
			URL string `css:"a::attr(href)" re:"http://www\\.(.+)"`
		}{"scrapy.org"}),
		"re that does not match adds nothing": loaded(loaderPage, struct {
			Name *string `css:"div" re:"ma$"`
		}{}),
		"re with two matches adds two": loaded(loaderPage, struct {
			Name []string `css:"div" re:"ma|ta"`
		}{[]string{"ma", "ta"}}),
		"add_xpath": loaded(loaderPage, struct {
			Name string `xpath:"//div/text()"`
		}{"marta"}),
		"add_xpath with re": loaded(loaderPage, struct {
			Name string `xpath:"//div/text()" re:"ma"`
		}{"ma"}),
		"add_jmes": loaded(loaderPage, struct {
			Name string   `css:"script" path:"name"`
			Tags []string `css:"script" path:"tags"`
		}{"data", []string{"a", "b"}}),
		"nested_css and nested_xpath": loaded(loaderPage, struct {
			Logo struct {
				Source string `attr:"src" conv:"url"`
				Width  int    `attr:"width"`
				Height int    `xpath:"@height"`
			} `css:"img"`
		}{struct {
			Source string `attr:"src" conv:"url"`
			Width  int    `attr:"width"`
			Height int    `xpath:"@height"`
		}{"http://www.scrapy.org/images/logo.png", 244, 65}}),
		"nested with an empty selection": loaded(loaderPage, struct {
			Footer *struct {
				Name string `css:"b"`
			} `css:"footer"`
		}{}),
		"MapCompose(str.strip)": loaded("<p>  a  <p>\t\n<p> b c ", struct {
			P []string `css:"p"`
		}{[]string{"a", "b c"}}),
		"MapCompose(str.lower)": loaded("<p>ÄPFEL", struct {
			P string `css:"p" conv:"lower"`
		}{"äpfel"}),
		"MapCompose(int)": loaded("<p>1<p>2", struct {
			P []int `css:"p"`
		}{[]int{1, 2}}),
		"MapCompose with a split": loaded("<p>one two", struct {
			P []string `css:"p" conv:"split, "`
		}{[]string{"one", "two"}}),
		"TakeFirst skips what is empty": loaded("<p></p><p> </p><p>three</p>", struct {
			P string `css:"p"`
		}{"three"}),
		"TakeFirst keeps zero": loaded("<p>0<p>1", struct {
			P *int `css:"p"`
		}{new(int)}),
		"Identity": loaded("<p>one<p>two", struct {
			P []string `css:"p"`
		}{[]string{"one", "two"}}),
		"Compose of a method of the type": loaded(loaderPage, struct {
			Name upper `css:"div"`
		}{"MARTA"}),
		"a field that is not found has no value": loaded(loaderPage, struct {
			Name  string   `css:"h1"`
			Names []string `css:"h1"`
		}{}),
		"defaults of an item": loaded(loaderPage, struct {
			Name string `css:"h1" default:"none"`
		}{"none"}),
		"remove_tags": loaded("<p>a <b>b</b> <i>c</i>", struct {
			P string `css:"p"`
		}{"a b c"}),
		"markup, as getall returns it": loaded("<p>a <b>b</b></p>", struct {
			P string `css:"p" html:"true"`
		}{"<p>a <b>b</b></p>"}),
		"text of attributes with references": loaded(`<a title="a &amp; b">`, struct {
			Title string `xpath:"//a/@title"`
		}{"a & b"}),
	} {
		t.Run(name, run)
	}
}

type upper string

func (u *upper) UnmarshalText(text []byte) error {
	*u = upper(strings.ToUpper(string(text)))
	return nil
}

// TestParselFields holds the cases of TestParsel as fields: each selects the same as a query of the page does.
func TestParselFields(t *testing.T) {
	doc := selector.Parse([]byte(gallery))
	for _, query := range []string{
		"title::text", "#images a::attr(href)", "a[href*=image] img::attr(src)", "title::text, ul li:first-child::text", "p.foo:last-child b::text", "#nosuch::text",
	} {
		checkField(t, doc, query, selector.Words{"css": query}, doc.CSS(query).GetAll())
	}
	for _, query := range []string{
		"//title/text()", "//base/@href", "//ul/li[1]/text()", "(//ul/li)[1]/text()", "//p[has-class('foo', 'bar-baz')]/text()", "//p[has-class('bar')]/text()",
		`//a[re:test(@class, "item-\d$")]/@href`, "//title/text() | //li[. > 3]/text()", "string(//p[2])", "count(//li)",
	} {
		checkField(t, doc, query, selector.Words{"xpath": query}, doc.XPath(query).GetAll())
	}
	checkField(t, doc, "re", selector.Words{"xpath": "//a[contains(@href, 'image')]/text()", "re": `Name:\s*(.*)`}, []string{"My image 1", "My image 2", "My image 3"})
	checkField(t, doc, "the outer HTML", selector.Words{"css": "title", "html": "true"}, doc.CSS("title").GetAll())
}

// checkField compares the values of a field that is a list, white space aside.
func checkField(t *testing.T, doc *selector.Document, name string, words selector.Words, want []string) {
	t.Helper()
	fields, err := selector.NewFields("Item", []selector.DataField{{Name: "f", Words: words, Type: reflect.TypeFor[[]string]()}})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	item, err := fields.Get(doc)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	got, _ := item["f"].([]string)
	for i := range want {
		want[i] = strings.Join(strings.Fields(want[i]), " ")
	}
	checkStrings(t, name, got, want...)
}

type naughtyFields struct {
	Text  string         `css:"p"`
	Attr  string         `css:"a" attr:"title"`
	Lower string         `css:"p" conv:"lower"`
	URL   string         `css:"p" conv:"url"`
	Int   int            `css:"p" conv:"int"`
	Plain int8           `css:"p"`
	Float float64        `css:"p" conv:"float,de"`
	Bool  bool           `css:"p"`
	Money selector.Money `css:"p" conv:"money"`
	Time  naughtyTime    `css:"p"`
	Bytes []byte         `css:"p"`
	List  []string       `css:"p" conv:"split,,"`
	Found []string       `css:"p" re:"\\w+"`
	JSON  string         `css:"p" path:"a.b"`
}

type naughtyTime struct{ text string }

func (n *naughtyTime) UnmarshalText(text []byte) error { n.text = string(text); return nil }

// The naughty strings in every field: as a text, an attribute, a number, in JSON. Texts come through with their white
// space collapsed, those of JSON as they are, and what does not fit is an error that names the field.
func TestNaughtyStrings(t *testing.T) {
	var naughty []string
	if err := json.Unmarshal(conformance.Read(t, "blns.json"), &naughty); err != nil {
		t.Fatal(err)
	}
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;")
	failed := 0
	for _, text := range naughty {
		doc := selector.Parse([]byte("<p>"+escape.Replace(text)+"</p><a title=\""+escape.Replace(text)+"\">x</a>"), selector.URL("https://a.test/"))
		var got naughtyFields
		err := doc.Unmarshal(&got)
		failed += countFieldErrors(t, text, err)
		page := doc.CSS("p").Text() // another way to the same text: NUL is left out by the HTML standard
		if got.Text != page || string(got.Bytes) != page || got.Time.text != page && page != "" {
			t.Errorf("%q: got %q, %q, %q, want %q", text, got.Text, got.Bytes, got.Time.text, page)
		}
		if attr := doc.CSS("a").Attr("title"); strings.TrimSpace(attr) != "" && got.Attr != attr {
			t.Errorf("%q: the attribute is %q, want %q", text, got.Attr, attr)
		}
		body, err := json.Marshal(map[string]string{"t": text})
		if err != nil {
			t.Fatal(err)
		}
		var v struct {
			T string         `path:"t"`
			N int            `path:"t" conv:"int"`
			M selector.Money `path:"t" conv:"money,EUR"`
		}
		failed += countFieldErrors(t, text, selector.Parse(body, selector.JSON()).Unmarshal(&v))
		if want := strings.ToValidUTF8(text, "\ufffd"); strings.TrimSpace(want) != "" && v.T != want {
			t.Errorf("%q in JSON: got %q", text, v.T)
		}
	}
	t.Logf("%d strings, %d values that do not fit", len(naughty), failed)
	if len(naughty) < 500 || failed < 1000 {
		t.Error("too few to prove anything")
	}
}

// countFieldErrors checks that an error is made of FieldErrors alone that name a field, and returns how many.
func countFieldErrors(t *testing.T, of string, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Errorf("%.50q: %T: %v", of, err, err)
		return 0
	}
	for _, one := range list.Unwrap() {
		var field *selector.FieldError
		if !errors.As(one, &field) || field.Field == "" && !strings.Contains(fmt.Sprint(one), "other errors") || field.Type == "" || len(one.Error()) > 2000 {
			t.Errorf("%.50q: %T: %v", of, one, one)
		}
	}
	return len(list.Unwrap())
}
