package html_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// TestCollapsedWords compares collapsed text with the words that unicode.IsSpace separates, in one
// text node and in several.
func TestCollapsedWords(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	pieces := []string{"a", "word", "some words in a row", " ", "  ", "\t", "\n", "\f", "\v", "\x1f", "\u00a0", "\u0085", "\u2003", "é", "日本", "\u200b", "x\xff", "."}
	for range 2000 {
		var page, text strings.Builder
		for range r.IntN(20) {
			piece := pieces[r.IntN(len(pieces))]
			page.WriteString(piece)
			text.WriteString(piece)
			if r.IntN(4) == 0 {
				page.WriteString([]string{"<b>", "</b>", "<!--c-->", "<i></i>"}[r.IntN(4)])
			}
		}
		doc := parse(t, "<!DOCTYPE html><p>x"+page.String())
		p := doc.Element().LastChild().FirstChild()
		want := strings.Join(strings.FieldsFunc("x"+text.String(), unicode.IsSpace), " ")
		if got := p.CollapsedText(); got != want {
			t.Fatalf("%q collapses to %q, want %q", page.String(), got, want)
		}
	}
}
