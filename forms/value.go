package forms

import (
	"math"
	"strconv"
	"strings"
)

// isSpace reports whether a byte is white space of HTML.
func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\f' || r == '\r' }

// spaces trims and collapses the white space of HTML.
func spaces(s string) string { return strings.Join(strings.FieldsFunc(s, isSpace), " ") }

// newlines writes each line end, CR LF, CR or LF, in one way.
func newlines(s, as string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\r':
			if i+1 < len(s) && s[i+1] == '\n' {
				i++
			}
			b.WriteString(as)
		case s[i] == '\n':
			b.WriteString(as)
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// number reads a non-negative integer (section 2.3.4.2).
func number(s string) (int, bool) {
	s = strings.TrimPrefix(strings.TrimLeftFunc(s, isSpace), "+")
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	return n, err == nil
}

// sanitize is the value sanitization algorithm of the input's type (section 4.10.5.1).
func (c *control) sanitize(value string) string {
	switch c.typ {
	case "text", "search", "tel", "password":
		return oneLine(value)
	case "url":
		return strings.TrimFunc(oneLine(value), isSpace)
	case "email":
		if value = strings.TrimFunc(oneLine(value), isSpace); !c.multiple {
			return value
		}
		parts := strings.Split(value, ",")
		for i := range parts {
			parts[i] = strings.TrimFunc(parts[i], isSpace)
		}
		return strings.Join(parts, ",")
	case "number":
		if _, ok := float(value); !ok {
			return ""
		}
	case "range":
		return c.inRange(value)
	case "color":
		return color(value)
	case "date", "month", "week", "time":
		if !isMoment(c.typ, value) {
			return ""
		}
	case "datetime-local":
		return localTime(value)
	}
	return value
}

func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(s)
}

// float reads a valid floating-point number (section 2.3.4.3).
func float(s string) (float64, bool) {
	digits := false
	for i, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits = true
		case r == '-' && (i == 0 || s[i-1] == 'e' || s[i-1] == 'E'):
		case r == '+' && i > 0 && (s[i-1] == 'e' || s[i-1] == 'E'):
		case r == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
		case (r == 'e' || r == 'E') && digits:
		default:
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// inRange is the value of a slider: the nearest one that it can have.
func (c *control) inRange(value string) string {
	attr := func(name string, otherwise float64) float64 {
		if f, ok := float(c.node.Attr(name)); ok {
			return f
		}
		return otherwise
	}
	least := attr("min", 0)
	most := attr("max", 100)
	f, ok := float(value)
	if !ok {
		if f = least; most > least {
			f = least + (most-least)/2
		}
	}
	if f > most {
		f = most
	}
	if f < least {
		f = least
	}
	step := attr("step", 1)
	if step <= 0 {
		step = 1
	}
	if strings.EqualFold(c.node.Attr("step"), "any") || most < least {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	base := attr("min", attr("value", 0))
	n := math.Floor((f-base)/step + 0.5) // halves are rounded up
	if base+n*step > most {
		n = math.Floor((most - base) / step)
	}
	if base+n*step < least {
		n = math.Ceil((least - base) / step)
	}
	near := base + n*step
	if !(near >= least && near <= most) { // no step lies in the range, or numbers are too large for steps
		near = f
	}
	return strconv.FormatFloat(roundTo(near, max(decimals(c.node.Attr("step")), decimals(c.node.Attr("min")), decimals(c.node.Attr("value")))), 'f', -1, 64)
}

// decimals returns how many digits a number has behind the point.
func decimals(s string) int {
	_, behind, _ := strings.Cut(s, ".")
	return min(len(behind), 15)
}

func roundTo(f float64, decimals int) float64 {
	power := math.Pow(10, float64(decimals))
	if r := math.Round(f*power) / power; !math.IsInf(r, 0) && !math.IsNaN(r) {
		return r
	}
	return f
}

// color is the value of a colour well: #rrggbb in lower case; what is none is black.
func color(s string) string {
	s = strings.TrimFunc(s, isSpace)
	if len(s) == 7 && s[0] == '#' && strings.Trim(s[1:], "0123456789abcdefABCDEF") == "" {
		return strings.ToLower(s)
	}
	return "#000000"
}

// localTime is the value of a local date and time: as short as it can be written.
func localTime(s string) string {
	day, clock, ok := strings.Cut(s, "T")
	if !ok {
		day, clock, ok = strings.Cut(s, " ")
	}
	if !ok || !isMoment("date", day) || !isMoment("time", clock) {
		return ""
	}
	if before, fraction, ok := strings.Cut(clock, "."); ok {
		if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
			clock = before
		} else {
			clock = before + "." + fraction
		}
	}
	if len(clock) == len("10:00:00") {
		clock = strings.TrimSuffix(clock, ":00")
	}
	return day + "T" + clock
}

// isMoment reports whether a value is one of its type: date, month, week or time (section 2.3.5).
func isMoment(typ, s string) bool {
	if typ == "time" {
		hour, rest := digits(s, 2)
		minute, rest := digits(strings.TrimPrefix(rest, ":"), 2)
		if len(s) < 5 || s[2] != ':' || hour < 0 || hour > 23 || minute < 0 || minute > 59 {
			return false
		}
		if rest == "" {
			return true
		}
		second, fraction := digits(strings.TrimPrefix(rest, ":"), 2)
		if rest[0] != ':' || second < 0 || second > 59 {
			return false
		}
		if fraction == "" {
			return true
		}
		return fraction[0] == '.' && len(fraction) > 1 && len(fraction) <= 4 && strings.Trim(fraction[1:], "0123456789") == ""
	}
	i := strings.IndexByte(s, '-')
	if i < 4 || i > 6 {
		return false
	}
	year, _ := digits(s, i)
	rest := s[i+1:]
	if year < 1 || year > 275760 {
		return false
	}
	switch typ {
	case "week":
		week, end := digits(strings.TrimPrefix(rest, "W"), 2)
		return strings.HasPrefix(rest, "W") && end == "" && week >= 1 && week <= weeks(year)
	case "month":
		month, rest := digits(rest, 2)
		return rest == "" && month >= 1 && month <= 12
	}
	month, rest := digits(rest, 2)
	day, end := digits(strings.TrimPrefix(rest, "-"), 2)
	return month >= 1 && month <= 12 && strings.HasPrefix(rest, "-") && end == "" && day >= 1 && day <= days(year, month)
}

// digits reads a number of so many digits, -1 if there is none.
func digits(s string, n int) (int, string) {
	if len(s) < n || n == 0 || strings.Trim(s[:n], "0123456789") != "" {
		return -1, s
	}
	v, _ := strconv.Atoi(s[:n])
	return v, s[n:]
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func days(year, month int) int {
	switch month {
	case 2:
		if isLeap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// weeks returns how many weeks a year has: 53 if it begins on a Thursday, or on a Wednesday and is a leap year.
func weeks(year int) int {
	y := year - 1
	first := (1 + y + y/4 - y/100 + y/400) % 7 // 0 is Sunday
	if first == 4 || first == 3 && isLeap(year) {
		return 53
	}
	return 52
}
