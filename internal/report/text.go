package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Number prints a number with a comma between each three digits: "14,059".
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(digits) - 3; i > first; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Count prints a number of things, whose name is given in the singular: "1 item", "2,000 items", "3 pages". Names that do not
// take an s are not for it.
func Count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Number(n) + " " + thing + "s"
}

// Bytes prints a number of bytes in decimal units, with three digits at least: "999 B", "5.21 MB", "1,204 GB".
func Bytes(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB"} {
		if size /= 1000; size < 999.5 {
			break
		}
	}
	switch {
	case size < 9.995:
		return fmt.Sprintf("%.2f %s", size, unit)
	case size < 99.95:
		return fmt.Sprintf("%.1f %s", size, unit)
	}
	return Number(int64(size+0.5)) + " " + unit
}

// Duration prints a duration to about three digits: "0s", "850ms", "2.13s", "1m20s", "3h4m", "2h".
func Duration(d time.Duration) string {
	switch size := d.Abs(); {
	case size < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case size < time.Second:
		return d.Round(time.Millisecond).String()
	case size < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	case size < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case size < time.Hour:
		return whole(d.Round(time.Second))
	}
	return whole(d.Round(time.Minute))
}

// whole prints a duration without the units that are zero at its end.
func whole(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Rate prints how often something happens in a minute; below ten with one decimal: "0.4", "9.5", "1,250".
func Rate(n int64, in time.Duration) string {
	rate := perMinute(n, in)
	if rate > 0 && rate < 9.95 {
		return strconv.FormatFloat(rate, 'f', 1, 64)
	}
	return Number(int64(rate + 0.5))
}

func perMinute(n int64, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return float64(n) / in.Minutes()
}

// mostOfCause bounds a text that stands for a cause, in bytes.
const mostOfCause = 200

// mostOfText bounds what the table at the end says of a cause, in bytes.
const mostOfText = 300

// Cause returns what Short makes of an error's text, and the text as the table at the end says it.
func Cause(text, url string) (cause, full string) {
	return Short(text, url), Cut(text, mostOfText)
}

// Short turns an error's text into one that errors of its kind are likely to share: the given URL and all others are left out, a
// number is one #, and of a long text only the beginning is kept.
func Short(text, url string) string {
	if url != "" {
		text = strings.ReplaceAll(text, url, "…")
	}
	words := strings.Fields(text)
	for i, word := range words {
		if strings.Contains(word, "://") {
			words[i] = "…"
		}
	}
	inNumber := false
	text = strings.Map(func(c rune) rune {
		wasInNumber := inNumber
		inNumber = c >= '0' && c <= '9'
		switch {
		case !inNumber:
			return c
		case wasInNumber:
			return -1
		}
		return '#'
	}, strings.Join(words, " "))
	return Cut(text, mostOfCause)
}

// Cut returns a text, or of a long one the beginning and "…": that is of most bytes at most.
func Cut(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
