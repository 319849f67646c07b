//lint:file-ignore SA5008 odd tags are tested here

package columns_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/columns"
)

type inner struct {
	Deep   string
	Shared string
}

type Named struct {
	Shared string `json:"shared"`
	Twice  int
}

type Other struct{ Twice int }

type unexported struct{ Visible int }

type item struct {
	B      string `json:"b"`
	A      int    `json:"a,omitempty"`
	hidden int
	Dash   int `json:"-"`
	Comma  int `json:"-,"`
	inner
	*Named
	Other
	unexported
	Shared  string
	When    time.Time `json:"when,omitzero"`
	Quoted  int       `json:"quoted,string"`
	Bad     int       `json:"a\"b"`
	Tagged  Other     `json:"tagged"`
	Pointer *int
}

// keys returns the names in the JSON of an item, in their order: the witness is encoding/json.
func keys(t *testing.T, v any) (names []string) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	depth := 0
	for isKey := false; ; {
		token, err := d.Token()
		if err != nil {
			return names
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			isKey = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
		default:
			if depth == 1 && isKey {
				names = append(names, token.(string))
				isKey = false
				continue
			}
		}
		isKey = depth == 1
	}
}

// The columns of a type are what encoding/json writes, in the same order.
func TestColumnsAreThoseOfJSON(t *testing.T) {
	n := 3
	full := item{B: "b", A: 1, hidden: 1, inner: inner{"d", "s"}, Named: &Named{"x", 1}, When: time.Unix(1, 0), Pointer: &n}
	for _, v := range []any{full, &full, item{}, &item{}, struct{}{}, inner{}, Named{}} {
		list, err := columns.Of(reflect.TypeOf(v))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range list {
			if _, ok := list[i].Value(reflect.ValueOf(v)); ok {
				names = append(names, list[i].Name)
			}
		}
		if want := keys(t, v); !slices.Equal(names, want) {
			t.Errorf("%T: %q, want %q", v, names, want)
		}
	}
}

func TestTypesWithoutColumns(t *testing.T) {
	for _, v := range []any{1, "x", []int{1}, map[string]int{}, time.Now(), json.RawMessage("1"), &time.Time{}} {
		var not *columns.NotStructError
		if _, err := columns.Of(reflect.TypeOf(v)); !errors.As(err, &not) {
			t.Errorf("%T: %v", v, err)
		}
	}
	if _, err := columns.Of(nil); err == nil {
		t.Error("nil has columns")
	}
}

func Example() {
	type Book struct {
		Title string `json:"title"`
		Pages int    `json:"pages,omitempty"`
	}
	list, _ := columns.Of(reflect.TypeFor[Book]())
	for _, c := range list {
		if v, ok := c.Value(reflect.ValueOf(Book{Title: "Spiders"})); ok {
			fmt.Println(c.Name, v)
		}
	}
	// Output: title Spiders
}
