package revisit

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/filelock"
	"github.com/tegenaria/tegenaria/internal/privatefs"
)

// What the store of a history holds, by the first byte of the key.
const (
	metaKey    = "m"
	undoKey    = "u"
	pagePrefix = 'p' // and the key of the request: a page
	itemPrefix = 'i' // and the hash of the key: an item
	runPrefix  = 'r' // and the number: a Run
	readPrefix = 'd' // and the key of the request: how a page was read last
)

// format is the version of what is stored.
const format = 1

// meta is what a history remembers beside pages, items and runs.
type meta struct {
	Format int    `json:"format"`
	Batch  uint64 `json:"batch"`          // the number of the last one
	Run    int    `json:"run"`            // the number of the last one
	Items  int64  `json:"items"`          // that the table has
	Keys   string `json:"keys,omitempty"` // what gives the keys of items, in words; "" before the first page of a run
	Feed   []byte `json:"feed"`           // the checkpoint of the feed; nil: it has none yet
}

// page is what is known of a page: its settled request.
type page struct {
	url   string
	read  int // the run that has read it last; 0: none
	asked int // the run in which its request has settled last
	seed  bool
	// its request has failed then, and was not kept from being sent
	failed bool
	// a reading of it is stored
	remembered bool
	items      []itemID // that it gives
	links      []uint64 // the beginnings of the keys of the pages that it led to when it was read last
}

// itemID is the hash of an item's key.
type itemID [16]byte

// item is a row of the table.
type item struct {
	key   string
	url   string // of the page that gave it last
	seen  int    // the run in which a page gave it last
	text  []byte // its JSON
	proof Proof  // why the last page does not give it any more; "" while one does
	pages []tegenaria.Key
}

func (p *page) encode() []byte {
	flags := uint64(0)
	if p.seed {
		flags |= 1
	}
	if p.failed {
		flags |= 2
	}
	if p.remembered {
		flags |= 4
	}
	b := binary.AppendUvarint(nil, flags)
	b = binary.AppendUvarint(b, uint64(p.read))
	b = binary.AppendUvarint(b, uint64(p.asked))
	b = appendText(b, []byte(p.url))
	b = binary.AppendUvarint(b, uint64(len(p.items)))
	for _, id := range p.items {
		b = append(b, id[:]...)
	}
	for _, link := range p.links {
		b = binary.BigEndian.AppendUint64(b, link)
	}
	return b
}

func decodePage(b []byte) (p page, err error) {
	d := decoder{rest: b}
	flags := d.number()
	p.seed, p.failed = flags&1 != 0, flags&2 != 0
	p.remembered = flags&4 != 0
	p.read, p.asked = int(d.number()), int(d.number())
	p.url = string(d.text())
	for range d.number() {
		p.items = append(p.items, itemID(d.take(len(itemID{}))))
		if d.err != nil {
			return p, d.err
		}
	}
	for len(d.rest) > 0 && d.err == nil {
		p.links = append(p.links, binary.BigEndian.Uint64(d.take(8)))
	}
	return p, d.err
}

func (i *item) encode() []byte {
	b := appendText(nil, []byte(i.key))
	b = appendText(b, []byte(i.url))
	b = binary.AppendUvarint(b, uint64(i.seen))
	b = appendText(b, []byte(i.proof))
	b = appendText(b, i.text)
	for _, p := range i.pages {
		b = append(b, p[:]...)
	}
	return b
}

func decodeItem(b []byte) (i item, err error) {
	d := decoder{rest: b}
	i.key, i.url, i.seen = string(d.text()), string(d.text()), int(d.number())
	i.proof, i.text = Proof(d.text()), bytes.Clone(d.text())
	for len(d.rest) > 0 && d.err == nil {
		i.pages = append(i.pages, tegenaria.Key(d.take(len(tegenaria.Key{}))))
	}
	return i, d.err
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decoder reads what the encode methods have written. After an error it returns zero values.
type decoder struct {
	rest []byte
	err  error
}

var errShort = errors.New("it ends too soon")

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.err, d.rest = errShort, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) text() []byte {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.err, d.rest = errShort, nil
		return nil
	}
	return d.take(int(n))
}

// take returns n bytes, which are zero after an error.
func (d *decoder) take(n int) []byte {
	if n > len(d.rest) {
		d.err, d.rest = errShort, nil
		return make([]byte, n)
	}
	taken := d.rest[:n:n]
	d.rest = d.rest[n:]
	return taken
}

// The errors of a history.
type (
	// InUseError is the failure to open a history that another process has open.
	InUseError struct{ Folder string }
	// VersionError is the failure to open a history that another version of this package has written.
	VersionError struct {
		Folder      string
		Stored, Own int // formats
	}
	// NotFoundError is the failure to open a history that does not exist, where none is to be made.
	NotFoundError struct{ Folder string }
	// DamagedError is the failure to read what a history has stored.
	DamagedError struct {
		Folder string
		Err    error
	}
)

// Error names the folder and the remedy.
func (e *InUseError) Error() string {
	return fmt.Sprintf("revisit: another process has the history %s open: wait until it has ended, or use another folder", e.Folder)
}

