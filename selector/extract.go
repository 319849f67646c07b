package selector

import (
	"encoding/json"
	stdhtml "html"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tegenaria/tegenaria/html"
)

// Re searches each result, as [Selection.Get] gives it, with a regular expression and returns what it
// matches there, all results one after the other. As in Scrapy's parsel: if the expression has a group
// named extract, it returns the first match of that group in each result; if it has groups, all
// groups of all matches, empty ones too; otherwise the matches. Character references, which the
// markup of elements is written with, are replaced but for &lt; and &amp;.
//
// It panics with a [*SyntaxError] if the expression is wrong. Compiled expressions are kept as
// queries are.
func (s *Selection) Re(expr string) []string {
	re := mustCompile(expr, patterns)
	var found []string
	read := 0
	for i := range s.Len() {
		text := s.get(i)
		found = re.find(found, text, -1)
		read += len(text)
		s.bound(read)
	}
	return found
}

// ReFirst returns the first string of [Selection.Re], or "".
func (s *Selection) ReFirst(expr string) string {
	re := mustCompile(expr, patterns)
	read := 0
	for i := range s.Len() {
		text := s.get(i)
		if found := re.find(nil, text, 1); len(found) > 0 {
			return found[0]
		}
		read += len(text)
		s.bound(read)
	}
	return ""
}

// pattern is a compiled regular expression.
type pattern struct {
	re      *regexp.Regexp
	extract int // the number of the group with that name, or -1
}

func compilePattern(expr string) (pattern, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return pattern{}, err
	}
	return pattern{re, re.SubexpIndex("extract")}, nil
}

// find appends what the first n matches give, all for n < 0.
func (p pattern) find(dst []string, text string, n int) []string {
	if p.extract >= 0 {
		n = 1
	}
	for _, m := range p.re.FindAllStringSubmatch(text, n) {
		groups := m[min(1, len(m)-1):]
		if p.extract >= 0 {
			groups = m[p.extract : p.extract+1]
		}
		for _, g := range groups {
			dst = append(dst, strings.Clone(replaceReferences(g))) // or it would hold the whole text
		}
	}
	return dst
}

var reference = regexp.MustCompile(`&(?:#[xX]?)?[0-9A-Za-z]+;`)

// replaceReferences replaces character references, but for those without which markup would not be
// markup any more.
func replaceReferences(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return reference.ReplaceAllStringFunc(s, func(ref string) string {
		if ref == "&lt;" || ref == "&amp;" {
			return ref
		}
		return stdhtml.UnescapeString(ref)
	})
}

// JSON reads the text of each result as JSON, such as that of a script element, and selects by a path
// in the syntax of the gjson module: "offers.0.price", "items.#.name". What an array selects are its
// values. Strings are plain, numbers and truth values are as they are written, objects and arrays
// inside are JSON. Text that is no JSON, as are more than 10,000 levels, and null select nothing.
func (s *Selection) JSON(path string) *Selection {
	if s.Len() == 0 {
		return nil
	}
	found := &Selection{doc: s.doc}
	read := 0
	for i := range s.Len() {
		text := s.raw(i)
		read += len(text)
		s.bound(read)
		if !json.Valid([]byte(text)) { // gjson.Valid overflows the stack on a page of brackets
			continue
		}
		result := gjson.Get(text, path)
		values := []gjson.Result{result}
		if result.IsArray() {
			values = result.Array()
		}
		for _, v := range values {
			switch v.Type {
			case gjson.Null:
			case gjson.String:
				found.values = append(found.values, strings.Clone(v.Str))
			default:
				found.values = append(found.values, strings.Clone(v.Raw))
			}
		}
	}
	return found
}

// raw returns the text of a result as it is in the page, without markup.
func (s *Selection) raw(i int) string {
	if s.values != nil || s.refs[i].IsAttr() {
		return s.get(i)
	}
	return s.refs[i].Node().Text()
}

// URL returns the first URL of [Selection.URLs], or "".
func (s *Selection) URL() string {
	for i := range s.Len() {
		if url := s.url(i); url != "" {
			return url
		}
	}
	return ""
}

// URLs returns the absolute URLs of the results, resolved as browsers do against the page's base
// element and URL: of elements what their href, src, action, data, cite or poster says, the first of
// these that they have; of attributes, text nodes and computed values what they are themselves.
// Results that are empty or cannot be resolved are left out, which are all if [Parse] was told
// neither [URL] nor [Resolver]. For links to follow see package links.
func (s *Selection) URLs() []string {
	var urls []string
	total := 0
	for i := range s.Len() {
		if url := s.url(i); url != "" {
			urls = append(urls, url)
			total += len(url)
			s.bound(total)
		}
	}
	return urls
}

// urlAttrs are the attributes that hold a URL.
var urlAttrs = []html.Atom{html.AtomHref, html.AtomSrc, html.AtomAction, html.AtomData, html.AtomCite, html.AtomPoster}

func (s *Selection) url(i int) string {
	ref := ""
	if s.values == nil && s.refs[i].Node().IsElement() && !s.refs[i].IsAttr() {
		n := s.refs[i].Node()
		at := slices.IndexFunc(urlAttrs, func(a html.Atom) bool { return !n.FindAttr(a).IsZero() })
		if at < 0 {
			return ""
		}
		ref = n.FindAttr(urlAttrs[at]).Value()
	} else {
		ref = s.get(i)
	}
	resolve := s.doc.resolve
	if resolve == nil && s.doc.host != nil {
		resolve = s.doc.host.Resolve
	}
	if resolve == nil || strings.TrimSpace(ref) == "" {
		return ""
	}
	url, err := resolve(ref)
	if err != nil {
		return ""
	}
	return url
}
