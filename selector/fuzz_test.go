package selector_test

import (
	"errors"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/selector"
)

// FuzzCompile checks that a wrong query of either language is an error and never another panic.
func FuzzCompile(f *testing.F) {
	for _, query := range []string{
		"div.quote > a::attr(href), p *::text", `a[title="x,y"]:not(.a, .b)::text`, `#\63 /* , */ ::text`, "a[", "::attr(",
		"//div[@class='k']/a[1]/@href | //b", "count(//p) + 1", "//a[contains(., 'x')]/..", "//a]", "starts-with(1, 2)",
	} {
		f.Add(query)
	}
	doc := selector.Parse([]byte(small))
	f.Fuzz(func(t *testing.T, query string) {
		var syntax *selector.SyntaxError
		q, err := selector.Compile(query)
		if err == nil {
			doc.Select(q).Texts()
		} else if !errors.As(err, &syntax) {
			t.Errorf("CSS: %v is no *SyntaxError", err)
		}
		q, err = selector.CompileXPath(query)
		if err != nil {
			if !errors.As(err, &syntax) {
				t.Errorf("XPath: %v is no *SyntaxError", err)
			}
			return
		}
		defer func() {
			if p := recover(); p != nil {
				if _, ok := p.(*xpath.WorkError); !ok {
					t.Errorf("XPath: panic with %v", p)
				}
			}
		}()
		doc.Select(q).GetAll()
	})
}

// taggedTypes are types of fields, of each shape.
var taggedTypes = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[int8](), reflect.TypeFor[*float64](), reflect.TypeFor[bool](), reflect.TypeFor[[]byte](), reflect.TypeFor[[]string](),
	reflect.TypeFor[[2]uint16](), reflect.TypeFor[map[string]string](), reflect.TypeFor[selector.Money](), reflect.TypeFor[time.Time](), reflect.TypeFor[*url.URL](),
	reflect.TypeFor[[]*level](), reflect.TypeFor[count](), reflect.TypeFor[seller](), reflect.TypeFor[[]struct {
		B string `css:"b"`
	}](), reflect.TypeFor[map[string][]string](), reflect.TypeFor[complex64](),
}

// FuzzTags checks that whatever the tag, the type of its field and the page, Unmarshal returns: errors that name the
// field, the same ones each time; and that an empty page fills nothing.
func FuzzTags(f *testing.F) {
	const page = "<p title=x>1,5 €</p><script>{\"a\":[1,{\"b\":\"c\"}]}</script><table><tr><th>k<td>v</table>"
	for i, tag := range []string{
		`css:"p" required:"true"`, `css:"p" conv:"int"`, `css:"p" re:"\\d+"`, `css:"p" conv:"exists"`, `xpath:"//p/@title"`, `css:"p" conv:"split,,"`,
		`css:"script" path:"a"`, `css:"tr" key:"th" value:"td"`, `css:"p" conv:"money,EUR,de"`, `css:"p" conv:"time,'Jan 2, 2006',relative,de"`, `css:"p" attr:"title" conv:"url"`,
		`css:"p" html:"true"`, `csss:"p"`, `css:p`, `css:"p`, `conv:"" json:"x,omitempty"`, `css:"p" conv:"float,xx" default:"1"`,
	} {
		f.Add(tag, byte(i), page)
	}
	f.Fuzz(func(t *testing.T, tag string, kind byte, page string) {
		of := reflect.StructOf([]reflect.StructField{{Name: "F", Type: taggedTypes[int(kind)%len(taggedTypes)], Tag: reflect.StructTag(tag)}})
		fill := func(page string) (reflect.Value, error) {
			v := reflect.New(of)
			err := selector.Parse([]byte(page), selector.URL("https://a.test/")).Unmarshal(v.Interface())
			var field *selector.FieldError
			var size *selector.SizeError
			var work *xpath.WorkError
			if err != nil && !errors.As(err, &field) && !errors.As(err, &size) && !errors.As(err, &work) && !errors.As(err, new(*selector.WorkError)) {
				t.Errorf("%T: %v", err, err)
			}
			return v.Elem(), err
		}
		_, first := fill(page)
		if _, again := fill(page); (first == nil) != (again == nil) || first != nil && first.Error() != again.Error() {
			t.Errorf("first %v, then %v", first, again)
		}
		// An empty page has no elements, so a selector of one, with nothing beside it, finds none.
		words := reflect.StructTag(tag)
		if empty, err := fill(""); err == nil && words.Get("css") == "p" && words.Get("default") == "" && !empty.IsZero() {
			t.Errorf("an empty page has %v", empty)
		}
	})
}
