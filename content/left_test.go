package content_test

import (
	"fmt"
	stdhtml "html"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
)

var tags = regexp.MustCompile(`<[^>]*>`)

// letters counts the letters of a text.
func letters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// conserved fails if a word of a page is neither in its article nor in what was left out, or is in both, and if HTML or Text have other
// letters than the article.
func conserved(t testing.TB, name string, doc *html.Document, a *content.Article) {
	body, article, inHTML, inText := 0, 0, 0, 0
	for n := range doc.Element().Descendants() {
		if n.Kind() != html.TextNode || inHead(doc, n) {
			continue
		}
		words := len(strings.FieldsFunc(string(n.Data()), func(r rune) bool { return r == 0 || unicode.IsSpace(r) }))
		body += words
		in, caption := a.Place(n)
		if !in {
			continue
		}
		article += words
		inHTML += letters(string(n.Data()))
		if !caption {
			inText += letters(string(n.Data()))
		}
	}
	left := 0
	summed := map[content.Reason]bool{}
	for _, p := range a.Left() {
		left += p.Words
		if alone := !p.Node.IsZero(); p.Reason == "" || p.Words == 0 || alone && (p.Words < 10 || p.Reason == content.LeftScript) || !alone && summed[p.Reason] {
			t.Errorf("%s: a part of %d words, %q", name, p.Words, p.Reason)
		}
		summed[p.Reason] = summed[p.Reason] || p.Node.IsZero()
	}
	if a.Words() != article || article+left != body {
		t.Errorf("%s: of %d words %d are in the article, which says %d, and %d were left out: %+v", name, body, article, a.Words(), left, a.Left())
	}
	if got := letters(stdhtml.UnescapeString(tags.ReplaceAllString(a.HTML(), ""))); got != inHTML {
		t.Errorf("%s: HTML has %d letters, the article %d", name, got, inHTML)
	}
	if got := letters(a.Text); got != inText {
		t.Errorf("%s: Text has %d letters, the article %d", name, got, inText)
	}
}

func inHead(doc *html.Document, n html.Node) bool {
	for ; !n.IsZero(); n = n.Parent() {
		if n.Is(html.AtomHead) && n.Parent() == doc.Element() {
			return true
		}
	}
	return false
}

// It fails if a part is not named, has another number of words, or another reason.
func TestLeft(t *testing.T) {
	ten := strings.Repeat("word ", 10)
	page := `<title>no word of the body</title><nav>` + ten + `</nav><div class=comments>` + ten + `<script>var one;</script><button>a b</button></div><div><article>` + someText +
		`<aside>` + ten + ten + `</aside><p hidden>` + ten + `<ul>` + strings.Repeat(`<li><a href=x>some words</a>`, 5) + `</ul><svg><text>a drawing of words</text></svg><style>p {}</style></article>` +
		`<div role=navigation>` + ten + `</div><div>a stray word</div></div><footer>` + ten + `and more</footer>`
	doc := whole(t, page)
	a, err := content.Extract(doc, "http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	conserved(t, "page", doc, a)
	var got []string
	for _, p := range a.Left() {
		name := ""
		if !p.Node.IsZero() {
			name = p.Node.Name()
		}
		got = append(got, fmt.Sprint(name, " ", p.Words, " ", p.Reason, " ", p.Reason.Unseen()))
	}
	want := []string{
		"nav 10 navigation or a control, by its element or role false",
		"div 10 its class or id names something other than the text false",
		"aside 20 an aside or a footer false",
		"p 10 hidden true",
		"ul 10 mostly links false",
		"div 10 navigation or a control, by its element or role false",
		"footer 12 outside the main text false",
		" 4 scripts, styles, templates, and what replaces media true",
		" 2 navigation or a control, by its element or role false",
		" 4 words of a drawing false",
		" 3 outside the main text false",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
