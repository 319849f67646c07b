package parquet

import (
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// How many digits a decimal may have in 32 and in 64 bits, and how many bytes one with more has.
const (
	digits32     = 9
	digits64     = 18
	decimalBytes = 16
)

func decimalNode(t *tag) parquet.Node {
	switch {
	case t.precision <= digits32:
		return parquet.Decimal(t.scale, t.precision, parquet.Int32Type)
	case t.precision <= digits64:
		return parquet.Decimal(t.scale, t.precision, parquet.Int64Type)
	}
	return parquet.Decimal(t.scale, t.precision, parquet.FixedLenByteArrayType(decimalBytes))
}

// putDecimal makes a number of a Go number, or of its text. No digit is dropped: what does not fit is an error.
func putDecimal(n *node, i int, t reflect.Type, tag *tag) func(r *row, v reflect.Value, rep, def uint8) error {
	marshals := implements(t, textMarshaler)
	return func(r *row, v reflect.Value, rep, def uint8) error {
		var text string
		var err error
		switch {
		case marshals:
			if text, err = marshaled(n, v); err != nil {
				return err
			}
		case v.CanInt():
			text = strconv.FormatInt(v.Int(), 10)
		case v.CanUint():
			text = strconv.FormatUint(v.Uint(), 10)
		case v.CanFloat():
			text = strconv.FormatFloat(v.Float(), 'f', -1, t.Bits())
		default:
			text = v.String()
		}
		digits, err := unscaled(text, tag)
		if err != nil {
			return &ValueError{Field: n.name, Err: err}
		}
		r.level(i, rep, def)
		switch {
		case tag.precision <= digits32:
			x, _ := strconv.ParseInt(digits, 10, 32)
			r.put32(i, uint32(x))
		case tag.precision <= digits64:
			x, _ := strconv.ParseInt(digits, 10, 64)
			r.put64(i, uint64(x))
		default:
			x, _ := new(big.Int).SetString(digits, 10)
			if x.Sign() < 0 { // two's complement
				x.Add(x, new(big.Int).Lsh(big.NewInt(1), 8*decimalBytes))
			}
			var data [decimalBytes]byte
			r.cells[i].data = append(r.cells[i].data, x.FillBytes(data[:])...)
		}
		return nil
	}
}

// unscaled returns the digits of a decimal without its point, which has scale digits behind it.
func unscaled(text string, t *tag) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%.60q %s decimal(%d:%d)", text, why, t.scale, t.precision)
	}
	sign, digits := "", text
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		if digits[0] == '-' {
			sign = "-"
		}
		digits = digits[1:]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return bad("is no number for")
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if len(fraction) > t.scale {
		return bad("has more digits behind the point than")
	}
	if len(whole) > t.precision-t.scale {
		return bad("has more digits before the point than")
	}
	return sign + "0" + whole + fraction + strings.Repeat("0", t.scale-len(fraction)), nil
}
