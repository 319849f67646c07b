package selector

import (
	"bytes"
	"encoding/json"
	"fmt"
	stdhtml "html"
	"regexp"
	"slices"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/jsontext"
	"github.com/tegenaria/tegenaria/links"
)

// Re applies a regular expression to each result, as [Selection.Get] returns it, and returns the matches of all results in one
// list. As in Scrapy's parsel: if the expression has a group named extract, it returns the first match of that group in each
// result; if it has groups, all groups of all matches, empty ones too; otherwise the matches. Character references in the markup of
// elements are replaced, except &lt; and &amp;.
//
// It panics with a [*SyntaxError] if the expression is wrong. Compiled expressions are kept as
// queries are.
func (s *Selection) Re(expr string) []string {
	re := mustCompile(expr, patterns)
	if s.Len() == 0 {
		return nil
	}
	var found []string
	r := result{doc: s.doc}
	read := 0
	for i := range s.Len() {
		text := s.get(i, &r, read)
		found = re.find(found, text, true, &r, read)
		read += len(text)
		r.grow(read)
	}
	s.doc.queried(RegExp, expr, len(found) > 0)
	return found
}

// ReFirst returns the first string of [Selection.Re], or "".
func (s *Selection) ReFirst(expr string) string {
	re := mustCompile(expr, patterns)
	if s.Len() == 0 {
		return ""
	}
	r := result{doc: s.doc}
	read := 0
	for i := range s.Len() {
		text := s.get(i, &r, read)
		if found := re.find(nil, text, false, &r, read); len(found) > 0 {
			s.doc.queried(RegExp, expr, true)
			return found[0]
		}
		read += len(text)
		r.grow(read)
	}
	s.doc.queried(RegExp, expr, false)
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

// fewMatches is how many matches are looked for before their size is looked at.
const fewMatches = 1024

// find appends what the first match gives, or what all do. r has so many other bytes beside it.
func (p pattern) find(dst []string, text string, all bool, r *result, other int) []string {
	for _, m := range p.matches(text, all && p.extract < 0, r, other+len(text)+len(dst)*5*stringSize) {
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

// matches finds the first match, or all: as many as may be in a result, and if there are more, four times as many.
func (p pattern) matches(text string, all bool, r *result, other int) (found [][]string) {
	if !all {
		return p.re.FindAllStringSubmatch(text, 1)
	}
	// A match is a list of strings, which are copied into a list that grows.
	each := 5*stringSize + (p.re.NumSubexp()+1)*6*stringSize
	for n := fewMatches; ; n *= 4 {
		r.grow(other + n*each)
		if found = p.re.FindAllStringSubmatch(text, n); len(found) < n {
			return found
		}
	}
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

// JSON reads the text of each result, such as a script element, as JSON and selects values by a path in the syntax of the gjson
// module: "offers.0.price", "items.#.name". If the path leads to an array, its values are the results. Strings are returned without
// quotes, numbers and truth values as they are written, nested objects and arrays as JSON. A name that begins with "@" is a key, as
// in JSON-LD: "@graph.0.@type". Modifiers of gjson stand after a "|", as in "tags|@reverse"; "@this" is the whole value.
//
// Common mistakes of sites are repaired: control characters in strings are escaped; a byte order mark, comments, marks of HTML and
// CDATA, commas before a closing bracket, and commas and semicolons after the end are left out; of several objects or arrays in
// one text, each is read. What still is not JSON selects nothing, and neither do null, and JSON with more than 10,000 levels, or 500
// if it has to be repaired.
//
// A page that is JSON itself is no text of an element: read as HTML, "&amp;" and tags in its strings are lost. JSON of its body
// panics with a [*JSONPageError]; use Response.JSON or [Document.JSON].
func (s *Selection) JSON(path string) *Selection {
	if s.Len() == 0 {
		return nil
	}
	found := &Selection{doc: s.doc}
	r := result{doc: s.doc}
	total := 0
	add := func(_, v gjson.Result) bool {
		value := v.Raw
		switch v.Type {
		case gjson.Null:
			return true
		case gjson.String:
			value = v.Str
		}
		total += len(value) + 3*stringSize // of a list that grows
		r.grow(total)
		found.values = append(found.values, strings.Clone(value))
		return true
	}
	key := jsontext.Path(path)
	for i := range s.Len() {
		if s.isJSONPage(i) {
			panic(&JSONPageError{Path: path})
		}
		text := s.raw(i, &r, total)
		total += 2 * len(text) // also what a path puts together
		r.grow(total)
		values := []string{text}
		if !isValidJSON(text) {
			r.grow(total + repairSize(text))
			values = repaired(text)
		}
		for _, value := range values {
			if v := gjson.Get(value, key); v.IsArray() {
				v.ForEach(add)
			} else {
				add(v, v)
			}
		}
	}
	s.doc.queried(JSONPath, path, len(found.values) > 0)
	return found
}

// JSON selects values of a page of JSON, one that was parsed with the option [JSON], as [Selection.JSON] does. Of other pages it
// selects nothing.
func (d *Document) JSON(path string) *Selection {
	if d == nil || d.json == "" {
		return nil
	}
	return (&Selection{doc: d, values: []string{d.json}}).JSON(path)
}

// JSONPageError says that [Selection.JSON] was asked for the text of a page that is JSON and was read as HTML.
type JSONPageError struct {
	Path string // the path that was asked for
}

// Error implements error.
func (e *JSONPageError) Error() string {
	return fmt.Sprintf("selector: JSON path %q: the page is JSON and was read as HTML, which changes &amp; and tags in "+
		"strings; use Response.JSON, or Parse with the option JSON and Document.JSON", e.Path)
}

// isJSONPage reports whether a result stands for a whole page that is no HTML but JSON.
func (s *Selection) isJSONPage(i int) bool {
	if s.values != nil || s.refs[i].IsAttr() || s.doc.xml {
		return false
	}
	n := s.refs[i].Node()
	if n.Kind() == html.TextNode {
		n = n.Parent()
	}
	if n.Kind() != html.DocumentNode && !n.Is(html.AtomBody) && !n.Is(html.AtomHtml) {
		return false
	}
	source := bytes.TrimLeft(s.doc.tree.Source(), " \t\r\n")
	return len(source) > 0 && (source[0] == '{' || source[0] == '[')
}

// isValidJSON reports whether a text is JSON, of not more than 10,000 levels. gjson.Valid would overflow the stack on a page of brackets.
func isValidJSON(text string) bool {
	return json.Valid(unsafe.Slice(unsafe.StringData(text), len(text)))
}

// repaired returns the objects and arrays in a text that is not valid JSON, none if it cannot be repaired.
func repaired(text string) (values []string) {
	read, _, err := jsontext.Read(unsafe.Slice(unsafe.StringData(text), len(text)))
	if err != nil {
		return nil
	}
	for _, value := range read {
		if value[0] == '{' || value[0] == '[' {
			values = append(values, unsafe.String(unsafe.SliceData(value), len(value))) // nobody changes it
		}
	}
	return values
}

// repairSize returns how many bytes repaired may allocate.
func repairSize(text string) int {
	size := len(text)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '\\' {
			size += 5 // as an escape
		}
	}
	return 3 * size // in a buffer that grows
}

// raw returns the text of a result as it is in the page, without markup. r has so many other bytes.
func (s *Selection) raw(i int, r *result, other int) string {
	if s.values != nil || s.refs[i].IsAttr() {
		return s.get(i, r, other)
	}
	r.spendInside(s.refs[i].Node(), textSize)
	return s.refs[i].Node().Text()
}

// URL returns the first URL of [Selection.URLs], or "".
func (s *Selection) URL() (first string) {
	if s.Len() == 0 {
		return ""
	}
	r := result{doc: s.doc}
	for i := range s.Len() {
		if !s.eachURL(i, &r, 0, func(url string) bool { first = url; return false }) {
			break
		}
	}
	return first
}

// URLs returns the absolute URLs of the results, resolved as browsers do against the page's base element and URL. The URL of an
// element is the first of its attributes href, src, action, data, cite and poster; attributes, text nodes and computed values are
// URLs themselves, and an attribute whose name ends in srcset has one for each candidate. For a picture, frame or medium that a
// script loads later, src is what the script sets: see [links.Lazy]. Results that are empty or cannot be resolved are left out.
// Without the option [URL] or [Resolver] no result can be resolved. For links to follow see package links.
func (s *Selection) URLs() []string {
	if s.Len() == 0 {
		return nil
	}
	var urls []string
	r := result{doc: s.doc}
	total := 0
	for i := range s.Len() {
		s.eachURL(i, &r, total, func(url string) bool {
			urls = append(urls, url)
			total += len(url) + 3*stringSize // of a list that grows
			r.grow(total)
			return true
		})
	}
	return urls
}

// urlAttrs are the attributes that hold a URL.
var urlAttrs = []html.Atom{html.AtomHref, html.AtomSrc, html.AtomAction, html.AtomData, html.AtomCite, html.AtomPoster}

// eachURL calls yield for each URL of a result, until it returns false; so does eachURL then.
func (s *Selection) eachURL(i int, r *result, other int, yield func(url string) bool) bool {
	ref := ""
	switch {
	case s.values != nil || !s.refs[i].Node().IsElement():
		ref = s.get(i, r, other)
	case s.refs[i].IsAttr():
		a := s.refs[i].Attr()
		if isSrcset(a.Name()) {
			for ref := range links.Candidates(s.get(i, r, other)) {
				if url := s.resolve(ref); url != "" && !yield(url) {
					return false
				}
			}
			return true
		}
		if a.Atom() == html.AtomSrc {
			ref = links.Lazy(s.refs[i].Node())
		}
		if ref == "" {
			ref = s.get(i, r, other)
		}
	default:
		n := s.refs[i].Node()
		if ref = links.Lazy(n); ref != "" {
			break
		}
		at := slices.IndexFunc(urlAttrs, func(a html.Atom) bool { return !n.FindAttr(a).IsZero() })
		if at < 0 {
			return true
		}
		ref = n.FindAttr(urlAttrs[at]).Value()
	}
	url := s.resolve(ref)
	return url == "" || yield(url)
}

// isSrcset reports whether an attribute is a list of candidates.
func isSrcset(name string) bool { return strings.HasSuffix(strings.ToLower(name), "srcset") }

// resolve returns the absolute form of a reference, "" if there is none.
func (s *Selection) resolve(ref string) string {
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
