package cookiejar

import (
	"strings"
	"time"
)

// ParseDate reads the date of an Expires attribute by the algorithm of RFC 6265 §5.1.1, which takes any order and most
// punctuation; ok reports whether it is a date.
func ParseDate(s string) (date time.Time, ok bool) {
	var day, year, hour, minute, second int
	var month time.Month
	var hasTime, hasDay, hasYear bool
	for i := 0; i < len(s); {
		if isDateDelimiter(s[i]) {
			i++
			continue
		}
		start := i
		for i < len(s) && !isDateDelimiter(s[i]) {
			i++
		}
		token := s[start:i]
		if !hasTime {
			if hour, minute, second, hasTime = clockToken(token); hasTime {
				continue
			}
		}
		if !hasDay {
			if day, hasDay = numberToken(token, 1, 2); hasDay {
				continue
			}
		}
		if month == 0 {
			if month = monthToken(token); month != 0 {
				continue
			}
		}
		if !hasYear {
			year, hasYear = numberToken(token, 2, 4)
		}
	}
	switch {
	case year >= 70 && year <= 99:
		year += 1900
	case year >= 0 && year <= 69:
		year += 2000
	}
	if !hasTime || !hasDay || month == 0 || !hasYear || day < 1 || year < 1601 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	date = time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	return date, date.Day() == day // 31 February is no date
}

// isDateDelimiter reports whether a byte stands between the tokens of a date.
func isDateDelimiter(c byte) bool {
	return c == 0x09 || c >= 0x20 && c <= 0x2f || c >= 0x3b && c <= 0x40 || c >= 0x5b && c <= 0x60 || c >= 0x7b && c <= 0x7e
}

// digits reads the digits that s begins with.
func digits(s string) (value, n int) {
	for n < len(s) && n < 5 && s[n] >= '0' && s[n] <= '9' {
		value = value*10 + int(s[n]-'0')
		n++
	}
	return value, n
}

// numberToken reads a number of that many digits, at whose end anything but a digit may stand.
func numberToken(token string, least, most int) (value int, ok bool) {
	value, n := digits(token)
	return value, n >= least && n <= most
}

// clockToken reads 1:2:3, at whose end anything but a digit may stand.
func clockToken(token string) (hour, minute, second int, ok bool) {
	var parts [3]int
	for i := range parts {
		value, n := digits(token)
		if n < 1 || n > 2 {
			return 0, 0, 0, false
		}
		parts[i], token = value, token[n:]
		if i < 2 {
			if token == "" || token[0] != ':' {
				return 0, 0, 0, false
			}
			token = token[1:]
		}
	}
	return parts[0], parts[1], parts[2], true
}

// monthToken reads the name of a month by its first three letters, 0 if it is none.
func monthToken(token string) time.Month {
	if len(token) < 3 {
		return 0
	}
	for month := time.January; month <= time.December; month++ {
		if strings.EqualFold(token[:3], month.String()[:3]) {
			return month
		}
	}
	return 0
}
