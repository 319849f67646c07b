package main

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	_ "modernc.org/sqlite"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

// readPages reads the pages of a file with a reader of its format.
func readPages(t *testing.T, path string) (pages []page) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := path
	switch filepath.Ext(path) {
	case ".gz":
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
		name = strings.TrimSuffix(path, ".gz")
	case ".zst":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(nil); err == nil {
			data, err = z.DecodeAll(data, nil)
			z.Close()
		}
		name = strings.TrimSuffix(path, ".zst")
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	switch filepath.Ext(name) {
	case ".json":
		err = json.Unmarshal(data, &pages)
	case ".csv":
		var rows [][]string
		if rows, err = csv.NewReader(bytes.NewReader(data)).ReadAll(); err != nil {
			break
		}
		for _, row := range rows[1:] {
			field := func(name string) string { return row[slices.Index(rows[0], name)] }
			number := func(name string) int { n, _ := strconv.Atoi(field(name)); return n }
			pages = append(pages, page{field("url"), field("final_url"), number("status"), number("depth"), field("title"), number("words"), number("links")})
		}
	case ".xml":
		var list struct {
			Items []struct {
				URL      string `xml:"url"`
				FinalURL string `xml:"final_url"`
				Status   int    `xml:"status"`
				Depth    int    `xml:"depth"`
				Title    string `xml:"title"`
				Words    int    `xml:"words"`
				Links    int    `xml:"links"`
			} `xml:"item"`
		}
		err = xml.Unmarshal(data, &list)
		for _, one := range list.Items {
			pages = append(pages, page(one))
		}
	case ".parquet":
		type row struct {
			URL      string `parquet:"url"`
			FinalURL string `parquet:"final_url"`
			Status   int    `parquet:"status"`
			Depth    int    `parquet:"depth"`
			Title    string `parquet:"title"`
			Words    int    `parquet:"words"`
			Links    int    `parquet:"links"`
		}
		var rows []row
		rows, err = parquet.Read[row](bytes.NewReader(data), int64(len(data)))
		for _, one := range rows {
			pages = append(pages, page(one))
		}
	case ".db":
		var db *sql.DB
		if db, err = sql.Open("sqlite", path); err != nil {
			break
		}
		defer db.Close()
		var rows *sql.Rows
		if rows, err = db.Query("SELECT url, final_url, status, depth, title, words, links FROM pages"); err != nil {
			break
		}
		defer rows.Close()
		for rows.Next() {
			var p page
			if err := rows.Scan(&p.URL, &p.FinalURL, &p.Status, &p.Depth, &p.Title, &p.Words, &p.Links); err != nil {
				t.Fatal(err)
			}
			pages = append(pages, p)
		}
		err = rows.Err()
	default:
		for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
			var p page
			if err = d.Decode(&p); err != nil {
				break
			}
			pages = append(pages, p)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return pages
}

// Each ending of -out has the same pages, with the same fields, also when a crawl writes over the file of an earlier one.
func TestFormatsOfOut(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	want := make(map[string]page)
	for _, ending := range []string{"", ".jsonl", ".jsonl.gz", ".json", ".json.zst", ".csv", ".csv.gz", ".xml", ".xml.zst", ".parquet", ".db"} {
		path := filepath.Join(t.TempDir(), "out"+ending)
		for range 2 {
			var stdout, stderr bytes.Buffer
			if code := run([]string{"-url", site.URL() + "/quotes/", "-depth", "1", "-out", path}, &stdout, &stderr); code != 0 {
				t.Fatalf("%q: exit code %d: %s", ending, code, &stderr)
			}
		}
		got := make(map[string]page)
		for _, p := range readPages(t, path) {
			if _, twice := got[p.URL]; twice {
				t.Errorf("%q has %s twice", ending, p.URL)
			}
			got[p.URL] = p
		}
		if ending == "" {
			if want = got; len(want) < 10 {
				t.Fatalf("%d pages", len(want))
			}
			continue
		}
		if !maps.Equal(got, want) {
			t.Errorf("%q has %d pages, want %d:\n%+v\n%+v", ending, len(got), len(want), got, want)
		}
	}
}
