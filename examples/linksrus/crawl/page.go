package crawl

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// notPages are the extensions of files that cannot contain HTML.
var notPages = []string{".jpg", ".jpeg", ".png", ".gif", ".ico", ".css", ".js"}

// mayBePage reports whether a URL is worth asking for: not by the extension of its path something else.
func mayBePage(url string) bool {
	file, _, _ := strings.Cut(urlx.Path(url), "?")
	return !slices.Contains(notPages, strings.ToLower(path.Ext(file)))
}

// isPage reports whether a response has a page to read: a status of 2xx and some kind of HTML.
func isPage(status int, header http.Header) bool {
	return status >= 200 && status <= 299 && strings.Contains(strings.ToLower(header.Get("Content-Type")), "html")
}

// outLinks returns the links of a page in UTF-8, each URL once and without fragment, as browsers resolve them:
// those that count and those with rel=nofollow. Other schemes than http and https, private addresses and what
// cannot be a page are left out. Links to a URL with and without nofollow count as the first of them.
func outLinks(body []byte, url string, encoding charset.Encoding, guard *Guard) (follow, noFollow []string) {
	for _, link := range links.Extract(body, url, links.Charset(encoding)) {
		switch {
		case !mayBePage(link.URL) || !guard.Permits(link.URL):
		case link.NoFollow:
			noFollow = append(noFollow, link.URL)
		default:
			follow = append(follow, link.URL)
		}
	}
	return follow, noFollow
}

// readText returns the title and the text of a page in UTF-8, as a reader sees them: white space collapsed, no
// scripts and styles, words of neighbouring paragraphs apart.
func readText(body []byte) (title, text string, err error) {
	doc, err := html.Parse(body)
	if err != nil {
		return "", "", err
	}
	var titled bool
	for n := range doc.Root().Descendants() {
		switch {
		case !titled && n.Is(html.AtomTitle): // that of HTML, not of an SVG picture
			title, titled = n.CollapsedText(), true
		case text == "" && n.Is(html.AtomBody):
			text = n.CollapsedText()
		}
	}
	return title, text, nil
}
