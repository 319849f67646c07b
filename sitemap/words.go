package sitemap

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// zones are the names of zones with their offsets in hours: those of RFC 5322 §4.3, and others that mean one offset alone.
var zones = map[string]float64{
	"UT": 0, "GMT": 0, "UTC": 0, "Z": 0, "WET": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
	"AKST": -9, "AKDT": -8, "HST": -10, "NST": -3.5, "NDT": -2.5, "BRT": -3, "WEST": 1, "CET": 1, "CEST": 2, "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3,
	"SAST": 2, "MSK": 3, "HKT": 8, "SGT": 8, "JST": 9, "KST": 9, "AWST": 8, "ACST": 9.5, "ACDT": 10.5, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}

const (
	months = "january february march april may june july august september october november december"
	days   = "monday tuesday wednesday thursday friday saturday sunday"
)

// longestDate is how many bytes of a date are read. Nobody writes longer ones.
const longestDate = 200

// words is a date that is read word by word.
type words struct {
	year, month, day int // 0: not known yet
	numbers          []string
	clock            time.Duration
	half             string // "AM" or "PM"
	hasClock         bool
	slashes          [2]int // of a date such as 5/6/2024, whose order is not known yet
	offset           int    // of the zone, in seconds
	hasOffset        bool
	zone             string // its name
}

// parseWords reads a date whose parts stand in any order.
func parseWords(value string) (time.Time, bool) {
	if value == "" || len(value) > longestDate {
		return time.Time{}, false
	}
	if seconds, ok := epoch(value); ok {
		return seconds, true
	}
	w := words{}
	for word := range strings.FieldsFuncSeq(uncomment(strings.ToUpper(value)), func(r rune) bool { return r == ',' || r == '|' || unicode.IsSpace(r) }) {
		if !w.read(word) {
			return time.Time{}, false
		}
	}
	return w.time()
}

// epoch reads seconds or milliseconds since 1970, of the years 2001 to 2286.
func epoch(value string) (time.Time, bool) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err == nil && len(value) == 10 && n >= 1e9:
		return time.Unix(n, 0).UTC(), true
	case err == nil && len(value) == 13 && n >= 1e12:
		return time.UnixMilli(n).UTC(), true
	}
	return time.Time{}, false
}

