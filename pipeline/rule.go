package pipeline

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// ruleWords are the words of tags that Validate knows.
var ruleWords = []string{"min", "max", "len", "match", "oneof", "url"}

// rule checks a value that is there: no nil pointer. It returns what is wrong, or "".
type rule struct {
	word  string
	check func(v reflect.Value) string
}

var (
	durationType    = reflect.TypeFor[time.Duration]()
	timeType        = reflect.TypeFor[time.Time]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	stringer        = reflect.TypeFor[fmt.Stringer]()
)

// measure is how values of a type are compared with the bounds of a tag.
type measure struct {
	parse   func(text string) (reflect.Value, error)
	compare func(v, bound reflect.Value) int
	show    func(v reflect.Value) string
}

// measureOf returns how a type is measured: numbers, durations and times by their value, texts by their characters, lists and maps by
// their elements. ok is false if it cannot be.
func measureOf(t reflect.Type) (m measure, ok bool) {
	byText := func(v reflect.Value) string { return fmt.Sprint(v.Interface()) }
	switch t {
	case durationType:
		return measure{func(s string) (reflect.Value, error) {
			d, err := time.ParseDuration(s)
			return reflect.ValueOf(d), err
		}, func(v, b reflect.Value) int { return cmp.Compare(v.Int(), b.Int()) }, byText}, true
	case timeType:
		return measure{parseTime, func(v, b reflect.Value) int {
			return v.Interface().(time.Time).Compare(b.Interface().(time.Time))
		}, func(v reflect.Value) string { return v.Interface().(time.Time).Format(time.RFC3339Nano) }}, true
	case moneyType:
		return money, true
	}
	if m, ok := ownOrder(t); ok {
		return m, true
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return measure{func(s string) (reflect.Value, error) {
			n, err := strconv.ParseInt(s, 10, t.Bits())
			return reflect.ValueOf(n), bare(err)
		}, func(v, b reflect.Value) int { return cmp.Compare(v.Int(), b.Int()) },
			func(v reflect.Value) string { return strconv.FormatInt(v.Int(), 10) }}, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return measure{func(s string) (reflect.Value, error) {
			n, err := strconv.ParseUint(s, 10, t.Bits())
			return reflect.ValueOf(n), bare(err)
		}, func(v, b reflect.Value) int { return cmp.Compare(v.Uint(), b.Uint()) },
			func(v reflect.Value) string { return strconv.FormatUint(v.Uint(), 10) }}, true
	case reflect.Float32, reflect.Float64:
		return measure{func(s string) (reflect.Value, error) {
			n, err := strconv.ParseFloat(s, 64)
			if err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
				err = errors.New("it is no bound")
			}
			return reflect.ValueOf(n), bare(err)
		}, compareFloats, func(v reflect.Value) string { return strconv.FormatFloat(v.Float(), 'g', -1, t.Bits()) }}, true
	case reflect.String:
		return sizes(func(v reflect.Value) int { return utf8.RuneCountInString(v.String()) }, "%d characters"), true
	case reflect.Slice, reflect.Array, reflect.Map:
		if t.Kind() != reflect.Map && t.Elem().Kind() == reflect.Uint8 {
			return sizes(reflect.Value.Len, "%d bytes"), true
		}
		return sizes(reflect.Value.Len, "%d elements"), true
	}
	return m, false
}

// compareFloats puts NaN below and above everything: it is in no range.
func compareFloats(v, b reflect.Value) int {
	if math.IsNaN(v.Float()) {
		return outside
	}
	return cmp.Compare(v.Float(), b.Float())
}

// outside is the comparison of a value that is in no range.
const outside = 2

// sizes measures the sizes of values; bounds are ints.
func sizes(size func(reflect.Value) int, unit string) measure {
	of := func(v reflect.Value) int64 {
		if v.Kind() == reflect.Int {
			return v.Int()
		}
		return int64(size(v))
	}
	return measure{func(s string) (reflect.Value, error) {
		n, err := strconv.Atoi(s)
		if err == nil && n < 0 {
			err = errors.New("a size is not negative")
		}
		return reflect.ValueOf(n), bare(err)
	}, func(v, b reflect.Value) int { return cmp.Compare(of(v), of(b)) },
		func(v reflect.Value) string { return fmt.Sprintf(unit, of(v)) }}
}

// bare takes from the errors of strconv what the message says anyway.
func bare(err error) error {
	var number *strconv.NumError
	if errors.As(err, &number) {
		return number.Err
	}
	return err
}

func parseTime(s string) (reflect.Value, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t, err = time.Parse(time.RFC3339, s)
	}
	if err != nil {
		err = errors.New(`write a day, "2026-05-03", or a time of RFC 3339`)
	}
	return reflect.ValueOf(t), err
}

