package content_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// FuzzGrowth fails if a page of twice the size takes far more than twice the time.
func FuzzGrowth(f *testing.F) {
	for _, s := range [][2]string{{"<div>", "some words, and more "}, {"<div itemscope>", "<p>some words, and more</p>"}, {"<blockquote><ol><li>", "x"}, {"<table><tr><td rowspan=9>", "x"}, {"<h2 class=related></h2><aside>x</aside>", "<h1>x<a href=#a>#</a></h1>"}, {"<h2 class=related>y</h2><h1><a class=anchor href=#x>", "<pre>code</pre>"}, {"<a id=a href=#b>1</a><p id=b><a href=#a>back</a>", "<h2>x</h2>"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, part, tail string) {
		deep.Growth(t, deep.Repeated(part, tail), func(page []byte) {
			doc, err := html.Parse(page)
			if err != nil {
				return
			}
			content.Markdown(doc.Root(), "http://a.test/")
			if a, err := content.Extract(doc, "http://a.test/"); err == nil {
				a.Markdown()
				a.HTML()
				a.Chunks(100)
				a.Left()
				a.Words()
			}
		})
	})
}
