package sqlite

import (
	"database/sql/driver"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/table"
)

// timeLayout is how times are stored: their texts sort as the times do, and the date functions of SQLite know it.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// The first byte of a value of a staged row.
const (
	isNull byte = iota
	isInt
	isFloat
	isText
	isBytes
)

var (
	errNaN      = errors.New("it is no number, which SQLite would store as NULL")
	errTooLarge = errors.New("it is above 9223372036854775807, the largest integer of SQLite")
	errNullKey  = errors.New("it is NULL, and part of the key")
)

// Encode appends a row: for each column a byte, and what the byte says.
func (s *store) Encode(dst []byte, item reflect.Value) ([]byte, error) {
	var cell table.Cell
	for i := range s.columns {
		c := &s.columns[i]
		if err := c.Fill(&cell, item); err != nil {
			return dst, fmt.Errorf("sqlite: item of type %s: %w", item.Type(), err)
		}
		if cell.Null {
			dst = append(dst, isNull)
			continue
		}
		var err error
		if dst, err = appendCell(dst, c.Kind, &cell); err != nil {
			return dst, &feed.RefusedError{Table: s.label(), Column: c.Name, Err: err}
		}
	}
	for _, i := range s.isKey {
		if s.columns[i].Fill(&cell, item) == nil && cell.Null {
			return dst, &feed.RefusedError{Table: s.label(), Column: s.columns[i].Name, Err: errNullKey}
		}
	}
	return dst, nil
}

func appendCell(dst []byte, kind table.Kind, cell *table.Cell) ([]byte, error) {
	switch kind {
	case table.Bool:
		n := int64(0)
		if cell.Bool {
			n = 1
		}
		return binary.AppendVarint(append(dst, isInt), n), nil
	case table.Int:
		return binary.AppendVarint(append(dst, isInt), cell.Int), nil
	case table.Uint:
		if cell.Uint > math.MaxInt64 {
			return dst, errTooLarge
		}
		return binary.AppendVarint(append(dst, isInt), int64(cell.Uint)), nil
	case table.Float:
		if math.IsNaN(cell.Float) {
			return dst, errNaN
		}
		return binary.LittleEndian.AppendUint64(append(dst, isFloat), math.Float64bits(cell.Float)), nil
	case table.Bytes:
		dst = binary.AppendUvarint(append(dst, isBytes), uint64(len(cell.Bytes)))
		return append(dst, cell.Bytes...), nil
	case table.Time:
		t := cell.Time.UTC()
		if t.Year() < 0 || t.Year() > 9999 {
			return dst, fmt.Errorf("the year %d has more than four digits", t.Year())
		}
		dst = binary.AppendUvarint(append(dst, isText), uint64(len(timeLayout)))
		return t.AppendFormat(dst, timeLayout), nil
	}
	dst = binary.AppendUvarint(append(dst, isText), uint64(len(cell.Text)))
	return append(dst, cell.Text...), nil
}

var errBroken = errors.New("sqlite: a staged row is broken")

// bind sets the arguments of a statement to the values of a row.
func bind(args []driver.NamedValue, row []byte) error {
	text := string(row) // of which all its texts are parts
	for i := range args {
		if len(row) == 0 {
			return errBroken
		}
		kind := row[0]
		row = row[1:]
		switch kind {
		case isNull:
			args[i].Value = nil
		case isInt:
			n, size := binary.Varint(row)
			if size <= 0 {
				return errBroken
			}
			args[i].Value, row = n, row[size:]
		case isFloat:
			if len(row) < 8 {
				return errBroken
			}
			args[i].Value, row = math.Float64frombits(binary.LittleEndian.Uint64(row)), row[8:]
		default:
			n, size := binary.Uvarint(row)
			if size <= 0 || n > uint64(len(row)-size) {
				return errBroken
			}
			value := row[size : size+int(n)]
			if kind == isText {
				begin := len(text) - len(row) + size
				args[i].Value = text[begin : begin+int(n)]
			} else {
				args[i].Value = value
			}
			row = row[size+int(n):]
		}
	}
	if len(row) > 0 {
		return errBroken
	}
	return nil
}

// Decode returns the values of a row for JSON.
func (s *store) Decode(row []byte) ([]any, error) {
	args := make([]driver.NamedValue, len(s.columns))
	if err := bind(args, row); err != nil {
		return nil, err
	}
	values := make([]any, len(args))
	for i, a := range args {
		switch v := a.Value.(type) {
		case string:
			values[i] = v
			if s.columns[i].Kind == table.JSON {
				values[i] = json.RawMessage(v)
			}
		case []byte:
			values[i] = base64.StdEncoding.EncodeToString(v)
		case float64:
			values[i] = v
			if math.IsInf(v, 0) {
				values[i] = fmt.Sprint(v)
			}
		case int64:
			values[i] = v
			if s.columns[i].Kind == table.Bool {
				values[i] = v != 0
			}
		}
	}
	return values, nil
}
