package selector

import (
	"encoding"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/tegenaria/tegenaria/internal/convert"
)

// Money is an amount of money. Equal amounts are equal values.
type Money struct {
	// Amount is a decimal number: without leading zeros and separators of groups, and with at least as many digits behind the point as
	// the currency has, "51.70". It is never a float, which could not hold it.
	Amount   string `json:"amount"`
	Currency string `json:"currency"` // its code by ISO 4217, "GBP"
}

// ParseMoney reads an amount as it is written on a page. currency is the code of the one that is expected, "" for any:
// then the text has to name one that is not ambiguous. locale says how numbers are written, "de" or "en-IN"; with ""
// what is ambiguous is an error, so "1.299 €" is one.
func ParseMoney(text, currency, locale string) (Money, error) {
	in := convert.Find(locale)
	if in == nil && locale != "" {
		return Money{}, unknownLocale(locale)
	}
	if currency != "" && !convert.IsCurrency(currency) {
		return Money{}, fmt.Errorf("selector: %q is not the code of a currency", currency)
	}
	amount, code, err := convert.Money(text, currency, in)
	return Money{amount, code}, err
}

// String returns the amount and the currency, "51.77 GBP"; "" for the zero Money.
func (m Money) String() string {
	if m == (Money{}) {
		return ""
	}
	return m.Amount + " " + m.Currency
}

// IsZero reports whether there is no amount at all; an amount of 0.00 is one.
func (m Money) IsZero() bool { return m == Money{} }

// Unmarshaler is a type that reads itself from what the query of its field has found: all results, or in a list one. An
// error fails the field.
type Unmarshaler interface{ UnmarshalSelection(s *Selection) error }

// Conversion is a conversion of your own, see [Conv].
type Conversion struct {
	name string
	t    reflect.Type
	set  func(dst reflect.Value, text string) error
}

// Converter is a type with conversions of its own, for its fields and for those of the structs in them: conv:"stars" is
// the one with that name. The method is called once for each type, with its zero value.
type Converter interface{ Conversions() []Conversion }

// Conv returns a conversion of the texts of fields of type T, for [Converter] and [NewFields]. Its name may be that of
// a conversion of this package, which it then replaces. f may be called concurrently; its error fails the field.
func Conv[T any](name string, f func(text string) (T, error)) Conversion {
	return Conversion{name, reflect.TypeFor[T](), func(dst reflect.Value, text string) error {
		v, err := f(strings.Clone(text))
		if err == nil {
			*dst.Addr().Interface().(*T) = v
		}
		return err
	}}
}

// setter converts a text, and sets a value to what it makes of it. The text is only valid during the call. plain says
// that it is a number or a truth value of JSON.
type setter func(x *extraction, dst reflect.Value, text string, plain bool) error

var (
	timeType            = reflect.TypeFor[time.Time]()
	urlType             = reflect.TypeFor[url.URL]()
	moneyType           = reflect.TypeFor[Money]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	unmarshalerType     = reflect.TypeFor[Unmarshaler]()
	converterType       = reflect.TypeFor[Converter]()
)

// conversions are those that conv names, with the func that makes their setter for a type. A nil setter says that they do not fit the type.
var conversions = map[string]func(t reflect.Type, args []string) (setter, error){
	"int": intSetter, "float": floatSetter, "money": moneySetter, "time": timeSetter, "bool": boolSetter, "url": urlSetter, "lower": lowerSetter,
}

// setterFor returns the setter for a type: by the conversion that a rule names, or else by the type.
func setterFor(t reflect.Type, r *rule, own []Conversion) (setter, error) {
	if r.conv == "" || r.conv == "split" {
		return plainSetter(t)
	}
	for i := range own {
		if own[i].name != r.conv {
			continue
		}
		if own[i].t != t {
			return nil, fmt.Errorf("conv %s makes %s, and not %s", r.conv, own[i].t, t)
		}
		if len(r.args) > 0 {
			return nil, fmt.Errorf("conv %s is your own, and takes nothing behind its name", r.conv)
		}
		set := own[i].set
		return func(_ *extraction, dst reflect.Value, text string, _ bool) error { return set(dst, text) }, nil
	}
	make := conversions[r.conv]
	if make == nil {
		return nil, fmt.Errorf("conv %q is not known: there are int, float, money, time, bool, exists, url, lower and "+
			"split, and your own, see Converter", r.conv)
	}
	set, err := make(t, r.args)
	if err == nil && set == nil {
		err = fmt.Errorf("conv %s does not make %s", r.conv, t)
	}
	return set, err
}

