package records_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/records"
)

var hostile = flag.Int("hostile", 1, "the size of the documents that are made to do harm, in MiB")

// drain reads all records of a document, looks at the errors, and returns how many records and errors there were, the
// last error, and what the heap held at most.
func drain[R any](t *testing.T, f records.Format[R], body io.Reader) (good, bad int, peak uint64, last error) {
	t.Helper()
	var m runtime.MemStats
	for _, err := range f.Read(body, page) {
		if good+bad == 0 || good+bad == 1000 || err != nil && bad < 3 {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
		if err == nil {
			good++
			continue
		}
		bad++
		last = err
		var named *records.Error
		if !errors.As(err, &named) || named.URL != page.URL || bad < 100 && !strings.Contains(err.Error(), "a.test/data") || bad < 100 && strings.Contains(err.Error(), "secret") {
			t.Fatalf("the error %v does not name the page", err)
		}
	}
	return good, bad, peak, last
}

// anyFormat is drain for one format.
type anyFormat func(t *testing.T, body io.Reader) (good, bad int, peak uint64, last error)

// Documents that are made to take long or much memory are read in time in proportion to their size, and in bounded
// memory, by each of the formats; errors name page and place. What would take time in proportion to the square of the
// size would end at the limit of time for all tests.
func TestHostile(t *testing.T) {
	size := *hostile << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	noise := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(noise)
	var zip bytes.Buffer
	z := gzip.NewWriter(&zip)
	for range 20 {
		io.WriteString(z, fill(" "))
	}
	z.Close()
	formats := map[string]anyFormat{
		"CSV": func(t *testing.T, body io.Reader) (int, int, uint64, error) {
			return drain(t, records.CSV(records.Dialect{}), body)
		},
		"dialect": func(t *testing.T, body io.Reader) (int, int, uint64, error) {
			return drain(t, records.CSV(records.Dialect{Delimiter: '¦', Escape: '\\', Comment: '#', Ragged: true, Trim: true}), body)
		},
		"XML": func(t *testing.T, body io.Reader) (int, int, uint64, error) { return drain(t, records.XML("p"), body) },
		"JSON": func(t *testing.T, body io.Reader) (int, int, uint64, error) {
			return drain(t, records.JSON(""), body)
		},
		"path": func(t *testing.T, body io.Reader) (int, int, uint64, error) {
			return drain(t, records.JSON("a.a"), body)
		},
		"lines": func(t *testing.T, body io.Reader) (int, int, uint64, error) {
			return drain(t, records.JSONLines(), body)
		},
	}
	for _, tt := range []struct {
		name, body string
		format     string // that must find it wrong, "" for none
		want       string // in the last error of that format
	}{
		{"noise", string(noise), "JSON", "JSON"},
		{"noise in a tag", "<r>" + string(noise), "XML", ""},
		{"NULs", fill("\x00"), "JSON", "record"},
		{"not UTF-8", fill("\xff"), "lines", "record 1, line 1"},
		{"lines that are not UTF-8", "a\n" + fill("\xff\n"), "CSV", "not valid UTF-8"},
		{"an open quote", "a\n\"" + fill("x"), "CSV", "breaks off in quotes"},
		{"commas", "a\n" + fill(","), "CSV", "fields in a row"},
		{"delimiters", "a\n" + fill("¦"), "dialect", "fields in a row"},
		{"rows", "a\n" + fill("1\n"), "", ""},
		{"quotes", fill(`"`), "", ""},
		{"escapes", "a\n" + fill(`\\`), "", ""},
		{"comments", fill("#\n"), "", ""},
		{"open brackets", fill("["), "JSON", "breaks off"},
		{"open objects", fill(`{"a":`), "path", "breaks off"},
		{"10,000 levels", "[" + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "]", "JSON", "more than 1000 levels"},
		{"10,000 levels in a line", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "lines", "more than 1000 levels"},
		{"an open string", `["` + fill("x"), "JSON", "breaks off in a string"},
		{"backslashes", `["` + fill(`\`), "JSON", "breaks off in a string"},
		{"a long name", `{"` + fill("x") + `":1}`, "path", "nothing is at the path"},
		{"values", "[1" + fill(",1") + "]", "", ""},
		{"elements", "<r>" + fill("<p/>") + "</r>", "", ""},
		{"elements in each other", "<r>" + fill("<p>"), "XML", "breaks off in the element p"},
		{"levels around", fill("<r>"), "XML", "more than 1000 levels"},
		{"10,000 levels in one", "<r><p>" + strings.Repeat("<a>", 10_000) + "</p></r>", "", ""},
		{"end tags", strings.Repeat("<a>", 900) + fill("</b>"), "XML", "breaks off"},
		{"end tags of the outermost", fill("<a>"+strings.Repeat("<b>", 100)) + "</a>", "XML", "levels"},
		{"attributes", "<r><p " + fill("a='b' ") + "/></r>", "XML", "bytes in a tag"},
		{"attributes of elements", "<r>" + fill("<p"+strings.Repeat(" a='b'", 1000)+"/>") + "</r>", "", ""},
		{"namespaces", "<r" + strings.Repeat(" xmlns:a='b'", 2000) + ">" + fill("<p/>") + "</r>", "XML", "bytes in the tags around"},
		{"an open tag", "<r><p " + fill("x"), "XML", "bytes in a tag"},
		{"an open comment", "<r><!--" + fill("x"), "XML", "breaks off"},
		{"a large element", "<r><p>" + fill("x") + "</p></r>", "", ""},
		{"a document type", "<!DOCTYPE r [" + fill("<!ELEMENT a (b)>"), "XML", "bytes in a document type"},
		{"packed", zip.String(), "", ""},
		{"references", "<r><p>" + strings.Repeat("&amp;", 500_000) + "</p></r>", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m) // all the documents are there
			for name, read := range formats {
				begin := time.Now()
				good, bad, peak, last := read(t, strings.NewReader(tt.body))
				t.Logf("%s: %d records, %d errors, %d MiB, %v, %v", name, good, bad, (max(peak, m.HeapAlloc)-m.HeapAlloc)>>20, time.Since(begin), last)
				if name == tt.format && (last == nil || !strings.Contains(last.Error(), tt.want)) {
					t.Errorf("%s: the last error is %v, want %s", name, last, tt.want)
				}
				if deep.Checks() && peak > m.HeapAlloc+uint64(8*size+256<<20) {
					t.Errorf("%s: %d MiB of heap", name, peak>>20)
				}
			}
			for _, open := range []string{"", "<rss><item>", "<feed><entry>", `{"version":"https://jsonfeed.org/version/1","items":`} {
				_, entries := records.ReadFeed(strings.NewReader(open+tt.body), page)
				var last error
				for _, err := range entries {
					if err != nil {
						last = err
					}
				}
				var named *records.Error
				if last != nil && (!errors.As(last, &named) || named.URL != page.URL) {
					t.Errorf("%s: the error %v does not name the page", open, last)
				}
			}
		})
	}
}

// What is larger than a feed may be ends with an error that names the limit.
func TestHostileFeedSize(t *testing.T) {
	for _, tt := range []struct{ name, body string }{
		{"RSS", "<rss><channel>" + strings.Repeat("<item><title>x</title></item>", 1<<16)},
		{"JSON", `{"version":"https://jsonfeed.org/version/1","items":[{}` + strings.Repeat(`,{"id":"1"}`, 1<<17)},
	} {
		_, entries := records.ReadFeed(strings.NewReader(tt.body), page, records.MaxBytes(1<<20))
		var last error
		n := 0
		for _, err := range entries {
			last = err
			n++
		}
		var limit *records.LimitError
		if !errors.As(last, &limit) || limit.Limit != 1<<20 || n < 1000 {
			t.Errorf("%s: %d entries, the last error is %v", tt.name, n, last)
		}
	}
}

// The entities of a document type are never expanded: a bomb of them is refused at once, by all who read XML.
func TestBillionLaughs(t *testing.T) {
	bomb := conformance.Read(t, "billion_laughs.xml")
	want := "the document type declares entities"
	_, _, _, last := drain(t, records.XML("lolz"), bytes.NewReader(bomb))
	if last == nil || !strings.Contains(last.Error(), want) {
		t.Errorf("XML: error %v", last)
	}
	_, entries := records.ReadFeed(bytes.NewReader(bomb), page)
	got := ""
	for e, err := range entries {
		got += fmt.Sprint(e, err)
	}
	if !strings.Contains(got, want) {
		t.Errorf("feed: %s", got)
	}
}
