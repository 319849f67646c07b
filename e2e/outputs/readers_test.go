//go:build unix

package outputs_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/klauspost/compress/zstd"
	pq "github.com/parquet-go/parquet-go"

	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// row is what every output has of a ware.
type row struct {
	SKU   string  `json:"sku" xml:"sku" parquet:"sku"`
	Page  int     `json:"page" xml:"page" parquet:"page"`
	Text  string  `json:"text" xml:"text" parquet:"text"`
	Price float64 `json:"price" xml:"price" parquet:"price"`
}

// readFiles reads the files that each job has, when it is done.
func readFiles(t *testing.T, j job) {
	t.Helper()
	at := func(name string) string { return filepath.Join(j.Folder, name) }
	once(t, "JSON Lines", rowsOf(fromLines(t, open(t, at("wares.jsonl")))))
	passes(t, "gzip", "-t", at("wares.csv.gz"))
	once(t, "CSV", fromCSV(t, ungzip(t, open(t, at("wares.csv.gz")))))
	var list []row
	if err := json.NewDecoder(open(t, at("wares.json"))).Decode(&list); err != nil {
		t.Error(err)
	}
	once(t, "JSON", list)
	once(t, "XML", fromXML(t, at("wares.xml")))
	list = nil
	for _, name := range glob(t, at("lines/*")) {
		passes(t, "zstd", "-q", "-t", name)
		list = append(list, rowsOf(fromLines(t, unzstd(t, open(t, name))))...)
	}
	once(t, "JSON Lines in parts", list)
	if j.Files {
		return
	}
	for kind, name := range map[string]string{"csv": "wares.csv.gz", "json": "wares.json", "xml": "wares.xml", "sqlite": "wares.db"} {
		once(t, "Python's "+kind, fromProgram(t, "python3", "-c", inPython, kind, at(name)))
	}
}

// inPython prints the rows of a file as lines of JSON.
const inPython = `
import csv, gzip, json, sqlite3, sys
import xml.etree.ElementTree as tree
kind, name = sys.argv[1:]
if kind == 'csv':
    rows = csv.DictReader(gzip.open(name, 'rt', encoding='utf-8', newline=''))
elif kind == 'json':
    rows = json.load(open(name, encoding='utf-8'))
elif kind == 'xml':
    rows = [{field.tag: field.text for field in item} for item in tree.parse(name).getroot()]
else:
    database = sqlite3.connect(name)
    database.row_factory = sqlite3.Row
    rows = database.execute('SELECT * FROM wares')
for row in rows:
    print(json.dumps({'sku': row['sku'], 'page': int(row['page']), 'text': row['text'], 'price': float(row['price'])}))
`

// glob returns the files that a pattern matches: at least one.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return names
}

// readAll reads each output of a job that is done.
func readAll(t *testing.T, j job, objects *s3mem.Backend) {
	t.Helper()
	readFiles(t, j)
	if j.Files {
		return
	}
	files := func(pattern string) []string { return glob(t, filepath.Join(j.Folder, pattern)) }
	checkPictures(t, filepath.Join(j.Folder, "media"), fromLines(t, open(t, filepath.Join(j.Folder, "wares.jsonl"))))
	var list []row
	for _, name := range files("json/*") {
		var part []row
		if err := json.NewDecoder(open(t, name)).Decode(&part); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if list = append(list, part...); len(part) > 100+2*width*itemsPerPage*40 {
			t.Errorf("%s has %d items", name, len(part))
		}
	}
	once(t, "JSON in parts", list)
	list = nil
	for _, name := range files("xml/*") {
		passes(t, "zstd", "-q", "-t", name)
		list = append(list, fromXML(t, name)...)
	}
	once(t, "XML in parts", list)
	once(t, "bucket", fromBucket(t, objects))
	if left, _ := filepath.Glob(filepath.Join(j.Folder, "sent/[^.]*")); len(left) > 0 { // the hidden journal stays, since a crash may still undo that the job is closed
		t.Errorf("what was sent is still there: %q", left)
	}
	list = nil
	for _, name := range files("lake/*") {
		list = append(list, fromParquet(t, name)...)
	}
	once(t, "Parquet", list)
	once(t, "SQLite", fromProgram(t, "sqlite3", filepath.Join(j.Folder, "wares.db"), asObjects))
	if j.Database != "" {
		for _, table := range []string{"inserted", "upserted"} {
			psql := filepath.Join(flag.Lookup("postgres").Value.String(), "psql")
			once(t, "PostgreSQL, "+table, fromProgram(t, psql, "-X", "-A", "-t", "-c", "SELECT json_build_object('sku', sku, 'page', page, 'text', text, 'price', price) FROM "+table, j.Database))
		}
		if rejects, _ := filepath.Glob(filepath.Join(j.Folder, "*.rejects")); len(rejects) > 0 {
			t.Errorf("rows were refused: %q", rejects)
		}
	}
	for _, name := range files("archive/*") {
		if !strings.HasSuffix(name, ".warc.gz") {
			t.Errorf("%s was not finished", name)
		}
	}
	checkResponses(t, filepath.Join(j.Folder, "archive"), j.Site)
}

