package feed_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
)

// What Scrapy's exporters and feeds are tried with, and what is written here for it. A case that differs says how and why.
func TestScrapyCases(t *testing.T) {
	type person struct {
		Name string  `json:"name"`
		Age  *string `json:"age,omitempty"`
	}
	type nested struct {
		Name string `json:"name"`
		Age  any    `json:"age"`
	}
	age := "22"
	john := person{"John£", &age}
	inner := nested{"Joseph", nested{"Maria", nested{"Jesus", "44"}}}
	for _, test := range []struct {
		name    string
		path    string
		opts    []feed.Option
		items   []any
		want    string
		differs string
	}{
		{name: "fields in the order of the type", path: "x.csv", items: []any{john}, want: "name,age\nJohn£,22\n", differs: "lines end in \\n; feed.CRLF() gives Scrapy's \\r\\n"},
		{name: "lines end in CRLF", path: "x.csv", opts: []feed.Option{feed.CRLF()}, items: []any{john}, want: "name,age\r\nJohn£,22\r\n"},
		{name: "fields to export, in their order", path: "x.csv", opts: []feed.Option{feed.Columns("age", "name")}, items: []any{john}, want: "age,name\n22,John£\n"},
		{name: "a field of the list that no item has", path: "x.csv", opts: []feed.Option{feed.Columns("age", "none")}, items: []any{john}, want: "age,none\n22,\n"},
		{name: "one field", path: "x.csv", opts: []feed.Option{feed.Columns("name")}, items: []any{john}, want: "name\nJohn£\n"},
		{name: "no header", path: "x.csv", opts: []feed.Option{feed.NoHeader(), feed.Columns("name", "age")}, items: []any{john}, want: "John£,22\n"},
		{name: "a value that is missing", path: "x.csv", items: []any{person{Name: "Jane"}}, want: "name,age\nJane,\n"},
		{name: "a list in a cell", path: "x.csv", items: []any{nested{"a", []string{"b,c", "d"}}}, want: "name,age\na,\"[\"\"b,c\"\",\"\"d\"\"]\"\n",
			differs: "Scrapy joins with commas, which cannot be taken apart again where a value has one; JSON can"},
		{name: "an object in a cell", path: "x.csv", items: []any{nested{"a", map[string]int{"b": 1}}}, want: "name,age\na,\"{\"\"b\"\":1}\"\n",
			differs: "Scrapy writes how Python prints it"},
		{name: "items with different fields", path: "x.csv", items: []any{map[string]any{"a": 1}, map[string]any{"b": 2}}, want: "a,b\n1,\n,2\n",
			differs: "Scrapy drops what the first item did not have (#4002)"},
		{name: "a separator", path: "x.csv", opts: []feed.Option{feed.Comma(';')}, items: []any{john}, want: "name;age\nJohn£;22\n"},
		{name: "lines of JSON", path: "x.jsonl", items: []any{john}, want: "{\"name\":\"John£\",\"age\":\"22\"}\n", differs: "UTF-8, where Scrapy escapes unless FEED_EXPORT_ENCODING says utf-8"},
		{name: "items in items", path: "x.jsonl", items: []any{inner}, want: `{"name":"Joseph","age":{"name":"Maria","age":{"name":"Jesus","age":"44"}}}` + "\n"},
		{name: "a list of JSON", path: "x.json", items: []any{john, person{Name: "Jane"}}, want: "[\n{\"name\":\"John£\",\"age\":\"22\"},\n{\"name\":\"Jane\"}\n]\n"},
		{name: "no item in JSON", path: "x.json", want: "[\n\n]\n"},
		{name: "text that is not UTF-8", path: "x.jsonl", items: []any{nested{"\xa3", nil}}, want: `{"name":"\ufffd","age":null}` + "\n", differs: "Scrapy fails; Response.Text has decoded the page before"},
		{name: "a number, a time", path: "x.jsonl", items: []any{map[string]any{"f": 0.1, "t": time.Date(2013, 8, 13, 10, 11, 12, 0, time.UTC)}}, want: `{"f":0.1,"t":"2013-08-13T10:11:12Z"}` + "\n"},
		{name: "XML", path: "x.xml", items: []any{john}, want: xmlHead + "<item><name>John£</name><age>22</age></item>\n</items>\n"},
		{name: "several values in XML", path: "x.xml", items: []any{nested{"John£", []string{"Doe", "Roe"}}}, want: xmlHead + "<item><name>John£</name><age><value>Doe</value><value>Roe</value></age></item>\n</items>\n"},
		{name: "items in items in XML", path: "x.xml", items: []any{nested{"buz", []any{inner}}},
			want: xmlHead + "<item><name>buz</name><age><value><name>Joseph</name><age><name>Maria</name><age><name>Jesus</name><age>44</age></age></age></value></age></item>\n</items>\n"},
		{name: "no value in XML", path: "x.xml", items: []any{nested{"a", nil}}, want: xmlHead + "<item><name>a</name><age/></item>\n</items>\n"},
		{name: "other names of fields", path: "x.csv", items: []any{struct {
			Name string `json:"custom name"`
		}{"John"}}, want: "custom name\nJohn\n", differs: "the json tag renames, for all feeds"},
		{name: "items of one kind", path: "x.jsonl", opts: []feed.Option{feed.Select(func(item tegenaria.ItemInterface) bool { _, ok := item.(person); return ok })},
			items: []any{nested{"a", 1}, person{Name: "b"}}, want: "{\"name\":\"b\"}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.path)
			written(t, makeFeed(path, test.opts...), test.items)
			if got, err := os.ReadFile(path); err != nil || string(got) != test.want {
				t.Errorf("%q, want %q: %v", got, test.want, err)
			}
		})
	}
}