// plainSetter returns the setter for a type without conv; nil if there is none.
func plainSetter(t reflect.Type) (setter, error) {
	switch t {
	case timeType:
		return timeSetter(t, nil)
	case urlType:
		return urlSetter(t, nil)
	case moneyType:
		return moneySetter(t, nil)
	}
	if reflect.PointerTo(t).Implements(textUnmarshalerType) {
		return func(_ *extraction, dst reflect.Value, text string, _ bool) error {
			return dst.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
		}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return setString, nil
	case reflect.Bool:
		return boolSetter(t, nil)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return func(_ *extraction, dst reflect.Value, text string, _ bool) error {
			return setInt(dst, strings.TrimSpace(text))
		}, nil
	case reflect.Float32, reflect.Float64:
		return func(_ *extraction, dst reflect.Value, text string, _ bool) error {
			return setFloat(dst, strings.TrimSpace(text))
		}, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return func(_ *extraction, dst reflect.Value, text string, _ bool) error {
				dst.SetBytes([]byte(text))
				return nil
			}, nil
		}
	}
	return nil, nil
}

func setString(_ *extraction, dst reflect.Value, text string, _ bool) error {
	dst.SetString(strings.Clone(text))
	return nil
}

// setInt sets an integer of any kind to a text of digits.
func setInt(dst reflect.Value, text string) error {
	if dst.CanInt() {
		n, err := strconv.ParseInt(text, 10, dst.Type().Bits())
		if err != nil {
			return numberError(err, dst.Type())
		}
		dst.SetInt(n)
		return nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, dst.Type().Bits())
	if err != nil {
		if _, e := strconv.ParseInt(text, 10, 64); e == nil { // a negative one
			err = strconv.ErrRange
		}
		return numberError(err, dst.Type())
	}
	dst.SetUint(n)
	return nil
}

// setFloat sets a float to a number as programs write it. What JSON cannot write, such as NaN, is none.
func setFloat(dst reflect.Value, text string) error {
	if strings.Trim(text, "+-.eE0123456789") != "" {
		return numberError(strconv.ErrSyntax, dst.Type())
	}
	f, err := strconv.ParseFloat(text, dst.Type().Bits())
	if err != nil {
		return numberError(err, dst.Type())
	}
	dst.SetFloat(f)
	return nil
}

func numberError(err error, t reflect.Type) error {
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("does not fit into %s", t)
	}
	if t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 {
		return errors.New("not a number as programs write it; conv:\"float\" reads those of people")
	}
	return errors.New("not an integer as programs write it; conv:\"int\" reads those of people, and re finds one in a text")
}

func unknownLocale(name string) error {
	return fmt.Errorf("the locale %q is not known; there are %s", name, strings.Join(convert.Locales(), ", "))
}

// localeOf returns the locale that is the only word of a conversion; nil: there is none.
func localeOf(args []string) (*convert.Locale, error) {
	if len(args) == 0 {
		return nil, nil
	}
	in := convert.Find(args[0])
	if len(args) > 1 || in == nil {
		return nil, unknownLocale(strings.Join(args, ","))
	}
	return in, nil
}

// decimal returns a number as programs write it, from JSON or from what people have written.
func decimal(text string, plain bool, in *convert.Locale) (string, error) {
	if plain {
		return text, nil
	}
	return convert.Decimal(text, in)
}

func intSetter(t reflect.Type, args []string) (setter, error) {
	in, err := localeOf(args)
	if k := t.Kind(); err != nil || k < reflect.Int || k > reflect.Uintptr {
		return nil, err
	}
	return func(_ *extraction, dst reflect.Value, text string, plain bool) error {
		text, err := decimal(text, plain, in)
		if err != nil {
			return err
		}
		if whole, fraction, ok := strings.Cut(text, "."); ok {
			if strings.Trim(fraction, "0") != "" {
				return errors.New("not an integer")
			}
			text = whole
		}
		return setInt(dst, text)
	}, nil
}

