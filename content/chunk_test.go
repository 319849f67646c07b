package content_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, " \n": 0, "a": 1, "word": 2, "a b c d": 3, "網站": 2, "abc 網": 2, strings.Repeat("word ", 100): 125} {
		if got := content.Tokens(text); got != want {
			t.Errorf("%.20q has %d tokens, want %d", text, got, want)
		}
	}
}

// Each piece is below its headings and in its place in the page.
func TestChunks(t *testing.T) {
	const page = `<p>Before any heading.</p><h1>2024 in <em>review</em><a href="#x">¶</a></h1><p>One.</p><p>Two.</p><h3>Deep *marks*</h3><p>Three.</p><h2>Next</h2><ul><li>Four.</li></ul><h1>Last</h1>`
	var got []string
	for _, c := range extract(t, page).Chunks(100) {
		got = append(got, strings.Join(c.Headings, "/")+": "+strings.ReplaceAll(c.Text, "\n", "~"))
		source := page[c.Start:c.End]
		for _, word := range []string{"Before", "One.", "Two.", "Three.", "Four.", "Last"} {
			if strings.Contains(c.Text, word) != strings.Contains(source, word) {
				t.Errorf("%q comes from %q", c.Text, source)
			}
		}
	}
	want := []string{
		": Before any heading.", "2024 in review: # 2024 in *review*~~One.~~Two.", "2024 in review/Deep *marks*: ### Deep \\*marks\\*~~Three.",
		"2024 in review/Next: ## Next~~- Four.", "Last: # Last",
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A text with more tokens than a piece may have is cut where it reads best, and nothing of it is lost.
func TestLongChunks(t *testing.T) {
	for _, test := range []struct {
		name, text string
		ends       string // that each piece but the last has one of
	}{
		{"sentences", strings.Repeat("A sentence of some words ends here. ", 60), "."},
		{"clauses", strings.Repeat("a clause of some words that end, ", 60), ","},
		{"words", strings.Repeat("words ", 300), "s"},
		{"one word", strings.Repeat("x", 4000), "x"},
		{"Chinese", strings.Repeat("網站爬蟲框架，很好。", 50), "。"},
		{"bytes that begin no character", strings.Repeat("\x80", 4000), "\x80"},
		{"four bytes", strings.Repeat("𝔘", 1000), "𝔘"},
	} {
		a := extract(t, "<p>"+test.text)
		for _, tokens := range []int{-1, 16, 50, 1 << 62} {
			chunks := a.Chunks(tokens)
			all := ""
			for i, c := range chunks {
				all += c.Text
				if c.Tokens > max(tokens, 16) || c.Tokens != content.Tokens(c.Text) {
					t.Fatalf("%s: %d tokens of at most %d", test.name, c.Tokens, tokens)
				}
				if end := strings.TrimRight(c.Text, " "); i < len(chunks)-1 && !strings.HasSuffix(end, test.ends) {
					t.Errorf("%s: a piece ends in %q", test.name, end[max(0, len(end)-20):])
				}
			}
			if got, want := strings.ReplaceAll(all, " ", ""), strings.ReplaceAll(test.text, " ", ""); got != want {
				t.Errorf("%s: %d bytes of %d are left", test.name, len(got), len(want))
			}
			if tokens > 1000 && len(chunks) != 1 {
				t.Errorf("%s: %d pieces", test.name, len(chunks))
			}
		}
	}
}

// A count that says nonsense makes many pieces, and no endless loop.
func TestCountTokens(t *testing.T) {
	a := extract(t, "<h1>Title</h1><p>"+strings.Repeat("Some words. ", 20)+"<p>The end.")
	for name, count := range map[string]func(string) int{
		"too many": func(string) int { return 1000 }, "none": func(string) int { return 0 }, "negative": func(s string) int { return -len(s) },
		"more for less": func(s string) int { return 1000 - len(s) }, "bytes": func(s string) int { return len(s) },
	} {
		all := ""
		for _, c := range a.Chunks(40, content.CountTokens(count)) {
			all += c.Text
		}
		squeeze := strings.NewReplacer(" ", "", "\n", "")
		if got, want := squeeze.Replace(all), squeeze.Replace(a.Markdown()); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
