package parquet

import (
	"encoding"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// row collects the values of an item, by columns. In a spool it is the cells of all columns, one after the other; that of a column
// which may have any number of values begins with how many there are. A value begins with its repetition level, unless that is always 0,
// and its definition level, unless that is always 0. Where that is not the highest one there is no value; numbers are little-endian, and
// texts begin with their length.
type row struct {
	leaves []leaf
	cells  []cell
	text   []byte // what encode makes of it
}

type cell struct {
	data  []byte
	count int
}

func newRow(s *schema) *row { return &row{leaves: s.leaves, cells: make([]cell, len(s.leaves))} }

// mostKept is how much memory a cell may keep for the next row.
const mostKept = 64 << 10

func (r *row) reset() {
	for i := range r.cells {
		if cap(r.cells[i].data) > mostKept {
			r.cells[i].data = nil
		}
		r.cells[i] = cell{data: r.cells[i].data[:0]}
	}
}

// level begins a value.
func (r *row) level(i int, rep, def uint8) {
	c, l := &r.cells[i], &r.leaves[i]
	c.count++
	if l.maxRep > 0 {
		c.data = append(c.data, rep)
	}
	if l.maxDef > 0 {
		c.data = append(c.data, def)
	}
}

func (r *row) put32(i int, x uint32) {
	r.cells[i].data = binary.LittleEndian.AppendUint32(r.cells[i].data, x)
}

func (r *row) put64(i int, x uint64) {
	r.cells[i].data = binary.LittleEndian.AppendUint64(r.cells[i].data, x)
}

// longest is how long a text may be: Parquet has its pages and their lengths in 31 bits.
const longest = 1 << 30

var errTooLong = errors.New("it is longer than 1 GiB")

func (r *row) putText(n *node, i int, rep, def uint8, text string) error {
	if len(text) > longest {
		return &ValueError{Field: n.name, Err: errTooLong}
	}
	r.level(i, rep, def)
	c := &r.cells[i]
	c.data = append(binary.AppendUvarint(c.data, uint64(len(text))), text...)
	return nil
}

func putBytes(r *row, n *node, i int, rep, def uint8, data []byte) error {
	if len(data) > longest {
		return &ValueError{Field: n.name, Err: errTooLong}
	}
	r.level(i, rep, def)
	c := &r.cells[i]
	c.data = append(binary.AppendUvarint(c.data, uint64(len(data))), data...)
	return nil
}

// validText replaces what is not UTF-8, as JSON does.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// pointerTo returns a pointer to a value, which has all methods of its type.
func pointerTo(v reflect.Value) any {
	if v.CanAddr() {
		return v.Addr().Interface()
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.Interface()
}

func putJSON(n *node, i int) func(r *row, v reflect.Value, rep, def uint8) error {
	return func(r *row, v reflect.Value, rep, def uint8) error {
		text, err := json.Marshal(pointerTo(v))
		if err != nil {
			return &ValueError{Field: n.name, Err: err}
		}
		if string(text) == "null" {
			r.level(i, rep, def-1)
			return nil
		}
		return putBytes(r, n, i, rep, def, text)
	}
}

func marshaled(n *node, v reflect.Value) (string, error) {
	text, err := pointerTo(v).(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return "", &ValueError{Field: n.name, Err: err}
	}
	return validText(string(text)), nil
}

func putMarshaled(n *node, i int) func(r *row, v reflect.Value, rep, def uint8) error {
	return func(r *row, v reflect.Value, rep, def uint8) error {
		text, err := marshaled(n, v)
		if err != nil {
			return err
		}
		return r.putText(n, i, rep, def, text)
	}
}

func putTime(n *node, i int, u unit) func(r *row, v reflect.Value, rep, def uint8) error {
	perSecond := int64(time.Second / u.duration)
	return func(r *row, v reflect.Value, rep, def uint8) error {
		var t time.Time
		if v.CanAddr() { // which saves a copy in the heap
			t = *v.Addr().Interface().(*time.Time)
		} else {
			t = v.Interface().(time.Time)
		}
		seconds := t.Unix()
		if seconds <= math.MinInt64/perSecond || seconds >= math.MaxInt64/perSecond {
			return &ValueError{Field: n.name, Err: fmt.Errorf("%s is too far from 1970 to be a number of units of %s", t.UTC().Format(time.RFC3339), u.duration)}
		}
		r.level(i, rep, def)
		r.put64(i, uint64(seconds*perSecond+int64(t.Nanosecond())/int64(u.duration)))
		return nil
	}
}

// encode appends the row.
func (r *row) encode(dst []byte) []byte {
	for i := range r.cells {
		if r.leaves[i].maxRep > 0 {
			dst = binary.AppendUvarint(dst, uint64(r.cells[i].count))
		}
		dst = append(dst, r.cells[i].data...)
	}
	return dst
}

var errRow = errors.New("a row in it is damaged")

// decode appends the values of a row to their columns. They lie in the row.
func decode(into [][]parquet.Value, leaves []leaf, row []byte) error {
	for i := range leaves {
		l := &leaves[i]
		count := uint64(1)
		if l.maxRep > 0 {
			var n int
			if count, n = binary.Uvarint(row); n <= 0 || count == 0 || count > uint64(len(row)) {
				return errRow
			}
			row = row[n:]
		}
		for range count {
			var v parquet.Value
			n := l.decode(&v, i, row)
			if n < 0 {
				return errRow
			}
			row, into[i] = row[n:], append(into[i], v)
		}
	}
	if len(row) > 0 {
		return errRow
	}
	return nil
}

// decode sets v to the first value of a row, and returns how long it is; -1 if there is none.
func (l *leaf) decode(v *parquet.Value, column int, row []byte) int {
	n := 0
	var rep, def uint8
	if l.maxDef > 0 { // which it is if maxRep is
		if l.maxRep > 0 {
			n++
		}
		if len(row) <= n {
			return -1
		}
		if def = row[n]; n > 0 {
			rep = row[0]
		}
		n++
		if def > l.maxDef || rep > l.maxRep {
			return -1
		}
	}
	if def == l.maxDef {
		size := l.read(v, row[n:])
		if size < 0 {
			return -1
		}
		n += size
	}
	if l.maxDef > 0 {
		*v = v.Level(int(rep), int(def), column)
	}
	return n
}

// read is decode of a value without levels.
func (l *leaf) read(v *parquet.Value, row []byte) int {
	size, head := int(l.size), 0
	if size == 0 {
		length, n := binary.Uvarint(row)
		if n <= 0 || length > longest {
			return -1
		}
		size, head = int(length), n
	}
	if len(row)-head < size {
		return -1
	}
	data := row[head : head+size : head+size]
	switch l.kind {
	case parquet.Boolean:
		*v = parquet.BooleanValue(data[0] != 0)
	case parquet.Int32:
		*v = parquet.Int32Value(int32(binary.LittleEndian.Uint32(data)))
	case parquet.Int64:
		*v = parquet.Int64Value(int64(binary.LittleEndian.Uint64(data)))
	case parquet.Float:
		*v = parquet.FloatValue(math.Float32frombits(binary.LittleEndian.Uint32(data)))
	case parquet.Double:
		*v = parquet.DoubleValue(math.Float64frombits(binary.LittleEndian.Uint64(data)))
	case parquet.FixedLenByteArray:
		*v = parquet.FixedLenByteArrayValue(data)
	default:
		*v = parquet.ByteArrayValue(data)
	}
	return head + size
}

// sizeOf returns how many bytes a value has in a spool; 0 if they are not the same for all.
func sizeOf(kind parquet.Kind) uint8 {
	switch kind {
	case parquet.Boolean:
		return 1
	case parquet.Int32, parquet.Float:
		return 4
	case parquet.Int64, parquet.Double:
		return 8
	case parquet.FixedLenByteArray:
		return decimalBytes
	}
	return 0
}
