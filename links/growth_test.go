package links_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/links"
)

// FuzzGrowth fails if a page of twice the size takes far more than twice the time.
func FuzzGrowth(f *testing.F) {
	for _, s := range [][2]string{{"<a href=x>", "y "}, {"<base>", "<template>"}, {"<img srcset='a 1x, '>", "<style>url(</style>"}, {"<iframe srcdoc='&lt;a href=x>'>", "<!--[if IE]><a href=y><![endif]-->"}, {"url(", "/*"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, part, tail string) {
		deep.Growth(t, deep.Repeated(part, tail), func(page []byte) {
			defer func() {
				switch v := recover().(type) {
				case nil, *links.SizeError, *html.LimitError:
				default:
					t.Error(v)
				}
			}()
			links.Extract(page, fuzzBase, links.Everything(), links.Unique(false))
			links.Extract(page, fuzzBase, links.CSS("div"))
			links.Stylesheet(page, fuzzBase)
			if doc, err := html.ParseXML(page, html.Lenient()); err == nil {
				links.ExtractFrom(doc, fuzzBase)
			}
		})
	})
}
