package middleware

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tegenaria/tegenaria"
)

// meta is a meta element of a page: <meta name=… content=…>.
type meta struct{ name, content string } // the name in lower case

// metas returns the meta elements of an HTML page's head, in order. The names that are looked for, in lower case, spare
// pages without any of them the reading.
func metas(resp *tegenaria.Response, names ...string) []meta {
	if !isHTML(resp) || !slices.ContainsFunc(names, func(name string) bool { return mentions(resp.Bytes(), name) }) {
		return nil
	}
	text, err := resp.Text()
	if err != nil {
		return nil // a spooled body
	}
	var found []meta
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			switch atom.Lookup(name) {
			case atom.Body:
				return found
			case atom.Meta:
				var m meta
				for more {
					var key, value []byte
					key, value, more = z.TagAttr()
					switch string(key) {
					case "name":
						m.name = strings.ToLower(strings.TrimSpace(string(value)))
					case "content":
						m.content = string(value)
					}
				}
				found = append(found, m)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); atom.Lookup(name) == atom.Head {
				return found
			}
		}
	}
}

// mentions reports whether a body has a word, given in lower case, in any case.
func mentions(body []byte, word string) bool {
	if word == "" {
		return false
	}
	for _, c := range [...]byte{word[0], upper(word[0])} {
		for rest := body; ; {
			i := bytes.IndexByte(rest, c)
			if i < 0 || i+len(word) > len(rest) {
				break
			}
			if bytes.EqualFold(rest[i:i+len(word)], []byte(word)) {
				return true
			}
			rest = rest[i+1:]
		}
	}
	return false
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}
