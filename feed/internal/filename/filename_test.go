package filename_test

import (
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/feed/internal/filename"
)

func TestNames(t *testing.T) {
	begun := time.Date(2026, 3, 29, 2, 30, 0, 0, time.UTC)
	about := filename.About{Spider: "shop", Start: begun, Time: begun.Add(time.Hour), Part: 7, Items: []string{"a", "b"}}
	for path, want := range map[string]string{
		"books.jsonl":                      "books.jsonl",
		"{{x}}/{part}":                     "{x}/0007",
		"{part}":                           "0007",
		"out/{spider}-{start}-{time}.csv":  "out/shop-20260329T023000Z-20260329T033000Z.csv",
		"{item.x}/{item.y}-{part}{spider}": "a/b-0007shop",
	} {
		template, err := filename.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := template.Name(about); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		if template.IsPlain() != (path == "books.jsonl") {
			t.Errorf("%s: IsPlain is %t", path, template.IsPlain())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("out/{spider}/{start}-{part}.jsonl")
	f.Add("{{}}{item.a}")
	f.Fuzz(func(t *testing.T, path string) {
		template, err := filename.Parse(path)
		if err != nil {
			return
		}
		template.Name(filename.About{Items: template.ItemFields()})
	})
}
