package parquet

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// Shred returns the row of an item.
func Shred(item any) ([]byte, error) {
	s, err := schemaOf(reflect.TypeOf(item))
	if err != nil {
		return nil, err
	}
	r := newRow(s)
	err = s.root.shred(r, reflect.ValueOf(item), 0, 0)
	return r.encode(nil), err
}

// Decode reads the row of an item of a type.
func Decode(like any, row []byte) ([][]parquet.Value, error) {
	s, err := schemaOf(reflect.TypeOf(like))
	if err != nil {
		return nil, err
	}
	values := make([][]parquet.Value, len(s.leaves))
	return values, decode(values, s.leaves, row)
}

// Unscaled returns the digits of a decimal.
func Unscaled(text string, scale, precision int) (string, error) {
	return unscaled(text, &tag{scale: scale, precision: precision})
}