func floatSetter(t reflect.Type, args []string) (setter, error) {
	in, err := localeOf(args)
	if k := t.Kind(); err != nil || k != reflect.Float32 && k != reflect.Float64 {
		return nil, err
	}
	return func(_ *extraction, dst reflect.Value, text string, plain bool) error {
		text, err := decimal(text, plain, in)
		if err != nil {
			return err
		}
		return setFloat(dst, text)
	}, nil
}

func moneySetter(t reflect.Type, args []string) (setter, error) {
	currency := ""
	if len(args) > 0 && convert.IsCurrency(args[0]) {
		currency, args = args[0], args[1:]
	}
	in, err := localeOf(args)
	if err != nil {
		return nil, fmt.Errorf("%q is neither the code of a currency nor a locale; write conv:\"money,GBP\" or conv:\"money,EUR,de\"", args[0])
	}
	if t != moneyType {
		return nil, nil
	}
	return func(_ *extraction, dst reflect.Value, text string, plain bool) error {
		how := in
		if plain { // a number of JSON has a point
			how = convert.English()
		}
		amount, code, err := convert.Money(text, currency, how)
		if err == nil {
			*dst.Addr().Interface().(*Money) = Money{amount, code}
		}
		return err
	}, nil
}

func timeSetter(t reflect.Type, args []string) (setter, error) {
	format, err := convert.NewTimeFormat(args...)
	if err != nil || t != timeType {
		return nil, err
	}
	return func(x *extraction, dst reflect.Value, text string, _ bool) error {
		at, err := format.Time(text, x.now())
		if err == nil {
			*dst.Addr().Interface().(*time.Time) = at
		}
		return err
	}, nil
}

// truth are the words of truth values, in lower case.
var truth = map[string]bool{
	"true": true, "yes": true, "y": true, "on": true, "1": true, "t": true,
	"false": false, "no": false, "n": false, "off": false, "0": false, "f": false,
}

func boolSetter(t reflect.Type, args []string) (setter, error) {
	if len(args) != 0 && len(args) != 2 || len(args) == 2 && strings.EqualFold(args[0], args[1]) {
		return nil, errors.New("conv bool takes two words, of which the first is true: conv:\"bool,in stock,sold out\"")
	}
	if t.Kind() != reflect.Bool {
		return nil, nil
	}
	return func(_ *extraction, dst reflect.Value, text string, _ bool) error {
		text = strings.TrimSpace(text)
		if len(args) == 2 {
			is := strings.EqualFold(text, args[0])
			if !is && !strings.EqualFold(text, args[1]) {
				return fmt.Errorf("neither %q nor %q", args[0], args[1])
			}
			dst.SetBool(is)
			return nil
		}
		is, known := truth[strings.ToLower(text)]
		if !known {
			return errors.New("not a truth value; name the two words, for example conv:\"bool,in stock,sold out\"")
		}
		dst.SetBool(is)
		return nil
	}, nil
}

func urlSetter(t reflect.Type, args []string) (setter, error) {
	if len(args) > 0 {
		return nil, errors.New("conv url takes nothing behind its name")
	}
	if t != urlType && t.Kind() != reflect.String {
		return nil, nil
	}
	return func(x *extraction, dst reflect.Value, text string, _ bool) error {
		absolute, err := x.resolve(strings.TrimSpace(text))
		if err != nil {
			return err
		}
		if t != urlType {
			dst.SetString(absolute)
			return nil
		}
		u, err := url.Parse(absolute)
		if err == nil {
			dst.Set(reflect.ValueOf(u).Elem())
		}
		return err
	}, nil
}

func lowerSetter(t reflect.Type, args []string) (setter, error) {
	if len(args) > 0 {
		return nil, errors.New("conv lower takes nothing behind its name")
	}
	if t.Kind() != reflect.String {
		return nil, nil
	}
	return func(_ *extraction, dst reflect.Value, text string, _ bool) error {
		low := strings.ToLower(text)
		if unsafe.StringData(low) == unsafe.StringData(text) {
			low = strings.Clone(low)
		}
		dst.SetString(low)
		return nil
	}, nil
}
