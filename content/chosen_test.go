package content_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html/css"
)

// It fails if names remove a part of the element that a selector chose, if strong signs do not, or if its chunks are
// not those of the element.
func TestMainSelector(t *testing.T) {
	const plain = `<div id=text class="sidebar comments"><h2 id=a>Menus</h2><div class=related><p>Short, related.</p></div><ul class=share><li><a href=x>One</a><li><a href=y>two</a></ul><p>` +
		`Words of it.</p></div>`
	page := "<article>" + someText + someText + "</article>" + plain
	doc := whole(t, page)
	a, err := content.Extract(doc, "http://a.test/", content.Main("#text"))
	if err != nil {
		t.Fatal(err)
	}
	conserved(t, "names", doc, a)
	const want = "Menus\n\nShort, related.\n\n- One\n- two\n\nWords of it."
	if a.Text != want || a.Node.Attr("id") != "text" {
		t.Errorf("%q", a.Text)
	}
	node := a.Node
	same := func(a, b content.Chunk) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
	if chunks := content.Chunks(node, "http://a.test/", 20); !slices.EqualFunc(a.Chunks(20), chunks, same) || len(chunks) == 0 {
		t.Errorf("%+v\nby the selector\n%+v", chunks, a.Chunks(20))
	}

	strong := strings.Replace(plain, "<p>Words", "<nav>nav</nav><footer>foot</footer><p aria-hidden=true>hidden</p><div role=search>role</div><p>Words", 1) + "<aside>beside</aside>"
	doc = whole(t, strings.Replace("<div>"+strong+"</div>"+someText, "id=text", "", 1))
	a, err = content.Extract(doc, "http://a.test/", content.Main("div"))
	if err != nil {
		t.Fatal(err)
	}
	conserved(t, "strong signs", doc, a)
	if a.Text != want {
		t.Errorf("%q", a.Text)
	}

	for name, source := range map[string]string{"an element that is no text": `<nav><h2>Menus</h2><p>Short, related.</p></nav>`, "one in such an element": `<dialog><div hidden><nav><h2>Menus</h2><p>Short, related.</p></nav></div></dialog>`} {
		doc := whole(t, source+someText)
		a, err := content.Extract(doc, "http://a.test/", content.Main("nav"))
		if err != nil {
			t.Fatal(err)
		}
		conserved(t, name, doc, a)
		if a.Text != "Menus\n\nShort, related." {
			t.Errorf("%s: %q", name, a.Text)
		}
	}
}

// It fails if a selector that is wrong is taken for a page without text, or the other way round, or if it is not named.
func TestMainErrors(t *testing.T) {
	doc := whole(t, someText+"<div class=empty><img src=x></div>")
	for selector, want := range map[string]string{
		".gone":  `content: http://a.test/ has no main text: the selector ".gone" of Main matches nothing`,
		".empty": `content: http://a.test/ has no main text: the element that the selector ".empty" of Main matches has no text for readers`,
	} {
		a, err := content.Extract(doc, "http://a.test/", content.Main(selector))
		if none := (*content.NoTextError)(nil); !errors.As(err, &none) || err.Error() != want || a != nil {
			t.Errorf("%s: %v", selector, err)
		}
	}
	_, err := content.Extract(doc, "http://a.test/", content.Main("p["))
	if wrong := (*css.SyntaxError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "p[") {
		t.Errorf("%v", err)
	}
	if _, err := content.Extract(nil, "http://a.test/", content.Main("p")); err == nil {
		t.Error("no document has a text")
	}
}