// ownOrder measures a type that reads itself from a text, and has a method Cmp or Compare with another value of it.
func ownOrder(t reflect.Type) (m measure, ok bool) {
	if !reflect.PointerTo(t).Implements(textUnmarshaler) {
		return m, false
	}
	for _, name := range []string{"Compare", "Cmp"} {
		for _, pointer := range []bool{false, true} {
			receiver := t
			if pointer {
				receiver = reflect.PointerTo(t)
			}
			method, has := receiver.MethodByName(name)
			if !has || method.Type.NumIn() != 2 || method.Type.NumOut() != 1 || method.Type.In(1) != receiver || method.Type.Out(0).Kind() != reflect.Int {
				continue
			}
			as := func(v reflect.Value) reflect.Value {
				if !pointer {
					return v
				}
				p := reflect.New(t)
				p.Elem().Set(v)
				return p
			}
			return measure{func(s string) (reflect.Value, error) {
				v := reflect.New(t)
				err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
				return v.Elem(), err
			}, func(v, b reflect.Value) int {
				return int(method.Func.Call([]reflect.Value{as(v), as(b)})[0].Int())
			}, func(v reflect.Value) string {
				if p := as(v); p.Type().Implements(stringer) {
					return p.Interface().(fmt.Stringer).String()
				}
				return fmt.Sprint(v.Interface())
			}}, true
		}
	}
	return m, false
}

// bounds are those of the tags of one field.
type bounds struct{ min, max, len reflect.Value }

// boundRule makes the rule of min, max or len.
func boundRule(word, text string, t reflect.Type, b *bounds) (r rule, err error) {
	m, ok := measureOf(t)
	if !ok {
		return r, fmt.Errorf("a %s has neither a size nor an order", t)
	}
	if _, isSize := sizeOf(t); word == "len" && !isSize {
		return r, fmt.Errorf("a %s has no length; use min and max", t)
	}
	bound, err := m.parse(text)
	if err != nil {
		return r, fmt.Errorf("%q does not bound a %s: %w", text, t, err)
	}
	show := text
	switch word {
	case "min":
		b.min = bound
		return rule{word, func(v reflect.Value) string {
			if c := m.compare(v, bound); c < 0 || c == outside {
				return m.show(v) + ", the least is " + show
			}
			return ""
		}}, b.contradiction(m)
	case "max":
		b.max = bound
		return rule{word, func(v reflect.Value) string {
			if c := m.compare(v, bound); c > 0 {
				return m.show(v) + ", the most is " + show
			}
			return ""
		}}, b.contradiction(m)
	}
	b.len = bound
	return rule{word, func(v reflect.Value) string {
		if m.compare(v, bound) != 0 {
			return m.show(v) + ", not " + show
		}
		return ""
	}}, b.contradiction(m)
}

func sizeOf(t reflect.Type) (reflect.Kind, bool) {
	switch k := t.Kind(); k {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		if _, own := ownOrder(t); own {
			return k, false
		}
		return k, true
	}
	return 0, false
}

// contradiction reports bounds that no value is in.
func (b *bounds) contradiction(m measure) error {
	for _, pair := range []struct {
		low, high reflect.Value
		text      string
	}{{b.min, b.max, "min %s is greater than max %s"}, {b.min, b.len, "min %s is greater than len %s"}, {b.len, b.max, "len %s is greater than max %s"}} {
		if pair.low.IsValid() && pair.high.IsValid() && m.compare(pair.low, pair.high) > 0 {
			return fmt.Errorf(pair.text, m.show(pair.low), m.show(pair.high))
		}
	}
	return nil
}

// textRule makes the rule of match, oneof or url. Those of a list or a map are for its elements, see elementOf.
func textRule(word, text string, t reflect.Type) (r rule, err error) {
	switch word {
	case "match":
		if t.Kind() != reflect.String {
			return r, fmt.Errorf("a %s is no text", t)
		}
		pattern, err := regexp.Compile(text)
		if err != nil {
			return r, err
		}
		return rule{word, func(v reflect.Value) string {
			if s := v.String(); !pattern.MatchString(s) {
				return shown(s) + " does not match " + text
			}
			return ""
		}}, nil
	case "oneof":
		return oneOf(text, t)
	}
	if t.Kind() != reflect.String {
		return r, fmt.Errorf("a %s is no text", t)
	}
	if text != "true" && text != "http" && text != "https" {
		return r, fmt.Errorf("%q is none of true, http and https", text)
	}
	return rule{word, func(v reflect.Value) string {
		s := v.String()
		abs, err := urlx.Parse(s)
		scheme := urlx.Scheme(abs)
		switch {
		case err != nil, scheme != "http" && scheme != "https", !strings.Contains(s, "://"), strings.ContainsAny(s, " \t\r\n"):
			return shown(s) + " is no absolute URL of http or https"
		case text != "true" && scheme != text:
			return shown(s) + " is no URL of " + text
		}
		return ""
	}}, nil
}

// oneOf makes the rule of values that are listed, with | between them.
func oneOf(text string, t reflect.Type) (r rule, err error) {
	words := strings.Split(text, "|")
	allowed := make(map[string]bool, len(words))
	for _, w := range words {
		if allowed[w] {
			return r, fmt.Errorf("%q stands there twice", w)
		}
		allowed[w] = true
	}
	var show func(v reflect.Value) string
	switch t.Kind() {
	case reflect.String:
		show = reflect.Value.String
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		m, _ := measureOf(t)
		for _, w := range words {
			if n, err := m.parse(w); err != nil || m.show(n) != w {
				return r, fmt.Errorf("%q is no %s", w, t)
			}
		}
		show = m.show
	default:
		return r, fmt.Errorf("a %s is neither a text nor a whole number", t)
	}
	return rule{"oneof", func(v reflect.Value) string {
		if s := show(v); !allowed[s] {
			return shown(s) + " is none of " + strings.Join(words, ", ")
		}
		return ""
	}}, nil
}
