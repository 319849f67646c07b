package feed

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// csvFormat writes items as rows (RFC 4180). An item waits as a list of cells with the names of its columns, since only the order in
// which requests are settled decides which columns a file has.
type csvFormat struct {
	fixed     []string // of Columns
	comma     byte     // 0: ','
	crlf      bool
	bom       bool
	headless  bool // no header
	safe      bool // for spreadsheets
	lateFails bool

	mu     sync.RWMutex // guards the fields below
	shapes map[reflect.Type]*shape
	byID   []*shape
}

// LateColumnError is the failure of a feed with [LateFails] when an item has a column that the file does not have.
type LateColumnError struct {
	Path   string
	Column string
}

// Error names the remedy.
func (e *LateColumnError) Error() string {
	return fmt.Sprintf("feed: %s has no column %q, and its header is written: name all columns with feed.Columns, or "+
		"leave out feed.LateFails", e.Path, e.Column)
}

// NoColumnsError is the failure to write an item as a row: it is neither a struct nor an object in JSON, or a struct that has none of the
// [Columns].
type NoColumnsError struct {
	Type    reflect.Type
	Columns []string // that are wanted; nil: any
	Fields  []string // that a struct has
}

// Error names the type and the remedy.
func (e *NoColumnsError) Error() string {
	if e.Columns != nil {
		return fmt.Sprintf("feed: an item of type %v has none of the columns %q: its fields are %q; mend feed.Columns, or "+
			"leave it out", e.Type, e.Columns, e.Fields)
	}
	return fmt.Sprintf("feed: an item of type %v has no fields, which would be the columns: make it a struct or a map", e.Type)
}

// The kinds of staged rows.
const (
	rowOfShape byte = iota // the number of the shape, then its cells: the length of each plus 1, 0 for none, and its text
	rowOfNames             // the number of cells, then name and cell of each
)

func (f *csvFormat) stage(dst []byte, item any) ([]byte, error) {
	s, err := f.shapeOf(reflect.TypeOf(item))
	if err != nil {
		return f.stageJSON(dst, item)
	}
	if s.mistake != nil {
		return dst, s.mistake
	}
	dst = binary.AppendUvarint(append(dst, rowOfShape), s.id)
	v := reflect.ValueOf(item)
	for i := range s.columns {
		at := len(dst)
		dst = append(dst, 0)
		field, ok := s.columns[i].Value(v)
		if !ok {
			continue
		}
		if dst, err = s.cells[i](dst, field); err != nil {
			return dst, fmt.Errorf("field %s: %w", s.names[i], err)
		}
		dst = putSize(dst, at)
	}
	return dst, nil
}

// putSize writes how long the cell behind dst[at] is, which has room for one byte, plus 1.
func putSize(dst []byte, at int) []byte {
	size := uint64(len(dst) - at)
	if size < 0x80 {
		dst[at] = byte(size)
		return dst
	}
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], size)
	dst = append(dst, head[1:n]...)
	copy(dst[at+n:], dst[at+1:len(dst)-n+1])
	copy(dst[at:], head[:n])
	return dst
}

