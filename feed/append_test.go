package feed_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
)

// gzipped packs a text as another program would.
func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A new job goes on with the CSV file of another one: the header is there once, and its columns are those of the new rows. It fails if a
// second header is written, or if rows get into the columns of another header.
func TestAppendToCSV(t *testing.T) {
	type item struct {
		Title string `json:"title"`
		Price int    `json:"price"`
	}
	type stocked struct {
		item
		Stock int `json:"stock"`
	}
	plain := item{"B", 2}
	for _, test := range []struct {
		name, file, before string
		opts               []feed.Option
		item               any
		want               string // "": refused
		says               string
	}{
		{name: "its own header", file: "x.csv", before: "title,price\nA,1\n", item: plain, want: "title,price\nA,1\nB,2\n"},
		{name: "columns in another order", file: "x.csv", before: "price,title\n1,A\n", item: plain, want: "price,title\n1,A\n2,B\n"},
		{name: "no line break at the end", file: "x.csv", before: "title,price\nA,1", item: plain, want: "title,price\nA,1\nB,2\n"},
		{name: "only a header", file: "x.csv", before: "title,price\n", item: plain, want: "title,price\nB,2\n"},
		{name: "BOM and CRLF", file: "x.csv", before: "\uFEFFtitle,price\r\nA,1\r\n", opts: []feed.Option{feed.CRLF(), feed.BOM()}, item: plain, want: "\uFEFFtitle,price\r\nA,1\r\nB,2\r\n"},
		{name: "a column that comes late", file: "x.csv", before: "title,price\r\n\"A\n,\",1\r\n", item: stocked{plain, 7}, want: "title,price,stock\n\"A\n,\",1,\nB,2,7\n"},
		{name: "the named columns", file: "x.csv", before: "title,price\nA,1\n", opts: []feed.Option{feed.Columns("title", "price")}, item: plain, want: "title,price\nA,1\nB,2\n"},
		{name: "without a header", file: "x.csv", before: "A,1\n", opts: []feed.Option{feed.Columns("title", "price"), feed.NoHeader()}, item: plain, want: "A,1\nB,2\n"},
		{name: "packed", file: "x.csv.gz", before: gzipped(t, "title,price\nA,1\n"), item: plain, want: "title,price\nA,1\nB,2\n"},
		{name: "packed, no line break at the end", file: "x.csv.gz", before: gzipped(t, "title,price\nA,1"), item: plain, want: "title,price\nA,1\nB,2\n"},
		{name: "packed, empty", file: "x.csv.gz", before: gzipped(t, ""), item: plain, want: "title,price\nB,2\n"},
		{name: "other columns", file: "x.csv", before: "title,price\nA,1\n", opts: []feed.Option{feed.Columns("price", "title")}, says: `not the ["price" "title"] of feed.Columns`},
		{name: "fewer columns", file: "x.csv", before: "title,price\nA,1\n", opts: []feed.Option{feed.Columns("title")}, says: "feed.Columns"},
		{name: "a name twice", file: "x.csv", before: "title,title\nA,1\n", says: "twice"},
		{name: "rows of several lengths", file: "x.csv", before: "title,price\nA\n", says: "wrong number of fields"},
		{name: "not packed", file: "x.csv.gz", before: "title,price\nA,1\n", says: "invalid header"},
		{name: "packed, and cut", file: "x.csv.gz", before: gzipped(t, strings.Repeat("title,price\nA,1\n", 100))[:40], says: "unexpected EOF"},
		{name: "lines, not packed", file: "x.jsonl.zst", before: "{}\n", says: "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			write(t, path, test.before)
			f := feed.CSV(path, append(test.opts, feed.Append())...)
			if strings.Contains(test.file, "jsonl") {
				f = feed.JSONL(path, feed.Append())
			}
			if test.want == "" {
				var refused *feed.AppendError
				if err := f.Restore(t.Context(), nil); !errors.As(err, &refused) || refused.Path != path || !strings.Contains(err.Error(), test.says) {
					t.Errorf("error %v", err)
				}
				wantFile(t, path, test.before)
				return
			}
			checkpoint := restore(t, f, nil)
			put(t, f, "a", test.item)
			prepare(t, f, "a")
			f = feed.CSV(path, append(test.opts, feed.Append())...) // as after a crash: the row comes again
			restore(t, f, checkpoint)
			put(t, f, "a", test.item)
			stored := prepare(t, f, "a")
			for range 2 { // once more after a crash behind the end
				end(t, f)
				if got := string(unpack(t, path)); got != test.want {
					t.Errorf("%q\nwant %q", got, test.want)
				}
				f = feed.CSV(path, append(test.opts, feed.Append())...)
				restore(t, f, stored)
			}
			end(t, f)
		})
	}
}

