package parquet_test

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bare "github.com/parquet-go/parquet-go"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/parquet"
)

// difficult has fields with values that cannot be stored.
type difficult struct {
	Price  string            `json:"price" parquet:"decimal(2:5)"`
	Exact  time.Time         `json:"exact,omitzero" parquet:"timestamp(nanosecond)"`
	Seen   time.Time         `json:"seen"`
	Any    any               `json:"any"`
	Offers []difficult       `json:"offers"`
	Inner  struct{ Any any } `json:"inner"`
}

// An item with a value that cannot be stored fails alone, with an error that names the field; the others are there.
func TestBadValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	f := parquet.New[difficult](path)
	feedtest.Restore(t, f, nil)
	feedtest.Put(t, f, "r", difficult{Price: "1.50"})
	for field, item := range map[string]difficult{
		"price":     {Price: "1000"},
		"exact":     {Price: "0", Exact: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)},
		"seen":      {Price: "0", Seen: time.Unix(math.MaxInt64/1000, 0)},
		"any":       {Price: "0", Any: func() {}},
		"inner.Any": {Price: "0", Inner: struct{ Any any }{math.NaN()}},
	} {
		var value *parquet.ValueError
		if err := process(f, "r", item); !errors.As(err, &value) || value.Field != field || value.Type != "parquet_test.difficult" {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, price := range []string{"", "-", "1.505", "1e3", "0x1", "1.2.3", "٣", "--1", "."} {
		var value *parquet.ValueError
		if err := process(f, "r", difficult{Price: price}); !errors.As(err, &value) || value.Field != "price" {
			t.Errorf("%q: %v", price, err)
		}
	}
	feedtest.Put(t, f, "r", "an item of another type")
	feedtest.Put(t, f, "r", (*difficult)(nil))
	feedtest.Prepare(t, f, "r")
	feedtest.End(t, f)
	rows, err := bare.ReadFile[struct {
		Price int32 `parquet:"price,decimal(2:5)"`
	}](path)
	if err != nil || len(rows) != 1 || rows[0].Price != 150 {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestMistakes(t *testing.T) {
	type badTag struct {
		A string `parquet:"a,snappy"`
	}
	type badDecimal struct {
		A bool `parquet:"decimal(2:5)"`
	}
	type badField struct{ A chan int }
	type none struct{ a int }
	_ = none{}.a
	for says, f := range map[string]*parquet.Feed{
		"no struct":           parquet.New[int]("x.parquet"),
		"snappy":              parquet.New[badTag]("x.parquet"),
		"is no decimal":       parquet.New[badDecimal]("x.parquet"),
		"chan int":            parquet.New[badField]("x.parquet"),
		"has no fields":       parquet.New[none]("x.parquet"),
		"a field of items":    parquet.New[difficult]("{item.price}-{part}.parquet"),
		"unknown field {who}": parquet.New[difficult]("{who}.parquet"),
		"need the field":      parquet.New[difficult]("x.parquet", parquet.Append()),
		"none below 0":        parquet.New[difficult]("{part}.parquet", parquet.Rotate(feed.Rotation{})),
		"option 1 is nil":     parquet.New[difficult]("x.parquet", nil),
		"no path":             parquet.New[difficult]("-"),
		"WithFS(nil)":         parquet.New[difficult]("x.parquet", parquet.WithFS(nil)),
	} {
		if err := f.Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
		if err := f.Mistake(); err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "parquet: ") {
			t.Errorf("before the crawl it says: %v, want %q", err, says)
		}
		process(f, "r", difficult{})
		if _, err := f.Prepare(t.Context(), nil); err == nil {
			t.Errorf("%s: Prepare of a feed that is not open", says)
		}
	}
}

// columns100 and columns10000 are structs with that many columns.
type columns100 struct {
	A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, B0, B1, B2, B3, B4, B5, B6, B7, B8, B9, C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, D0, D1, D2, D3, D4, D5, D6, D7, D8, D9,
	E0, E1, E2, E3, E4, E5, E6, E7, E8, E9, F0, F1, F2, F3, F4, F5, F6, F7, F8, F9, G0, G1, G2, G3, G4, G5, G6, G7, G8, G9, H0, H1, H2, H3, H4, H5, H6, H7, H8, H9,
	I0, I1, I2, I3, I4, I5, I6, I7, I8, I9, J0, J1, J2, J3, J4, J5, J6, J7, J8, J9 string
}

type columns10000 struct {
	A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, B0, B1, B2, B3, B4, B5, B6, B7, B8, B9, C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, D0, D1, D2, D3, D4, D5, D6, D7, D8, D9,
	E0, E1, E2, E3, E4, E5, E6, E7, E8, E9, F0, F1, F2, F3, F4, F5, F6, F7, F8, F9, G0, G1, G2, G3, G4, G5, G6, G7, G8, G9, H0, H1, H2, H3, H4, H5, H6, H7, H8, H9,
	I0, I1, I2, I3, I4, I5, I6, I7, I8, I9, J0, J1, J2, J3, J4, J5, J6, J7, J8, J9 columns100
}

func manyColumns(n int) (list []columns10000) {
	list = make([]columns10000, n)
	for i := range list {
		list[i].A0.A0, list[i].J9.J9 = "first", strings.Repeat("last ", i)
	}
	return list
}

func TestManyColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	write(t, path, manyColumns(3))
	rows, err := bare.ReadFile[struct {
		A0 struct{ A0 string }
		J9 struct{ J9 string }
	}](path)
	if err != nil || len(rows) != 3 || rows[2].A0.A0 != "first" || rows[2].J9.J9 != "last last " {
		t.Errorf("%v, %v", rows, err)
	}
}