// Error names the folder and the remedy.
func (e *VersionError) Error() string {
	return fmt.Sprintf("revisit: the history %s was written in format %d, and this version reads format %d: begin one in "+
		"another folder", e.Folder, e.Stored, e.Own)
}

// Error names the folder.
func (e *NotFoundError) Error() string { return fmt.Sprintf("revisit: %s is no history", e.Folder) }

// Error names the folder and the cause.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("revisit: the history %s is damaged: %v; begin one in another folder, or put a copy in its place", e.Folder, e.Err)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

// claim makes the folder of a history, and claims it until the file is closed.
func claim(folder string, existing bool) (*os.File, error) {
	dir := filepath.Join(folder, tableDir)
	if existing {
		if _, err := os.Stat(dir); err != nil {
			return nil, &NotFoundError{folder}
		}
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), privatefs.Narrow(dir)); err != nil {
		return nil, fmt.Errorf("revisit: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(folder, "table.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("revisit: %w", err)
	}
	err = filelock.Lock(file)
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, errors.Join(&InUseError{folder}, file.Close())
	case err != nil && !errors.Is(err, errors.ErrUnsupported): // where there are no locks, Pebble's own has to do
		return nil, errors.Join(fmt.Errorf("revisit: %w", err), file.Close())
	}
	return file, nil
}

// tableDir is the folder of the table in that of a history.
const tableDir = "table"

// openStore opens the store of a history.
func openStore(folder string) (*pebble.DB, meta, error) {
	dir := filepath.Join(folder, tableDir)
	db, err := pebble.Open(dir, &pebble.Options{
		FS: privatefs.New(dir), FormatMajorVersion: pebble.FormatValueSeparation, // pinned: a newer Pebble must not convert a store by itself
		Logger: quiet{}, CacheSize: 16 << 20, MemTableSize: 8 << 20,
	})
	if err != nil {
		return nil, meta{}, &DamagedError{folder, err}
	}
	m := meta{Format: format}
	text, closer, err := db.Get([]byte(metaKey))
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return db, m, nil
	case err == nil:
		err = errors.Join(json.Unmarshal(text, &m), closer.Close())
	}
	switch {
	case err != nil:
		return nil, m, errors.Join(&DamagedError{folder, err}, db.Close())
	case m.Format != format:
		return nil, m, errors.Join(&VersionError{folder, m.Format, format}, db.Close())
	}
	return db, m, nil
}

// quiet keeps what Pebble tells about itself out of the program's output.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

// Fatalf is called for what Pebble cannot go on with.
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf("revisit: "+format, args...)) }

// change collects what is to be written in one step, and shows it to those who read through it.
type change struct {
	db     *pebble.DB
	values map[string][]byte // nil values are deleted
	before map[string][]byte // what was stored under these keys; nil: nothing
}

func newChange(db *pebble.DB) *change {
	return &change{db: db, values: make(map[string][]byte), before: make(map[string][]byte)}
}

// get returns a value; nil if there is none.
func (c *change) get(key string) ([]byte, error) {
	if value, ok := c.values[key]; ok {
		return value, nil
	}
	if value, ok := c.before[key]; ok {
		return value, nil
	}
	value, closer, err := c.db.Get([]byte(key))
	if errors.Is(err, pebble.ErrNotFound) {
		c.before[key] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.before[key] = bytes.Clone(value)
	return c.before[key], closer.Close()
}

// read notes a value that was read elsewhere.
func (c *change) read(key string, value []byte) {
	if _, known := c.before[key]; !known {
		c.before[key] = bytes.Clone(value)
	}
}

// set sets a value that get has looked for before; nil deletes it.
func (c *change) set(key string, value []byte) { c.values[key] = value }

// commit writes everything in one step, which is on the disk when it returns, and if undoable how to undo it.
func (c *change) commit(m meta, undoable bool) error {
	if _, err := c.get(metaKey); err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.set(metaKey, text)
	b := c.db.NewBatch()
	defer b.Close()
	var undo []byte
	for key, value := range c.values {
		if undoable {
			undo = appendText(undo, []byte(key))
			if before := c.before[key]; before == nil {
				undo = append(undo, 0)
			} else {
				undo = appendText(append(undo, 1), before)
			}
		}
		if err := put(b, key, value); err != nil {
			return err
		}
	}
	if err := put(b, undoKey, undo); err != nil {
		return err
	}
	return b.Commit(pebble.Sync)
}

// put adds a value to a batch; nil deletes it.
func put(b *pebble.Batch, key string, value []byte) error {
	if value == nil {
		return b.Delete([]byte(key), nil)
	}
	return b.Set([]byte(key), value, nil)
}

// undo takes back the last change.
func undo(db *pebble.DB) error {
	text, closer, err := db.Get([]byte(undoKey))
	if err != nil {
		return err
	}
	defer closer.Close()
	b := db.NewBatch()
	defer b.Close()
	for d := (decoder{rest: text}); len(d.rest) > 0; {
		key, value := string(d.text()), []byte(nil)
		if d.number() == 1 {
			value = d.text()
		}
		if d.err != nil {
			return d.err
		}
		if err := put(b, key, value); err != nil {
			return err
		}
	}
	if err := put(b, undoKey, nil); err != nil {
		return err
	}
	return b.Commit(pebble.Sync)
}

// now returns a time without what a change of the clock does to it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
