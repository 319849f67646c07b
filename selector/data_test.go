package selector_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/selector"
)

// Fields as data have the values of the same words in tags, typed by their conversions.
func TestFields(t *testing.T) {
	stars := selector.Conv("stars", func(text string) (int, error) { return len(text), nil })
	fields, err := selector.NewFields("book", []selector.DataField{
		{Name: "title", Words: selector.Words{"css": "h1", "required": "true"}},
		{Name: "price", Words: selector.Words{"css": ".price_color", "conv": "money"}},
		{Name: "stock", Words: selector.Words{"css": ".availability", "re": `\d+`, "conv": "int"}},
		{Name: "tags", Words: selector.Words{"css": "a.tag"}, Type: reflect.TypeFor[[]string]()},
		{Name: "specs", Words: selector.Words{"css": "tr", "key": "th", "value": "td"}},
		{Name: "seller", Words: selector.Words{"css": "script", "path": "offers.0.seller.name"}},
		{Name: "stars", Words: selector.Words{"css": ".rating", "conv": "stars"}},
		{Name: "gone", Words: selector.Words{"css": ".gone"}},
		{Name: "none", Words: selector.Words{"css": ".gone", "default": "-"}},
		{Name: "wrong", Words: selector.Words{"css": "h1", "conv": "float"}},
	}, stars)
	if err != nil {
		t.Fatal(err)
	}
	doc := selector.Parse([]byte(bookPage))
	got, err := fields.Get(doc)
	if field := (*selector.FieldError)(nil); !errors.As(err, &field) || field.Type != "book" || field.Field != "wrong" {
		t.Errorf("error %v", err)
	}
	want := map[string]any{
		"title": "A Light in the Attic", "price": selector.Money{Amount: "51.77", Currency: "GBP"}, "stock": int64(22), "tags": []string{"poetry", "light verse"},
		"specs": map[string]string{"UPC": "a897", "Tax": "£0.00"}, "seller": "Ann", "stars": 5, "none": "-",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	rows, err := selector.NewFields("row", []selector.DataField{{Name: "head", Words: selector.Words{"css": "th"}}})
	if err != nil {
		t.Fatal(err)
	}
	var heads []any
	for row, err := range rows.Each(doc.CSS("table"), "tr") {
		if err != nil {
			t.Error(err)
		}
		heads = append(heads, row["head"])
	}
	if fmt.Sprint(heads) != "[UPC Tax <nil>]" {
		t.Errorf("got %v", heads)
	}
}

func TestFieldsMistakes(t *testing.T) {
	_, err := selector.NewFields("book", []selector.DataField{
		{Name: "a", Words: selector.Words{"csss": "h1", "attr": "x"}}, {Name: "a", Words: selector.Words{"css": "h1"}}, {Name: "a", Words: selector.Words{"css": "h1"}},
		{Name: "b", Words: selector.Words{"css": "h1["}}, {Name: "c", Words: selector.Words{"required": "true"}}, {Name: "", Words: selector.Words{"css": "h1"}},
		{Name: "d", Words: selector.Words{"css": "h1", "conv": "int", "default": "x"}},
	})
	list, ok := err.(interface{ Unwrap() []error })
	if !ok || len(list.Unwrap()) != 7 || !strings.Contains(err.Error(), `is "css" meant?`) {
		t.Errorf("got %v", err)
	}
	if _, err := selector.NewFields("none", nil); err == nil {
		t.Error("no fields are no mistake")
	}
}
