package html_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// The size of markup is known before it is made, of all kinds of nodes, in HTML and XML. A size that leaves out one of the
// characters that are escaped makes it fail.
func TestMarkupSize(t *testing.T) {
	const page = `<!doctype html><!-- c --><p a="&quot;<&amp;` + "\u00a0" + `" b>x &lt; y &gt; z &amp; "` + "\u00a0\t\n\r" +
		`<br><b i=1><p>q</b><svg viewBox=1 /><script>a < b</script><template><i>`
	const xml = `<?xml version="1.0"?><?go on?><r:a xmlns:r="u" b="&#9;&#10;&#13;&lt;&quot;"><!--c--><e/>&#13;&gt;` + "\u00a0\t\n" + `</r:a>`
	for name, parse := range map[string]func() (*html.Document, error){
		"html": func() (*html.Document, error) { return html.Parse([]byte(page)) },
		"xml":  func() (*html.Document, error) { return html.ParseXML([]byte(xml)) },
	} {
		doc, err := parse()
		if err != nil {
			t.Fatal(name, err)
		}
		check := func(n html.Node) {
			want := len(n.HTML())
			if size := n.HTMLSize(); size != want {
				t.Errorf("%s: %q has the size %d, not %d", name, n.HTML(), size, want)
			}
		}
		check(doc.Root())
		for n := range doc.Root().Descendants() {
			check(n)
		}
	}
}
