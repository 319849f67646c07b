package jsonsize_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/jsonsize"
)

type record struct {
	ID   int
	Name string
	Tags []string
	Next *record
}

// texts are JSON texts by what they are made of.
func texts() map[string]string {
	size := 20_000
	if deep.Checks() {
		size = 200_000
	}
	many := func(head, part, tail string) string { return head + strings.Repeat(part, size/len(part)) + tail }
	var keys strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&keys, `"%d":0,`, i)
	}
	return map[string]string{
		"numbers":    many("[", "0,", "0]"),
		"words":      many("[", "true, ", "null]"),
		"objects":    many("[", "{},", "{}]"),
		"members":    many("[", `{"":0},`, "{}]"),
		"two":        many("[", `{"a":0,"b":"c"},`, "{}]"),
		"nine":       many("[", `{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0},`, "{}]"),
		"keys":       "{" + keys.String() + `"":0}`,
		"arrays":     many("[", "[],", "[]]"),
		"full":       many("[", "[0],", "[]]"),
		"strings":    many("[", `"",`, `""]`),
		"long":       many("[", `"some text that is longer than a word or two",`, `""]`),
		"quotes":     many("[", `"\"\\",`, `""]`),
		"one string": many(`"`, "a", `"`),
		"not UTF-8":  many(`"`, "\xff", `"`),
		"nested":     strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"deep":       strings.Repeat(`{"a":`, 5000) + "0" + strings.Repeat("}", 5000),
		"records":    many("[", `{"ID":1,"Name":"n","Tags":["a","b"]},`, "{}]"),
		"lists":      strings.Repeat(`{"Next":`, 5000) + "{}" + strings.Repeat("}", 5000),
	}
}

// TestH01EstimateCovers compares the estimate with the length of the text, and in a deep check with what is in use after decoding. It fails if a kind of value is not
// counted.
func TestH01EstimateCovers(t *testing.T) {
	targets := map[string]func() any{
		"any":     func() any { return new(any) },
		"map":     func() any { return new(map[string]any) },
		"list":    func() any { return new([]any) },
		"floats":  func() any { return new([]float64) },
		"strings": func() any { return new([]string) },
		"records": func() any { return new([]record) },
		"points":  func() any { return new([]*record) },
		"record":  func() any { return new(record) },
		"maps":    func() any { return new([]map[string]int) },
		"raw":     func() any { return new([]json.RawMessage) },
		"nothing": func() any { return new(struct{}) },
	}
	for name, text := range texts() {
		body := []byte(text)
		for target, make := range targets {
			v := make()
			var before, after runtime.MemStats
			if deep.Checks() {
				runtime.GC()
				runtime.ReadMemStats(&before)
			}
			err := json.Unmarshal(body, v)
			if deep.Checks() {
				runtime.GC()
				runtime.ReadMemStats(&after)
			}
			used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			runtime.KeepAlive(v)
			estimate := jsonsize.Of(body, make())
			if err == nil && target == "any" && estimate < int64(len(body)/2) {
				t.Errorf("%s: the estimate for %d bytes is %d", name, len(body), estimate)
			}
			if deep.Checks() && used > 64<<10 && estimate < used {
				t.Errorf("%s into %s: %d bytes are in use, the estimate is %d", name, target, used, estimate)
			}
			if deep.Checks() && err == nil && used > 64<<10 && estimate > 8*used {
				t.Errorf("%s into %s: %d bytes are in use, the estimate of %d is far too large", name, target, used, estimate)
			}
		}
	}
}

func TestOf(t *testing.T) {
	var v any
	for _, test := range []struct {
		name, text string
		into       any
		zero       bool
	}{
		{"small", "[0,0,0]", &v, true},
		{"nothing to decode into", strings.Repeat("0,", 10_000), nil, true},
		{"no target for lists", "[" + strings.Repeat("0,", 10_000) + "0]", new(struct{ A int }), true},
		{"large", "[" + strings.Repeat("0,", 10_000) + "0]", &v, false},
	} {
		if got := jsonsize.Of([]byte(test.text), test.into); (got == 0) != test.zero {
			t.Errorf("%s: %d", test.name, got)
		}
	}
}

// FuzzOf checks that no text is too much for the estimate.
func FuzzOf(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text[:min(len(text), 6000)]))
	}
	f.Add([]byte(strings.Repeat(`"\`, 3000)))
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Fuzz(func(t *testing.T, body []byte) {
		var v any
		if n := jsonsize.Of(append(body, make([]byte, 5000)...), &v); n < 0 {
			t.Error(reflect.TypeOf(v), n)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	body := []byte(texts()["records"])
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		jsonsize.Of(body, new([]record))
	}
}
