package setting

import (
	"encoding"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// ValueError is a text that Parse cannot read.
type ValueError struct {
	Text    string // of the value, or of the element of a list
	Problem string // "is neither true nor false"
	Err     error  // of a type that reads itself; nil for others
}

// Error quotes the text.
func (e *ValueError) Error() string { return fmt.Sprintf("%q %s", e.Text, e.Problem) }

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// Parsable reports whether Parse can read values of a type.
func Parsable(t reflect.Type) bool {
	if t.Kind() == reflect.Slice && !isText(t) {
		return t.Elem().Kind() != reflect.Slice && Parsable(t.Elem())
	}
	switch {
	case t == durationType, isText(t):
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// isText reports whether values of a type read themselves.
func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

// TypeName names a type for users: "text", "number", "yes or no", "duration", "time", "list of text", or the name of a type that reads
// itself.
func TypeName(t reflect.Type) string {
	switch {
	case t == durationType:
		return "duration"
	case t == timeType:
		return "time"
	case isText(t):
		return strings.ToLower(t.Name())
	case t.Kind() == reflect.Slice:
		return "list of " + TypeName(t.Elem())
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "yes or no"
	case reflect.Func:
		return "func"
	}
	return "number"
}

// Parse sets v, which must be settable and of a type that is Parsable, to the value that the text stands for. Elements of a list are
// separated by commas; an empty text is an empty list. A time is in the form of RFC 3339, or a date, which is in UTC;
// an empty text is the zero time. Whole numbers of 64 bits may end in kB, MB, GB, KiB, MiB or GiB. On an error v has
// not changed.
func Parse(v reflect.Value, text string) error {
	t := v.Type()
	switch {
	case t == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return &ValueError{Text: text, Problem: "is no duration; write it with a unit, such as 500ms, 10s or 1h30m"}
		}
		v.SetInt(int64(d))
		return nil
	case t == timeType && text == "":
		v.SetZero()
		return nil
	case t == timeType:
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			if at, err = time.Parse(time.DateOnly, text); err != nil {
				return &ValueError{Text: text, Problem: "is no time; write it as 2006-01-02 or 2006-01-02T15:04:05Z"}
			}
		}
		v.Set(reflect.ValueOf(at))
		return nil
	case isText(t):
		made := reflect.New(t)
		if err := made.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			return &ValueError{text, fmt.Sprintf("is no %s: %v", strings.ToLower(t.Name()), err), err}
		}
		v.Set(made.Elem())
		return nil
	case t.Kind() == reflect.Slice:
		return parseList(v, text)
	}
	return parseBasic(v, text)
}

func parseList(v reflect.Value, text string) error {
	list := reflect.MakeSlice(v.Type(), 0, 0)
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if err := Parse(element, part); err != nil {
			return err
		}
		list = reflect.Append(list, element)
	}
	v.Set(list)
	return nil
}

func parseBasic(v reflect.Value, text string) error {
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		var yes bool
		if yes, err = strconv.ParseBool(text); err != nil {
			return &ValueError{Text: text, Problem: "is neither true nor false"}
		}
		v.SetBool(yes)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		digits, unit := cutUnit(v.Kind(), text)
		var n int64
		if n, err = strconv.ParseInt(digits, 10, v.Type().Bits()); err == nil && n*unit/unit != n {
			err = strconv.ErrRange
		}
		if err != nil {
			return notNumber(text, "whole number", err)
		}
		v.SetInt(n * unit)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		var n uint64
		if n, err = strconv.ParseUint(text, 10, v.Type().Bits()); err != nil {
			return notNumber(text, "whole number without a sign", err)
		}
		v.SetUint(n)
	case reflect.Float32, reflect.Float64:
		var n float64
		if n, err = strconv.ParseFloat(text, v.Type().Bits()); err != nil {
			return notNumber(text, "number", err)
		}
		v.SetFloat(n)
	default:
		return fmt.Errorf("a %s cannot be given as text", v.Type())
	}
	return nil
}

func notNumber(text, kind string, err error) error {
	if isRange(err) {
		return &ValueError{Text: text, Problem: "is out of range"}
	}
	return &ValueError{Text: text, Problem: "is no " + kind}
}

func isRange(err error) bool {
	n, ok := err.(*strconv.NumError)
	return err == strconv.ErrRange || ok && n.Err == strconv.ErrRange
}

// units are the endings that sizes may have.
var units = []struct {
	ending string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}}

func cutUnit(kind reflect.Kind, text string) (digits string, factor int64) {
	if kind == reflect.Int64 {
		for _, u := range units {
			if digits, ok := strings.CutSuffix(text, u.ending); ok {
				return strings.TrimSpace(digits), u.factor
			}
		}
	}
	return text, 1
}

// Text returns a value as Parse reads it. Of a func it is the name, "" if it is nil.
func Text(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return time.Duration(v.Int()).String()
	case v.Type() == timeType:
		if at := v.Interface().(time.Time); !at.IsZero() {
			return at.Format(time.RFC3339Nano)
		}
		return ""
	case v.Kind() == reflect.Func:
		return funcName(v)
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			return ""
		}
		return string(text)
	}
	if v.Kind() == reflect.Slice {
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = Text(v.Index(i))
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v.Interface())
}

func funcName(v reflect.Value) string {
	if v.IsNil() {
		return ""
	}
	name := "a func"
	if f := runtime.FuncForPC(v.Pointer()); f != nil {
		name = f.Name()
	}
	return name[strings.LastIndexByte(name, '/')+1:]
}
