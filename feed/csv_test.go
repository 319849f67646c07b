package feed_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
)

func rowsOf(t *testing.T, path string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(unpack(t, path))).ReadAll() // every row has as many cells as the first
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Columns that come late, and crashes between: no cell is lost, and in the end all rows have all columns. A crash after the file was
// written anew, and before the end of the job was stored, changes nothing.
func TestLateColumns(t *testing.T) {
	t.Parallel()
	seed := deep.Seed()
	for _, ending := range []string{".csv", ".csv.gz", ".csv.zst"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 2))
			path := filepath.Join(t.TempDir(), "out"+ending)
			f := feed.CSV(path)
			checkpoint := restore(t, f, nil)
			var want []map[string]string
			for n, most := 0, deep.Rounds(120, 300); n < most; {
				var ids []string
				var batch []map[string]string
				for range random.IntN(20) {
					item := map[string]string{"id": fmt.Sprint(n + len(ids))}
					for range random.IntN(4) {
						item[fmt.Sprint("column ", random.IntN(2+(n+len(ids))/10))] = hardTexts[random.IntN(len(hardTexts)-1)]
					}
					put(t, f, item["id"], item)
					ids, batch = append(ids, item["id"]), append(batch, item)
				}
				stored := prepare(t, f, ids...)
				if random.IntN(4) == 0 {
					f = feed.CSV(path)
					restore(t, f, checkpoint)
					continue
				}
				checkpoint, want, n = stored, append(want, batch...), n+len(batch)
			}
			for range 3 { // each end may be the last thing before a crash
				end(t, f)
				rows := rowsOf(t, path)
				if len(rows) != len(want)+1 {
					t.Fatalf("%d rows, want %d", len(rows)-1, len(want))
				}
				for i, item := range want {
					for c, name := range rows[0] {
						if got, want := rows[i+1][c], strings.ReplaceAll(item[name], "\r\n", "\n"); got != want {
							t.Fatalf("row %d, %s: %q, want %q", i, name, got, want)
						}
					}
					for name := range item {
						if !slices.Contains(rows[0], name) {
							t.Fatalf("the column %q is lost", name)
						}
					}
				}
				f = feed.CSV(path)
				restore(t, f, checkpoint)
			}
			put(t, f, "last", map[string]string{"id": "last", "column of the last": "x"})
			prepare(t, f, "last")
			end(t, f)
			if rows := rowsOf(t, path); len(rows) != len(want)+2 || rows[len(rows)-1][len(rows[0])-1] != "x" {
				t.Errorf("%d rows; the last is %q", len(rows)-1, rows[len(rows)-1])
			}
		})
	}
}

func TestCSVCells(t *testing.T) {
	type inner struct{ A int }
	type row struct {
		S  string    `json:"s"`
		I  int8      `json:"i"`
		U  uint64    `json:"u"`
		F  float64   `json:"f"`
		F3 float32   `json:"f3"`
		B  bool      `json:"b"`
		T  time.Time `json:"t"`
		P  *int      `json:"p"`
		N  inner     `json:"n"`
		L  []string  `json:"l"`
		M  map[string]int
		Y  []byte
		O  string `json:"o,omitempty"`
		H  string `json:"-"`
	}
	n := 5
	full := row{"a,b", -8, math.MaxUint64, 1e21, 0.1, true, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), &n, inner{1}, []string{"x"}, map[string]int{"k": 1}, []byte("bytes"), "o", "h"}
	path := filepath.Join(t.TempDir(), "out.csv")
	f := feed.CSV(path)
	restore(t, f, nil)
	put(t, f, "a", full)
	put(t, f, "a", &row{})
	if err := process(f, "a", row{F: math.NaN()}); err == nil || !strings.Contains(err.Error(), "field f") {
		t.Errorf("NaN: %v", err)
	}
	prepare(t, f, "a")
	end(t, f)
	want := [][]string{
		{"s", "i", "u", "f", "f3", "b", "t", "p", "n", "l", "M", "Y", "o"},
		{"a,b", "-8", "18446744073709551615", "1e+21", "0.1", "true", "2026-01-02T03:04:05.000000006Z", "5", `{"A":1}`, `["x"]`, `{"k":1}`, "Ynl0ZXM=", "o"},
		{"", "0", "0", "0", "0", "false", "0001-01-01T00:00:00Z", "", `{"A":0}`, "", "", "", ""},
	}
	if rows := rowsOf(t, path); !reflect.DeepEqual(rows, want) {
		t.Errorf("%q\nwant %q", rows, want)
	}
}

