package feed

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// xmlEncoder writes an item as an element with a child for each field, by the names of its JSON.
type xmlEncoder struct{ frame Frame }

var xmlItems = xmlEncoder{Frame{Begin: "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<items>\n", After: "\n", End: "</items>\n"}}

func (e xmlEncoder) Frame() Frame { return e.frame }

// Encode writes what the item's JSON says: an object is an element with a child for each field, a list one with a child "value"
// for each element, null an empty element. The error is an [*XMLError] if XML cannot hold a text or a name.
func (e xmlEncoder) Encode(dst []byte, item any) ([]byte, error) {
	buf := xmlTexts.Get().(*[]byte)
	defer xmlTexts.Put(buf)
	text, err := appendJSON((*buf)[:0], item)
	if err != nil {
		return dst, err
	}
	*buf = text
	w := xmlWriter{buf: dst, json: text}
	if err := w.element([]byte("item")); err != nil {
		return dst, err
	}
	return w.buf, nil
}

// XMLError is the failure to write an item as XML 1.0: a field has a character that XML cannot hold in any way, or a name that
// no element may have.
type XMLError struct {
	Field string // its path, "address.street", "tags[3]"; "" for the item itself
	Char  rune   // the character; 0 if it is the name that does not fit
}

// Error names the field and the remedy.
func (e *XMLError) Error() string {
	field := "the item"
	if e.Field != "" {
		field = "the field " + strconv.Quote(e.Field)
	}
	if e.Char == 0 {
		return fmt.Sprintf("feed: %s has a name that XML does not allow: give it another one with a json tag, or use JSON", field)
	}
	return fmt.Sprintf("feed: %s has the character %U, which XML cannot hold: remove it, or use JSON", field, e.Char)
}

// xmlTexts are used again: what they hold is copied.
var xmlTexts = sync.Pool{New: func() any { return new([]byte) }}

// xmlWriter turns JSON as encoding/json writes it, valid and without white space, into XML.
type xmlWriter struct {
	buf  []byte
	json []byte // what is left of it
	path []xmlStep
}

// xmlStep is a step of the path to a field: a name, or a place in a list.
type xmlStep struct {
	name  []byte // nil: a place
	index int
}

// field returns the path of the field that is being written.
func (w *xmlWriter) field() string {
	var b strings.Builder
	for _, s := range w.path {
		switch {
		case s.name == nil:
			fmt.Fprintf(&b, "[%d]", s.index)
		case b.Len() > 0:
			b.WriteByte('.')
			fallthrough
		default:
			b.Write(s.name)
		}
	}
	return b.String()
}

// element writes the next value as an element of that name.
func (w *xmlWriter) element(name []byte) error {
	if !isXMLName(name) {
		return &XMLError{Field: w.field()}
	}
	first := w.json[0]
	if first == 'n' {
		w.json = w.json[len("null"):]
		w.buf = append(append(append(w.buf, '<'), name...), "/>"...)
		return nil
	}
	w.tag("<", name)
	var err error
	switch first {
	case '{':
		err = w.fields()
	case '[':
		err = w.values()
	case '"':
		var text []byte
		if text, err = w.string(); err == nil {
			err = w.text(text)
		}
	default: // a number, true or false
		n := 0
		for n < len(w.json) && w.json[n] != ',' && w.json[n] != '}' && w.json[n] != ']' {
			n++
		}
		w.buf, w.json = append(w.buf, w.json[:n]...), w.json[n:]
	}
	if err != nil {
		return err
	}
	w.tag("</", name)
	return nil
}

func (w *xmlWriter) tag(open string, name []byte) {
	w.buf = append(append(append(w.buf, open...), name...), '>')
}

// string reads a string.
func (w *xmlWriter) string() ([]byte, error) {
	plain := true
	n := 1
	for ; w.json[n] != '"'; n++ {
		if w.json[n] == '\\' {
			plain = false
			n++
		}
	}
	raw := w.json[:n+1]
	w.json = w.json[n+1:]
	if plain {
		return raw[1:n], nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return []byte(text), err
}

func (w *xmlWriter) fields() error {
	for w.json = w.json[1:]; w.json[0] != '}'; {
		if w.json[0] == ',' {
			w.json = w.json[1:]
		}
		name, err := w.string()
		if err != nil {
			return err
		}
		w.json = w.json[1:] // the colon
		w.path = append(w.path, xmlStep{name: name})
		if err := w.element(name); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.json = w.json[1:]
	return nil
}

var xmlValue = []byte("value")

func (w *xmlWriter) values() error {
	w.json = w.json[1:]
	for i := 0; w.json[0] != ']'; i++ {
		if w.json[0] == ',' {
			w.json = w.json[1:]
		}
		w.path = append(w.path, xmlStep{index: i})
		if err := w.element(xmlValue); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.json = w.json[1:]
	return nil
}

// text writes a text. A carriage return is escaped, since readers turn it into a line feed otherwise.
func (w *xmlWriter) text(s []byte) error {
	written := 0
	for i := 0; i < len(s); {
		c, size := rune(s[i]), 1
		escape := ""
		switch {
		case c == '<':
			escape = "&lt;"
		case c == '>':
			escape = "&gt;"
		case c == '&':
			escape = "&amp;"
		case c == '\r':
			escape = "&#13;"
		case c < utf8.RuneSelf:
			if c < ' ' && c != '\t' && c != '\n' {
				return &XMLError{Field: w.field(), Char: c}
			}
		default:
			if c, size = utf8.DecodeRune(s[i:]); !isXMLChar(c) {
				return &XMLError{Field: w.field(), Char: c}
			}
		}
		if escape != "" {
			w.buf = append(append(w.buf, s[written:i]...), escape...)
			written = i + size
		}
		i += size
	}
	w.buf = append(w.buf, s[written:]...)
	return nil
}

// isXMLChar is the rule Char of XML 1.0.
func isXMLChar(c rune) bool {
	return c == '\t' || c == '\n' || c == '\r' || c >= 0x20 && c <= 0xD7FF || c >= 0xE000 && c <= 0xFFFD || c >= 0x10000
}

// isXMLName reports whether an element may have this name: by the rule NCName of XML, without colons, which are for namespaces.
func isXMLName(s []byte) bool {
	for i := 0; i < len(s); {
		c, size := rune(s[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(s[i:])
		}
		if !isNameStart(c) && (i == 0 || !isNamePart(c)) {
			return false
		}
		i += size
	}
	return len(s) > 0
}

func isNameStart(c rune) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0xC0 && c <= 0x2FF && c != 0xD7 && c != 0xF7 ||
		c >= 0x370 && c <= 0x1FFF && c != 0x37E || c >= 0x200C && c <= 0x200D || c >= 0x2070 && c <= 0x218F || c >= 0x2C00 && c <= 0x2FEF ||
		c >= 0x3001 && c <= 0xD7FF || c >= 0xF900 && c <= 0xFDCF || c >= 0xFDF0 && c <= 0xFFFC || c >= 0x10000 && c <= 0xEFFFF
}

func isNamePart(c rune) bool {
	return c == '-' || c == '.' || c == 0xB7 || c >= '0' && c <= '9' || c >= 0x300 && c <= 0x36F || c >= 0x203F && c <= 0x2040
}
