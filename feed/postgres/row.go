package postgres

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/table"
)

// typeOf is the type of a column that the feed makes.
func typeOf(c table.Column) string {
	switch c.Kind {
	case table.Bool:
		return "boolean"
	case table.Int:
		return "bigint"
	case table.Uint:
		if c.Bits == 64 {
			return "numeric(20)"
		}
		return "bigint"
	case table.Float:
		if c.Bits == 32 {
			return "real"
		}
		return "double precision"
	case table.Bytes:
		return "bytea"
	case table.Time:
		return "timestamp with time zone"
	case table.JSON:
		return "jsonb"
	}
	return "text"
}

// column is a column of the table as it is there.
type column struct {
	table.Column
	oid   uint32
	most  int // characters of varchar(n), 0 for any number
	sql   string
	isKey bool
}

// holds reports whether a column of a type can keep the values of a field. The modifier is PostgreSQL's atttypmod.
func holds(c table.Column, oid uint32, modifier int32) bool {
	switch c.Kind {
	case table.Bool:
		return oid == pgtype.BoolOID
	case table.Int, table.Uint:
		return oid == pgtype.Int2OID || oid == pgtype.Int4OID || oid == pgtype.Int8OID || oid == pgtype.NumericOID
	case table.Float:
		return oid == pgtype.Float8OID || oid == pgtype.Float4OID && c.Bits == 32 || oid == pgtype.NumericOID
	case table.Bytes:
		return oid == pgtype.ByteaOID
	case table.Time:
		return (oid == pgtype.TimestamptzOID || oid == pgtype.TimestampOID) && (modifier < 0 || modifier >= 6)
	case table.JSON:
		return oid == pgtype.JSONBOID || oid == pgtype.JSONOID
	}
	return oid == pgtype.TextOID || oid == pgtype.VarcharOID
}

var (
	errNUL     = errors.New("its text has a NUL byte, which PostgreSQL cannot hold")
	errNullKey = errors.New("it is NULL, and part of the key")
	errRange   = errors.New("it is out of the range of the column's type")
)

// Encode appends a row in the binary form of COPY, without the number of its fields: for each the length, or -1 for NULL, and the bytes.
func (s *store) Encode(dst []byte, item reflect.Value) ([]byte, error) {
	var cell table.Cell
	for i := range s.there {
		c := &s.there[i]
		if err := c.Fill(&cell, item); err != nil {
			return dst, fmt.Errorf("postgres: item of type %s: %w", item.Type(), err)
		}
		if cell.Null {
			if c.isKey {
				return dst, &feed.RefusedError{Table: s.label(), Column: c.Name, Err: errNullKey}
			}
			dst = binary.BigEndian.AppendUint32(dst, math.MaxUint32)
			continue
		}
		begin := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		var err error
		if dst, err = c.appendCell(dst, &cell); err != nil {
			return dst, &feed.RefusedError{Table: s.label(), Column: c.Name, Err: err}
		}
		size := len(dst) - begin - 4
		if size >= 1<<30 {
			return dst, &feed.RefusedError{Table: s.label(), Column: c.Name, Err: errors.New("it has a gigabyte or more")}
		}
		binary.BigEndian.PutUint32(dst[begin:], uint32(size))
	}
	return dst, nil
}

// appendCell appends a value that is not NULL in the binary form of its type.
func (c *column) appendCell(dst []byte, cell *table.Cell) ([]byte, error) {
	switch c.Kind {
	case table.Bool:
		if cell.Bool {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case table.Int:
		if c.oid == pgtype.NumericOID {
			return appendNumeric(dst, strconv.FormatInt(cell.Int, 10))
		}
		return c.appendInt(dst, cell.Int)
	case table.Uint:
		if c.oid == pgtype.NumericOID {
			return appendNumeric(dst, strconv.FormatUint(cell.Uint, 10))
		}
		if cell.Uint > math.MaxInt64 {
			return dst, errRange
		}
		return c.appendInt(dst, int64(cell.Uint))
	case table.Float:
		return c.appendFloat(dst, cell.Float)
	case table.Bytes:
		return append(dst, cell.Bytes...), nil
	case table.Time:
		t := cell.Time
		if year := t.UTC().Year(); year < -4712 || year > 294275 {
			return dst, errRange
		}
		const epoch = 946_684_800_000_000 // of PostgreSQL, the year 2000, in microseconds of Unix
		return binary.BigEndian.AppendUint64(dst, uint64(t.UnixMicro()-epoch)), nil
	case table.JSON:
		if c.oid == pgtype.JSONBOID {
			if hasNUL(cell.Text) {
				return dst, errNUL
			}
			dst = append(dst, 1) // the version of the form
		}
		return append(dst, cell.Text...), nil
	}
	if strings.IndexByte(cell.Text, 0) >= 0 {
		return dst, errNUL
	}
	if c.most > 0 && len(cell.Text) > c.most && utf8.RuneCountInString(cell.Text) > c.most {
		return dst, fmt.Errorf("it has more than %d characters", c.most)
	}
	return append(dst, cell.Text...), nil
}

// hasNUL reports whether a string in JSON has the character U+0000.
func hasNUL(text string) bool {
	const escape = `\u0000`
	for from := 0; ; {
		at := strings.Index(text[from:], escape)
		if at < 0 {
			return false
		}
		at += from
		backslashes := 1 // an even number of them are themselves
		for at-backslashes >= 0 && text[at-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 1 {
			return true
		}
		from = at + len(escape)
	}
}

func (c *column) appendInt(dst []byte, n int64) ([]byte, error) {
	switch c.oid {
	case pgtype.Int2OID:
		if n != int64(int16(n)) {
			return dst, errRange
		}
		return binary.BigEndian.AppendUint16(dst, uint16(n)), nil
	case pgtype.Int4OID:
		if n != int64(int32(n)) {
			return dst, errRange
		}
		return binary.BigEndian.AppendUint32(dst, uint32(n)), nil
	}
	return binary.BigEndian.AppendUint64(dst, uint64(n)), nil
}

func (c *column) appendFloat(dst []byte, v float64) ([]byte, error) {
	if c.isKey && v == 0 {
		v = 0 // of the two zeros one, which are equal
	}
	switch c.oid {
	case pgtype.Float4OID:
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(v))), nil
	case pgtype.NumericOID:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return dst, errRange
		}
		return appendNumeric(dst, strconv.FormatFloat(v, 'f', -1, c.Bits))
	}
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(v)), nil
}