// stageJSON stages an item that has no fixed columns, but is an object in JSON.
func (f *csvFormat) stageJSON(dst []byte, item any) ([]byte, error) {
	text, err := appendJSON(nil, item)
	if err != nil {
		return dst, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if start, _ := d.Token(); start != json.Delim('{') {
		return dst, &NoColumnsError{Type: reflect.TypeOf(item)}
	}
	count, cells := uint64(0), []byte(nil)
	for ; d.More(); count++ {
		name, err := d.Token()
		if err != nil {
			return dst, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return dst, err
		}
		text, _ := name.(string)
		cell, err := cellOfJSON(value, f.safe)
		if err != nil {
			return dst, err
		}
		cells = append(binary.AppendUvarint(cells, uint64(len(text))), text...)
		cells = append(binary.AppendUvarint(cells, uint64(len(cell))+1), cell...)
	}
	return append(binary.AppendUvarint(append(dst, rowOfNames), count), cells...), nil
}

func (f *csvFormat) open(state json.RawMessage) (document, error) {
	d := &csvDocument{format: f, index: make(map[string]int), places: make(map[uint64][]int)}
	for _, name := range f.fixed {
		d.addColumn(name)
	}
	if state != nil {
		var stored csvState
		if err := json.Unmarshal(state, &stored); err != nil || stored.Header > len(stored.Columns) {
			return nil, fmt.Errorf("the state of its columns is %q", state)
		}
		if f.fixed != nil && !slices.Equal(f.fixed, stored.Columns) {
			return nil, fmt.Errorf("its columns are %q, and not %q", stored.Columns, f.fixed)
		}
		for _, name := range stored.Columns {
			d.addColumn(name)
		}
		d.header = stored.Header
	}
	return d, nil
}

// csvState is stored: a field keeps its meaning.
type csvState struct {
	Columns []string `json:"columns"`
	Header  int      `json:"header"` // how many of them are in the header that is written
}

// csvDocument is a file of rows. Its columns are the fixed ones, or those of its first item and all that came later.
type csvDocument struct {
	format  *csvFormat
	columns []string
	index   map[string]int   // of the columns, by name
	places  map[uint64][]int // by shape: the column of each of its cells, -1 for none
	header  int              // columns in the header that is written; 0: none is

	row [][]byte // of the newest item, by column; nil for none
}

func (d *csvDocument) addColumn(name string) int {
	if i, ok := d.index[name]; ok {
		return i
	}
	d.index[name] = len(d.columns)
	d.columns = append(d.columns, name)
	return len(d.columns) - 1
}

func (d *csvDocument) begin(dst []byte) []byte {
	if d.format.bom {
		dst = append(dst, "\uFEFF"...)
	}
	if len(d.columns) > 0 {
		dst = d.appendHeader(dst)
	}
	return dst
}

func (d *csvDocument) appendHeader(dst []byte) []byte {
	d.header = len(d.columns)
	if d.format.headless {
		return dst
	}
	for i, name := range d.columns {
		dst = d.appendCell(dst, appendText(nil, name, d.format.safe), i)
	}
	return d.endRow(dst)
}

// nameIn returns the name that a cell of a header stands for.
func (f *csvFormat) nameIn(cell string) string {
	if name, ok := strings.CutPrefix(cell, "'"); f.safe && ok && isFormula(name) {
		return name
	}
	return cell
}

func (d *csvDocument) add(dst, staged []byte) ([]byte, error) {
	d.row = slices.Grow(d.row[:0], len(d.columns))[:len(d.columns)]
	clear(d.row)
	var err error
	switch kind, rest := staged[0], staged[1:]; kind {
	case rowOfShape:
		err = d.rowOfShape(rest)
	case rowOfNames:
		err = d.rowOfNames(rest)
	}
	if err != nil {
		return dst, err
	}
	if d.header == 0 {
		dst = d.appendHeader(dst)
	}
	for i, cell := range d.row {
		dst = d.appendCell(dst, cell, i)
	}
	return d.endRow(dst), nil
}

func (d *csvDocument) rowOfShape(staged []byte) error {
	id, n := binary.Uvarint(staged)
	staged = staged[n:]
	places, ok := d.places[id]
	if !ok {
		d.format.mu.RLock()
		names := d.format.byID[id].names
		d.format.mu.RUnlock()
		for _, name := range names {
			place, err := d.place(name)
			if err != nil {
				return err
			}
			places = append(places, place)
		}
		d.places[id] = places
	}
	d.widen()
	for _, place := range places {
		size, n := binary.Uvarint(staged)
		staged = staged[n:]
		if size == 0 {
			continue
		}
		if place >= 0 {
			d.row[place] = staged[:size-1]
		}
		staged = staged[size-1:]
	}
	return nil
}

func (d *csvDocument) rowOfNames(staged []byte) error {
	count, n := binary.Uvarint(staged)
	staged = staged[n:]
	rest := make(map[string]string)
	for range count {
		size, n := binary.Uvarint(staged)
		name := string(staged[n : n+int(size)])
		staged = staged[n+int(size):]
		size, n = binary.Uvarint(staged)
		cell := staged[n : n+int(size)-1]
		staged = staged[n+int(size)-1:]
		if d.isBeyond(name) {
			rest[name] = string(cell)
			continue
		}
		place, err := d.place(name)
		if err != nil {
			return err
		}
		d.widen()
		if place >= 0 {
			d.row[place] = cell
		}
	}
	if len(rest) == 0 {
		return nil
	}
	place, err := d.place(RestColumn)
	if err != nil {
		return err
	}
	d.widen()
	d.row[place], err = appendJSON(nil, rest)
	return err
}

// mostColumns bounds how many columns the names in maps make: they may be from pages, and each of them makes every row longer.
const mostColumns = 1000

// RestColumn is the column of a [CSV] file for the fields of maps that have no column of their own, because there are 1,000 columns
// already: an object in JSON, with the text that each cell would have.
const RestColumn = "_rest"

// isBeyond reports whether a field of a map goes into RestColumn.
func (d *csvDocument) isBeyond(name string) bool {
	if d.format.fixed != nil || d.header > 0 && d.format.lateFails {
		return false
	}
	_, isColumn := d.index[name]
	return name == RestColumn || !isColumn && len(d.columns) >= mostColumns
}

// place returns the column of a name, -1 if it is left out.
func (d *csvDocument) place(name string) (int, error) {
	if i, ok := d.index[name]; ok {
		return i, nil
	}
	switch {
	case d.format.fixed != nil:
		return -1, nil
	case d.header > 0 && d.format.lateFails:
		return 0, &LateColumnError{Column: name}
	}
	return d.addColumn(name), nil
}

// widen gives the row all columns that there are by now.
func (d *csvDocument) widen() {
	for len(d.row) < len(d.columns) {
		d.row = append(d.row, nil)
	}
}

// separator returns the byte between two cells.
func (f *csvFormat) separator() byte {
	if f.comma == 0 {
		return ','
	}
	return f.comma
}

// appendCell appends a cell, in quotes if it has to be.
func (d *csvDocument) appendCell(dst, cell []byte, i int) []byte {
	comma := d.format.separator()
	if i > 0 {
		dst = append(dst, comma)
	}
	isPlain := len(cell) > 0 || len(d.columns) > 1 // a row of one empty cell would be an empty line
	for _, c := range cell {
		if c == '"' || c == '\n' || c == '\r' || c == comma {
			isPlain = false
			break
		}
	}
	if isPlain && (len(cell) == 0 || cell[0] != ' ' && cell[0] != '\t') {
		return append(dst, cell...)
	}
	dst = append(dst, '"')
	for {
		before, after, found := bytes.Cut(cell, []byte{'"'})
		dst = append(dst, before...)
		if !found {
			return append(dst, '"')
		}
		dst = append(dst, `""`...)
		cell = after
	}
}

func (d *csvDocument) endRow(dst []byte) []byte {
	if d.format.crlf {
		dst = append(dst, '\r')
	}
	return append(dst, '\n')
}

func (d *csvDocument) end(dst []byte) []byte { return dst }

func (d *csvDocument) state() json.RawMessage {
	if d.columns == nil {
		return nil
	}
	state, _ := json.Marshal(csvState{d.columns, d.header}) // strings always encode
	return state
}

// adopt goes on behind rows whose header was read.
func (d *csvDocument) adopt(foreign) (cut int, err error) { return 0, nil }

// readHeader takes the columns of a file that somebody else has written, and returns how many rows are below them. It reads all of it: a
// file that is no CSV, or has rows of different lengths, is not appended to.
func (d *csvDocument) readHeader(text io.Reader) (rows int64, err error) {
	r := csv.NewReader(text)
	r.Comma, r.ReuseRecord = rune(d.format.separator()), true
	if d.format.headless {
		d.header, rows = len(d.columns), 1
	}
	for ; ; rows++ {
		row, err := r.Read()
		switch {
		case err == io.EOF && d.header == 0: // nor a header
			return 0, nil
		case err == io.EOF:
			return rows - 1, nil
		case err != nil:
			return 0, err
		case d.header > 0:
			continue
		}
		row[0] = strings.TrimPrefix(row[0], "\uFEFF")
		for i := range row {
			row[i] = d.format.nameIn(row[i])
		}
		if d.format.fixed != nil && !slices.Equal(d.format.fixed, row) {
			return 0, fmt.Errorf("its columns are %q, and not the %q of feed.Columns", row, d.format.fixed)
		}
		for _, name := range row {
			d.addColumn(name)
		}
		if d.header = len(d.columns); d.header < len(row) {
			return 0, fmt.Errorf("its header %q has a name twice", row)
		}
	}
}

// isRagged reports whether rows were written before columns that came later.
func (d *csvDocument) isRagged() bool {
	return d.header > 0 && d.header < len(d.columns) && !d.format.headless
}
