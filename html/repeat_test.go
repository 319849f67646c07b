package html_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// TestRepeatedTags: a tag that is not closed is made again in each paragraph, with all its attributes.
// Whatever is made of the tree, its size may not grow with the square of the page.
func TestRepeatedTags(t *testing.T) {
	var attrs strings.Builder
	for i := range 2_000 {
		fmt.Fprintf(&attrs, " a%d", i)
	}
	var outer strings.Builder
	for i := range 2_000 {
		fmt.Fprintf(&outer, "<i a=%d>", i)
	}
	words := " class='" + strings.Repeat("word ", 2_000) + "'"
	for _, test := range []struct {
		name, page string
		refused    bool
	}{
		{"many attributes", "<p><b" + attrs.String() + ">" + strings.Repeat("<p>x", 2_000), true},
		{"a long attribute", "<p><b" + words + ">" + strings.Repeat("<p>x", 2_000), true},
		{"adoption of what is inside", outer.String() + "<b" + words + "><div>" + strings.Repeat("</i>", 2_000), true},
		{"after a document", "<p><b a=1>" + strings.Repeat("<p>x", 2_000), false},
		{"five fonts in 10,000 paragraphs", "<p>" + strings.Repeat("<font face='Verdana, Arial, Helvetica' size=2 color=red>", 5) +
			strings.Repeat("<p>A short paragraph of forty characters.</p>\n", 10_000), false},
		{"a small page", "<p><b" + words + ">" + strings.Repeat("<p>x", 90), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := html.Parse([]byte(test.page))
			if !test.refused {
				if err != nil {
					t.Fatal(err)
				}
				if size := len(d.Root().HTML()); size > 1<<20+32*len(test.page) {
					t.Errorf("%d bytes of markup for %d", size, len(test.page))
				}
				return
			}
			var limit *html.LimitError
			if !errors.As(err, &limit) || limit.What != "bytes in repeated tags" || limit.Limit != 1<<20+16*len(test.page) {
				t.Errorf("got %v", err)
			}
		})
	}
	var d html.Document
	for range 20 {
		if err := d.Reset([]byte("<p><b" + words + ">" + strings.Repeat("<p>x", 90))); err != nil {
			t.Fatalf("a document that is used again: %v", err)
		}
	}
}