const xmlHead = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<items>\n"

// Batches by number of items: each is whole, packed or not, and has the header and the brackets of its format.
func TestScrapyBatches(t *testing.T) {
	for ending, want := range map[string][]string{
		".jsonl":    {"{\"n\":0}\n{\"n\":1}\n", "{\"n\":2}\n{\"n\":3}\n", "{\"n\":4}\n"},
		".jsonl.gz": {"{\"n\":0}\n{\"n\":1}\n", "{\"n\":2}\n{\"n\":3}\n", "{\"n\":4}\n"},
		".json":     {"[\n{\"n\":0},\n{\"n\":1}\n]\n", "[\n{\"n\":2},\n{\"n\":3}\n]\n", "[\n{\"n\":4}\n]\n"},
		".csv":      {"n\n0\n1\n", "n\n2\n3\n", "n\n4\n"},
		".csv.zst":  {"n\n0\n1\n", "n\n2\n3\n", "n\n4\n"},
		".xml":      {xmlHead + "<item><n>0</n></item>\n<item><n>1</n></item>\n</items>\n", xmlHead + "<item><n>2</n></item>\n<item><n>3</n></item>\n</items>\n", xmlHead + "<item><n>4</n></item>\n</items>\n"},
	} {
		t.Run(ending, func(t *testing.T) {
			dir := t.TempDir()
			var items []map[string]int
			for n := range 5 {
				items = append(items, map[string]int{"n": n})
			}
			written(t, makeFeed(filepath.Join(dir, "batch-{part}"+ending), feed.Rotate(feed.Rotation{Items: 2})), items)
			for i, want := range want {
				if got := string(unpack(t, filepath.Join(dir, fmt.Sprintf("batch-%04d%s", i+1, ending)))); got != want {
					t.Errorf("%d: %q, want %q", i+1, got, want)
				}
			}
			if names, err := filepath.Glob(filepath.Join(dir, "batch-*")); err != nil || len(names) != len(want) {
				t.Errorf("%s: %v", strings.Join(names, ", "), err)
			}
		})
	}
}
