package selector_test

import (
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/selector"
)

// FuzzCompile checks that a wrong query of either language is an error and never another panic.
func FuzzCompile(f *testing.F) {
	for _, query := range []string{
		"div.quote > a::attr(href), p *::text", `a[title="x,y"]:not(.a, .b)::text`, `#\63 /* , */ ::text`, "a[", "::attr(",
		"//div[@class='k']/a[1]/@href | //b", "count(//p) + 1", "//a[contains(., 'x')]/..", "//a]", "starts-with(1, 2)",
	} {
		f.Add(query)
	}
	doc := selector.Parse([]byte(small))
	f.Fuzz(func(t *testing.T, query string) {
		var syntax *selector.SyntaxError
		q, err := selector.Compile(query)
		if err == nil {
			doc.Select(q).Texts()
		} else if !errors.As(err, &syntax) {
			t.Errorf("CSS: %v is no *SyntaxError", err)
		}
		q, err = selector.CompileXPath(query)
		if err != nil {
			if !errors.As(err, &syntax) {
				t.Errorf("XPath: %v is no *SyntaxError", err)
			}
			return
		}
		defer func() {
			if p := recover(); p != nil {
				if _, ok := p.(*xpath.WorkError); !ok {
					t.Errorf("XPath: panic with %v", p)
				}
			}
		}()
		doc.Select(q).GetAll()
	})
}