// checkResponses finds the response of each page once in the web archives of a folder.
func checkResponses(t *testing.T, folder, site string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	responses := make(map[string]int)
	for _, name := range names {
		for _, r := range readRecords(t, name) {
			responses[strings.Replace(r, site, "", 1)]++
		}
	}
	bad := 0
	for page := range wholePages() {
		if n := responses[fmt.Sprintf("response /%d", page)]; n != 1 {
			if bad++; bad <= 5 {
				t.Errorf("WARC: the response of /%d is there %d times", page, n)
			}
		}
	}
}

func fromParquet(t *testing.T, name string) []row {
	t.Helper()
	list, err := pq.ReadFile[row](name)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return list
}

// asObjects asks SQLite for what fromProgram reads.
const asObjects = "SELECT json_object('sku', sku, 'page', page, 'text', text, 'price', price) FROM wares"

// once says which of the wares an output lacks, has twice, or has with other values.
func once(t *testing.T, output string, list []row) {
	t.Helper()
	seen := make(map[string]int)
	for _, r := range list {
		seen[r.SKU]++
		var page, n int
		if _, err := fmt.Sscanf(r.SKU, "%d.%d", &page, &n); err != nil {
			t.Errorf("%s: %+v", output, r)
			continue
		}
		want := wareOf(page, n)
		if r != (row{want.SKU, want.Page, want.Text, want.Price}) {
			t.Errorf("%s: %+v, want %+v", output, r, want)
		}
	}
	bad := 0
	for page := range wholePages() {
		for n := range itemsPerPage {
			if sku := wareOf(page, n).SKU; seen[sku] != 1 {
				if bad++; bad <= 5 {
					t.Errorf("%s: %s is there %d times", output, sku, seen[sku])
				}
			}
		}
	}
	if len(list) != wholePages()*itemsPerPage {
		t.Errorf("%s: %d rows of %d", output, len(list), wholePages()*itemsPerPage)
	}
}

func rowsOf(list []ware) (rows []row) {
	for _, w := range list {
		rows = append(rows, row{w.SKU, w.Page, w.Text, w.Price})
	}
	return rows
}

func open(t *testing.T, name string) io.Reader {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(text)
}

func ungzip(t *testing.T, from io.Reader) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(text)
}

func unzstd(t *testing.T, from io.Reader) io.Reader {
	t.Helper()
	z, err := zstd.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(text)
}

// passes runs a program that checks a file, where it is installed.
func passes(t *testing.T, program string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		return // another reader sees the file too
	}
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %q: %v\n%s", program, args, err, out)
	}
}

// fromLines reads all fields of the items.
func fromLines(t *testing.T, from io.Reader) (list []ware) {
	t.Helper()
	for lines := json.NewDecoder(from); ; {
		var w ware
		err := lines.Decode(&w)
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, w)
	}
}

