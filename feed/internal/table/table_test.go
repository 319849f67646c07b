package table_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/feed/internal/table"
)

// text writes itself as a text, by a method of its pointer.
type text struct{ n int }

func (t *text) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "text %d", t.n), nil }

type item struct {
	Bool    bool
	Int     int16
	Uint    uint32
	Float   float32
	String  string
	Bytes   []byte
	Time    time.Time `json:",omitzero"`
	Pointer **int
	List    []int
	Struct  struct{ A int }
	Any     any
	Big     big.Int
	Addr    netip.Addr
	Text    text
	Raw     json.RawMessage
	hidden  int
}

func TestColumns(t *testing.T) {
	list, err := table.Of(reflect.TypeFor[item]())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range list {
		text := c.Name + " " + c.Kind.String()
		if c.Bits > 0 {
			text += fmt.Sprint(c.Bits)
		}
		got = append(got, text)
	}
	want := "Bool bool, Int int16, Uint uint32, Float float32, String text, Bytes bytes, Time time, Pointer int64, List json, Struct json, Any json, Big json, " +
		"Addr text, Text text, Raw json"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// The methods of a pointer are found whether the item is one or not.
func TestCells(t *testing.T) {
	n := 7
	p := &n
	it := item{Int: -3, String: "a\xffb", Pointer: &p, List: []int{1}, Big: *big.NewInt(12), Text: text{5}, hidden: 1, Raw: json.RawMessage("null")}
	list, err := table.Of(reflect.TypeFor[item]())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []reflect.Value{reflect.ValueOf(it), reflect.ValueOf(&it).Elem()} {
		var got []string
		for i := range list {
			var c table.Cell
			if err := list[i].Fill(&c, v); err != nil {
				t.Fatal(err)
			}
			switch {
			case c.Null:
				got = append(got, "NULL")
			case c.Text != "":
				got = append(got, c.Text)
			case c.Int != 0:
				got = append(got, fmt.Sprint(c.Int))
			}
		}
		if want := "-3|a\uFFFDb|NULL|NULL|7|[1]|{\"A\":0}|NULL|12|text 5|NULL"; strings.Join(got, "|") != want {
			t.Errorf("%q, want %q", strings.Join(got, "|"), want)
		}
	}
}

func TestKeyOf(t *testing.T) {
	list, err := table.Of(reflect.TypeFor[item]())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  []string
		want string
	}{
		{nil, "[] true"}, {[]string{"Int", "Bool"}, "[1 0] true"}, {[]string{"int"}, "[] false"}, {[]string{"Int", "Int"}, "[] false"},
	} {
		indexes, err := table.KeyOf(list, c.key)
		if got := fmt.Sprint(indexes, " ", err == nil); got != c.want {
			t.Errorf("%q: %s, want %s", c.key, got, c.want)
		}
	}
}

func TestQuote(t *testing.T) {
	if got := table.QuoteAll([]string{"a", `b"c`}); got != `"a", "b""c"` {
		t.Error(got)
	}
}
