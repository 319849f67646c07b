package robots

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// kind says what a record is about.
type kind uint8

const (
	unknownRecord kind = iota
	agentRecord
	allowRecord
	disallowRecord
	delayRecord
	rateRecord
	sitemapRecord
)

// kindOf knows the records by their names and by the misspellings that are frequent in the wild.
func kindOf(name string) kind {
	var lower [16]byte
	if len(name) > len(lower) {
		return unknownRecord
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(name)]) {
	case "user-agent", "useragent", "user agent", "user_agent", "user-agents", "users-agent", "useg-agent", "ser-agent":
		return agentRecord
	case "allow", "allows":
		return allowRecord
	case "disallow", "disallows", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "desallow", "dis-allow", "dis allow":
		return disallowRecord
	case "crawl-delay", "crawl delay", "crawldelay":
		return delayRecord
	case "request-rate", "request rate":
		return rateRecord
	case "sitemap", "site-map", "sitemaps":
		return sitemapRecord
	}
	return unknownRecord
}

// parseLine reads one line without its end. A name and its value are parted by a colon; where it
// was forgotten, by white space, if that leaves exactly two words.
func parseLine(line string) record {
	// No record's name starts with anything but a letter: this skips indents and byte order marks,
	// also those in the middle of files that were glued together.
	for len(line) > 0 && (line[0] <= ' ' || line[0] >= 0x80) {
		line = line[1:]
	}
	if i := strings.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	if line == "" {
		return record{}
	}
	name, value, colon := strings.Cut(line, ":")
	if colon {
		name = trimBlank(name)
		if k := kindOf(name); k != unknownRecord {
			return record{k, trimBlank(value)}
		}
		if isBareSitemap(name, value) {
			return record{sitemapRecord, trimBlank(line)}
		}
	}
	line = trimBlank(line)
	if i := strings.IndexAny(line, " \t"); i > 0 {
		value = strings.TrimLeft(line[i:], " \t")
		if !strings.ContainsAny(value, " \t") {
			return record{kindOf(line[:i]), value}
		}
	}
	return record{}
}

// trimBlank removes white space from both ends, the no-break space of a file in Latin-1 too.
func trimBlank(s string) string {
	const noBreak = 0xA0
	for {
		s = strings.TrimSpace(s)
		if r, size := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && size == 1 && s[len(s)-1] == noBreak {
			s = s[:len(s)-1]
			continue
		}
		if s == "" || s[0] != noBreak { // which begins no rune
			return s
		}
		s = s[1:]
	}
}

// isBareSitemap reports whether a line, cut at its first colon, is a sitemap's URL whose
// "Sitemap:" was forgotten.
func isBareSitemap(scheme, rest string) bool {
	return (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) &&
		strings.HasPrefix(rest, "//") && strings.Contains(rest, "sitemap")
}

// decode returns the text of a body: at most MaxBytes of it, cut after a whole line.
func decode(body []byte) string {
	cut := len(body) > MaxBytes
	if cut {
		// One more byte reports whether the last line is whole.
		body = body[:MaxBytes+1]
	}
	var text string
	switch {
	case bytes.HasPrefix(body, []byte{0xFF, 0xFE}):
		text = decodeUTF16(body[2:], binary.LittleEndian)
	case bytes.HasPrefix(body, []byte{0xFE, 0xFF}):
		text = decodeUTF16(body[2:], binary.BigEndian)
	case bytes.IndexByte(body, 0) >= 0:
		text = string(bytes.ReplaceAll(body, []byte{0}, nil))
	default:
		text = string(body)
	}
	if cut {
		text = text[:strings.LastIndexAny(text, "\r\n")+1]
	}
	return text
}

func decodeUTF16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return strings.ReplaceAll(string(utf16.Decode(units)), "\x00", "")
}
