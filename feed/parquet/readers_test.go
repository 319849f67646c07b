package parquet_test

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/internal/conformance"
)

var readers = flag.String("readers", "", "folder with the npm packages @duckdb/node-api, hyparquet and hyparquet-compressors: other readers of Parquet")

// nested has what Parquet nests.
type nested struct {
	ID       int                         `json:"id"`
	Deep     [][]string                  `json:"deep"`
	Maybe    []*int                      `json:"maybe"`
	Offers   []offer                     `json:"offers"`
	ByName   map[string]offer            `json:"by name"`
	ByNumber map[int][]string            `json:"by_number"`
	Matrix   [2][2]float64               `json:"matrix"`
	Maps     map[string]map[string]int64 `json:"maps"`
	Left     int                         `json:"left,omitempty"`
	Pointer  **string                    `json:"pointer"`
	Small    string                      `json:"small" parquet:"decimal(2:9)"`
	Middle   float64                     `json:"middle" parquet:"decimal(4:18)"`
	Large    *big.Int                    `json:"large" parquet:"decimal(6:38)"`
	Exact    time.Time                   `json:"exact" parquet:"timestamp(nanosecond)"`
	Rough    *time.Time                  `json:"rough" parquet:"timestamp(millisecond)"`
	Self     *nested                     `json:"self"`
	Uint32   uint32                      `json:"uint32"`
	Unsigned uint64                      `json:"unsigned"`
	*base
}