// uncomment takes the comments away: RFC 5322 §3.2.2 allows them, and they may stand in each other.
func uncomment(value string) string {
	var b strings.Builder
	depth := 0
	for _, r := range value {
		switch {
		case r == '(':
			depth++
			b.WriteByte(' ')
		case r == ')' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// read takes a word in, and reports whether it can be part of a date.
func (w *words) read(word string) bool {
	switch digits := len(word) - len(strings.TrimLeft(word, "0123456789")); {
	case word == "-" || word == "AT":
		return true
	case word[0] == '+' || word[0] == '-':
		return w.readOffset(word)
	case digits == 0:
		return w.readName(strings.TrimSuffix(word, "."))
	case digits == len(word) && digits == 8:
		return w.setDate(word[:4], word[4:6], word[6:])
	case digits <= 2 && digits < len(word) && word[digits] == ':':
		return w.readClock(word)
	case digits <= 2 && (word[digits:] == "AM" || word[digits:] == "PM"):
		return w.readClock(word[:digits] + ":00" + word[digits:])
	case digits <= 2 && (word[digits:] == "ST" || word[digits:] == "ND" || word[digits:] == "RD" || word[digits:] == "TH" || word[digits:] == "."):
		w.numbers = append(w.numbers, word[:digits])
		return len(w.numbers) <= 2
	case digits <= 2 && digits == len(word) || digits == 4 && len(word) == 4:
		w.numbers = append(w.numbers, word)
		return len(w.numbers) <= 2
	}
	return w.readParts(word)
}

// readParts reads a date in one word: 18-Jul-2017, 18.7.2017, 2017/7/18, also with the time behind it as in 2017-07-18T05:06.
func (w *words) readParts(word string) bool {
	if date, clock, ok := strings.Cut(word, "T"); ok && clock != "" && clock[0] >= '0' && clock[0] <= '9' {
		if len(clock) > 3 && !strings.Contains(clock, ":") && strings.Trim(clock[:4], "0123456789") == "" { // the basic form of ISO 8601
			rest := clock[4:]
			if len(rest) > 1 && strings.Trim(rest[:2], "0123456789") == "" {
				rest = ":" + rest
			}
			clock = clock[:2] + ":" + clock[2:4] + rest
		}
		return w.read(date) && w.readClock(clock)
	}
	for _, mark := range []string{"-", "/", "."} {
		parts := strings.Split(word, mark)
		if len(parts) != 3 {
			continue
		}
		if month := nameOf(months, parts[1]); month > 0 && w.month == 0 {
			w.month, w.numbers = month, append(w.numbers, parts[0], parts[2])
			return len(w.numbers) == 2 && len(parts[0]) <= 2 && toNumber(parts[0]) > 0 && toNumber(parts[2]) >= 0
		}
		switch {
		case len(parts[0]) == 4:
			return w.setDate(parts[0], parts[1], parts[2])
		case mark == ".":
			return w.setDate(longYear(parts[2]), parts[1], parts[0])
		}
		a, b := toNumber(parts[0]), toNumber(parts[1])
		if w.year != 0 || a <= 0 || b <= 0 || len(parts[2]) != 4 {
			return false
		}
		w.year, w.slashes = toNumber(parts[2]), [2]int{a, b}
		return w.year > 0
	}
	return false
}

// readName reads the name of a month, a day of the week, a half of the day or a zone.
func (w *words) readName(word string) bool {
	if month := nameOf(months, word); month > 0 && w.month == 0 {
		w.month = month
		return true
	}
	switch {
	case nameOf(days, word) > 0:
		return true
	case word == "AM" || word == "A.M" || word == "PM" || word == "P.M":
		w.half += word[:1] + "M"
		return len(w.half) == 2
	}
	for _, name := range []string{"GMT", "UTC"} { // GMT+0200, as scripts print it
		if offset, ok := strings.CutPrefix(word, name); ok && offset != "" {
			return w.readOffset(offset)
		}
	}
	if w.zone != "" || len(word) > 5 || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return false
	}
	w.zone = word
	return true
}

// readOffset reads the offset of a zone.
func (w *words) readOffset(word string) bool {
	if len(word) == 2 || len(word) > 2 && word[2] == ':' { // +2
		word = word[:1] + "0" + word[1:]
	}
	zone, ok := w3cZone(word)
	if !ok || w.hasOffset {
		return false
	}
	_, w.offset = time.Time{}.In(zone).Zone()
	w.hasOffset = true
	return true
}

// readClock reads a time of the day, and what is joined to it: a half of the day, or a zone.
func (w *words) readClock(word string) bool {
	if w.hasClock {
		return false
	}
	w.hasClock = true
	end := strings.IndexFunc(word, func(r rune) bool { return !strings.ContainsRune("0123456789:.", r) })
	if end < 0 {
		end = len(word)
	}
	parts, rest := strings.Split(word[:end], ":"), word[end:]
	if len(parts) < 2 || len(parts) > 3 {
		return false
	}
	units, most := [...]time.Duration{time.Hour, time.Minute, time.Second}, [...]int{23, 59, 60}
	for i, part := range parts {
		whole, fraction, hasFraction := strings.Cut(part, ".")
		n := toNumber(whole)
		if n < 0 || n > most[i] || len(whole) > 2 {
			return false
		}
		w.clock += time.Duration(min(n, 59)) * units[i] // 60 is a leap second
		if hasFraction {
			nanos, after := fractionOf(fraction)
			if i != 2 || after != "" {
				return false
			}
			w.clock += time.Duration(nanos)
		}
	}
	if rest == "" {
		return true
	}
	if rest[0] == '+' || rest[0] == '-' {
		return w.readOffset(rest)
	}
	return w.readName(strings.TrimSuffix(rest, "."))
}

// setDate sets a date of three numbers.
func (w *words) setDate(year, month, day string) bool {
	if w.year != 0 || w.month != 0 || w.day != 0 {
		return false
	}
	w.year, w.month, w.day = toNumber(year), toNumber(month), toNumber(day)
	return w.year > 0 && w.month > 0 && w.day > 0
}

// time puts the parts together.
func (w *words) time() (time.Time, bool) {
	switch { // what the numbers beside the name of a month are
	case w.slashes[0] > 12 && len(w.numbers) == 0:
		w.day, w.month = w.slashes[0], w.slashes[1]
	case w.slashes[0] > 0 && (w.slashes[1] > 12 || w.half != "") && len(w.numbers) == 0:
		w.month, w.day = w.slashes[0], w.slashes[1]
	case w.slashes[0] > 0 || w.month == 0 || w.year != 0 && len(w.numbers) > 0:
		return time.Time{}, false
	case len(w.numbers) == 1 && len(w.numbers[0]) == 4:
		w.year, w.day = toNumber(w.numbers[0]), 1
	case len(w.numbers) == 2 && len(w.numbers[0]) == 4:
		w.year, w.day = toNumber(w.numbers[0]), toNumber(w.numbers[1])
	case len(w.numbers) == 2:
		w.day, w.year = toNumber(w.numbers[0]), toNumber(longYear(w.numbers[1]))
	}
	if w.year <= 0 || w.year > 9999 || w.half != "" && !w.hasClock {
		return time.Time{}, false
	}
	switch hour := w.clock / time.Hour; { // hours above 12 are what they are: templates print "19:30 PM" too
	case w.half == "AM" && hour == 12:
		w.clock -= 12 * time.Hour
	case w.half == "PM" && hour < 12:
		w.clock += 12 * time.Hour
	}
	if !w.hasOffset {
		hours, known := zones[w.zone]
		if !known && w.zone != "" && (!w.hasClock || len(w.numbers) == 0) {
			return time.Time{}, false // mail alone has zones of unknown names
		}
		w.offset = int(hours * 3600)
	}
	zone := time.UTC
	if w.offset != 0 {
		zone = time.FixedZone("", w.offset)
	}
	t := time.Date(w.year, time.Month(w.month), w.day, int(w.clock/time.Hour), int(w.clock%time.Hour/time.Minute), 0, int(w.clock%time.Minute), zone)
	return t, t.Month() == time.Month(w.month) && t.Day() == w.day
}

// longYear gives a year of two digits its century (RFC 5322 §4.3).
func longYear(year string) string {
	switch n := toNumber(year); {
	case len(year) != 2:
		return year
	case n < 50:
		return "20" + year
	}
	return "19" + year
}

// nameOf returns which of some names a word is, or is an abbreviation of, from 1 on; 0 for none.
func nameOf(names, word string) int {
	word = strings.ToLower(word)
	n := 0
	for name := range strings.FieldsSeq(names) {
		if n++; len(word) >= 3 && strings.HasPrefix(name, word) {
			return n
		}
	}
	return 0
}

// toNumber returns the number that up to four digits are, or -1.
func toNumber(s string) int {
	if s == "" || len(s) > 4 {
		return -1
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}
