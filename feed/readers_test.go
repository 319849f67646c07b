package feed_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/internal/conformance"
)

var (
	python  = flag.String("python", "", "a Python 3 with pandas, which reads the files")
	readers = flag.String("readers", "", "folder with the npm package @duckdb/node-api")
)

// hardItems are items that formats stumble over, as their type and as what encoding/json makes of them.
func hardItems(t *testing.T) (items []feedtest.Everything) {
	t.Helper()
	for _, e := range feedtest.Values() {
		if !math.IsInf(e.Long, 0) { // JSON has none
			items = append(items, e)
		}
	}
	for _, text := range feedtest.Naughty(t, conformance.Read(t, "blns.json")) {
		items = append(items, feedtest.Everything{Text: text, Maybe: &text, List: []string{text}, Map: map[string]string{text: text}})
	}
	for i := range items {
		items[i].ID = i
	}
	return items
}

// object returns an item as its JSON says.
func object(t *testing.T, item any) map[string]any {
	t.Helper()
	text, err := json.Marshal(item)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, text)
}

func decoded(t *testing.T, text []byte) (m map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return m
}

// cell returns what a value is in a table: text as it is, nothing for null, JSON for the others.
func cell(t *testing.T, v any) string {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// read runs a program that prints a line of JSON for each item.
func read(t *testing.T, program string, args ...string) (list []map[string]any) {
	t.Helper()
	var out, complaint bytes.Buffer
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		t.Errorf("%s %q: %v\n%.2000s", program, args, err, complaint.String())
	}
	for line := range bytes.Lines(out.Bytes()) {
		list = append(list, decoded(t, line))
	}
	return list
}

// written writes items to a file, all but those that the format refuses.
func written[T any](t *testing.T, f *feed.Feed, items []T) (kept []T) {
	t.Helper()
	restore(t, f, nil)
	var ids []string
	for i, item := range items {
		id := fmt.Sprint(i)
		err := f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: id, Item: item})
		if bad := (*feed.XMLError)(nil); errors.As(err, &bad) {
			f.Discard(id)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		kept, ids = append(kept, item), append(ids, id)
	}
	prepare(t, f, ids...)
	end(t, f)
	return kept
}

// same compares the items that a reader has found with those that were written. A reader may see some fields alone.
func same(t *testing.T, got, want []map[string]any, excused func(want string) bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d items, want %d", len(got), len(want))
		return
	}
	bad := 0
	for i, item := range got {
		for name, value := range item {
			if w := want[i][name]; !reflect.DeepEqual(value, w) && cell(t, value) != cell(t, w) && !(excused != nil && excused(cell(t, w))) {
				if bad++; bad <= 5 {
					t.Errorf("item %d, %s: %.200q, want %.200q", i, name, cell(t, value), cell(t, w))
				}
			}
		}
		_, id := item["id"]
		if _, text := item["text"]; !id || !text {
			t.Fatalf("item %d: %.500v", i, item)
		}
	}
}

// markAlone is a text that DuckDB's package for JavaScript reads as nothing.
func markAlone(text string) bool { return text == "\ufeff" }

// isEmpty is a list or an object that is an empty element.
func isEmpty(text string) bool { return text == "[]" || text == "{}" }

// TestOtherReaders has other programs read what the formats have written of hard items.
//
//	go test ./feed -run TestOtherReaders -v -args -python /usr/bin/python3 -readers FOLDER -conformance DIR
func TestOtherReaders(t *testing.T) {
	if *python == "" {
		t.Skip("it needs -python and -readers")
	}
	items, dir := hardItems(t), t.TempDir()
	objects := func(kept []feedtest.Everything) (list []map[string]any) {
		for _, item := range kept {
			list = append(list, object(t, item))
		}
		return list
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	python := func(reader, name string) []map[string]any {
		return read(t, *python, "testdata/read.py", reader, at(name))
	}
	duck := func(name string) []map[string]any { return read(t, "node", "testdata/read.mjs", *readers, at(name)) }
	all := objects(items)
	t.Run("CSV", func(t *testing.T) {
		written(t, feed.CSV(at("items.csv")), items)
		t.Run("python", func(t *testing.T) { same(t, python("csv", "items.csv"), all, nil) })
		t.Run("pandas", func(t *testing.T) { same(t, python("pandas of csv", "items.csv"), all, nil) })
		t.Run("miller", func(t *testing.T) { // its JSON has control characters as they are
			out, err := exec.CommandContext(t.Context(), "mlr", "--icsv", "--ocsv", "-S", "cat", at("items.csv")).Output()
			if err := errors.Join(err, os.WriteFile(at("again.csv"), out, 0o600)); err != nil {
				t.Fatal(err)
			}
			same(t, python("csv", "again.csv"), all, func(text string) bool { // it makes \n of these
				return strings.Contains(text, "\r\n") || strings.Contains(text, `\r\n`)
			})
		})
		t.Run("DuckDB", func(t *testing.T) { same(t, duck("items.csv"), all, markAlone) })
	})
	t.Run("JSON Lines", func(t *testing.T) {
		written(t, feed.JSONL(at("items.jsonl")), items)
		t.Run("python", func(t *testing.T) { same(t, python("jsonl", "items.jsonl"), all, nil) })
		t.Run("DuckDB", func(t *testing.T) { same(t, duck("items.jsonl"), all, markAlone) })
	})
	t.Run("JSON", func(t *testing.T) {
		written(t, feed.JSON(at("items.json")), items)
		t.Run("python", func(t *testing.T) { same(t, python("json", "items.json"), all, nil) })
		t.Run("DuckDB", func(t *testing.T) { same(t, duck("items.json"), all, markAlone) })
	})
	t.Run("XML", func(t *testing.T) {
		for i := range items {
			items[i].Map = nil // its keys would be names of elements, which are not all known to Python's parser
		}
		kept := written(t, feed.XML(at("items.xml")), items)
		if len(kept) < len(items)*9/10 || len(kept) == len(items) {
			t.Errorf("%d of %d items", len(kept), len(items))
		}
		t.Run("python", func(t *testing.T) { same(t, python("xml", "items.xml"), objects(kept), isEmpty) })
		if out, err := exec.CommandContext(t.Context(), "xmllint", "--noout", "--huge", at("items.xml")).CombinedOutput(); err != nil {
			t.Errorf("xmllint: %v\n%.1000s", err, out)
		}
	})
}

// TestManyColumns writes items of 10,000 columns.
func TestManyColumns(t *testing.T) {
	var items []map[string]any
	for i := range 3 {
		item := map[string]any{"id": json.Number(fmt.Sprint(i)), "text": "t"}
		for c := range 10_000 {
			item[fmt.Sprintf("column%d", c)] = fmt.Sprint(c * i)
		}
		items = append(items, item)
	}
	for _, name := range []string{"items.csv", "items.jsonl", "items.json", "items.xml"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			written(t, makeFeed(path), items)
			if *python == "" {
				return // TestFormatsOverCrashes has readers of Go
			}
			same(t, read(t, *python, "testdata/read.py", strings.TrimPrefix(filepath.Ext(name), "."), path), items, nil)
		})
	}
}
