package fieldcount_test

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/fieldcount"
)

func name(t reflect.Type) string {
	if t.Name() == "" {
		return t.Kind().String()
	}
	return t.Name()
}

type base struct {
	ID string `json:"id"`
}

type thing struct {
	base
	Title string
	Size  int            `json:"size"`
	List  []int          `json:"list"`
	Ptr   *int           `json:"ptr"`
	When  time.Time      `json:"when"`
	Map   map[string]int `json:"map"`
	Skip  string         `json:"-"`
}

type own struct{ a, b string }

func (o own) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"a":%q,"b":%q,"n":0,"list":[]}`, o.a, o.b), nil
}

// Structs by the rules of encoding/json, maps, and types that write their own JSON.
func TestItems(t *testing.T) {
	var totals fieldcount.Totals
	zero := 0
	for _, item := range []any{
		thing{base: base{"x"}, Title: "t", List: []int{}, Ptr: &zero, Skip: "s"}, &thing{Size: 1, When: time.Unix(0, 0), Map: map[string]int{"a": 0}},
		map[string]any{"k": "v", "e": "", "n": nil}, map[string]string{"k": ""}, own{a: "x"}, nil, 7, []byte("x"), (*thing)(nil),
	} {
		var tally fieldcount.Tally // each of a request of its own
		tally.Item(item, name)
		totals.Add(&tally)
	}
	want := map[string]string{
		"thing.id": "2 1", "thing.Title": "2 1", "thing.size": "2 1", "thing.list": "2 0", "thing.ptr": "2 1", "thing.when": "2 1", "thing.map": "2 1",
		"map.k": "2 1", "map.e": "2 0", "map.n": "2 0", "own.a": "1 1", "own.b": "1 0", "own.n": "1 0", "own.list": "1 0",
	}
	got := totals.Counts()
	for key, w := range want {
		if g := fmt.Sprint(got[key].Items, got[key].Filled); g != w {
			t.Errorf("%s: got %s, want %s", key, g, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
}

// 1,000 fields have their names, all others are counted together, and nothing is lost.
func TestManyKeys(t *testing.T) {
	var totals fieldcount.Totals
	for i := range 300 {
		var keys []string
		for k := range 5 {
			keys = append(keys, fmt.Sprintf("type%d.field%d", i, k))
		}
		for range 2 {
			var tally fieldcount.Tally
			tally.Extracted(keys, func(counts []fieldcount.Counts) {
				for k := range counts {
					counts[k].LookedFor++
				}
			})
			tally.Item(map[string]int{fmt.Sprint("key", i): 1}, name)
			totals.Add(&tally)
		}
	}
	got := totals.Counts()
	var looked, filled int64
	for _, c := range got {
		looked += c.LookedFor
		filled += c.Filled
	}
	if len(got) != fieldcount.MostKeys+1 || looked != 300*5*2 || filled != 600 || got["type0.field0"].LookedFor != 2 || got[fieldcount.Other].LookedFor == 0 {
		t.Errorf("%d keys, looked for %d times, filled %d times, other %+v", len(got), looked, filled, got[fieldcount.Other])
	}
}

// Counts that were stored are the same when they are read again, in whatever order, also if there were more fields than are counted by their names. It fails if
// Other takes the place of a field.
func TestMergeKeepsNames(t *testing.T) {
	stored := make(map[string]fieldcount.Counts)
	for i := range fieldcount.MostKeys + 10 {
		fieldcount.Merge(stored, fmt.Sprint("Book.field", i), fieldcount.Counts{LookedFor: int64(i)})
	}
	read := make(map[string]fieldcount.Counts)
	fieldcount.Merge(read, fieldcount.Other, stored[fieldcount.Other])
	for key, n := range stored {
		if key != fieldcount.Other {
			fieldcount.Merge(read, key, n)
		}
	}
	if len(stored) != fieldcount.MostKeys+1 || !maps.Equal(read, stored) {
		t.Errorf("%d keys are read as %d, other is %+v and was %+v", len(stored), len(read), read[fieldcount.Other], stored[fieldcount.Other])
	}
}

func ExampleTally() {
	type Book struct {
		Title string `json:"title"`
		Price int    `json:"price"`
	}
	var tally fieldcount.Tally
	tally.Item(Book{Title: "Dune"}, name)
	var totals fieldcount.Totals
	totals.Add(&tally)
	fmt.Println(totals.Counts()["Book.title"].Filled, totals.Counts()["Book.price"].Filled)
	// Output: 1 0
}
