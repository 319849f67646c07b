package html_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// Limits are exact, for one tag and for all. A count that is looked at after the tag alone, or not at all, makes it fail.
func TestAttributesHaveALimit(t *testing.T) {
	tests := []struct {
		page string
		most int
		ok   bool
	}{
		{"<p a b c>", 3, true},
		{"<p a b c d>", 3, false},
		{"<p a><p b><p c>", 3, true},
		{"<p a><p b><p c d>", 3, false},
		{"<p " + strings.Repeat("a ", 100_000) + ">", 1000, false},
	}
	for _, test := range tests {
		for kind, parse := range map[string]func([]byte, ...html.Option) (*html.Document, error){"HTML": html.Parse, "XML": html.ParseXML} {
			_, err := parse([]byte(test.page), html.MaxAttributes(test.most), html.Lenient())
			limit := (*html.LimitError)(nil)
			if test.ok != (err == nil) || err != nil && (!errors.As(err, &limit) || limit.What != "attributes" || limit.Limit != test.most) {
				t.Errorf("%s, %.20s: %v", kind, test.page, err)
			}
		}
	}
}
