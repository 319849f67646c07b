package selector

import (
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/links"
)

// What a rule finds are places on a stack, and their texts stand in one buffer. So a field costs the memory of its value alone.

// find puts what a rule finds on the stack: the results of its query, or what its path selects in them. If one is
// enough, it may stop after the first. The places are those from one number to another.
func (x *extraction) find(r *rule, at place, one bool) (from, to int) {
	from, to = x.query(r, at, one && r.path == "")
	if r.path == "" {
		return from, to
	}
	for i := from; i < to; i++ {
		x.pathIn(r, x.places[i])
	}
	return to, len(x.places)
}

// query puts the results of a rule's query on the stack, the place itself if it has none.
func (x *extraction) query(r *rule, at place, one bool) (from, to int) {
	from = len(x.places)
	switch {
	case at.kind == 0:
	case r.query == nil:
		x.places = append(x.places, at)
	case at.kind != isNode:
	case r.query.css != nil:
		x.css(r.query, at.ref, one)
	default:
		x.xpath(r.query, at.ref)
	}
	return from, len(x.places)
}

func (x *extraction) css(q *Query, at html.Ref, one bool) {
	x.spend(at)
	before := len(x.places)
	switch {
	case at.IsAttr():
	case one:
		// The text and an attribute of the same element are often two fields.
		if x.last.query != q || x.last.at != at {
			r, _ := q.css.First(at.Node())
			x.last = lastQuery{q, at, r}
		}
		if !x.last.found.IsZero() {
			x.places = append(x.places, place{kind: isNode, ref: x.last.found})
		}
	default:
		x.refs = q.css.Append(x.refs[:0], at.Node())
		x.keep(len(x.refs) * int(unsafe.Sizeof(place{})))
		for _, r := range x.refs {
			x.places = append(x.places, place{kind: isNode, ref: r})
		}
	}
	if x.doc.watcher != nil {
		x.doc.queried(CSS, q.text, len(x.places) > before)
	}
}

// lastQuery is a selector with its first result in a node, which may be nothing.
type lastQuery struct {
	query     *Query
	at, found html.Ref
}

func (x *extraction) xpath(q *Query, at html.Ref) {
	x.spend(at)
	before := len(x.places)
	v, err := q.xpath.EvaluateIn(&x.memory.budget, at)
	if err != nil {
		panic(err)
	}
	if v.Kind() == xpath.NodeSet {
		x.keep(len(v.Nodes()) * int(unsafe.Sizeof(place{})))
		for _, r := range v.Nodes() {
			x.places = append(x.places, place{kind: isNode, ref: r})
		}
	} else if text := v.String(); text != "" && !(v.Kind() == xpath.Number && text == "NaN") {
		x.places = append(x.places, place{kind: isValue, text: text})
	}
	if x.doc.watcher != nil {
		x.doc.queried(XPath, q.text, len(x.places) > before)
	}
}

// pathIn puts on the stack what a path selects in a place.
func (x *extraction) pathIn(r *rule, at place) {
	before := len(x.places)
	add := func(_, v gjson.Result) bool {
		if v.Type != gjson.Null {
			x.keep(len(v.Raw))
			x.places = append(x.places, jsonPlace(v))
		}
		return true
	}
	sources := x.sources(r, at)
	if len(sources) == 0 {
		return
	}
	for _, text := range sources {
		if v := gjson.Get(text, r.jsonPath); v.IsArray() {
			v.ForEach(add)
		} else {
			add(v, v)
		}
	}
	if x.doc != nil && x.doc.watcher != nil {
		x.doc.queried(JSONPath, r.path, len(x.places) > before)
	}
}

func jsonPlace(v gjson.Result) place {
	switch v.Type {
	case gjson.String:
		return place{kind: isJSON, text: v.Str}
	case gjson.Number, gjson.True, gjson.False:
		return place{kind: isPlain, text: v.Raw}
	}
	return place{kind: isJSON, text: v.Raw}
}

func gjsonObject(text string) bool {
	return isValidJSON(text) && gjson.Parse(text).IsObject()
}

// sources returns the JSON texts of a place in which a path is looked for: one, unless several were repaired. The fields of a struct
// have the same ones.
func (x *extraction) sources(r *rule, at place) []string {
	c := &x.check
	if at.kind != isNode {
		if at.text != c.at.text || c.at.kind != isJSON { // nearly always the same memory
			x.read(place{kind: isJSON, text: at.text}, at.text)
		}
		return c.texts
	}
	whole := r.attr == "" && !r.markup
	if whole && c.at.kind == isNode && c.at.ref == at.ref {
		return c.texts
	}
	s := Selection{doc: x.doc, refs: []html.Ref{at.ref}}
	text := ""
	switch {
	case r.attr != "":
		text = attribute(at.ref, r.attr).Value()
	case r.markup:
		x.spend(at.ref)
		text = s.get(0, &x.memory, x.total)
	default:
		text = s.raw(0, &x.memory, x.total)
	}
	x.keep(2 * len(text))
	if !whole {
		at = place{} // another field may want the text of the node
	}
	x.read(at, text)
	return c.texts
}

// checked are the JSON texts of a place, none if it has no JSON.
type checked struct {
	at    place
	texts []string
}

// read reads the JSON in the text of a place into x.check.
func (x *extraction) read(at place, text string) {
	x.check.at, x.check.texts = at, append(x.check.texts[:0], text)
	if !isValidJSON(text) {
		if x.doc != nil {
			x.memory.grow(x.total + repairSize(text))
		}
		x.check.texts = append(x.check.texts[:0], repaired(text)...)
		for _, value := range x.check.texts {
			x.keep(len(value))
		}
	}
}

