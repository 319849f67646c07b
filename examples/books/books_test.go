package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fields is what the program prints of the fields: all are there in all 48 books, but for the stock of two that are sold out.
const fields = `
        field  looked for  default  missing  failed
  book.author          48        0        0       0
   book.price          48        0        0       0
   book.stock          48        2        0       0
   book.title          48        0        0       0
     book.upc          48        0        0       0
    book.year          48        0        0       0
`

// emma is a line of the JSON Lines.
const emma = `{"upc":"b1538e6c58a5369d","title":"Emma","author":"Jane Austen","year":1815,"price":"42.08","stock":22}
`

// Each of the four outputs has every book of the shop once.
func TestBooks(t *testing.T) {
	folder := t.TempDir()
	var out bytes.Buffer
	if err := run(t.Context(), []string{folder}, &out); err != nil {
		t.Fatal(err)
	}
	if says := out.String(); !strings.HasPrefix(says, "48 rows in a table, 48 rows in 1 Parquet file\n") || !strings.HasSuffix(says, fields) {
		t.Errorf("it prints %q", says)
	}
	file, err := os.Open(filepath.Join(folder, "books.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 49 || !slices.Equal(rows[0], []string{"title", "author", "price"}) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	titles := make(map[string]bool)
	for _, row := range rows[1:] {
		titles[row[0]] = true
	}
	if len(titles) != 48 {
		t.Errorf("%d titles", len(titles))
	}
	text, err := os.ReadFile(filepath.Join(folder, "books.jsonl"))
	if err != nil || bytes.Count(text, []byte("\n")) != 48 || !bytes.Contains(text, []byte(emma)) {
		t.Errorf("%.200s, %v", text, err)
	}
	for name, magic := range map[string]string{"books.db": "SQLite format 3", filepath.Join("lake", "books-0001.parquet"): "PAR1"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.HasPrefix(data, []byte(magic)) {
			t.Errorf("%s: %.20q, %v", name, data, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, "lake", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}
