// Package jsonsize estimates how much memory a JSON text takes when encoding/json decodes it, before it does.
//
// Two bytes of JSON can be eighty bytes of Go: the list "[{},{},…]" is a map for every element. The estimate is made of
// the type of the target, which says what an element, a member and an object may take, and of one pass over the text,
// which counts them:
//
//	var v any
//	if jsonsize.Of(body, &v) > limit { … }
//	err := json.Unmarshal(body, &v)
//
// It errs on the large side by a small factor. It does not know what the methods of a json.Unmarshaler take.
package jsonsize

import (
	"bytes"
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"unicode/utf8"
)

// small is the size of a text, in bytes, that is never looked at: what becomes of it is small as well.
const small = 4 << 10

// The sizes of Go's values, in bytes.
const (
	header  = 48      // of a map
	group   = 8       // control word of eight entries of a map
	entries = 8       // in a group
	iface   = 16      // an interface
	boxed   = 24      // what an interface points to: a string or slice header, or a number
	text    = 16      // a string header
	grown   = 5       // a slice that grows holds its old and its new array:
	shrunk  = 2       // grown/shrunk times its elements
	word    = 8       // what the allocator rounds small sizes to
	rounds  = 6       // the part of a size that it adds to others, at most
	deepest = 10_000  // levels, of which encoding/json refuses more
	most    = 1 << 56 // an estimate above it is this
)

// Of returns the number of bytes that decoding a JSON text into v, a pointer, may allocate. It is 0 for a text of up to 4 KiB:
// what becomes of that is small as well. The text need not be valid.
func Of(body []byte, v any) int64 {
	if len(body) <= small || v == nil {
		return 0
	}
	c := costs{seen: make(map[reflect.Type]bool)}
	if t := reflect.TypeOf(v); t.Kind() == reflect.Pointer {
		c.walk(t.Elem())
	}
	n := count(body)
	sum := float64(n.elements)*float64(c.element) + float64(n.members)*float64(c.member) + float64(n.objects)*float64(c.object) +
		float64(n.filled)*float64(c.filled) + float64(n.arrays)*float64(c.array) + float64(n.scalars)*float64(c.scalar)
	if c.strings {
		length := float64(n.text + n.strings*word)
		if !utf8.Valid(body) {
			length *= utf8.UTFMax - 1 // each wrong byte becomes U+FFFD
		}
		sum += length
	}
	return int64(math.Min(sum+sum/rounds, most))
}

// costs are the largest sizes, in bytes, that a target's type knows for each part of a text.
type costs struct {
	element int64 // of an array
	member  int64 // of an object
	object  int64
	filled  int64 // an object with members, beside them
	array   int64
	scalar  int64 // a string or number
	strings bool  // strings are kept

	seen map[reflect.Type]bool
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// walk adds a type and those that it is made of.
func (c *costs) walk(t reflect.Type) {
	if c.seen[t] {
		return
	}
	c.seen[t] = true
	if pointer := reflect.PointerTo(t); pointer.Implements(unmarshaler) || pointer.Implements(textUnmarshaler) {
		c.strings = true // it may keep a copy
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		size := int64(t.Elem().Size())
		if kind := t.Elem().Kind(); kind == reflect.Struct || kind == reflect.Map {
			c.object = max(c.object, size)
		} else {
			c.scalar, c.array = max(c.scalar, size), max(c.array, size)
		}
		c.walk(t.Elem())
	case reflect.Slice:
		element := int64(t.Elem().Size()) * grown / shrunk
		if t.Elem().Kind() == reflect.Pointer { // decoding makes what it points to for any value but null
			element += int64(t.Elem().Elem().Size())
		}
		c.element = max(c.element, element)
		c.walk(t.Elem())
	case reflect.Array:
		c.walk(t.Elem())
	case reflect.Map:
		c.entry(int64(t.Key().Size() + t.Elem().Size()))
		c.strings = c.strings || t.Key().Kind() == reflect.String
		c.walk(t.Elem())
	case reflect.Interface:
		c.element = max(c.element, iface*grown/shrunk)
		c.entry(text + iface)
		c.scalar, c.array, c.strings = max(c.scalar, boxed), max(c.array, boxed), true
	case reflect.Struct:
		for i := range t.NumField() {
			c.walk(t.Field(i).Type)
		}
	case reflect.String:
		c.strings = true
	}
}

// entry adds a map whose entries have this size. An eighth of its slots is free at least, and while it grows there are
// an old and a new one; the first eight entries are counted with the map.
func (c *costs) entry(size int64) {
	c.object = max(c.object, header)
	c.filled = max(c.filled, group+entries*size)
	c.member = max(c.member, size*grown/shrunk)
}

// counts is what a text consists of.
type counts struct {
	elements, members, objects, filled, arrays int64

	scalars int64 // strings and other values that are not objects and arrays
	strings int64 // of them, and keys
	text    int64 // bytes between quotation marks
}

// count counts the parts of a text. What is no JSON is counted as far as it looks like it.
func count(body []byte) (n counts) {
	var inObject [deepest/64 + 1]uint64 // a bit for each level
	depth := 0
	object := func() bool { return inObject[depth/64]&(1<<(depth%64)) != 0 }
	fresh, key := true, false // nothing stands in this array or object yet; the next string is a key
	value := func() {
		if !object() {
			n.elements++
		}
		fresh = false
	}
	for i := 0; i < len(body); i++ {
		switch b := body[i]; b {
		case ' ', '\t', '\r', '\n':
		case ',':
			key = object()
		case ':':
			key = false
		case '{', '[':
			value()
			if depth++; depth >= deepest {
				return n
			}
			if inObject[depth/64] &^= 1 << (depth % 64); b == '{' {
				inObject[depth/64] |= 1 << (depth % 64)
				n.objects++
			} else {
				n.arrays++
			}
			fresh, key = true, b == '{'
		case '}', ']':
			depth = max(depth-1, 0)
			fresh, key = false, false
		case '"':
			length := stringEnd(body[i+1:])
			n.strings++
			n.text += int64(length)
			i += length + 1
			if !key {
				n.scalars++
				value()
				break
			}
			if n.members++; fresh {
				n.filled++
			}
			fresh, key = false, false
		default:
			n.scalars++
			value()
			for i+1 < len(body) && !ends[body[i+1]] {
				i++
			}
		}
	}
	return n
}

// ends has the bytes that end a number or a word.
var ends = [256]bool{' ': true, '\t': true, '\r': true, '\n': true, ',': true, ':': true, '{': true, '}': true, '[': true, ']': true, '"': true}

// stringEnd returns the length of a string up to its quotation mark.
func stringEnd(s []byte) int {
	for i := 0; ; {
		at := bytes.IndexByte(s[i:], '"')
		if at < 0 {
			return len(s)
		}
		i += at
		escapes := 0
		for escapes < i && s[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
		i++
	}
}
