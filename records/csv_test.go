package records_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/records"
)

// page is where all documents of these tests come from.
var page = records.Source{URL: "https://user:secret@a.test/data"}

// read collects the records of a document, and the errors.
func read[R any](f records.Format[R], body string) (all []R, errs []error) {
	for r, err := range f.Read(strings.NewReader(body), page) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, r)
	}
	return all, errs
}

// rows is read for tables, as text.
func rows(d records.Dialect, body string) string {
	all, errs := read(records.CSV(d), body)
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%d@%d %q\n", r.Number, r.Line, r.Fields())
	}
	for _, err := range errs {
		b.WriteString(strings.TrimPrefix(err.Error(), "records: https://user:xxxxx@a.test/data: ") + "\n")
	}
	return b.String()
}

func TestCSV(t *testing.T) {
	none := []string{} // no names
	for _, tt := range []struct {
		name    string
		dialect records.Dialect
		body    string
		want    string
	}{
		{"a header", records.Dialect{}, "a,b\n1,2\n3,4\n", `1@2 ["1" "2"]` + "\n" + `2@3 ["3" "4"]` + "\n"},
		{"no line end at the end", records.Dialect{}, "a\n1", `1@2 ["1"]` + "\n"},
		{"other line ends", records.Dialect{}, "a,b\r\n1,2\r3,4\r\n", `1@2 ["1" "2"]` + "\n" + `2@2 ["3" "4"]` + "\n"},
		{"empty lines", records.Dialect{}, "\n\na\n\n1\n\n\n2", `1@5 ["1"]` + "\n" + `2@8 ["2"]` + "\n"},
		{"quotes", records.Dialect{Header: none}, `"a ""b""","c` + "\n" + `d",""` + "\n", `1@1 ["a \"b\"" "c\nd" ""]` + "\n"},
		{"quotes that are none", records.Dialect{Header: none}, `a"b,"c"d"e,f` + "\n", `1@1 ["a\"b" "cd\"e" "f"]` + "\n"},
		{"without quotes", records.Dialect{Header: none, Quote: records.NoQuote}, `"a,b"`, `1@1 ["\"a" "b\""]` + "\n"},
		{"single quotes", records.Dialect{Header: none, Quote: '\''}, `'a,b',"c`, `1@1 ["a,b" "\"c"]` + "\n"},
		{"semicolons", records.Dialect{Header: none, Delimiter: ';'}, "1,5;2", `1@1 ["1,5" "2"]` + "\n"},
		{"tabs", records.Dialect{Header: none, Delimiter: '\t', Trim: true}, "1\t\t 2", `1@1 ["1" "" "2"]` + "\n"},
		{"another delimiter", records.Dialect{Header: none, Delimiter: '¦'}, "1¦\"2¦3\"¦\n¦", `1@1 ["1" "2¦3" ""]` + "\n" + `2@2 ["" ""]` + "\n"},
		{"escapes", records.Dialect{Header: none, Escape: '\\'}, `a\,b,"c\"d",e\` + "\n" + `f`, `1@1 ["a,b" "c\"d" "e\nf"]` + "\n"},
		{"comments", records.Dialect{Header: none, Comment: '#'}, "# a,b\n1,#2\n#\n3,4\n#", `1@2 ["1" "#2"]` + "\n" + `2@4 ["3" "4"]` + "\n"},
		{"trim", records.Dialect{Header: none, Trim: true}, ` a , "b"`, `1@1 ["a " "b"]` + "\n"},
		{"a header of one's own", records.Dialect{Header: []string{"x"}}, "1\n", `1@1 ["1"]` + "\n"},
		{"a short row", records.Dialect{}, "a,b\n1\n2,3\n", `2@3 ["2" "3"]` + "\nrecord 1, line 2, byte 4: the row has 1 fields, the header 2; set Ragged if that may be\n"},
		{"ragged", records.Dialect{Ragged: true}, "a,b\n1\n1,2,3\n", `1@2 ["1"]` + "\n" + `2@3 ["1" "2" "3"]` + "\n"},
		{"a mark", records.Dialect{}, "\uFEFFa\n1\n", `1@2 ["1"]` + "\n"},
		{"nothing", records.Dialect{}, "", ""},
		{"an open quote", records.Dialect{}, "a\n1\n\"2\n3", `1@2 ["1"]` + "\nline 4, byte 8: the document breaks off in quotes; the row begins in line 3\n"},
		{"bytes", records.Dialect{}, "a\n\xff\n2\n", `2@3 ["2"]` + "\nrecord 1, line 2, byte 2: it is not valid UTF-8: its encoding is not the declared one, or not declared\n"},
		{"a wrong dialect", records.Dialect{Delimiter: '\n'}, "a", "records: CSV: Delimiter is '\\n': it must be an ASCII character that ends no line; a Delimiter may be any other character too\n"},
		{"one character for two", records.Dialect{Delimiter: '"', Quote: '"'}, "a", "records: CSV: Quote and Delimiter are both '\"'\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := rows(tt.dialect, tt.body); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestRow(t *testing.T) {
	all, errs := read(records.CSV(records.Dialect{Ragged: true}), "a,b,a\n1,2,3,4\n5\n")
	if len(errs) > 0 || len(all) != 2 {
		t.Fatal(all, errs)
	}
	r := all[0]
	if r.Get("a") != "1" || r.Get("b") != "2" || r.Get("c") != "" || r.At(3) != "4" || r.At(4) != "" || r.At(-1) != "" || r.Len() != 4 {
		t.Errorf("row %q", r.Fields())
	}
	if got, want := fmt.Sprint(r.Map()), "map[a:1 b:2]"; got != want {
		t.Errorf("map %s, want %s", got, want)
	}
	if _, ok := all[1].Lookup("b"); ok || !slices.Equal(r.Header(), []string{"a", "b", "a"}) {
		t.Errorf("row %q, header %q", all[1].Fields(), r.Header())
	}
	var none records.Row
	if none.Get("a") != "" || none.At(0) != "" || len(none.Map()) != 0 {
		t.Error("the zero Row has fields")
	}
}

func TestCharset(t *testing.T) {
	latin := "a\n\xe9\x80\n"
	for _, tt := range []struct {
		name   string
		source records.Source
		option []records.Option
		body   string
		want   string
	}{
		{"by the header", records.Source{ContentType: "text/csv; charset=windows-1252"}, nil, latin, "é€"},
		{"by the option", records.Source{}, []records.Option{records.Charset("latin1")}, latin, "é€"},
		{"the header counts more", records.Source{ContentType: "text/csv; charset=utf-8"}, []records.Option{records.Charset("latin1")}, "a\né\n", "é"},
		{"an unknown one", records.Source{ContentType: "text/csv; charset=x-none"}, nil, "a\né\n", "é"},
		{"a mark counts more", records.Source{ContentType: "text/csv; charset=latin1"}, nil, "\xff\xfea\x00\n\x00\xe9\x00", "é"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for r, err := range records.CSV(records.Dialect{}, tt.option...).Read(strings.NewReader(tt.body), tt.source) {
				if err != nil {
					t.Fatal(err)
				}
				got += r.Get("a")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// What encoding/csv can read we read in the same way, whatever the size of the pieces that come.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", `"a","b""c"` + "\n", "\"a\nb\",c\r\n\r\nd,e", "a,\"\",\n", ",\n,,", "a\n\"b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		deep.Growth(t, deep.Stretched([]byte(body)), readAll(records.CSV(records.Dialect{Header: []string{}, Ragged: true})))
		format := records.CSV(records.Dialect{Header: []string{}}, records.MaxRecord(1<<10))
		var got [][]string
		var failed error
		for r, err := range format.Read(iotest.OneByteReader(strings.NewReader(body)), page) {
			if failed = err; err != nil {
				break
			}
			got = append(got, r.Fields())
		}
		var named *records.Error
		if failed != nil && (!errors.As(failed, &named) || named.URL != page.URL) {
			t.Fatalf("the error %v does not name the page", failed)
		}
		if strings.Contains(strings.ReplaceAll(body, "\r\n", ""), "\r") || strings.Contains(body, "\r\n") && strings.Contains(body, `"`) || len(body) > 1000 || strings.HasPrefix(body, "\xef\xbb\xbf") || strings.HasPrefix(body, "\x1f\x8b") ||
			strings.HasPrefix(body, "\xff\xfe") || strings.HasPrefix(body, "\xfe\xff") || strings.HasPrefix(body, "<") || strings.HasPrefix(body, "\x00<") {
			return // the two differ there by design
		}
		c := csv.NewReader(strings.NewReader(body))
		c.FieldsPerRecord = -1
		want, err := c.ReadAll()
		if err != nil || failed != nil {
			return // it is stricter about quotes, we about UTF-8
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q:\ngot  %q\nwant %q", body, got, want)
		}
	})
}