// text returns the text that a rule makes of a place, without its conversion. It is valid until the next one. It is not
// ok if there is none.
func (x *extraction) text(r *rule, at place) (text string, plain, ok bool) {
	text = x.whole(r, at)
	if r.re.re != nil {
		x.spendMatch(at, text)
		b := unsafe.Slice(unsafe.StringData(text), len(text))
		m := r.re.re.FindSubmatchIndex(b)
		text = r.re.group(text, m)
		if x.doc != nil && x.doc.watcher != nil {
			x.doc.queried(RegExp, r.reText, m != nil)
		}
	} else if r.isList(at) {
		list := text
		text = ""
		for url := range links.Candidates(list) {
			text = url
			break
		}
	}
	return text, at.kind == isPlain && r.re.re == nil, !isBlank(text)
}

// isList reports whether a place has the candidates of a picture, and the rule wants URLs.
func (r *rule) isList(at place) bool {
	if !r.urls || r.re.re != nil || at.kind != isNode || r.markup {
		return false
	}
	return isSrcset(r.attr) || at.ref.IsAttr() && isSrcset(at.ref.Attr().Name())
}

// lazy returns what a script will put in the attribute src that a rule wants the URL of, see [links.Lazy].
func (r *rule) lazy(at place) string {
	if r.urls && (strings.EqualFold(r.attr, "src") || at.ref.IsAttr() && at.ref.Attr().Atom() == html.AtomSrc) {
		return links.Lazy(at.ref.Node())
	}
	return ""
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// group returns the part of a text that a match is about: the group extract, or else the first group, or else the match.
func (p pattern) group(text string, match []int) string {
	g := p.extract
	switch {
	case match == nil:
		return ""
	case g < 0:
		g = min(1, p.re.NumSubexp())
	}
	if match[2*g] < 0 {
		return ""
	}
	return text[match[2*g]:match[2*g+1]]
}

// texts calls use for each text that a rule makes of a place: for all matches of its expression, and split. use returns
// whether it wants more, and whether it has failed.
func (x *extraction) texts(r *rule, at place, use func(text string, plain bool) (more, failed bool)) (failed bool) {
	if r.isList(at) {
		for url := range links.Candidates(x.whole(r, at)) {
			more, failed := use(url, false)
			if !more || failed {
				return failed
			}
		}
		return false
	}
	if r.re.re == nil {
		text, plain, ok := x.text(r, at)
		if !ok {
			return false
		}
		_, failed = r.parts(text, plain, use)
		return failed
	}
	text := x.whole(r, at)
	x.spendMatch(at, text)
	matches := x.matches(r.re, text)
	for _, m := range matches {
		part := r.re.group(text, m)
		if isBlank(part) {
			continue
		}
		more := false
		if more, failed = r.parts(part, false, use); !more || failed {
			break
		}
	}
	if x.doc != nil && x.doc.watcher != nil {
		x.doc.queried(RegExp, r.reText, len(matches) > 0)
	}
	return failed
}

// spendMatch counts the steps of looking for a match in the text of a place.
func (x *extraction) spendMatch(at place, text string) {
	if at.kind == isNode {
		x.memory.spend(len(text) / matchPerStep)
	}
}

// matches returns all matches of an expression. As they become many, their size is looked at, as in pattern.matches.
func (x *extraction) matches(p pattern, text string) (found [][]int) {
	b := unsafe.Slice(unsafe.StringData(text), len(text))
	each := 3*stringSize + (p.re.NumSubexp()+1)*stringSize
	for n := fewMatches; ; n *= 4 {
		if n > fewMatches && x.doc != nil {
			x.memory.grow(x.total + n*each)
		}
		if found = p.re.FindAllSubmatchIndex(b, n); len(found) < n {
			return found
		}
	}
}

// parts calls use for each part of a text that is split, or for the text.
func (r *rule) parts(text string, plain bool, use func(text string, plain bool) (more, failed bool)) (more, failed bool) {
	if r.split == "" {
		return use(text, plain)
	}
	more = true
	for part := range strings.SplitSeq(text, r.split) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if more, failed = use(part, false); !more || failed {
			return more, failed
		}
	}
	return more, false
}

// whole returns the text of a place before an expression looks at it.
func (x *extraction) whole(r *rule, at place) string {
	b := x.buf[:0]
	switch {
	case at.kind == 0:
		return ""
	case at.kind != isNode && r.path == "":
		b = appendCollapsed(b, at.text)
	case at.kind != isNode: // as it is in the JSON
		return at.text
	case r.path != "": // cannot be: paths make JSON of it
		return ""
	case r.lazy(at) != "":
		b = append(b, r.lazy(at)...)
	case r.attr != "":
		b = attribute(at.ref, r.attr).AppendTo(b)
	case r.markup && !at.ref.IsAttr():
		x.memory.spendInside(at.ref.Node(), html.Node.HTMLSize)
		b = at.ref.Node().AppendHTML(b)
	case at.ref.IsAttr():
		b = at.ref.Attr().AppendTo(b)
	default:
		x.memory.spendInside(at.ref.Node(), textSize)
		b = at.ref.Node().AppendCollapsed(b)
	}
	x.buf = b
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// appendCollapsed appends a text with its white space collapsed.
func appendCollapsed(b []byte, text string) []byte {
	for word := range strings.FieldsSeq(text) {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, word...)
	}
	return b
}