func fromCSV(t *testing.T, from io.Reader) (list []row) {
	t.Helper()
	lines, err := csv.NewReader(from).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	at := make(map[string]int)
	for i, name := range lines[0] {
		at[name] = i
	}
	for _, line := range lines[1:] {
		page, err := strconv.Atoi(line[at["page"]])
		price, other := strconv.ParseFloat(line[at["price"]], 64)
		if err := errors.Join(err, other); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		list = append(list, row{line[at["sku"]], page, line[at["text"]], price})
	}
	return list
}

func fromXML(t *testing.T, name string) []row {
	t.Helper()
	from := open(t, name)
	if strings.HasSuffix(name, ".zst") {
		from = unzstd(t, from)
	}
	text, err := io.ReadAll(from)
	var items struct {
		List []row `xml:"item"`
	}
	if err := errors.Join(err, xml.Unmarshal(text, &items)); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if path, err := exec.LookPath("xmllint"); err == nil {
		check := exec.CommandContext(t.Context(), path, "--noout", "-")
		check.Stdin = bytes.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	return items.List
}

func fromBucket(t *testing.T, objects *s3mem.Backend) (list []row) {
	t.Helper()
	found, err := objects.ListBucket("wares", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range found.Contents {
		object, err := objects.GetObject("wares", o.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rowsOf(fromLines(t, ungzip(t, object.Contents)))...)
	}
	return list
}

// fromProgram reads the lines that a program of the database prints, each a JSON object.
func fromProgram(t *testing.T, program string, args ...string) []row {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%v: install it (the Debian packages sqlite3 and postgresql have such a program, and so has python3)", err)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return rowsOf(fromLines(t, bytes.NewReader(out)))
}

// checkPictures compares the files of all items with what the site has sent.
func checkPictures(t *testing.T, folder string, list []ware) {
	t.Helper()
	for _, w := range list {
		var n int
		if _, err := fmt.Sscanf(w.Image, "/image/%d", &n); err != nil {
			t.Fatal(err)
		}
		want := sha256.Sum256(imageOf(n))
		file, err := os.ReadFile(filepath.Join(folder, w.Picture.Path))
		if err != nil || w.Picture.Checksum != hex.EncodeToString(want[:]) || !bytes.Equal(file, imageOf(n)) {
			t.Errorf("picture of %s: %+v, %v", w.SKU, w.Picture, err)
		}
		full := wareOf(w.Page, int(w.SKU[len(w.SKU)-1]-'0'))
		full.Picture = w.Picture
		if !reflect.DeepEqual(w, full) {
			t.Errorf("%+v, want %+v", w, full)
		}
	}
	if err := filepath.WalkDir(filepath.Join(folder, ".tmp"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("%s was left", name)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// readRecords returns "TYPE URL" of each record of a web archive.
func readRecords(t *testing.T, name string) (list []string) {
	t.Helper()
	from := bufio.NewReader(open(t, name))
	z, err := gzip.NewReader(from)
	for ; err == nil; err = z.Reset(from) {
		z.Multistream(false)
		text := bufio.NewReader(z)
		header := textproto.NewReader(text)
		if version, err := header.ReadLine(); err != nil || version != "WARC/1.1" {
			t.Fatalf("%s: %v, %q", name, err, version)
		}
		fields, err := header.ReadMIMEHeader()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		size, _ := strconv.Atoi(fields.Get("Content-Length"))
		rest, err := io.ReadAll(text)
		if err != nil || len(rest) != size+4 || string(rest[size:]) != "\r\n\r\n" {
			t.Fatalf("%s: %v, %d bytes of %d", name, err, len(rest), size)
		}
		list = append(list, fields.Get("WARC-Type")+" "+fields.Get("WARC-Target-URI"))
	}
	if err != io.EOF {
		t.Fatalf("%s: %v", name, err)
	}
	return list
}

// newDatabase makes a database on the server of this package's tests.
func newDatabase(t *testing.T, number int) (dsn string) {
	t.Helper()
	server := pgtest.Get(t)
	name := fmt.Sprint("job", number)
	passes(t, filepath.Join(flag.Lookup("postgres").Value.String(), "psql"), "-X", "-q", "-c", "CREATE DATABASE "+name, server.DSN("postgres"))
	return server.DSN(name)
}
