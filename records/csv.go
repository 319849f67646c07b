package records

import (
	"fmt"
	"iter"
	"unicode/utf8"
)

// NoQuote says, as [Dialect.Quote], that no character encloses fields.
const NoQuote = -1

// Dialect is how rows are written. The zero Dialect is that of RFC 4180 and of spreadsheets: commas, quotation marks, a
// header in the first row.
type Dialect struct {
	Delimiter rune // between fields; 0: a comma
	Quote     rune // encloses fields, and is doubled in them; 0: ", NoQuote: none
	Escape    rune // takes its meaning from the character behind it; 0: none
	Comment   rune // begins a line that is no row; 0: none
	Trim      bool // white space behind a delimiter is no part of the field

	// Header names the columns. Nil: the first row does. Empty, but not nil: the columns have no names.
	Header []string

	// Ragged takes rows of any length. Without it, a row that has not as many fields as the header is an error; without
	// names each row is taken.
	Ragged bool
}

// wrong says what cannot be.
func (d *Dialect) wrong() error {
	for name, r := range map[string]rune{"Delimiter": d.Delimiter, "Quote": d.Quote, "Escape": d.Escape, "Comment": d.Comment} {
		if r == '\r' || r == '\n' || r >= utf8.RuneSelf && name != "Delimiter" || !utf8.ValidRune(r) && !(name == "Quote" && r == NoQuote) {
			return fmt.Errorf("records: CSV: %s is %q: it must be an ASCII character that ends no line; a Delimiter may be any "+
				"other character too", name, r)
		}
		if name != "Delimiter" && r != 0 && r == d.Delimiter {
			return fmt.Errorf("records: CSV: %s and Delimiter are both %q", name, r)
		}
	}
	return nil
}

// Row is one row of a table. It does not change and may be used by several goroutines.
type Row struct {
	Number int   // of the row, from 1, the header not counted
	Line   int64 // in which it begins, from 1

	columns *columns
	fields  []string
}

// columns are the names of the columns of one document.
type columns struct {
	names []string
	index map[string]int // the first column of each name
}

func newColumns(names []string) *columns {
	c := &columns{names, make(map[string]int, len(names))}
	for i, name := range names {
		if _, known := c.index[name]; !known {
			c.index[name] = i
		}
	}
	return c
}

// Get returns the field in the column of that name, of several the first; "" if there is none.
func (r Row) Get(name string) string {
	v, _ := r.Lookup(name)
	return v
}

// Lookup is Get that reports whether there is such a field.
func (r Row) Lookup(name string) (field string, ok bool) {
	if r.columns == nil {
		return "", false
	}
	i, ok := r.columns.index[name]
	if !ok || i >= len(r.fields) {
		return "", false
	}
	return r.fields[i], true
}

// At returns the field in the column of that number, from 0; "" if there is none.
func (r Row) At(i int) string {
	if i < 0 || i >= len(r.fields) {
		return ""
	}
	return r.fields[i]
}

// Len returns how many fields the row has.
func (r Row) Len() int { return len(r.fields) }

// Fields returns the fields. They must not be changed.
func (r Row) Fields() []string { return r.fields }

// Header returns the names of the columns, empty if they have none. They must not be changed.
func (r Row) Header() []string {
	if r.columns == nil {
		return nil
	}
	return r.columns.names
}

// All iterates over the names of the columns and the fields in them. Fields behind the last name have none.
func (r Row) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		names := r.Header()
		for i, field := range r.fields {
			name := ""
			if i < len(names) {
				name = names[i]
			}
			if !yield(name, field) {
				return
			}
		}
	}
}

// Map returns the fields by the names of their columns.
func (r Row) Map() map[string]string {
	m := make(map[string]string, len(r.fields))
	for name := range r.All() {
		if _, known := m[name]; !known {
			m[name] = r.Get(name)
		}
	}
	delete(m, "")
	return m
}

// CSV reads the rows of tables in text. Empty lines are skipped. Lines may end with \n, \r\n or \r; in quotes they are
// part of a field. A quotation mark that does not begin a field is a character like any other, and so is what stands
// between one that ends a field and the next delimiter.
//
//	format := records.CSV(records.Dialect{Delimiter: ';'}, records.Charset("windows-1252"))
//	for row, err := range format.Read(body, records.Source{URL: url}) {
//		…
//		price := row.Get("price")
//	}
func CSV(d Dialect, options ...Option) Format[Row] {
	c, err := newConfig(0, options)
	if err == nil {
		err = d.wrong()
	}
	return Format[Row]{config: c, err: err, read: func(s *source, yield func(Row, error) bool) error {
		r := newRowReader(s, d)
		var names *columns
		if d.Header != nil {
			names = newColumns(d.Header)
		}
		for {
			row, wrong, err := r.next()
			if err != nil || row == nil && wrong == nil {
				return err
			}
			if names == nil {
				if wrong != nil {
					wrong.last, wrong.Record = true, 0
					return wrong
				}
				names = newColumns(row)
				s.record--
				continue
			}
			if n := len(names.names); wrong == nil && n > 0 && len(row) != n && !d.Ragged {
				wrong = s.wrong(fmt.Sprintf("the row has %d fields, the header %d; set Ragged if that may be", len(row), n), nil)
			}
			if !give(yield, Row{Number: s.record, Line: s.line, columns: names, fields: row}, wrong) {
				return errStopped
			}
		}
	}}
}