// A new job does not append to a file of another format, or one that is damaged: the error is typed, names the path and
// the remedy, and the file stays as it was. It fails if such a file gets an item.
func TestAppendToOtherFormats(t *testing.T) {
	long := strings.Repeat("x", 5000)
	lines, list, table := "{\"a\":1}\n{\"a\":2}\n", "[\n{\"a\":1},\n{\"a\":2}\n]\n", "a,b\n1,2\n"
	element := xmlHead + "<item><a>1</a></item>\n</items>\n"
	for _, test := range []struct{ file, before, says string }{
		{"lines.jsonl", list, "its first line is no JSON"},
		{"lines.jsonl", table, "its first line is no JSON"},
		{"lines.jsonl", element, "its first line is no JSON"},
		{"lines.jsonl", gzipped(t, lines), "it is packed"},
		{"lines.jsonl", lines + "{\"a\":", "its last line is no JSON"},
		{"lines.jsonl", lines + "\"" + long + "\"\n}\n", "its last line is no JSON"},
		{"lines.jsonl.gz", gzipped(t, list), "its first line is no JSON"},
		{"lines.jsonl.gz", gzipped(t, lines+"\""+long+"\"\n]\n"), "its last line is no JSON"},
		{"lines.jsonl.zst", gzipped(t, lines), "it cannot be read"},
		{"list.json", lines, "it does not begin with"},
		{"list.json", "{\"a\":1}\n[2]\n", "it does not begin with"},
		{"list.json", list[:len(list)-2], "it does not end in"},
		{"list.json", table, "it does not begin with"},
		{"list.json", gzipped(t, list), "it is packed"},
		{"list.json.gz", gzipped(t, list), "it is packed, and ends in"},
		{"elements.xml", list, "it does not begin with"},
		{"elements.xml", "<other></other>\n", "it does not end in"},
		{"table.csv", lines, "bare"},
		{"table.csv", element, "bare"},
		{"table.csv", gzipped(t, table), "it is packed"},
	} {
		t.Run(test.file+", "+test.says, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			write(t, path, test.before)
			var refused *feed.AppendError
			err := makeFeed(path, feed.Append()).Restore(t.Context(), nil)
			if !errors.As(err, &refused) || refused.Path != path || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "choose another file, or feed.Overwrite") {
				t.Errorf("error %v", err)
			}
			wantFile(t, path, test.before)
		})
	}
}

// A new job goes on before the closing of a list, and behind the last line, however long the file is, and whatever white space is around.
func TestAppendBeforeTheClosing(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, test := range []struct{ name, file, before, want string }{
		{"a list", "x.json", "[\n1,\n2\n]\n", "[\n1,\n2,\n7\n]\n"},
		{"a list on one line", "x.json", "[1, 2]", "[1, 2,\n7\n]\n"},
		{"a list with a mark", "x.json", "\uFEFF[1]", "\uFEFF[1,\n7\n]\n"},
		{"an empty list", "x.json", "[]", "[7\n]\n"},
		{"a long list", "x.json", "[\n\"" + long + "\"\n]\n", "[\n\"" + long + "\",\n7\n]\n"},
		{"elements", "x.xml", xmlHead + "<item>1</item>\n</items>\n", xmlHead + "<item>1</item><item>7</item>\n</items>\n"},
		{"long lines", "x.jsonl", "\"" + long + "\"\n\"" + long + "\"\n", "\"" + long + "\"\n\"" + long + "\"\n7\n"},
		{"lines that were packed", "x.jsonl.gz", gzipped(t, "1\n2"), "1\n2\n7\n"},
		{"lines and white space", "x.jsonl", "1\r\n2\r\n", "1\r\n2\r\n7\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			write(t, path, test.before)
			f := makeFeed(path, feed.Append())
			written(t, f, []any{7})
			if got := string(unpack(t, path)); got != test.want {
				t.Errorf("%.100q\nwant %.100q", got, test.want)
			}
		})
	}
}

