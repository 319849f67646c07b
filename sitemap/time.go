package sitemap

import (
	"fmt"
	"strings"
	"time"
)

// mailForms are the forms of RFC 5322 §3.3, with what is left out in the wild.
var mailForms = []string{
	"2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05",
	"2 Jan 2006 15:04 -0700", "2 Jan 2006 15:04 MST", "2 Jan 2006 15:04", "2 Jan 2006",
	"2 Jan 06 15:04:05 -0700", "2 Jan 06 15:04:05 MST", "2 Jan 06 15:04:05",
	"2 Jan 06 15:04 -0700", "2 Jan 06 15:04 MST", "2 Jan 06 15:04", "2 Jan 06",
}

// zones are the zone names of RFC 5322 §4.3. Other names are taken for UTC, as it says.
var zones = map[string]string{
	"UT": "+0000", "GMT": "+0000", "UTC": "+0000", "Z": "+0000", "EST": "-0500", "EDT": "-0400", "CST": "-0600",
	"CDT": "-0500", "MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}

// ParseTime reads a date as sitemaps and feeds write it: in any of the forms of W3C Date and Time Formats, from the year alone to
// fractions of a second, or as in mail (RFC 822, RFC 5322), as RSS has it; and with AM or PM, as in "5/6/2024 7:08:09 PM". Missing parts of a date take their first value; a
// missing time zone is UTC.
func ParseTime(s string) (time.Time, error) {
	value := strings.TrimSpace(s)
	if t, ok := parseW3CTime(value); ok {
		return t, nil
	}
	if t, ok := parseMailTime(value); ok {
		return t, nil
	}
	if t, ok := parseHalfDayTime(value); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("sitemap: %.60q is no date", s)
}

// halfDayForms are dates whose hours are followed by AM or PM, as templates of web shops print them. With slashes the month
// comes first, as where people write so.
var halfDayForms = []string{
	"2006-1-2 15:4:5 PM", "2006-1-2 15:4 PM", "1/2/2006 15:4:5 PM", "1/2/2006 15:4 PM", "2006/1/2 15:4:5 PM", "2006/1/2 15:4 PM",
	"Jan 2 2006 15:4:5 PM", "Jan 2 2006 15:4 PM", "2 Jan 2006 15:4:5 PM", "2 Jan 2006 15:4 PM",
}

// parseHalfDayTime reads a date with AM or PM. Hours above 12 are what they are: templates print "19:30 PM" too.
func parseHalfDayTime(value string) (time.Time, bool) {
	value = strings.NewReplacer("A.M.", "AM", "P.M.", "PM", ",", " ").Replace(strings.ToUpper(value))
	if len(value) > 10 && value[10] == 'T' {
		value = value[:10] + " " + value[11:]
	}
	at := max(strings.LastIndex(value, "AM"), strings.LastIndex(value, "PM"))
	if at < 0 {
		return time.Time{}, false
	}
	words := strings.Fields(value[:at] + " " + value[at:at+2] + " " + value[at+2:])
	if day := words[0]; len(day) >= 3 && strings.Contains("MON TUE WED THU FRI SAT SUN", day[:3]) {
		words = words[1:]
	}
	for i, word := range words {
		if len(word) > 3 && word[0] >= 'A' && word[0] <= 'Z' {
			words[i] = word[:3] // a month
		}
	}
	if len(words) == 0 {
		return time.Time{}, false
	}
	if offset, ok := zones[words[len(words)-1]]; ok {
		words[len(words)-1] = offset
	}
	value = strings.Join(words, " ")
	for _, form := range halfDayForms {
		for _, zone := range [...]string{"", " -0700", " -07:00"} {
			if t, err := time.ParseInLocation(form+zone, value, time.UTC); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

func parseMailTime(value string) (time.Time, bool) {
	if i := strings.IndexByte(value, ','); i >= 0 {
		value = value[i+1:] // the day of the week
	}
	words := strings.Fields(value)
	if len(words) < 3 || len(words) > 5 {
		return time.Time{}, false
	}
	if offset, ok := zones[strings.ToUpper(words[len(words)-1])]; ok {
		words[len(words)-1] = offset
	}
	if month := words[1]; len(month) > 3 {
		words[1] = month[:3]
	}
	value = strings.Join(words, " ")
	for _, form := range mailForms {
		if t, err := time.ParseInLocation(form, value, time.UTC); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
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
			nanos, s = fraction(s[1:])
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

// fraction reads the digits of a fraction of a second.
func fraction(s string) (nanos int, rest string) {
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
