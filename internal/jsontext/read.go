// Package jsontext reads the JSON that stands in pages, such as that of a script element.
//
// The flow: [Read] takes the text of an element or attribute and returns the JSON values in it, with the repairs that they needed.
// [Path] makes a path of a user one of gjson, in which keys may begin with an "@".
//
//	values, repairs, err := jsontext.Read([]byte(`<!-- {"@type": "Product",} -->`))
//	name := gjson.GetBytes(values[0], jsontext.Path("@type"))
package jsontext

import (
	"bytes"
	"fmt"
	stdhtml "html"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The bounds of what is read.
const (
	MaxDepth  = 500    // levels of a value
	MaxValues = 10_000 // in one text
)

// Read reads the JSON values in a text one after the other, and repairs what is often wrong in pages. The values are parts of
// text, or of a copy that has the repairs; each is valid JSON in UTF-8, at most [MaxDepth] deep. What was read before an error is
// returned with it. Each kind of repair is listed once.
func Read(text []byte) (values [][]byte, repairs []string, err error) {
	text = clean(text)
	r := jsonReader{text: text}
	for {
		r.space()
		for r.pos < len(text) && (text[r.pos] == ';' || text[r.pos] == ',') && len(values) > 0 {
			r.drop(1, "a sign behind the JSON was left out")
			r.space()
		}
		if r.pos >= len(text) {
			if len(values) == 0 && len(bytes.TrimSpace(text)) > 0 {
				err = r.fail("there is no value")
			}
			return values, r.repairs, err
		}
		if len(values) == MaxValues {
			return values, r.repairs, r.fail("there are too many values")
		}
		if len(values) == 1 {
			r.repaired("several values were read from one block")
		}
		value, err := r.value()
		if err != nil {
			return values, r.repairs, err
		}
		values = append(values, value)
	}
}

// clean returns a text valid as UTF-8 and without a mark of the byte order.
func clean(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	text = bytes.TrimPrefix(bytes.TrimSpace(text), []byte("\uFEFF"))
	// Some programs escape what they write into a page although it is a script.
	if i := bytes.IndexAny(text, "\"&"); i >= 0 && bytes.HasPrefix(text[i:], []byte("&quot;")) {
		text = []byte(stdhtml.UnescapeString(string(text)))
	}
	return text
}

// jsonReader reads JSON without recursion, so that no text can exhaust the stack.
type jsonReader struct {
	text    []byte
	pos     int
	from    int    // what is not in out begins here
	out     []byte // the present value with its repairs, as far as there are any
	edited  bool   // whether out is in use
	stack   []byte // the open brackets
	comma   int    // the position of the comma that was just read, else -1
	noEnd   bool   // whether it is known that no comment of HTML ends behind pos
	repairs []string
}

func (r *jsonReader) fail(what string) error {
	return fmt.Errorf("%s at byte %s of the block", what, strconv.Itoa(r.pos))
}

// repaired notes a kind of repair once for each block.
func (r *jsonReader) repaired(what string) {
	if !slices.Contains(r.repairs, what) {
		r.repairs = append(r.repairs, what)
	}
}

// replace writes something else for the bytes from a to b, all of them behind what was replaced before.
func (r *jsonReader) replace(a, b int, with string) {
	if r.out == nil {
		r.out = make([]byte, 0, len(r.text)-r.from+(len(r.text)-r.from)/8)
	}
	r.out = append(r.out, r.text[r.from:a]...)
	r.out = append(r.out, with...)
	r.from, r.edited = b, true
}

// drop leaves out the next n bytes.
func (r *jsonReader) drop(n int, why string) {
	r.replace(r.pos, r.pos+n, "")
	r.pos += n
	r.repaired(why)
}

// What may come next.
type expected uint8

const (
	aValue expected = iota
	aKey
	aColon
	aComma // or the end of the object or list
)

// value reads one value.
func (r *jsonReader) value() ([]byte, error) {
	start := r.pos
	r.from, r.out, r.edited = start, nil, false
	next := aValue
	r.comma = -1
	for {
		r.space()
		if r.pos >= len(r.text) {
			return nil, r.fail("the value has no end")
		}
		var err error
		if next, err = r.token(next); err != nil {
			return nil, err
		}
		if len(r.stack) == 0 && next == aComma {
			break
		}
	}
	if !r.edited {
		return r.text[start:r.pos], nil
	}
	value := append(r.out, r.text[r.from:r.pos]...)
	r.from = r.pos
	return value, nil
}

// token reads one token, and returns what may come behind it.
func (r *jsonReader) token(next expected) (expected, error) {
	c := r.text[r.pos]
	comma := r.comma
	if c != ',' {
		r.comma = -1
	}
	switch {
	case c == '}' || c == ']':
		return r.close(c, next, comma)
	case next == aColon:
		if c == ':' {
			r.pos++
			return aValue, nil
		}
	case next == aComma:
		if c == ',' {
			r.comma = r.pos
			r.pos++
			return r.inside(), nil
		}
	case c == ',' && comma >= 0:
		r.drop(1, "a second comma was left out")
		return next, nil
	case c == '"':
		if next == aKey {
			return aColon, r.quoted()
		}
		return aComma, r.quoted()
	case next == aKey:
	case c == '{' || c == '[':
		if len(r.stack) == MaxDepth {
			return 0, r.fail("the value is too deep")
		}
		r.stack = append(r.stack, c)
		r.pos++
		return r.inside(), nil
	default:
		return aComma, r.plain()
	}
	return 0, r.fail(fmt.Sprintf("there is %q instead of %s", rune(c), [...]string{"a value", "a name in quotes", "a colon", "a comma"}[next]))
}

// inside returns what may come behind an opening bracket or a comma.
func (r *jsonReader) inside() expected {
	if r.stack[len(r.stack)-1] == '{' {
		return aKey
	}
	return aValue
}

// close reads a closing bracket; comma is where a comma in front of it is.
func (r *jsonReader) close(c byte, next expected, comma int) (expected, error) {
	depth := len(r.stack)
	if depth == 0 || r.stack[depth-1] != c-2 { // in ASCII, two before a closing bracket is the opening one
		return 0, r.fail(fmt.Sprintf("there is %q too many", rune(c)))
	}
	if next == aColon || next == aValue && c == '}' {
		return 0, r.fail("a value is missing")
	}
	if comma >= 0 {
		r.undo(comma)
		r.repaired("a comma before a closing bracket was left out")
	}
	r.stack = r.stack[:depth-1]
	r.pos++
	return aComma, nil
}

// undo leaves out a comma that was read before. Behind it are nothing but white space and what was left out.
func (r *jsonReader) undo(comma int) {
	if comma >= r.from {
		r.replace(comma, comma+1, "")
		return
	}
	if i := bytes.LastIndexByte(r.out, ','); i >= 0 {
		r.out = append(r.out[:i], r.out[i+1:]...)
	}
}

// quoted reads a string.
func (r *jsonReader) quoted() error {
	for i := r.pos + 1; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			r.pos = i + 1
			return nil
		case c == '\\':
			i = r.escape(i)
		case c < ' ':
			r.replace(i, i+1, controlEscape(c))
			r.repaired("a control character in a string was escaped")
		}
	}
	return r.fail("a string has no end")
}

