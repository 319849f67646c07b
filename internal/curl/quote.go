package curl

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Quote writes a word so that a POSIX shell reads it back as it is: bare if nothing in it is special, in single quotes,
// or as bash's $'…' if it has control characters or is not UTF-8. No word can have a NUL: [Command.String] writes a
// body with one in base64.
func Quote(word string) string {
	switch {
	case word == "":
		return "''"
	case isBare(word):
		return word
	case needsANSI(word):
		return quoteANSI(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// isBare reports whether a word needs no quotes in any shell.
func isBare(word string) bool {
	for i := 0; i < len(word); i++ {
		c := word[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("-_./:=,+@%", c) < 0 {
			return false
		}
	}
	return word[0] != '=' // zsh replaces =word
}

func needsANSI(word string) bool {
	for i, r := range word {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '!' { // bash has a history of commands behind !
			return true
		}
		if r == utf8.RuneError && !strings.HasPrefix(word[i:], "\ufffd") {
			return true
		}
	}
	return false
}

func quoteANSI(word string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRuneInString(word[i:])
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case r == utf8.RuneError && size == 1, r < ' ', r >= 0x7f && r < 0xa0, r == '!':
			for _, c := range []byte(word[i : i+size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteString(word[i : i+size])
		}
		i += size
	}
	b.WriteByte('\'')
	return b.String()
}

// fileOpen begins what bash makes a file of the bytes behind base64 of.
const fileOpen = "<(base64 -d <<<"

// dataOption writes the option that sends a body.
func dataOption(data []byte) string {
	if bytes.IndexByte(data, 0) >= 0 { // no word can have one
		return "--data-binary @" + fileOpen + base64.StdEncoding.EncodeToString(data) + ")"
	}
	return "--data-raw " + Quote(string(data))
}
