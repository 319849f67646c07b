package parquet_test

import (
	"math/big"
	"testing"

	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/parquet"
)

// Rows of a damaged spool are refused, or read; none makes the feed panic or take memory that the row has no bytes for.
func FuzzDecode(f *testing.F) {
	for _, n := range nestedValues() {
		row, err := parquet.Shred(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(row)
	}
	row, err := parquet.Shred(feedtest.Products(0, 1)[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(row)
	f.Fuzz(func(t *testing.T, row []byte) {
		for _, like := range []any{nested{}, feedtest.Product{}} {
			values, err := parquet.Decode(like, row)
			n := 0
			for _, column := range values {
				n += len(column)
			}
			if most := len(row) + len(values); err == nil && n > most {
				t.Errorf("%d values of %d bytes", n, len(row))
			}
		}
	})
}

// A decimal is stored exactly, or not at all.
func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"12.50", "-0.001", "+7", "1e3", ".5", "5.", "000", "99999999.99"} {
		f.Add(text)
	}
	scaleOf := big.NewRat(100, 1)
	f.Fuzz(func(t *testing.T, text string) {
		digits, err := parquet.Unscaled(text, 2, 9)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(text)
		got, whole := new(big.Int).SetString(digits, 10)
		if !ok || !whole || new(big.Rat).SetInt(got).Cmp(want.Mul(want, scaleOf)) != 0 || len(new(big.Int).Abs(got).String()) > 9 {
			t.Errorf("%q is stored as %s", text, digits)
		}
	})
}
