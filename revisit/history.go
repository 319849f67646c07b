package revisit

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
)

// Options configure a [History]. The zero value is a sensible default.
type Options struct {
	// Key returns what tells items apart, the same in each run: an article number, for example. nil: KeyField, or the field of the item's
	// struct with the tag key:"true". If there is neither, an item has the URL of its page, before any redirects, as its
	// key where the page gives no other item; otherwise the whole item is its key: then it is new or removed, and never
	// changed. It is called concurrently.
	Key func(item any) string
	// KeyField is the name in JSON of the field that is the key.
	KeyField string
	// Arguments are those of the spider, in any form: items of a run with others are removed only if their page is gone.
	Arguments string
	// MaxRemoved is the share of the table that a run may remove, 0: 0.2; at least 10 items may always be. If it were more, none
	// is removed, [Run.Withheld] says how many it would be, and [History.AcceptRemoved] removes them. 1 removes any number.
	MaxRemoved float64
	// Pages has the pages of earlier runs, such as an [httpcache.Cache]: if a page fails, the links of the stored one are
	// followed, so that what is behind them is not missed. A page that is gone (404, 410) has no links, and a stored
	// redirect is not followed. nil: there are none.
	//
	// [httpcache.Cache]: https://pkg.go.dev/github.com/tegenaria/tegenaria/httpcache#Cache
	Pages Pages
	// SkipUnchanged has the parser of a page not run if it was given the same page by the run that has read it last, with
	// the same request, spider and arguments: a body that is the same, such as that of a page that the site says is not
	// modified (304), or the same Text. The requests that it sent then are sent again, and its items stay in the table,
	// unchanged. Then the run has no items of unchanged pages, so no other feed may be registered. Set it only if what a
	// parser gives depends on its page alone, and not on the day; and after the parser or a pipeline was changed, run once
	// without it, or with other Arguments.
	//
	// Never skipped are pages whose parser has used Fetch, lost an item or given two with one key, or has sent a request
	// that cannot be stored, such as one with a parser that has no name. What it sends is stored with each page: about 165
	// bytes on disk for ten links whose URLs are alike. A page of 20 KB is compared in less than 0.1 ms of processor time.
	SkipUnchanged bool
	// Text is what makes a page whose body has changed count as the same: see ChangeSameText of [tegenaria.PageChange]. "": nothing.
	Text Text
}

// Pages has the pages of earlier runs. Stored returns the one that answers the request of a Context, made with
// [tegenaria.Context.Respond]; nil if there is none. It may read from a disk, and is called concurrently.
type Pages interface {
	Stored(ctx *tegenaria.Context) (*tegenaria.Response, error)
}

// minRemoved is how many items a run may always remove.
const minRemoved = 10

// Run is one run: a process, or a durable job over all its processes.
type Run struct {
	Number    int       `json:"number"` // from 1
	Spider    string    `json:"spider"`
	Arguments string    `json:"arguments,omitempty"`
	Began     time.Time `json:"began"`
	Ended     time.Time `json:"ended,omitzero"` // zero if it did not come to its end
	Complete  bool      `json:"complete"`       // all that was found was asked for
	Accepted  bool      `json:"accepted,omitempty"`

	Pages     int64 `json:"pages"`     // that were read
	Failed    int64 `json:"failed"`    // that were asked for and keep their items: an error, or no answer that says anything; robots.txt forbade none of them
	Skipped   int64 `json:"skipped"`   // of those that were read: the parser did not run, see Options.SkipUnchanged
	Followed  int64 `json:"followed"`  // of those that failed: the links of the stored page were followed
	Kept      int64 `json:"kept"`      // of those that were read and keep items that they do not give: an item was lost, or they give none
	New       int64 `json:"new"`       // items
	Changed   int64 `json:"changed"`   // items
	Unchanged int64 `json:"unchanged"` // items
	Removed   int64 `json:"removed"`   // items
	Withheld  int64 `json:"withheld"`  // items that would have been removed, if they were not more than Options.MaxRemoved
	Keyless   int64 `json:"keyless"`   // items without a key on pages that give several: the whole item is the key, so it never changes; of a skipped page, equal ones count once

	// Clashes are items with a key that another one of the run has, and other contents: the first one counts.
	Clashes  int64   `json:"clashes"`
	Examples []Clash `json:"examples,omitempty"` // the first three of them
}

// Clash is an item whose key another one of the run has.
type Clash struct {
	Key   string `json:"key"`
	First string `json:"first"` // URL of the page of the item that counts
	Other string `json:"other"` // that of the other one
}

// History is a folder with the table of a spider's items, and what the runs have found. One process has it open at a time. Its methods may
// be called concurrently.
type History struct {
	folder  string
	options Options
	lock    *os.File // closed with the history

	mu   sync.Mutex // guards the fields below, and what is stored
	db   *pebble.DB
	meta meta
	busy bool // a run writes
}

