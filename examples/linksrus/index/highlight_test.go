package index_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/examples/linksrus/index"
)

// written shows marks as [words].
func written(fragments []index.Fragment) string {
	var b strings.Builder
	for _, f := range fragments {
		if f.Marked {
			b.WriteString("[" + f.Text + "]")
		} else {
			b.WriteString(f.Text)
		}
	}
	return b.String()
}

func TestHighlight(t *testing.T) {
	for _, c := range []struct{ name, text, query, want string }{
		{"none", "A spider has eight legs.", "fly", "A spider has eight legs."},
		{"one", "A spider has eight legs.", "SPIDER", "A [spider] has eight legs."},
		{"side by side", "A spider has eight legs.", "legs eight", "A spider has [eight legs]."},
		{"with a comma between", "legs, eight", "legs eight", "[legs], [eight]"},
		{"all of it", "spider", "spider", "[spider]"},
		{"phrase", "eight legs, legs eight, eight legs", `"legs eight"`, "eight legs, [legs eight], eight legs"},
		{"phrase over punctuation", "os.path.join", `"path join"`, "os.[path].[join]"},
		{"markup is text", "<b>spider</b>", "b", "<[b]>spider</[b]>"},
		{"beyond ASCII", "Die Größe zählt", "größe", "Die [Größe] zählt"},
		{"letters that change their length", "ȺȺ Ⱥ x", "x", "ȺȺ Ⱥ [x]"},
		{"no query", "A spider", "", "A spider"},
		{"no text", "", "spider", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := written(index.Highlight(c.text, index.ParseQuery(c.query))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestExcerpt(t *testing.T) {
	text := "one two three four five six seven eight nine ten eleven twelve"
	for _, c := range []struct{ name, query, want string }{
		{"nothing found: the beginning", "fly", "one two three four …"},
		{"at the beginning", "one", "[one] two three four …"},
		{"in the middle", "six", "… five [six] seven eight …"},
		{"at the end", "twelve", "… nine ten eleven [twelve]"},
		{"most of the words", "two seven nine", "… six [seven] eight [nine] …"},
		{"phrase", `"eight nine"`, "… seven [eight nine] ten …"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := written(index.Excerpt(text, index.ParseQuery(c.query), 4)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if got := written(index.Excerpt("a b c", index.ParseQuery("b"), 3)); got != "a [b] c" {
		t.Errorf("a short text: %s", got)
	}
	if got := written(index.Excerpt("(a b c d!)", index.ParseQuery("d"), 2)); got != "… c [d]!)" {
		t.Errorf("punctuation at the end: %s", got)
	}
}

// The fragments of any text are that text, whatever is looked for, and an excerpt has no more words than asked for.
func FuzzHighlight(f *testing.F) {
	f.Add("A spider has eight legs.", "spider", 3)
	f.Add("ȺȺ\xff\x00 日本", `"日本"`, 1)
	f.Add("a a a a b a a", `a b`, 2)
	f.Fuzz(func(t *testing.T, text, query string, most int) {
		q := index.ParseQuery(query)
		var all strings.Builder
		for _, fragment := range index.Highlight(text, q) {
			if fragment.Text == "" {
				t.Error("an empty fragment")
			}
			all.WriteString(fragment.Text)
		}
		if all.String() != text {
			t.Errorf("the fragments are %q", all.String())
		}
		if most = 1 + most&7; len(index.Terms(text)) > most {
			excerpt := strings.Trim(strings.NewReplacer("[", " ", "]", " ").Replace(written(index.Excerpt(text, q, most))), "… ")
			if got := len(index.Terms(excerpt)); got > most {
				t.Errorf("an excerpt of %d words: %q", got, excerpt)
			}
		}
	})
}

func ExampleMemory() {
	ctx := context.Background()
	idx := index.NewMemory()
	_ = idx.Index(ctx, &index.Document{LinkID: id("karenina"), Title: "Anna Karenina", Content: "All happy families are alike."})
	_ = idx.Index(ctx, &index.Document{LinkID: id("moby"), Title: "Moby-Dick", Content: "Call me Ishmael."})
	q := index.ParseQuery(`"happy families"`)
	found, err := idx.Search(ctx, q)
	fmt.Println(q.Type, found.Total, err)
	for _, fragment := range index.Excerpt(found.Documents[0].Content, q, 30) {
		fmt.Printf("%q %v\n", fragment.Text, fragment.Marked)
	}
	// Output:
	// phrase 1 <nil>
	// "All " false
	// "happy families" true
	// " are alike." false
}

// benchmarkDocuments is the size of the index that a query is measured on.
const benchmarkDocuments = 10_000

// BenchmarkSearch measures a query among 10,000 documents of 200 words each, whose frequencies fall off as those
// of a language do.
func BenchmarkSearch(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 8, 50_000)
	content := func() string {
		words := make([]string, 200)
		for i := range words {
			words[i] = fmt.Sprintf("w%d", zipf.Uint64())
		}
		return strings.Join(words, " ")
	}
	queries := map[string]string{"match": "w3 w17", "common word": "w0",
		"phrase": `"w20 w40"`, "common phrase": `"w0 w1 w2"`, "rare": "w40000"}
	for name, open := range map[string]func() (index.Index, error){
		"memory": func() (index.Index, error) { return index.NewMemory(), nil },
		"bleve":  func() (index.Index, error) { return index.OpenBleve(filepath.Join(b.TempDir(), "index")) },
	} {
		b.Run(name, func(b *testing.B) {
			idx, err := open()
			if err != nil {
				b.Fatal(err)
			}
			defer idx.Close()
			for i := range benchmarkDocuments {
				title := fmt.Sprintf("document %d", i)
				doc := &index.Document{LinkID: id(title), URL: "http://host/", Title: title, Content: content(), IndexedAt: time.Now()}
				if err := idx.Index(b.Context(), doc); err != nil {
					b.Fatal(err)
				}
			}
			for _, kind := range slices.Sorted(maps.Keys(queries)) {
				b.Run(kind, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := idx.Search(b.Context(), index.ParseQuery(queries[kind])); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}
