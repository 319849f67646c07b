package rfc9111

import (
	"strings"
	"time"
)

// parseDate reads an HTTP-date (RFC 9110 §5.6.7), whatever the case of its letters, and nothing else that looks like a date. A year of
// two digits is the one of this century, unless that lies more than 50 years ahead.
func parseDate(s string, now time.Time) (time.Time, bool) {
	zoned := len(s) > 4 && strings.EqualFold(s[len(s)-4:], " GMT")
	if !zoned {
		if len(s) != len(time.ANSIC) {
			return time.Time{}, false
		}
		t, err := time.Parse(time.ANSIC, s)
		return t, err == nil
	}
	s = s[:len(s)-4]
	if t, err := time.Parse("Mon, 02 Jan 2006 15:04:05", s); err == nil {
		return t, len(s) == len("Mon, 02 Jan 2006 15:04:05") // time.Parse takes hours of one digit
	}
	day, rest, _ := strings.Cut(s, ", ")
	if len(day) < len("Monday") || len(rest) != len("02-Jan-06 15:04:05") {
		return time.Time{}, false
	}
	t, err := time.Parse("Monday, 02-Jan-06 15:04:05", s)
	if err != nil {
		return time.Time{}, false
	}
	t = t.AddDate(now.Year()/100*100+t.Year()%100-t.Year(), 0, 0)
	if t.After(now.AddDate(50, 0, 0)) {
		t = t.AddDate(-100, 0, 0)
	}
	return t, true
}