// Columns are found by the names in JSON and in Go; a struct that has none of them is refused, and so is a column that is named twice.
func TestNamesOfColumns(t *testing.T) {
	type item struct {
		Title string `json:"title"`
		Price int    `json:"price"`
	}
	for want, columns := range map[string][]string{
		"price,title\n1,A\n": {"price", "title"}, "Title,Price\nA,1\n": {"Title", "Price"}, "Title,title,none\n,A,\n": {"Title", "title", "none"},
	} {
		path := filepath.Join(t.TempDir(), "x.csv")
		f := feed.CSV(path, feed.Columns(columns...))
		written(t, f, []any{&item{"A", 1}})
		wantFile(t, path, want)
	}
	f := feed.CSV(filepath.Join(t.TempDir(), "x.csv"), feed.Columns("Name", "Cost"))
	restore(t, f, nil)
	var none *feed.NoColumnsError
	if err := process(f, "a", item{"A", 1}); !errors.As(err, &none) || !strings.Contains(err.Error(), `"title"`) || !strings.Contains(err.Error(), `"Cost"`) {
		t.Errorf("error %v", err)
	}
	if s := f.FeedStats(); s.Failed != 1 {
		t.Errorf("%+v", s)
	}
	end(t, f)
}

// A path that is no file, a template with a mistake, and options that do not fit are refused before the crawl begins.
func TestBadPaths(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		says string
		feed *feed.Feed
	}{
		{`the path is ""`, feed.JSONL("")},
		{"a\\x00b", feed.CSV(filepath.Join(dir, "a\x00b"))},
		{"make the folder", feed.JSON(filepath.Join(dir, "none", "x.json"))},
		{"is a directory", feed.XML(dir)},
		{`and "-" is none`, feed.JSONL("-", feed.Unique(func(any) string { return "" }))},
		{"{who}", feed.JSONL("{who}.jsonl")},
		{"written twice", feed.JSONL("a{.jsonl")},
		{"written twice", feed.JSONL("a}.jsonl")},
		{"written twice", feed.JSONL("{part}{spider")},
		{"written twice", feed.JSONL("plain/{time.jsonl")},
		{"{item.}", feed.JSONL("{item.}.jsonl")},
		{"{part}", feed.JSONL("{item.tag}.jsonl")},
		{"{part}", feed.JSONL("x.jsonl", feed.Rotate(feed.Rotation{Items: 1}))},
		{"", feed.JSONL("{part}.jsonl", feed.Rotate(feed.Rotation{}))},
		{"", feed.JSONL("x.jsonl", feed.Unique(nil))},
		{"", feed.JSONL("x.jsonl", feed.MostKeys(0))},
		{"", feed.JSONL("{item.ID}-{part}.jsonl", feed.MostFiles(0))},
		{`has "a" twice`, feed.CSV(filepath.Join(dir, "x.csv"), feed.Columns("a", "b", "a"))},
		{"CRLF", feed.JSONL("x", feed.CRLF())},
		{"Comma", feed.CSV("x", feed.Comma('"'))},
		{"Columns", feed.CSV("x", feed.Columns())},
		{"NoHeader", feed.CSV("x", feed.NoHeader())},
	} {
		if err := test.feed.Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.says, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
