package links

import (
	"bytes"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// valueKind says how the value of an attribute names URLs.
type valueKind uint8

const (
	noURL      valueKind = iota
	oneURL               // one, with white space around
	urlWords             // any number, separated by white space
	urlList              // any number, separated by commas or white space
	candidates           // a srcset
	cssText              // a style attribute
	document             // a srcdoc
	metaValue            // the content of a meta element
	paramValue           // the value of a param element
)

// kindOf says how an attribute that was asked for by name is read.
func kindOf(attr []byte) valueKind {
	switch string(attr) {
	case "ping":
		return urlWords
	case "archive":
		return urlList
	case "style":
		return cssText
	case "srcdoc":
		return document
	}
	if bytes.HasSuffix(attr, []byte("srcset")) {
		return candidates
	}
	return oneURL
}

// knownKind says how an attribute names URLs in an element: the list of attributes in the HTML
// standard, those of HTML 4.01 and of browsers of old, links in SVG and MathML, and the attributes that
// scripts of pages load pictures from: data-src and the like, and all that end in srcset.
func knownKind(tag, attr []byte, inForeign bool) valueKind {
	known := false
	switch string(attr) {
	case "href":
		known = inForeign || isOneOf(tag, "a", "area", "link", "base")
	case "xlink:href":
		known = inForeign
	case "src":
		known = isOneOf(tag, "img", "script", "iframe", "frame", "embed", "audio", "video", "source",
			"track", "input", "bgsound", "portal", "xml", "image")
	case "data", "codebase", "archive":
		known = isOneOf(tag, "object", "applet")
	case "poster":
		known = isOneOf(tag, "video")
	case "action":
		known = isOneOf(tag, "form", "isindex")
	case "formaction":
		known = isOneOf(tag, "button", "input")
	case "cite":
		known = isOneOf(tag, "blockquote", "q", "ins", "del")
	case "background":
		known = isOneOf(tag, "body", "table", "thead", "tbody", "tfoot", "tr", "td", "th")
	case "longdesc":
		known = isOneOf(tag, "img", "iframe", "frame")
	case "lowsrc", "dynsrc":
		known = isOneOf(tag, "img", "input")
	case "ping":
		known = isOneOf(tag, "a", "area")
	case "profile":
		known = isOneOf(tag, "head")
	case "manifest":
		known = isOneOf(tag, "html")
	case "icon":
		known = isOneOf(tag, "command", "menuitem")
	case "implementation":
		known = isOneOf(tag, "import")
	case "pluginspage":
		known = isOneOf(tag, "embed")
	case "srcdoc":
		known = isOneOf(tag, "iframe")
	case "style":
		known = true
	case "content":
		if isOneOf(tag, "meta") {
			return metaValue
		}
	case "value":
		if isOneOf(tag, "param") {
			return paramValue
		}
	default:
		known = bytes.HasSuffix(attr, []byte("srcset")) || isLazyName(string(attr)) &&
			isOneOf(tag, "img", "source", "iframe", "embed", "video", "audio")
	}
	if !known {
		return noURL
	}
	return kindOf(attr)
}

func isOneOf(name []byte, list ...string) bool {
	for _, s := range list {
		if string(name) == s {
			return true
		}
	}
	return false
}

// attribute is an attribute of the start tag that was just read.
type attribute struct{ name, value []byte }

// find returns the value of an attribute, nil if it is not there.
func (p *page) find(name string) []byte {
	for _, a := range p.list {
		if string(a.name) == name {
			return a.value
		}
	}
	return nil
}

// readAttributes sets list to the attributes of the start tag that was just read.
func (p *page) readAttributes() {
	p.list = p.list[:0]
	tag := p.body[p.tags.Pos():p.tags.End()]
	if p.most > 0 && len(tag) > p.most {
		count := 0
		for _, c := range tag {
			if isSpace(c) || c == '/' {
				count++
			}
		}
		p.limit(count, "attributes")
	}
	p.tokens(tag).Next()
	for name, value := range p.z.Attrs() {
		p.list = append(p.list, attribute{name, value})
	}
}

// tokens returns a tokenizer for a part of the page.
func (p *page) tokens(part []byte) *html.Tokenizer {
	if p.z == nil {
		p.z = html.NewTokenizer(part)
	} else {
		p.z.Reset(part)
	}
	return p.z
}

// anyElement looks for links in the start tag that was just read, as the options Everything, Tags and
// Attrs say. It returns false if yield wants no more.
func (p *page) anyElement() bool {
	tag := p.tags.Name()
	if !p.looksIn(tag) || p.tags.End()-p.tags.Pos() == len("<>")+len(tag) { // it has no attributes
		return true
	}
	p.readAttributes()
	return p.eachAttribute(tag, p.tags.tag, p.tags.Foreign())
}

// looksIn reports whether the options look for links in the elements with a name.
func (p *page) looksIn(tag []byte) bool {
	if p.inTags != nil {
		return p.inTags.has(tag)
	}
	return p.everything || isOneOf(tag, "a", "area")
}

// eachAttribute looks for links in the attributes in list, of an element with this name. It returns false if yield wants no more.
func (p *page) eachAttribute(tag []byte, atom html.Atom, inForeign bool) bool {
	at := place{tag: nameOf(atom, tag)}
	rel := p.find("rel")
	for _, a := range p.list {
		kind := knownKind(tag, a.name, inForeign)
		switch {
		case p.everything && p.inAttrs == nil:
		case p.inAttrs["*"] && kind != noURL:
		case p.inAttrs[string(a.name)], p.inAttrs == nil && string(a.name) == "href":
			if kind == noURL || kind == metaValue || kind == paramValue {
				kind = kindOf(a.name)
			}
		default:
			kind = noURL
		}
		if kind == noURL {
			continue
		}
		at.attr = nameOf(html.LookupAtom(string(a.name)), a.name)
		at.rel = nil
		if kind == oneURL { // a list would have it read again for each of its URLs
			at.rel = rel
		}
		at.text = atom == html.AtomA && (at.attr == "href" || at.attr == "xlink:href")
		if !p.attribute(kind, a.value, at) {
			return false
		}
	}
	return true
}

// nameOf returns a name as a string, without making one if it has an atom.
func nameOf(atom html.Atom, name []byte) string {
	if s := atom.String(); s != "" {
		return s
	}
	return string(name)
}

// attribute offers what the value of an attribute names.
func (p *page) attribute(kind valueKind, value []byte, at place) bool {
	offer := func(ref []byte) bool { return p.offer(ref, at) }
	switch kind {
	case oneURL:
		return p.offer(value, at)
	case urlWords, urlList:
		return eachWord(value, kind == urlList, offer)
	case candidates:
		return eachCandidate(value, offer)
	case cssText:
		return p.sheet(value, at)
	case document:
		return p.nest(value)
	case metaValue:
		return p.meta(value, offer)
	case paramValue:
		if isOneOf(bytes.ToLower(p.find("name")), "data", "filename", "href", "movie", "ref", "src", "url") {
			return p.offer(value, at)
		}
	}
	return true
}

// meta offers what the content of a meta element names.
func (p *page) meta(content []byte, offer func([]byte) bool) bool {
	switch strings.ToLower(string(p.find("http-equiv"))) {
	case "refresh":
		if _, ref, reload, ok := parseRefresh(string(content)); ok && !reload {
			return offer([]byte(ref))
		}
		return true
	case "content-security-policy", "content-security-policy-report-only":
		for directive := range bytes.SplitSeq(content, []byte(";")) {
			directive = bytes.TrimLeft(directive, asciiSpace)
			name := directive[:max(0, bytes.IndexAny(directive, asciiSpace))]
			if equalFold(name, "report-uri") && !eachWord(directive[len(name):], false, offer) {
				return false
			}
		}
		return true
	}
	for _, attr := range [...]string{"name", "property"} {
		if namesURL(strings.ToLower(string(p.find(attr)))) {
			return offer(content)
		}
	}
	return true
}

// namesURL reports whether a property of a page has a URL as its value (Open Graph, cards, tiles).
func namesURL(property string) bool {
	switch property {
	case "og:url", "twitter:url", "twitter:image", "twitter:image:src", "twitter:player", "twitter:player:stream",
		"thumbnail", "msapplication-config", "msapplication-tileimage":
		return true
	}
	if logo, ok := strings.CutPrefix(property, "msapplication-"); ok {
		return strings.HasSuffix(logo, "logo")
	}
	for _, media := range [...]string{"og:image", "og:video", "og:audio"} {
		if rest, ok := strings.CutPrefix(property, media); ok {
			return rest == "" || rest == ":url" || rest == ":secure_url"
		}
	}
	return false
}

// eachOfAll is each with the option Everything.
func (p *page) eachOfAll() bool {
	style, inStyle := place{tag: "style"}, false
	read := 0 // where the last tag ended
	for more := true; more; {
		before := p.tags.text
		more = p.next()
		text := p.body[read:p.tags.Pos()]
		switch {
		case inStyle && !p.sheet(text, style):
			return false
		case before == markup && len(p.restrictions) == 0 && !p.betweenTags(text, read == 0):
			return false
		}
		read = p.tags.End()
		inStyle = false
		if !more || p.tags.IsEnd() || !p.admits() {
			continue
		}
		if !p.anyElement() {
			return false
		}
		inStyle = p.tags.tag == html.AtomStyle && p.tags.text == silent &&
			(p.inTags == nil || p.inTags.has([]byte("style"))) && p.inAttrs == nil
	}
	return true
}

// betweenTags looks for links in the comments between two tags, and in the document type in front of
// all. It returns false if yield wants no more.
func (p *page) betweenTags(text []byte, first bool) bool {
	if !bytes.Contains(text, []byte("<!")) {
		return true
	}
	z := html.NewTokenizer(text)
	z.AllowCDATA(p.tags.Foreign())
	for {
		switch z.Next() {
		case html.EndToken:
			return true
		case html.CommentToken:
			if !p.nest(hidden(z.Text())) {
				return false
			}
		case html.DoctypeToken:
			if doctype, _ := z.Doctype(); first && !p.doctype(doctype) {
				return false
			}
		}
	}
}

// sheet offers the URLs of a style sheet.
func (p *page) sheet(css []byte, at place) bool {
	s := sheet{css: css}
	return s.eachURL(func(url []byte) bool { return p.offer(url, at) })
}

// hidden returns the markup in a conditional comment, which old browsers read: what stands between
// "[if …]>" and "<![endif]".
func hidden(comment []byte) []byte {
	if rest := bytes.TrimLeft(comment, asciiSpace); bytes.HasPrefix(rest, []byte("[if")) {
		_, markup, _ := bytes.Cut(rest, []byte("]>"))
		if end := bytes.LastIndex(markup, []byte("<![endif]")); end >= 0 {
			return markup[:end]
		}
	}
	return nil
}

// maxNested is how deep documents in attributes and comments may be nested.
const maxNested = 4

// nest looks for links in markup inside of the page.
func (p *page) nest(body []byte) bool {
	if len(body) == 0 || p.nested == maxNested {
		return true
	}
	inner := &page{config: p.config, body: body, nested: p.nested + 1, made: p.made}
	inner.restrictions = nil
	_, inner.base = documentBase(body, p.base, p.base.String())
	inner.tags = tagReader{Tags: html.NewTags(body)}
	inner.yield = func(r *Ref) bool {
		p.opens = false
		return p.yield(r)
	}
	more := inner.eachOfAll()
	p.made = inner.made
	return more
}

// doctype offers the system identifier of a document type that has no public one: those are names,
// which nobody is meant to fetch.
func (p *page) doctype(d html.Doctype) bool {
	if d.Public != "" || p.inTags != nil || p.inAttrs != nil {
		return true
	}
	return p.offer([]byte(d.System), place{attr: "doctype"})
}

// inHeader offers what the response's header names.
func (p *page) inHeader() bool {
	return eachHeader(p.header, func(field, ref, rel string) bool {
		return p.offer([]byte(ref), place{attr: field, rel: []byte(rel)})
	})
}