// escape reads the escape at i, and returns the position of its last byte. What JSON does not know is the sign itself, as in
// JavaScript, or else a backslash.
func (r *jsonReader) escape(i int) int {
	if i+1 >= len(r.text) {
		return i
	}
	switch c := r.text[i+1]; c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if i+6 <= len(r.text) && isHex(r.text[i+2:i+6]) {
			return i + 5
		}
	case '\'', '`', '$':
		r.replace(i, i+1, "")
		r.repaired("a backslash that escapes nothing was left out")
		return i + 1
	}
	r.replace(i, i+1, `\\`)
	r.repaired("a backslash that escapes nothing was doubled")
	return i
}

func isHex(b []byte) bool {
	for _, c := range b {
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

func controlEscape(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// plain reads a number, true, false or null.
func (r *jsonReader) plain() error {
	end := r.pos
	for end < len(r.text) && isPlain(r.text[end]) {
		end++
	}
	word := r.text[r.pos:end]
	switch string(word) {
	case "true", "false", "null":
	default:
		if !isNumber(word) {
			return r.fail("there is neither a value nor a string in quotes")
		}
	}
	r.pos = end
	return nil
}

func isPlain(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.'
}

// isNumber reports whether a word is a number of JSON (RFC 8259, section 6).
func isNumber(w []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(w) && '0' <= w[n] && w[n] <= '9' {
			n++
		}
		w = w[n:]
		return n > 0
	}
	w = bytes.TrimPrefix(w, []byte("-"))
	if len(w) > 1 && w[0] == '0' && '0' <= w[1] && w[1] <= '9' || !digits() {
		return false
	}
	if len(w) > 0 && w[0] == '.' {
		if w = w[1:]; !digits() {
			return false
		}
	}
	if len(w) > 0 && w[0]|0x20 == 'e' {
		if w = w[1:]; len(w) > 0 && (w[0] == '+' || w[0] == '-') {
			w = w[1:]
		}
		return digits() && len(w) == 0
	}
	return len(w) == 0
}

// space goes over white space, and leaves out comments and the like.
func (r *jsonReader) space() {
	for r.pos < len(r.text) {
		switch rest := r.text[r.pos:]; rest[0] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		case '/', '<', '-', ']':
			n, why := r.comment(rest)
			if n == 0 {
				return
			}
			r.drop(n, why)
		default:
			n := strangeSpace(rest)
			if n == 0 {
				return
			}
			r.drop(n, "white space that JSON does not know was left out")
		}
	}
}

// strangeSpace returns the size of white space that JSON does not know, and of what browsers make of NUL.
func strangeSpace(b []byte) int {
	if ' ' <= b[0] && b[0] < utf8.RuneSelf {
		return 0
	}
	for _, space := range [...]string{"\v", "\f", "\x00", "\u00a0", "\ufeff", "\u2028", "\u2029", "\ufffd"} {
		if bytes.HasPrefix(b, []byte(space)) {
			return len(space)
		}
	}
	return 0
}

// comment returns the size of a comment that b begins with, or of a mark around the JSON; 0 for neither.
func (r *jsonReader) comment(b []byte) (size int, why string) {
	const marks, comments = "a mark of HTML or XML around the JSON was left out", "a comment was left out"
	for _, mark := range [...]string{"<![CDATA[", "]]>", "-->"} {
		if bytes.HasPrefix(b, []byte(mark)) {
			return len(mark), marks
		}
	}
	switch {
	case bytes.HasPrefix(b, []byte("<!--")):
		inner := bytes.TrimLeft(b[4:min(len(b), 100)], " \t\r\n/")
		if r.noEnd || bytes.HasPrefix(inner, []byte("{")) || bytes.HasPrefix(inner, []byte("[")) {
			return 4, marks
		}
		if end := bytes.Index(b, []byte("-->")); end >= 0 {
			return end + 3, comments
		}
		r.noEnd = true
		return 4, marks
	case bytes.HasPrefix(b, []byte("/*")):
		if end := bytes.Index(b[2:], []byte("*/")); end >= 0 {
			return end + 4, comments
		}
	case bytes.HasPrefix(b, []byte("//")):
		inner := bytes.TrimLeft(b[2:], " \t")
		for _, mark := range [...]string{"<![CDATA[", "]]>", "<!--", "-->"} {
			if bytes.HasPrefix(inner, []byte(mark)) { // what follows in this line may be JSON
				return len(b) - len(inner), comments
			}
		}
		if end := bytes.IndexAny(b, "\r\n"); end >= 0 {
			return end, comments
		}
		return len(b), comments
	}
	return 0, ""
}
