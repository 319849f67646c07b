package sitemap

import (
	"fmt"
	"strings"
	"time"
)

// ParseTime reads a date as sitemaps, feeds and pages write it: in any of the forms of W3C Date and Time Formats, from the year alone to
// fractions of a second; as mail has it (RFC 822, RFC 850, RFC 5322, with comments); and in the forms that are found beside these, with the
// month in words ("July 18, 2017", "18-Jul-2017"), AM and PM, names of zones, and seconds or milliseconds since 1970. Missing parts of
// a date take their first value, a missing time zone is UTC, and so is a zone of a name that is not known (RFC 5322
// §4.3). A date of numbers whose day and month could be changed for each other is an error, but for "5/6/2024 7:08 PM",
// which is the sixth of May.
func ParseTime(s string) (time.Time, error) {
	value := strings.TrimSpace(s)
	if t, ok := parseW3CTime(value); ok {
		return t, nil
	}
	if t, ok := parseWords(value); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("sitemap: %.60q is no date", s)
}

// parseW3CTime reads YYYY-MM-DDThh:mm:ss.sTZD (https://www.w3.org/TR/NOTE-datetime), of which everything but the year
// may be missing from the end on; and, which is not in it, a space for the T, one digit for the hour, no colon in the
// zone, no zone.
func parseW3CTime(s string) (time.Time, bool) {
	var (
		at    = [6]int{0, 1, 1} // year, month, day, hour, minute, second
		nanos int
		zone  = time.UTC
		ok    bool
	)
	if at[0], s, ok = number(s, 4); !ok {
		return time.Time{}, false
	}
	for i, sign := range [...]string{"-", "-", "Tt ", ":", ":"} {
		if s == "" || !strings.Contains(sign, s[:1]) {
			break
		}
		if i == 2 {
			s = s[:1] + strings.TrimLeft(s[1:], " ")
		}
		s = s[1:]
		digits := 2
		if i == 2 && len(s) > 1 && s[1] == ':' {
			digits = 1 // as in T7:08
		}
		if at[i+1], s, ok = number(s, digits); !ok {
			return time.Time{}, false
		}
		if i == 4 && len(s) > 1 && (s[0] == '.' || s[0] == ',') {
			nanos, s = fractionOf(s[1:])
		}
		if i >= 2 && s != "" && s[0] != ':' {
			break
		}
	}
	if s = strings.TrimSpace(s); s != "" {
		if zone, ok = w3cZone(s); !ok {
			return time.Time{}, false
		}
	}
	t := time.Date(at[0], time.Month(at[1]), at[2], at[3], at[4], min(at[5], 59), nanos, zone) // 60 is a leap second
	valid := t.Month() == time.Month(at[1]) && t.Day() == at[2] && at[3] < 24 && at[4] < 60 && at[5] <= 60
	return t, valid
}

// number reads n digits.
func number(s string, n int) (value int, rest string, ok bool) {
	if len(s) < n {
		return 0, "", false
	}
	for i := range n {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, "", false
		}
		value = value*10 + int(c-'0')
	}
	return value, s[n:], true
}

// fractionOf reads the digits of a fraction of a second.
func fractionOf(s string) (nanos int, rest string) {
	unit := int(time.Second)
	for s != "" && s[0] >= '0' && s[0] <= '9' {
		unit /= 10
		nanos += unit * int(s[0]-'0')
		s = s[1:]
	}
	return nanos, s
}

// w3cZone reads Z or an offset from UTC.
func w3cZone(s string) (*time.Location, bool) {
	if s == "Z" || s == "z" {
		return time.UTC, true
	}
	if s[0] != '+' && s[0] != '-' {
		return nil, false
	}
	hours, rest, ok := number(s[1:], 2)
	minutes := 0
	if rest = strings.TrimPrefix(rest, ":"); ok && rest != "" {
		minutes, rest, ok = number(rest, 2)
	}
	if !ok || rest != "" || hours > 24 || minutes > 60 { // as package time, which says that some people write so
		return nil, false
	}
	seconds := hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	if seconds == 0 {
		return time.UTC, true
	}
	return time.FixedZone("", seconds), true
}
