package records_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/records"
)

// values is read for JSON, as text.
func values(f records.Format[records.Value], body string) string {
	all, errs := read(f, body)
	var b strings.Builder
	for _, v := range all {
		fmt.Fprintf(&b, "%d@%d:%d %s\n", v.Number, v.Line, v.Offset, v)
	}
	for _, err := range errs {
		b.WriteString(strings.TrimPrefix(err.Error(), "records: https://user:xxxxx@a.test/data: ") + "\n")
	}
	return b.String()
}

func TestJSON(t *testing.T) {
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	for _, tt := range []struct{ name, path, body, want string }{
		{"an array", "", `[1, "a]", {"b": [2]}]`, "1@1:1 1\n2@1:4 \"a]\"\n3@1:10 {\"b\": [2]}\n"},
		{"lines", "", "[\n{},\n[]\n]\n", "1@2:2 {}\n2@3:6 []\n"},
		{"an empty one", "", " [ ] ", ""},
		{"an object", "", `{"a":1}`, "1@1:0 {\"a\":1}\n"},
		{"a path", "data.items", `{"x":[0],"data":{"y":{"items":[1]},"items":[2,3]},"z":"}"}`, "1@1:44 2\n2@1:46 3\n"},
		{"a path to one", "a", `{"a":{"b":1}}`, "1@1:5 {\"b\":1}\n"},
		{"escapes", "", `["\\","\"]","\\\""]`, "1@1:1 \"\\\\\"\n2@1:6 \"\\\"]\"\n3@1:12 \"\\\\\\\"\"\n"},
		{"a name with escapes", "é", `{"\u00e9":[1]}`, "1@1:11 1\n"},
		{"no such path", "a.b", `{"a":[1]}`, "line 1, byte 9: nothing is at the path \"a.b\"\n"},
		{"a bad one among good ones", "", `[1, nul, {"a":}, 2]`, "1@1:1 1\n4@1:17 2\n" +
			"record 2, line 1, byte 4: it is not JSON: invalid character ' ' in literal null (expecting 'l')\nrecord 3, line 1, byte 9: it is not JSON: invalid character '}' looking for beginning of value\n"},
		{"bytes", "", "[\"\xff\",1]", "2@1:5 1\nrecord 1, line 1, byte 1: it is not valid UTF-8: its encoding is not the declared one, or not declared\n"},
		{"too deep", "", "[" + deep + ",1]", "2@1:20002 1\nrecord 1, line 1, byte 1: more than 1000 levels\n"},
		{"deep brackets that do not close", "", strings.Repeat("[", 100_000), "line 1, byte 100000: the document breaks off\n"},
		{"breaks off", "", `[1, {"a": "b`, "1@1:1 1\nline 1, byte 12: the document breaks off in a string\n"},
		{"no comma", "", `[1 2]`, "1@1:1 1\nline 1, byte 3: it is not JSON: '2' in the place of a comma\n"},
		{"no value", "", `[,]`, "line 1, byte 1: it is not JSON: ',' in the place of a value\n"},
		{"no name", "a", `{a:1}`, "line 1, byte 1: it is not JSON: 'a' in the place of a name\n"},
		{"more behind it", "", "[1]\n[2]", "1@1:1 1\nline 2, byte 4: there is something behind the end of the document; if each line is a document of its own, read it with JSONLines\n"},
		{"nothing", "", "", "line 1, byte 0: the document breaks off\n"},
		{"binary", "", "\x00\x01\x02", "record 1, line 1, byte 0: it is not JSON: invalid character '\\x00' looking for beginning of value\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := values(records.JSON(tt.path), tt.body); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestJSONLines(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"lines", "{\"a\":1}\n\n[2]\r\n3", "1@1:0 {\"a\":1}\n2@3:9 [2]\n3@4:14 3\n"},
		{"a bad one", "1\n{\"a\n2\n", "1@1:0 1\n3@3:6 2\nrecord 2, line 2, byte 2: it is not JSON: unexpected end of JSON input\n"},
		{"a long one", "1\n\"" + strings.Repeat("x", 200) + "\"\n2\n", "1@1:0 1\n3@3:205 2\nrecord 2, line 2, byte 2: more than 100 bytes in a record\n"},
		{"a deep one", strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + "\n2\n", "2@2:2003 2\nrecord 1, line 1, byte 0: more than 100 bytes in a record\n"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := values(records.JSONLines(records.MaxRecord(100)), tt.body); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestValue(t *testing.T) {
	all, errs := read(records.JSON(""), `[{"name": "Cup", "prices": [1, 2.5]}]`)
	if len(all) != 1 || len(errs) > 0 {
		t.Fatal(all, errs)
	}
	v := all[0]
	if v.Get("name") != "Cup" || v.Get("prices.1") != "2.5" || v.Get("x") != "" || !json.Valid(v.Raw()) {
		t.Errorf("value %s", v)
	}
	var cup struct {
		Name   string
		Prices []float64
	}
	if err := v.Decode(&cup); err != nil || cup.Name != "Cup" || !slices.Equal(cup.Prices, []float64{1, 2.5}) {
		t.Errorf("decoded %v, error %v", cup, err)
	}
	var wrong struct{ Name int }
	var named *records.Error
	if err := v.Decode(&wrong); !errors.As(err, &named) || named.Record != 1 || named.URL != page.URL || !strings.Contains(err.Error(), ".Name") {
		t.Errorf("error %v", err)
	}
}

// Whatever the bytes, JSON finds in an array what encoding/json finds, whatever the size of the pieces that come.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`[1,2]`, `[{"a":"\""},[],"\\"]`, `{"a":[1]}`, "[\n1\n,2.5e3, null]", `["\u00e9"]`, `[1`, `]`, `[[[`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		deep.Growth(t, deep.Stretched([]byte(body)), readAll(records.JSON("")))
		deep.Growth(t, deep.Stretched([]byte(body)), readAll(records.JSONLines()))
		var got []string
		var failed error
		for v, err := range records.JSON("").Read(iotest.OneByteReader(strings.NewReader(body)), page) {
			if err != nil {
				failed = err
				continue
			}
			got = append(got, v.String())
		}
		if failed == nil != json.Valid([]byte(body)) && !encoded(body) && !(failed != nil && strings.Contains(failed.Error(), "UTF-8")) {
			t.Errorf("%q: the error is %v; encoding/json says %v", body, failed, json.Valid([]byte(body)))
		}
		if failed != nil || encoded(body) || !strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), "[") {
			return
		}
		var want []json.RawMessage
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, want, func(g string, w json.RawMessage) bool { return bytes.Equal([]byte(g), w) }) {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	})
}

// encoded reports whether a document is decompressed or decoded before it is read.
func encoded(body string) bool {
	for _, mark := range []string{"\x1f\x8b", "\xff\xfe", "\xfe\xff", "\xef\xbb\xbf", "<\x00", "\x00<", "<?xml"} {
		if strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), mark) {
			return true
		}
	}
	return false
}

// readAll returns a func that reads a document to its end.
func readAll[R any](format records.Format[R]) func([]byte) {
	return func(body []byte) {
		for range format.Read(bytes.NewReader(body), page) {
		}
	}
}
