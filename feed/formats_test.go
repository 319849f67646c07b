package feed_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
)

// record is what the formats are tried with.
type record struct {
	ID   int      `json:"id"`
	Text string   `json:"text"`
	Tags []string `json:"tags"`
}

// Texts that formats stumble over; XML cannot hold control characters.
var hardTexts = []string{"", "a", "a,b", `say "x"`, "two\nlines", "cr\r\nlf", "\r", " space ", "]", "</items>", "<b>&amp;</b>", "日本語", "😀", "\t", "'=1+1", "'", strings.Repeat("long ", 5000)}

// unpack reads a file to its end, by readers that are not ours.
func unpack(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var r io.Reader = file
	switch filepath.Ext(path) {
	case ".gz":
		if r, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	case ".zst":
		z, err := zstd.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return text
}

// parse reads all items of a file.
func parse(t *testing.T, path string) (list []record) {
	t.Helper()
	text := unpack(t, path)
	name := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	var err error
	switch filepath.Ext(name) {
	case ".jsonl":
		for line := range bytes.Lines(text) {
			var r record
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			list = append(list, r)
		}
	case ".json":
		err = json.Unmarshal(text, &list)
	case ".xml":
		var items struct {
			Item []struct {
				ID   int    `xml:"id"`
				Text string `xml:"text"`
				Tags struct {
					Value []string `xml:"value"`
				} `xml:"tags"`
			} `xml:"item"`
		}
		err = xml.Unmarshal(text, &items)
		for _, i := range items.Item {
			list = append(list, record{i.ID, i.Text, i.Tags.Value})
		}
	case ".csv":
		var rows [][]string
		// The reader of the standard library turns CR LF within quotes into LF: the test looks at that elsewhere.
		if rows, err = csv.NewReader(bytes.NewReader(text)).ReadAll(); err == nil {
			for i, row := range rows {
				if i == 0 {
					if !slices.Equal(row, []string{"id", "text", "tags"}) {
						t.Fatalf("header %q", row)
					}
					continue
				}
				r := record{Text: row[1]}
				fmt.Sscan(row[0], &r.ID)
				if err := json.Unmarshal([]byte(cmpOr(row[2], "null")), &r.Tags); err != nil {
					t.Fatal(err)
				}
				list = append(list, r)
			}
		}
	}
	if err != nil {
		t.Fatalf("%s: %v in %.300q", filepath.Base(path), err, text)
	}
	return list
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func makeFeed(path string, opts ...feed.Option) *feed.Feed {
	name := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	switch filepath.Ext(name) {
	case ".json":
		return feed.JSON(path, opts...)
	case ".xml":
		return feed.XML(path, opts...)
	case ".csv":
		return feed.CSV(path, opts...)
	}
	return feed.JSONL(path, opts...)
}

var (
	formatEndings = []string{".jsonl", ".json", ".xml", ".csv"}
	packEndings   = []string{"", ".gz", ".zst"}
)

// A file that a crash has left torn is whole again when the next run has begun, before it commits anything, and has
// what was stored. It fails if a run that goes on leaves a file without its ending until the first commit.
func TestFormatsAfterRestore(t *testing.T) {
	for _, name := range []string{"out", "{part}"} {
		for _, format := range formatEndings {
			for _, pack := range packEndings {
				for _, items := range []int{0, 3, 2000} {
					t.Run(fmt.Sprint(name, format, pack, " ", items), func(t *testing.T) {
						t.Parallel()
						dir := plainDir(t)
						var opts []feed.Option
						if format == ".csv" {
							opts = append(opts, feed.Columns("id", "text", "tags"))
						}
						f := makeFeed(filepath.Join(dir, name+format+pack), opts...)
						checkpoint := restore(t, f, nil)
						var want []record
						for i := range items {
							r := record{i, "text", []string{"tag"}}
							put(t, f, "a", r)
							want = append(want, r)
						}
						if items > 0 {
							checkpoint = prepare(t, f, "a")
						}
						written, err := filepath.Glob(filepath.Join(dir, strings.ReplaceAll(name, "{part}", "0001")+format+pack+"*"))
						if err != nil || name == "out" && len(written) != 1 || len(written) > 1 {
							t.Fatalf("%q, %v", written, err)
						}
						if len(written) == 0 { // no item, and no file
							return
						}
						put(t, f, "b", record{-1, strings.Repeat("not stored ", 10_000), nil})
						prepare(t, f, "b")
						if info, err := os.Stat(written[0]); err != nil || os.Truncate(written[0], info.Size()-1) != nil {
							t.Fatal(err)
						}
						next := makeFeed(filepath.Join(dir, name+format+pack), opts...)
						restore(t, next, checkpoint)
						torn, err := os.ReadFile(written[0])
						if err != nil {
							t.Fatal(err)
						}
						seen := filepath.Join(t.TempDir(), "seen"+format+pack)
						write(t, seen, string(torn))
						if got := parse(t, seen); !reflect.DeepEqual(normal(got), normal(want)) {
							t.Errorf("%d items, want %d", len(got), len(want))
						}
						end(t, next)
					})
				}
			}
		}
	}
}

// normal makes lists of tags comparable: XML and CSV cannot tell an empty list from none.
func normal(list []record) []record {
	list = append([]record{}, list...)
	for i := range list {
		if len(list[i].Tags) == 0 {
			list[i].Tags = nil
		}
	}
	return list
}

// Files without an item are whole too.
func TestFormatsWithoutItems(t *testing.T) {
	for _, format := range formatEndings {
		for _, pack := range packEndings {
			path := filepath.Join(t.TempDir(), "out"+format+pack)
			var opts []feed.Option
			if format == ".csv" {
				opts = append(opts, feed.Columns("id", "text", "tags"))
			}
			f := makeFeed(path, opts...)
			restore(t, f, nil)
			end(t, f)
			if list := parse(t, path); len(list) != 0 {
				t.Errorf("%s: %v", format+pack, list)
			}
		}
	}
}

func process(f *feed.Feed, id string, item any) error {
	return f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: id, Item: item})
}
