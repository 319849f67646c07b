package page_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
)

// The article knows the encoding of the page, its URL and its base; a page without text has none, and says so.
func TestArticle(t *testing.T) {
	const body = "<base href=/b/><title>caf\xe9</title><article><h1>Le caf\xe9 du coin</h1><p>Un texte qui est assez long, avec une virgule, et <a href='x?\xe9'>un lien</a> dedans, pour \xeatre lu.</p></article>"
	r := of("text/html; charset=windows-1252", body)
	a, err := r.page.Article(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if markdown := a.Markdown(); a.Title != "café" || !strings.Contains(markdown, "[un lien](http://a.test/b/x?%E9) dedans") || !strings.Contains(a.Text, "pour être lu.") {
		t.Errorf("%q\n%s", a.Title, markdown)
	}
	for _, r := range []*response{of("text/xml", "<html><title>x</title></html>"), of("", "")} {
		var none *content.NoTextError
		if _, err := r.page.Article(r, nil); !errors.As(err, &none) {
			t.Errorf("the error is %v", err)
		}
	}
}
