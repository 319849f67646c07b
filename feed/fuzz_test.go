package feed_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/feed"
)

// FuzzCSV has encoding/csv read the cells that are written. Its reader turns CR LF within quotes into LF, and so does the test.
func FuzzCSV(f *testing.F) {
	for _, text := range hardTexts[:16] {
		f.Add(text, "b")
	}
	f.Add("\ufeff", "\x00")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			t.Skip("JSON has no such text either")
		}
		path := filepath.Join(t.TempDir(), "out.csv")
		out := feed.CSV(path, feed.Columns("a", "b"))
		restore(t, out, nil)
		put(t, out, "1", map[string]string{"a": a, "b": b})
		put(t, out, "2", map[string]string{"a": b, "b": a})
		prepare(t, out, "1", "2")
		end(t, out)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d rows, %v in %q", len(rows), err, text)
		}
		a, b = strings.ReplaceAll(a, "\r\n", "\n"), strings.ReplaceAll(b, "\r\n", "\n")
		for i, want := range [][2]string{{"a", "b"}, {a, b}, {b, a}} {
			if rows[i][0] != want[0] || rows[i][1] != want[1] {
				t.Errorf("row %d is %q, want %q, in %q", i, rows[i], want, text)
			}
		}
	})
}

// FuzzXML has encoding/xml read what is written. A text that XML 1.0 cannot hold is an error that names its field, and nothing of its
// item is written.
func FuzzXML(f *testing.F) {
	for _, text := range hardTexts[:16] {
		f.Add(text)
	}
	f.Add("\x00")
	f.Add("\ufffe")
	f.Add("]]>")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("JSON has no such text either")
		}
		path := filepath.Join(t.TempDir(), "out.xml")
		out := feed.XML(path)
		restore(t, out, nil)
		want := 1
		if err := process(out, "1", map[string]string{"text": s}); err != nil {
			want = 0
			if !strings.ContainsFunc(s, func(r rune) bool { return !holds(r) }) || !strings.Contains(err.Error(), "text") {
				t.Fatalf("%q is refused: %v", s, err)
			}
		} else if strings.ContainsFunc(s, func(r rune) bool { return !holds(r) }) {
			t.Fatalf("%q is not refused", s)
		}
		prepare(t, out, "1")
		end(t, out)
		var items struct {
			Item []struct {
				Text string `xml:"text"`
			} `xml:"item"`
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(text, &items); err != nil || len(items.Item) != want || want == 1 && items.Item[0].Text != s {
			t.Fatalf("%+v, %v in %q, want %q", items, err, text, s)
		}
	})
}

// holds reports whether XML 1.0 can hold a character: production 2, Char.
func holds(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000
}

// FuzzCheckpoint has feeds restored from checkpoints that somebody else has written. It is an error or not; nothing panics, and a file
// of somebody else is not made longer.
func FuzzCheckpoint(f *testing.F) {
	for _, ending := range []string{".jsonl", ".json.gz", ".csv.zst", ".xml"} {
		path := filepath.Join(f.TempDir(), "out"+ending)
		out := makeFeed(path)
		if err := out.Restore(f.Context(), nil); err != nil {
			f.Fatal(err)
		}
		if err := process(out, "1", record{ID: 1}); err != nil {
			f.Fatal(err)
		}
		checkpoint, err := out.Prepare(f.Context(), []string{"1"})
		if err != nil {
			f.Fatal(err)
		}
		if err := out.Close(f.Context(), "finished"); err != nil {
			f.Fatal(err)
		}
		f.Add(checkpoint)
	}
	f.Add([]byte(`{"Offset":-1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, checkpoint []byte) {
		for _, ending := range []string{".jsonl", ".json.gz", ".csv.zst", ".xml"} {
			path := filepath.Join(t.TempDir(), "out"+ending)
			write(t, path, "something")
			out := makeFeed(path)
			if err := out.Restore(t.Context(), checkpoint); err == nil {
				_ = out.Close(t.Context(), "finished")
				continue
			}
			if text, err := os.ReadFile(path); err != nil || len(text) > len("something") {
				t.Errorf("%s after %q: %q, %v", ending, checkpoint, text, err)
			}
		}
	})
}