// Open opens the history in a folder, which is made if there is none. The caller closes it after the last run. The
// error is an [*InUseError] if another process has it open, a [*VersionError] if another version has written it, and a
// [*DamagedError] if it cannot be read.
func Open(folder string, o Options) (*History, error) { return open(folder, o, false) }

// OpenExisting is Open for a folder that has a history; if it has none, the error is a [*NotFoundError].
func OpenExisting(folder string, o Options) (*History, error) { return open(folder, o, true) }

func open(folder string, o Options, existing bool) (*History, error) {
	if o.MaxRemoved < 0 || o.MaxRemoved > 1 {
		return nil, fmt.Errorf("revisit: MaxRemoved is %g: it is a share of the table, from 0 to 1", o.MaxRemoved)
	}
	if o.Key != nil && o.KeyField != "" {
		return nil, errors.New("revisit: Options have a Key and a KeyField: leave one of them out")
	}
	if err := o.Text.mistake(); err != nil {
		return nil, err
	}
	o.MaxRemoved = cmp.Or(o.MaxRemoved, 0.2)
	lock, err := claim(folder, existing)
	if err != nil {
		return nil, err
	}
	db, m, err := openStore(folder)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &History{folder: folder, options: o, lock: lock, db: db, meta: m}, nil
}

// Close closes the history.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.db == nil {
		return nil
	}
	err := errors.Join(h.db.Close(), h.lock.Close())
	h.db = nil
	return err
}

var errClosed = errors.New("revisit: the history is closed")

var errStopped = errors.New("stopped") // by who reads a list

// Runs returns what the runs have found, the first one first.
func (h *History) Runs() (runs []Run, err error) {
	err = h.each(runPrefix, func(_ string, value []byte) error {
		var r Run
		if err := json.Unmarshal(value, &r); err != nil {
			return &DamagedError{h.folder, err}
		}
		runs = append(runs, r)
		return nil
	})
	return runs, err
}

// Row is an item of the table.
type Row struct {
	Key  string
	URL  string // of the page that gave it last
	Item json.RawMessage
}

// Items returns the table, in no order. An error ends it.
func (h *History) Items() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		err := h.each(itemPrefix, func(_ string, value []byte) error {
			i, err := decodeItem(value)
			if err != nil {
				return &DamagedError{h.folder, err}
			}
			if !yield(Row{i.key, i.url, i.text}, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(Row{}, err)
		}
	}
}

// known returns an item of the table, as a change has it. The caller holds mu.
func (h *History) known(c *change, id itemID) (known item, is bool, err error) {
	text, err := c.get(itemAt(id))
	if err != nil || text == nil {
		return item{}, false, err
	}
	if known, err = decodeItem(text); err != nil {
		return item{}, false, &DamagedError{h.folder, err}
	}
	return known, true, nil
}

// each calls a func with all that has a prefix, in the order of the keys.
func (h *History) each(prefix byte, call func(key string, value []byte) error) error {
	h.mu.Lock()
	if h.db == nil {
		h.mu.Unlock()
		return errClosed
	}
	snapshot := h.db.NewSnapshot()
	h.mu.Unlock()
	return errors.Join(eachOf(snapshot, prefix, call), snapshot.Close())
}

// eachOf is each for what a reader sees.
func eachOf(r pebble.Reader, prefix byte, call func(key string, value []byte) error) error {
	return rangeOf(r, []byte{prefix}, []byte{prefix + 1}, call)
}

// rangeOf calls a func with all from a key up to another one.
func rangeOf(r pebble.Reader, from, to []byte, call func(key string, value []byte) error) error {
	list, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	for ok := list.First(); ok; ok = list.Next() {
		if err := call(string(list.Key()), list.Value()); err != nil {
			return errors.Join(err, list.Close())
		}
	}
	return list.Close()
}

// runAt returns the key under which a run is stored.
func runAt(number int) string {
	return string(binary.BigEndian.AppendUint64([]byte{runPrefix}, uint64(number)))
}

func pageAt(key tegenaria.Key) string { return string(append([]byte{pagePrefix}, key[:]...)) }

// keyIn returns the key of a page from what it is stored under.
func keyIn(at string) tegenaria.Key { return tegenaria.Key([]byte(at[1:])) }

// pagesAt returns the beginning of what pages are stored under whose keys begin so.
func pagesAt(short uint64) []byte { return binary.BigEndian.AppendUint64([]byte{pagePrefix}, short) }

// pagesAfter returns what is behind all that begins so.
func pagesAfter(prefix []byte) []byte {
	return append(slices.Clone(prefix), bytes.Repeat([]byte{0xff}, len(tegenaria.Key{})-8+1)...)
}

func readingAt(key tegenaria.Key) string { return string(append([]byte{readPrefix}, key[:]...)) }

func itemAt(id itemID) string { return string(append([]byte{itemPrefix}, id[:]...)) }
