package wire

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// Numbers are varints, texts are preceded by their length, lists and maps by the number of their elements. Maps are
// written in the order of their keys, so that equal values have equal encodings.

// AppendUint appends a number to dst.
func AppendUint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

// AppendText appends a text to dst.
func AppendText[S []byte | string](dst []byte, s S) []byte {
	return append(AppendUint(dst, uint64(len(s))), s...)
}

// appendTexts appends a map of texts to dst.
func appendTexts(dst []byte, m map[string]string) []byte {
	dst = AppendUint(dst, uint64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		dst = AppendText(AppendText(dst, k), m[k])
	}
	return dst
}

// ErrMalformed is the error of bytes that this package did not write.
var ErrMalformed = errors.New("malformed encoding")

// Decoder reads an encoding from its beginning to its end. After the first mistake it returns zero values alone, and Err
// says what was wrong. It never allocates more than a small multiple of the bytes that it was given.
type Decoder struct {
	Rest []byte // the bytes that are left to read
	err  error
}

// Err returns [ErrMalformed] if any value could not be read, else nil.
func (d *Decoder) Err() error { return d.err }

// Fail makes Err return [ErrMalformed]: a value that was read cannot be one.
func (d *Decoder) Fail() {
	if d.err == nil {
		d.err = ErrMalformed
	}
	d.Rest = nil
}

// Take returns the next n bytes. They are a part of the bytes that the decoder was given.
func (d *Decoder) Take(n uint64) []byte {
	if n > uint64(len(d.Rest)) {
		d.Fail()
		return nil
	}
	taken := d.Rest[:n:n]
	d.Rest = d.Rest[n:]
	return taken
}

// Byte returns the next byte.
func (d *Decoder) Byte() byte {
	if b := d.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint returns the next number.
func (d *Decoder) Uint() uint64 {
	v, n := binary.Uvarint(d.Rest)
	if n <= 0 {
		d.Fail()
		return 0
	}
	d.Rest = d.Rest[n:]
	return v
}

// Int returns the next number that may be negative, as binary.AppendVarint writes it.
func (d *Decoder) Int() int64 {
	v, n := binary.Varint(d.Rest)
	if n <= 0 {
		d.Fail()
		return 0
	}
	d.Rest = d.Rest[n:]
	return v
}

// count reads a number of elements, each of which takes at least size bytes.
func (d *Decoder) count(size int) int {
	n := d.Uint()
	if n > uint64(len(d.Rest)/size) {
		d.Fail()
		return 0
	}
	return int(n)
}

// bytes returns the bytes of a text. They are a part of the bytes that the decoder was given.
func (d *Decoder) bytes() []byte { return d.Take(d.Uint()) }

// Text returns the next text.
func (d *Decoder) Text() string { return string(d.bytes()) }

// texts returns the next map of texts.
func (d *Decoder) texts() map[string]string {
	n := d.count(2)
	m := make(map[string]string, n)
	for range n {
		k := d.Text()
		m[k] = d.Text()
	}
	return m
}
