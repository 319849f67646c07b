package sqlite_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/internal/conformance"
)

// What is read from the table is what was written, whatever it is.
func TestValues(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "values.db")
	f := sqlite.New[feedtest.Everything](path, sqlite.Table("values"))
	want := feedtest.Values()
	want = append(want, feedtest.Everything{ID: len(want), Text: "a\x00b", List: []string{"\x00"}, Address: netip.IPv4Unspecified()})
	feedtest.Write(t, f, want...)
	db := open(t, path)
	rows, err := db.QueryContext(t.Context(), `SELECT id, text, bytes, typeof(bytes), small, big, unsigned, short, long, flag, "when", maybe, later, list, map, "any", raw, number, address, Inner FROM "values" ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var e feedtest.Everything
		var when, address, inner, kind string
		var maybe, later, list, m, anything, raw, number sql.NullString
		if err := rows.Scan(&e.ID, &e.Text, &e.Bytes, &kind, &e.Small, &e.Big, &e.Unsigned, &e.Short, &e.Long, &e.Flag, &when, &maybe, &later, &list, &m, &anything, &raw, &number, &address, &inner); err != nil {
			t.Fatal(err)
		}
		if kind == "blob" && e.Bytes == nil { // the driver does not tell an empty one from NULL
			e.Bytes = []byte{}
		}
		e.When = parseTime(t, when)
		if maybe.Valid {
			e.Maybe = &maybe.String
		}
		if later.Valid {
			at := parseTime(t, later.String)
			e.Later = &at
		}
		for _, part := range []struct {
			text sql.NullString
			into any
		}{{list, &e.List}, {m, &e.Map}, {anything, &e.Any}, {raw, &e.Raw}, {number, &e.Number}, {sql.NullString{String: inner, Valid: true}, &e.Inner}} {
			if part.text.Valid {
				if err := json.Unmarshal([]byte(part.text.String), part.into); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := e.Address.UnmarshalText([]byte(address)); err != nil {
			t.Fatal(err)
		}
		feedtest.Same(t, e, want[e.ID])
	}
	if err := rows.Err(); err != nil || n != len(want) {
		t.Errorf("%d rows, want %d: %v", n, len(want), err)
	}
}

func parseTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestNaughtyStrings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "books.db")
	f := sqlite.New[feedtest.Book](path)
	var books []feedtest.Book
	var want []string
	for _, text := range feedtest.Naughty(t, conformance.Read(t, "blns.json")) {
		books = append(books, feedtest.Book{Title: text, Tags: []string{text}})
		want = append(want, strings.ToValidUTF8(text, "\uFFFD"))
	}
	feedtest.Write(t, f, books...)
	if got := read(t, path, "SELECT title FROM book ORDER BY rowid"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := read(t, path, "SELECT tags ->> 0 FROM book ORDER BY rowid"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// row is an item that a table can refuse.
type row struct {
	ID       int     `json:"id"`
	Unsigned uint64  `json:"unsigned"`
	Price    float64 `json:"price"`
}

// Items that the table refuses go to the reject file, each once, and the others of their batch to the table. It fails if one of them takes
// its batch with it, or if the reject file is not cut after a crash.
func TestRejects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.db")
	run(t, path, "CREATE TABLE rows (id INTEGER, unsigned INTEGER, price REAL CHECK (price >= 0))")
	rejects := path + ".rows.rejects.jsonl"
	makeFeed := func() *sqlite.Feed { return sqlite.New[row](path, sqlite.Table("rows")) }
	f := makeFeed()
	stored := feedtest.Restore(t, f, nil)
	process := func() {
		for i := range 100 {
			r := row{ID: i}
			switch i {
			case 3:
				r.Unsigned = math.MaxUint64
			case 0, 50, 51, 99:
				r.Price = -1
			}
			feedtest.Put(t, f, fmt.Sprint(i), r)
		}
	}
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprint(i))
	}
	for range 2 { // the first is not stored
		process()
		feedtest.Prepare(t, f, ids...)
		if lines, err := os.ReadFile(rejects); err != nil || bytes.Count(lines, []byte("\n")) != 5 {
			t.Fatalf("%s, %v", lines, err)
		}
		if f.FeedStats().Failed != 5 || f.FeedStats().Written != 95 {
			t.Errorf("%d rejected, %d written", f.FeedStats().Failed, f.FeedStats().Written)
		}
		feedtest.End(t, f)
		f = makeFeed()
		feedtest.Restore(t, f, stored)
	}
	process()
	feedtest.Prepare(t, f, ids...)
	feedtest.End(t, f)
	if got := read(t, path, "SELECT count(*) || ' ' || count(DISTINCT id) FROM rows"); got[0] != "95 95" {
		t.Errorf("%s", got)
	}
	if got, want := feedtest.Rejected(t, rejects), []string{"0 ", "3 unsigned", "50 ", "51 ", "99 "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A value that JSON cannot hold fails its item.
func TestValuesWithoutJSON(t *testing.T) {
	f := sqlite.New[row](filepath.Join(t.TempDir(), "rows.db"))
	feedtest.Restore(t, f, nil)
	err := f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: "a", Item: row{Price: math.NaN()}})
	var refused *feed.RefusedError
	if !errors.As(err, &refused) || refused.Column != "price" {
		t.Errorf("%v", err)
	}
}