// appendNumeric appends a decimal number as numeric: groups of four digits, before and behind the point.
func appendNumeric(dst []byte, decimal string) ([]byte, error) {
	sign := uint16(0)
	if rest, negative := strings.CutPrefix(decimal, "-"); negative {
		decimal, sign = rest, 0x4000
	}
	whole, fraction, _ := strings.Cut(decimal, ".")
	scale := len(fraction)
	whole = strings.Repeat("0", (4-len(whole)%4)%4) + whole
	fraction += strings.Repeat("0", (4-len(fraction)%4)%4)
	digits, weight := whole+fraction, len(whole)/4-1
	for strings.HasPrefix(digits, "0000") {
		digits, weight = digits[4:], weight-1
	}
	for strings.HasSuffix(digits, "0000") {
		digits = digits[:len(digits)-4]
	}
	if digits == "" {
		weight, sign = 0, 0
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(digits)/4))
	dst = binary.BigEndian.AppendUint16(dst, uint16(int16(weight)))
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = binary.BigEndian.AppendUint16(dst, uint16(scale))
	for ; digits != ""; digits = digits[4:] {
		group, err := strconv.ParseUint(digits[:4], 10, 16)
		if err != nil {
			return dst, err
		}
		dst = binary.BigEndian.AppendUint16(dst, uint16(group))
	}
	return dst, nil
}

// fields calls do with each field of a row; nil is NULL.
func fields(row []byte, do func(i int, field []byte) error) error {
	for i := 0; len(row) > 0; i++ {
		if len(row) < 4 {
			return errBroken
		}
		size := int32(binary.BigEndian.Uint32(row))
		row = row[4:]
		var field []byte
		if size >= 0 {
			if int(size) > len(row) {
				return errBroken
			}
			field, row = row[:size:size], row[size:]
		}
		if err := do(i, field); err != nil {
			return err
		}
	}
	return nil
}

var errBroken = errors.New("postgres: a staged row is broken")

// keyOf returns the bytes of the key of a row: equal keys have equal bytes.
func (s *store) keyOf(dst, row []byte) ([]byte, error) {
	err := fields(row, func(i int, field []byte) error {
		if s.there[i].isKey {
			dst = append(binary.AppendUvarint(dst, uint64(len(field))), field...)
		}
		return nil
	})
	return dst, err
}

// Decode returns the values of a row for JSON.
func (s *store) Decode(row []byte) ([]any, error) {
	types := pgtype.NewMap()
	values := make([]any, len(s.there))
	err := fields(row, func(i int, field []byte) error {
		c := &s.there[i]
		if field == nil {
			return nil
		}
		switch c.oid {
		case pgtype.JSONBOID:
			values[i] = json.RawMessage(field[1:])
			return nil
		case pgtype.JSONOID:
			values[i] = json.RawMessage(field)
			return nil
		}
		t, ok := types.TypeForOID(c.oid)
		if !ok {
			return fmt.Errorf("postgres: the type %d is not known", c.oid)
		}
		v, err := t.Codec.DecodeValue(types, c.oid, pgtype.BinaryFormatCode, field)
		switch f := v.(type) {
		case float64:
			if math.IsNaN(f) || math.IsInf(f, 0) {
				v = fmt.Sprint(f)
			}
		case float32:
			if f64 := float64(f); math.IsNaN(f64) || math.IsInf(f64, 0) {
				v = fmt.Sprint(f)
			}
		}
		values[i] = v
		return err
	})
	return values, err
}