func TestCSVDialects(t *testing.T) {
	item := map[string]any{"a": "=1+1", "b": "x;y", "c": "two\r\nlines", "d": -5}
	for name, test := range map[string]struct {
		opts []feed.Option
		want string
	}{
		"plain":       {nil, "a,b,c,d\n=1+1,x;y,\"two\r\nlines\",-5\n"},
		"semicolons":  {[]feed.Option{feed.Comma(';')}, "a;b;c;d\n=1+1;\"x;y\";\"two\r\nlines\";-5\n"},
		"tabs, CRLF":  {[]feed.Option{feed.Comma('\t'), feed.CRLF()}, "a\tb\tc\td\r\n=1+1\tx;y\t\"two\r\nlines\"\t-5\r\n"},
		"columns":     {[]feed.Option{feed.Columns("d", "z", "a")}, "d,z,a\n-5,,=1+1\n"},
		"no header":   {[]feed.Option{feed.Columns("d"), feed.NoHeader()}, "-5\n"},
		"BOM":         {[]feed.Option{feed.Columns("d"), feed.BOM()}, "\uFEFFd\n-5\n"},
		"safe":        {[]feed.Option{feed.SpreadsheetSafe(), feed.Columns("a", "d")}, "a,d\n'=1+1,-5\n"},
		"empty cells": {[]feed.Option{feed.Columns("z")}, "z\n\"\"\n"},
	} {
		path := filepath.Join(t.TempDir(), "out.csv")
		f := feed.CSV(path, test.opts...)
		written(t, f, []any{item})
		if text, err := os.ReadFile(path); err != nil || string(text) != test.want {
			t.Errorf("%s: %q, %v; want %q", name, text, err, test.want)
		}
	}
}

// A name from a page must not be a formula in the header either; a file that is appended to is known by the names without the apostrophe.
func TestCSVSafeHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	written(t, feed.CSV(path, feed.SpreadsheetSafe()), []any{map[string]any{"=1+1": "-x", "'a": 1}})
	written(t, feed.CSV(path, feed.SpreadsheetSafe(), feed.Append()), []any{map[string]any{"=1+1": "y", "'a": 2}})
	written(t, feed.CSV(path, feed.SpreadsheetSafe(), feed.Append(), feed.Columns("'a", "=1+1")), []any{map[string]any{"=1+1": "z", "'a": 3}})
	if text, err := os.ReadFile(path); err != nil || string(text) != "'a,'=1+1\n1,'-x\n2,y\n3,z\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// Keys of maps become at most 1,000 columns; what comes later is in one more. It fails if the file, or the memory,
// grows with the square of the keys.
func TestCSVManyNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	f := feed.CSV(path)
	var items []any
	for i := range 1200 {
		items = append(items, map[string]any{"id": i, fmt.Sprintf("k%04d", i): "=x", feed.RestColumn: "own"})
	}
	items = append(items, map[string]any{"id": 1200, "k1300": []int{1}, "k1301": true})
	written(t, f, items)
	rows := rowsOf(t, path)
	if len(rows) != 1202 || len(rows[0]) > 1001 {
		t.Fatalf("%d rows of %d columns", len(rows), len(rows[0]))
	}
	rest := slices.Index(rows[0], feed.RestColumn)
	for i, want := range map[int]string{1: `{"_rest":"own"}`, 1200: `{"_rest":"own","k1199":"=x"}`, 1201: `{"k1300":"[1]","k1301":"true"}`} {
		if got := rows[i][rest]; got != want {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
	if info, err := os.Stat(path); err != nil || f.FeedStats().Bytes != info.Size() {
		t.Errorf("FeedStats says %d bytes; %v, %v", f.FeedStats().Bytes, info.Size(), err)
	}
}

func TestColumnsThatFail(t *testing.T) {
	f := feed.CSV(filepath.Join(t.TempDir(), "out.csv"), feed.LateFails())
	restore(t, f, nil)
	defer end(t, f)
	var none *feed.NoColumnsError
	if err := process(f, "a", 5); !errors.As(err, &none) {
		t.Errorf("a number: %v", err)
	}
	put(t, f, "a", map[string]int{"a": 1})
	prepare(t, f, "a")
	put(t, f, "b", map[string]int{"b": 1})
	var late *feed.LateColumnError
	if _, err := f.Prepare(t.Context(), []string{"b"}); !errors.As(err, &late) || late.Column != "b" || late.Path == "" {
		t.Errorf("late: %v", err)
	}
}
