package postgres_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/postgres"
	"github.com/tegenaria/tegenaria/internal/conformance"
)

// What is read from the table is what was written, whatever it is; times have microseconds.
func TestValues(t *testing.T) {
	pool := database(t)
	f := postgres.New[feedtest.Everything](pool, postgres.Table("values"), postgres.Rejects(filepath.Join(t.TempDir(), "rejects")))
	want := feedtest.Values()
	want = append(want, feedtest.Everything{ID: len(want), Unsigned: math.MaxUint64, Address: netip.IPv4Unspecified()})
	feedtest.Write(t, f, want...)
	rows, err := pool.Query(t.Context(), `SELECT id, text, bytes, small, big, unsigned::text, short, long, flag, "when", maybe, later, list::text, map::text, "any"::text, raw::text, number::text, address, "Inner"::text FROM "values" ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var e feedtest.Everything
		var address, inner, unsigned string
		var list, m, anything, raw, number *string
		if err := rows.Scan(&e.ID, &e.Text, &e.Bytes, &e.Small, &e.Big, &unsigned, &e.Short, &e.Long, &e.Flag, &e.When, &e.Maybe, &e.Later, &list, &m, &anything, &raw, &number, &address, &inner); err != nil {
			t.Fatal(err)
		}
		if e.Unsigned, err = strconv.ParseUint(unsigned, 10, 64); err != nil {
			t.Fatal(err)
		}
		for _, part := range []struct {
			text *string
			into any
		}{{list, &e.List}, {m, &e.Map}, {anything, &e.Any}, {raw, &e.Raw}, {number, &e.Number}, {&inner, &e.Inner}} {
			if part.text != nil {
				if err := json.Unmarshal([]byte(*part.text), part.into); err != nil {
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

func TestNaughtyStrings(t *testing.T) {
	pool := database(t)
	f := postgres.New[feedtest.Book](pool, postgres.Rejects(filepath.Join(t.TempDir(), "rejects")))
	var books []feedtest.Book
	var want []string
	for _, text := range feedtest.Naughty(t, conformance.Read(t, "blns.json")) {
		books = append(books, feedtest.Book{Title: text, Tags: []string{text}})
		want = append(want, strings.ToValidUTF8(text, "\uFFFD"))
	}
	feedtest.Write(t, f, books...)
	if got := read(t, pool, "SELECT title FROM book ORDER BY tegenaria_row"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := read(t, pool, "SELECT tags ->> 0 FROM book ORDER BY tegenaria_row"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// row is an item that a table can refuse.
type row struct {
	ID    int             `json:"id"`
	Text  string          `json:"text"`
	List  []string        `json:"list"`
	Raw   json.RawMessage `json:"raw"`
	Small int             `json:"small"`
	Price float64         `json:"price"`
}

// Items that the table refuses go to the reject file, each once, and the others of their batch to the table: what is known when the item
// comes, and what the database finds out when the batch is written. It fails if one of them takes its batch with it, or if the reject
// file is not cut after a crash.
func TestRejects(t *testing.T) {
	for _, key := range []bool{false, true} {
		t.Run(fmt.Sprint("key ", key), func(t *testing.T) {
			dsn := newDatabase(t)
			pool := connect(t, dsn)
			run(t, pool, "CREATE TABLE rows (id integer PRIMARY KEY, text varchar(5), list jsonb, raw jsonb, small int2, price numeric(6, 2) CHECK (price >= 0))",
				"CREATE TABLE texts (text varchar(5) PRIMARY KEY)", "INSERT INTO texts VALUES ('known'), ('ééééé')",
				"ALTER TABLE rows ADD FOREIGN KEY (text) REFERENCES texts DEFERRABLE INITIALLY DEFERRED")
			rejects := filepath.Join(t.TempDir(), "rejects")
			cut := &cutter{}
			opts := []postgres.Option{postgres.Table("rows"), postgres.Rejects(rejects)}
			if key {
				opts = append(opts, postgres.Upsert("id"))
			}
			makeFeed := func() *postgres.Feed { return postgres.New[row](connect(t, dsn, cut.configure), opts...) }
			want := []string{"10 text", "20 list", "30 small", "40 text", "50 ", "0 ", "51 ", "52 ", "60 ", "99 "}
			process := func(f *postgres.Feed) {
				for i := range 100 {
					r := row{ID: i, Text: "known", Price: 1.25}
					switch i {
					case 10:
						r.Text = "a\x00"
					case 20:
						r.List = []string{"\x00"}
					case 30:
						r.Small = 40_000
					case 40:
						r.Text = "ümlaut"
					case 0, 50, 51, 99:
						r.Price = -1
					case 52:
						r.Text = "other"
					case 60:
						r.Raw = json.RawMessage(`"\ud800"`) // which is JSON, and no text
					case 80:
						r.Text, r.List = "ééééé", []string{`\u0000`}
					}
					feedtest.Put(t, f, fmt.Sprint(i), r)
				}
			}
			var ids []string
			for i := range 100 {
				ids = append(ids, fmt.Sprint(i))
			}
			f := makeFeed()
			stored := feedtest.Restore(t, f, nil)
			for _, way := range []int32{unbroken, beforeCommit, afterCommit} { // these are not stored
				process(f)
				cut.way.Store(way)
				feedtest.Prepare(t, f, ids...)
				if lines, err := os.ReadFile(rejects); err != nil || bytes.Count(lines, []byte("\n")) != len(want) {
					t.Fatalf("%s, %v", lines, err)
				}
				feedtest.End(t, f)
				f = makeFeed()
				feedtest.Restore(t, f, stored)
			}
			process(f)
			feedtest.Prepare(t, f, ids...)
			if f.FeedStats().Failed != int64(len(want)) || f.FeedStats().Written != int64(100-len(want)) {
				t.Errorf("%d rejected, %d written", f.FeedStats().Failed, f.FeedStats().Written)
			}
			feedtest.End(t, f)
			if got := read(t, pool, "SELECT count(*) || ' ' || sum(price) FROM rows"); got[0] != "90 112.50" {
				t.Errorf("%s", got)
			}
			slices.Sort(want)
			if got := feedtest.Rejected(t, rejects); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
