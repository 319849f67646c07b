package pipeline

import (
	"cmp"
	"errors"
	"reflect"
	"strings"

	"github.com/tegenaria/tegenaria/selector"
)

var moneyType = reflect.TypeFor[selector.Money]()

// moneyBound is a bound of amounts: of all currencies if it names none.
type moneyBound selector.Money

// money measures amounts by their value. One in another currency than that of the bound, and one that is no decimal number, is in no range.
var money = measure{func(s string) (reflect.Value, error) {
	amount, currency, named := strings.Cut(s, " ")
	if _, ok := decimalOf(amount); !ok {
		return reflect.Value{}, errors.New(`write an amount, "0.01", or one of a currency, "0.01 EUR"`)
	}
	if named {
		if _, err := selector.ParseMoney("1", currency, ""); err != nil || currency == "" {
			return reflect.Value{}, errors.New("its currency is no code of ISO 4217")
		}
	}
	return reflect.ValueOf(moneyBound{amount, currency}), nil
}, func(v, bound reflect.Value) int {
	a, b := amountOf(v), amountOf(bound)
	x, ok := decimalOf(a.Amount)
	y, _ := decimalOf(b.Amount)
	anyCurrency := b.Currency == "" || a.Currency == "" && v.Type() != moneyType // of two bounds
	if !ok || !anyCurrency && a.Currency != b.Currency {
		return outside
	}
	return x.compare(y)
}, func(v reflect.Value) string {
	m := amountOf(v)
	if m.IsZero() {
		return "no amount"
	}
	return strings.TrimSuffix(m.String(), " ")
}}

func amountOf(v reflect.Value) selector.Money {
	return v.Convert(moneyType).Interface().(selector.Money)
}

// decimal is a decimal number: a sign, and digits without needless zeros.
type decimal struct {
	sign            int // -1, 0 or 1
	whole, fraction string
}

// decimalOf takes a number apart that is written as that of a [selector.Money].
func decimalOf(text string) (d decimal, ok bool) {
	d.sign = 1
	text, negative := strings.CutPrefix(text, "-")
	if negative {
		d.sign = -1
	}
	whole, fraction, hasPoint := strings.Cut(text, ".")
	if whole == "" || hasPoint && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return d, false
	}
	d.whole, d.fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if d.whole == "" && d.fraction == "" {
		d.sign = 0
	}
	return d, true
}

// compare returns -1, 0 or 1.
func (d decimal) compare(other decimal) int {
	if d.sign != other.sign {
		return cmp.Compare(d.sign, other.sign)
	}
	return d.sign * cmp.Or(cmp.Compare(len(d.whole), len(other.whole)), cmp.Compare(d.whole, other.whole), cmp.Compare(d.fraction, other.fraction))
}