type offer struct {
	Price float64   `json:"price"`
	Tags  []string  `json:"tags,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

type base struct {
	Shop string `json:"shop"`
}

func nestedValues() (list []nested) {
	add := func(change func(n *nested)) {
		n := nested{ID: len(list), Small: "0", Exact: time.Unix(0, 0)}
		change(&n)
		list = append(list, n)
	}
	one, text := 1, "text"
	pointer := &text
	add(func(*nested) {})
	add(func(n *nested) {
		n.Deep, n.Maybe, n.Offers, n.ByName, n.ByNumber = [][]string{}, []*int{}, []offer{}, map[string]offer{}, map[int][]string{}
	})
	add(func(n *nested) {
		n.Deep, n.Maybe = [][]string{nil, {}, {"a", "", "b"}, {"c"}}, []*int{nil, &one, nil}
		n.Offers = []offer{{Price: 1.5}, {Tags: []string{"x", "y"}, Until: time.Unix(1e9, 0)}, {Price: -2}}
		n.ByName = map[string]offer{"b": {Price: 1}, "a": {Tags: []string{"z"}}}
		n.ByNumber = map[int][]string{7: nil, -1: {}, 100: {"hundred"}}
		n.Matrix, n.Maps = [2][2]float64{{1, 2}, {3, 4}}, map[string]map[string]int64{"x": {"y": 1 << 60}, "z": nil, "e": {}}
		n.Left, n.Pointer, n.base = 3, &pointer, &base{"shop"}
		n.Self = &nested{Small: "1", Left: 4}
	})
	for _, small := range []string{"-9999999.99", "+0.5", "12.30", "0001", "-0"} {
		add(func(n *nested) { n.Small = small })
	}
	for _, middle := range []float64{-12.3456, 1e13, 0.0001, 0.1} {
		add(func(n *nested) { n.Middle = middle })
	}
	huge, _ := new(big.Int).SetString(strings.Repeat("9", 32), 10)
	for _, large := range []*big.Int{huge, new(big.Int).Neg(huge), big.NewInt(-1), big.NewInt(0)} {
		add(func(n *nested) { n.Large = large })
	}
	for _, exact := range []time.Time{time.Unix(0, 1), time.Unix(-1, 999_999_999), time.Date(2262, 1, 1, 0, 0, 0, 7, time.UTC), time.Date(1678, 1, 1, 0, 0, 0, 7, time.UTC)} {
		add(func(n *nested) { n.Exact, n.Rough = exact, &exact })
	}
	add(func(n *nested) { n.Uint32, n.Unsigned = math.MaxUint32, math.MaxUint64 })
	return list
}

// plain returns what read.mjs should print for a value. DuckDB has no nanoseconds in UTC, and its package for JavaScript drops a byte order
// mark that a text begins with.
func plain(v reflect.Value, tag string, duck bool) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return nil
		}
	}
	if v.Kind() == reflect.Pointer && !strings.HasPrefix(tag, "decimal") {
		return plain(v.Elem(), tag, duck)
	}
	switch x := v.Interface().(type) {
	case time.Time:
		switch {
		case tag == "timestamp(nanosecond)" && duck:
			return fmt.Sprint(x.UnixNano() / 1000)
		case tag == "timestamp(nanosecond)":
			return fmt.Sprint(x.UnixNano())
		case tag == "timestamp(millisecond)" && duck:
			return fmt.Sprint(x.UnixMilli() * 1000)
		case tag == "timestamp(millisecond)":
			return fmt.Sprint(x.UnixMilli())
		}
		return fmt.Sprint(x.UnixMicro())
	case *big.Int:
		return json.Number(x.String())
	case big.Int:
		return x.String()
	case json.Marshaler, *any:
		text, _ := json.Marshal(x)
		return string(text)
	case []byte:
		return base64.StdEncoding.EncodeToString(x)
	case encoding.TextMarshaler:
		text, _ := x.MarshalText()
		return string(text)
	case nested: // in itself: JSON
		if tag == "json" {
			text, _ := json.Marshal(x)
			return string(text)
		}
	}
	if strings.HasPrefix(tag, "decimal") {
		return json.Number(fmt.Sprint(v.Interface()))
	}
	switch v.Kind() {
	case reflect.Interface:
		text, _ := json.Marshal(v.Interface())
		return string(text)
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i), tag, duck)
		}
		return list
	case reflect.Map:
		m := make(map[string]any)
		for k, e := range v.Seq2() {
			m[fmt.Sprint(k)] = plain(e, tag, duck)
		}
		return m
	case reflect.Struct:
		m := make(map[string]any)
		addFields(m, v, duck)
		return m
	case reflect.String:
		if duck {
			return strings.TrimPrefix(v.String(), "\ufeff")
		}
		return v.String()
	case reflect.Bool:
		return v.Bool()
	}
	return fmt.Sprint(v.Interface())
}

func addFields(m map[string]any, v reflect.Value, duck bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			if v.Field(i).IsNil() {
				m["shop"] = nil
			} else {
				addFields(m, v.Field(i).Elem(), duck)
			}
			continue
		case name == "":
			name = f.Name
		}
		tag := f.Tag.Get("parquet")
		if name == "self" {
			tag = "json"
		}
		if m[name] = plain(v.Field(i), tag, duck); options != "" && (v.Field(i).IsZero() || options == "omitempty" && v.Field(i).Kind() == reflect.Slice && v.Field(i).Len() == 0) {
			m[name] = nil
		}
	}
}

// same compares what should be printed with what was. Numbers are equal as numbers.
func same(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for k := range w {
			if e, ok := g[k]; !ok || !same(w[k], e) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !same(w[i], g[i]) {
				return false
			}
		}
		return true
	case json.Number: // of a decimal, which hyparquet makes a float
		g, ok := got.(string)
		a, _ := w.Float64()
		b, err := strconv.ParseFloat(g, 64)
		return ok && err == nil && math.Abs(a-b) <= 1e-15*math.Abs(a)
	case string:
		g, ok := got.(string)
		if !ok || g == w {
			return ok
		}
		a, first := strconv.ParseFloat(w, 64)
		b, second := strconv.ParseFloat(g, 64)
		a32, _ := strconv.ParseFloat(w, 32)
		return first == nil && second == nil && strings.ContainsAny(w+g, ".eIN") && (a == b || a32 == b)
	}
	return want == got
}

// write writes items to a file.
func write[T any](t testing.TB, path string, items []T, opts ...parquet.Option) {
	t.Helper()
	f := parquet.New[T](path, opts...)
	feedtest.Restore(t, f, nil)
	for i := range items {
		feedtest.Put(t, f, "r", &items[i])
	}
	feedtest.Prepare(t, f, "r")
	feedtest.End(t, f)
}

// readBy has the other readers read files, and compares each row with what was written.
func readBy(t *testing.T, items map[string][]any) {
	t.Helper()
	script, err := os.ReadFile("testdata/read.mjs")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(*readers, "read.mjs")
	if err := os.WriteFile(program, script, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--max-old-space-size=2048", program}
	for file := range items {
		args = append(args, file)
	}
	out, err := exec.CommandContext(t.Context(), "node", args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	read := make(map[string]int)
	lines := json.NewDecoder(bytes.NewReader(out))
	for {
		var line struct {
			Reader, File string
			Row          map[string]any
		}
		err := lines.Decode(&line)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		key := line.Reader + " " + line.File
		n := read[key]
		read[key]++
		if n >= len(items[line.File]) {
			continue
		}
		v := reflect.ValueOf(items[line.File][n])
		want := make(map[string]any)
		addFields(want, v, line.Reader == "duckdb")
		for name, w := range want {
			if g, ok := line.Row[name]; !ok || !same(w, g) {
				t.Errorf("%s: %s, row %d, column %s: %.200q, want %.200q", line.Reader, filepath.Base(line.File), n, name, fmt.Sprint(g), fmt.Sprint(w))
			}
		}
		if len(line.Row) != len(want) {
			t.Errorf("%s: %s: %d columns, want %d", line.Reader, filepath.Base(line.File), len(line.Row), len(want))
		}
	}
	for file, list := range items {
		for _, reader := range []string{"duckdb", "hyparquet"} {
			if n := read[reader+" "+file]; n != len(list) {
				t.Errorf("%s: %d rows of %s, want %d", reader, n, filepath.Base(file), len(list))
			}
		}
	}
}

func anyOf[T any](list []T) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

// Two readers that are not ours read what was written.
func TestOtherReaders(t *testing.T) {
	if *readers == "" {
		t.Skip("no -readers")
	}
	dir := t.TempDir()
	items := make(map[string][]any)
	file := func(name string) string { return filepath.Join(dir, name+".parquet") }
	write(t, file("everything"), feedtest.Values())
	items[file("everything")] = anyOf(feedtest.Values())
	write(t, file("nested"), nestedValues())
	items[file("nested")] = anyOf(nestedValues())
	write[nested](t, file("empty"), nil)
	items[file("empty")] = nil
	write(t, file("products"), feedtest.Products(0, 3000))
	items[file("products")] = anyOf(feedtest.Products(0, 3000))
	write(t, file("columns"), manyColumns(3))
	items[file("columns")] = anyOf(manyColumns(3))
	set := filepath.Join(plainDir(t), "set-{part}.parquet")
	write(t, set, feedtest.Products(0, 50), parquet.Rotate(feed.Rotation{Items: 10}))
	items[strings.ReplaceAll(set, "{part}", "0001")] = anyOf(feedtest.Products(0, 50))
	readBy(t, items)
}

// So do they the Big List of Naughty Strings.
func TestOtherReadersNaughty(t *testing.T) {
	if *readers == "" {
		t.Skip("no -readers")
	}
	file := filepath.Join(t.TempDir(), "naughty.parquet")
	var naughty []feedtest.Everything
	for _, text := range feedtest.Naughty(t, conformance.Read(t, "blns.json")) {
		naughty = append(naughty, feedtest.Everything{ID: len(naughty), Text: text, Maybe: &text, List: []string{text}, Map: map[string]string{"x": text}, Any: text})
	}
	write(t, file, naughty)
	readBy(t, map[string][]any{file: anyOf(naughty)})
}
