package postgres_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tegenaria/tegenaria/feed/postgres"
)

// The binary form of a number is what pgx reads as that number.
func FuzzNumeric(f *testing.F) {
	for _, v := range []float64{0, 1, -1, 0.1, 10000, 9999.0001, 1e-300, math.MaxFloat64, 123456789.125, 1e16, 0.00012} {
		f.Add(v)
	}
	types := pgtype.NewMap()
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		text := strconv.FormatFloat(v, 'f', -1, 64)
		binary, err := postgres.AppendNumeric(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		var n pgtype.Numeric
		if err := types.Scan(pgtype.NumericOID, pgtype.BinaryFormatCode, binary, &n); err != nil {
			t.Fatal(err)
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		got := new(big.Rat).SetInt(n.Int)
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n.Exp, -n.Exp))), nil))
		if n.Exp < 0 {
			power.Inv(power)
		}
		if got.Mul(got, power).Cmp(want) != 0 {
			t.Errorf("%s became %s", text, got)
		}
	})
}

// JSON has a NUL if encoding/json finds one.
func FuzzNUL(f *testing.F) {
	for _, text := range []string{`"\u0000"`, `"\\u0000"`, `"\\\u0000"`, `{"a\u0000":1}`, `["\\\\u0000", "\\u0000\u0000"]`, `"\u00000"`, `"\u00001"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		if got, want := postgres.HasNUL(text), hasNUL(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	})
}

// hasNUL looks at all names and texts, also at those that others hide.
func hasNUL(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if s, ok := token.(string); ok && strings.Contains(s, "\x00") {
			return true
		}
	}
}
