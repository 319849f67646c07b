package convert

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// TimeFormat says how times are written. Make one with [NewTimeFormat]. It does not change.
type TimeFormat struct {
	layouts  []layout
	zone     *time.Location // nil: UTC where the text has none
	locale   *Locale        // nil: English
	relative bool
	epoch    time.Duration // the unit of a number since 1970; 0: it is none
}

// layout is a layout of package time, with the names in it in their order.
type layout struct {
	text  string
	names []nameForm
}

// nameForm is a name in a layout.
type nameForm struct{ weekday, short bool }

// standard are the times that no layout is needed for: those of RFC 3339, ISO 8601, of HTML's time element, and of HTTP.
var standard = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04", time.DateOnly, time.RFC1123, time.RFC1123Z,
}

// NewTimeFormat compiles the words of a format, in any order: layouts of package time, which are tried one after the other; the name of a
// zone, for texts that have none (else UTC); a locale, for the names of months and days (else English); "relative", for texts
// like "3 hours ago"; "unix" and "unixms", for seconds and milliseconds since 1970. Without a layout and these three the times of
// RFC 3339, ISO 8601 and HTTP are read.
func NewTimeFormat(args ...string) (*TimeFormat, error) {
	f := new(TimeFormat)
	for _, arg := range args {
		if strings.TrimSpace(arg) == "" {
			return nil, errors.New("an empty layout")
		}
		switch arg {
		case "relative":
			f.relative = true
			continue
		case "unix":
			f.epoch = time.Second
			continue
		case "unixms":
			f.epoch = time.Millisecond
			continue
		}
		if l := Find(arg); l != nil {
			f.locale = l
			continue
		}
		if l, ok := layoutOf(arg); ok {
			if !strings.Contains(arg, "06") { // also of 2006
				return nil, fmt.Errorf("the layout %q has no year; put a layout with a comma between single quotes", arg)
			}
			f.layouts = append(f.layouts, l)
			continue
		}
		zone, err := time.LoadLocation(arg)
		if err != nil {
			return nil, fmt.Errorf("%q is neither a layout of package time nor a zone nor a locale (for zones, a program without those of its system imports time/tzdata)", arg)
		}
		f.zone = zone
	}
	if f.relative && f.locale != nil && f.locale.ago == nil {
		return nil, fmt.Errorf("relative times are not known in the locale %s", f.locale.Name)
	}
	if len(f.layouts) == 0 && !f.relative && f.epoch == 0 {
		for _, text := range standard {
			l, _ := layoutOf(text)
			f.layouts = append(f.layouts, l)
		}
	}
	return f, nil
}

// layoutOf compiles a layout. It is not ok if nothing in it stands for a part of a time.
func layoutOf(text string) (l layout, ok bool) {
	one, other := time.Date(2001, 3, 4, 5, 7, 8, 9, time.UTC), time.Date(1999, 12, 31, 23, 59, 58, 1, time.FixedZone("XYZ", 3600))
	if one.Format(text) == other.Format(text) {
		return l, false
	}
	l.text = text
	for i := 0; i < len(text); i++ {
		for _, n := range []struct {
			text string
			form nameForm
		}{{"January", nameForm{}}, {"Jan", nameForm{short: true}}, {"Monday", nameForm{weekday: true}}, {"Mon", nameForm{weekday: true, short: true}}} {
			if strings.HasPrefix(text[i:], n.text) {
				l.names = append(l.names, n.form)
				i += len(n.text) - 1
				break
			}
		}
	}
	return l, true
}

// Time reads a time. now is the time of the page, for relative times; the zero time if it is not known.
func (f *TimeFormat) Time(text string, now time.Time) (time.Time, error) {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longest {
		return time.Time{}, fmt.Errorf("a time of %d bytes", len(text))
	}
	zone := f.zone
	if zone == nil {
		zone = time.UTC
	}
	if f.epoch != 0 {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			if n < -1<<47 || n > 1<<47 { // the year is far beyond 9999
				return time.Time{}, errors.New("a time out of range")
			}
			return time.UnixMilli(n * int64(f.epoch/time.Millisecond)).In(zone), nil
		}
	}
	locale := f.locale
	if locale == nil {
		locale = English()
	}
	for i := range f.layouts {
		l := &f.layouts[i]
		t, err := time.ParseInLocation(l.text, text, zone)
		if err != nil && len(l.names) > 0 {
			t, err = time.ParseInLocation(l.text, locale.english(text, l.names), zone)
		}
		if err == nil {
			return t, nil
		}
	}
	if f.relative {
		return locale.relative(text, now, zone)
	}
	if f.epoch != 0 {
		return time.Time{}, errors.New("not a number of seconds or milliseconds")
	}
	if len(f.layouts) == 1 {
		return time.Time{}, fmt.Errorf("not a time of the layout %q", f.layouts[0].text)
	}
	return time.Time{}, errors.New("not a time of any of the layouts; name its layout, for example conv:\"time,2 January 2006\"")
}

// english writes the names in a text in English, and takes the endings of ordinal numbers away.
func (l *Locale) english(text string, forms []nameForm) string {
	var b strings.Builder
	afterDigit := false
	for i := 0; i < len(text); {
		if afterDigit {
			afterDigit = false
			if size := ordinalLen(text[i:]); size > 0 {
				i += size
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsLetter(r) {
			b.WriteString(text[i : i+size])
			i += size
			afterDigit = unicode.IsDigit(r)
			continue
		}
		end := i + wordLen(text[i:])
		word := plainApostrophes(strings.ToLower(text[i:end]))
		n, known := l.names[word]
		switch {
		case known && len(forms) > 0 && n.of(forms[0]) > 0:
			b.WriteString(englishName(n.of(forms[0]), forms[0]))
			forms = forms[1:]
			if end < len(text) && text[end] == '.' { // of an abbreviation
				end++
			}
		default:
			b.WriteString(text[i:end])
		}
		i = end
	}
	return b.String()
}

func (n name) of(form nameForm) int {
	if form.weekday {
		return n.weekday
	}
	return n.month
}

func englishName(n int, form nameForm) string {
	full := time.Month(n).String()
	if form.weekday {
		full = time.Weekday(n % 7).String()
	}
	if form.short {
		return full[:3]
	}
	return full
}

// wordLen returns the length of the word that a text begins with: letters, and what joins them.
func wordLen(text string) int {
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '-' && !strings.ContainsRune(apostrophes, r) {
			return i
		}
	}
	return len(text)
}

// apostrophes are that of typewriters and those that stand for it in print.
const apostrophes = "'’ʼ‘"

// plainApostrophes returns a text with the apostrophes that the tables of words have.
func plainApostrophes(text string) string {
	return strings.NewReplacer("’", "'", "ʼ", "'", "‘", "'").Replace(text)
}

// ordinals are what makes an ordinal number of the digits before it.
const ordinals = "st nd rd th er ère e ème ste de º ª ° .º .ª :a :e -го -е -ое -й -ше -га"

// ordinalLen returns the length of the ending of an ordinal number that a text begins with, 0 for none.
func ordinalLen(text string) int {
	for ending := range strings.FieldsSeq(ordinals) {
		if len(text) < len(ending) || !strings.EqualFold(text[:len(ending)], ending) {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(text[len(ending):]); !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return len(ending)
		}
	}
	return 0
}
