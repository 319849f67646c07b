package links

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// scanner reads the tags of a page. On top of the tokenizer it knows what the tokenizer cannot know
// without a tree: that noscript holds markup, and that in SVG and MathML elements such as title and
// style do, too.
type scanner struct {
	z         *html.Tokenizer
	tag       atom.Atom // of the last start or end tag; 0 if it is no name of HTML
	hasAttr   bool
	silent    bool // the next text is that of a script or style sheet
	templates int  // open template elements
	noscripts int  // open noscript elements

	// regions are the open changes between HTML and foreign content: foreign for svg and math,
	// island for an element in them that holds HTML again.
	regions []region
}

type region uint8

const (
	foreign region = iota + 1
	island
)

func newScanner(body []byte) scanner {
	return scanner{z: html.NewTokenizer(bytes.NewReader(body))}
}

// next advances to the next token; ErrorToken is the end of the page.
func (s *scanner) next() html.TokenType {
	kind := s.z.Next()
	switch kind {
	case html.StartTagToken, html.SelfClosingTagToken:
		var name []byte
		name, s.hasAttr = s.z.TagName()
		s.tag = atom.Lookup(name)
		s.start(kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		name, _ := s.z.TagName()
		s.tag = atom.Lookup(name)
		s.end()
	}
	return kind
}

// nextTag advances to the next start tag and reports whether there is one.
func (s *scanner) nextTag() bool {
	for {
		switch s.next() {
		case html.StartTagToken, html.SelfClosingTagToken:
			return true
		case html.ErrorToken:
			return false
		}
	}
}

// attributes returns two attributes of the start tag that was just read, nil for those that are not
// there. Of attributes with the same name the first counts. It can be called once for each tag.
func (s *scanner) attributes(name1, name2 string) (value1, value2 []byte) {
	for more := s.hasAttr; more; {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		switch {
		case string(key) == name1 && value1 == nil:
			value1 = notNil(value)
		case string(key) == name2 && value2 == nil:
			value2 = notNil(value)
		}
	}
	return value1, value2
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func (s *scanner) inForeign() bool {
	return len(s.regions) > 0 && s.regions[len(s.regions)-1] == foreign
}

// start notes a start tag. The rules for foreign content are those of the HTML standard, section
// 13.2.6.5, as far as the names of tags decide.
func (s *scanner) start(selfClosing bool) {
	s.silent = s.tag == atom.Script || s.tag == atom.Style
	if leavesForeign(s.tag) {
		s.leaveForeign()
	}
	if s.inForeign() {
		s.z.NextIsNotRawText()
		if selfClosing {
			s.silent = false
			return
		}
		if isIsland(s.tag) {
			s.regions = append(s.regions, island)
		}
	}
	switch s.tag {
	case atom.Svg, atom.Math:
		if !selfClosing {
			s.regions = append(s.regions, foreign)
		}
	case atom.Template:
		s.templates++
	case atom.Noscript:
		s.noscripts++
		s.z.NextIsNotRawText()
	}
}

func (s *scanner) end() {
	s.silent = false
	switch s.tag {
	case atom.P, atom.Br:
		s.leaveForeign()
	case atom.Svg, atom.Math:
		s.closeRegion(foreign)
	case atom.Template:
		s.templates = max(0, s.templates-1)
	case atom.Noscript:
		s.noscripts = max(0, s.noscripts-1)
	default:
		if len(s.regions) > 0 && isIsland(s.tag) {
			s.closeRegion(island)
		}
	}
}

// leaveForeign closes SVG and MathML up to the next island.
func (s *scanner) leaveForeign() {
	for s.inForeign() {
		s.regions = s.regions[:len(s.regions)-1]
	}
}

// closeRegion closes the innermost region of a kind and all in it.
func (s *scanner) closeRegion(r region) {
	for i := len(s.regions) - 1; i >= 0; i-- {
		if s.regions[i] == r {
			s.regions = s.regions[:i]
			return
		}
	}
}

// isIsland reports whether the element holds HTML inside SVG or MathML (integration points).
func isIsland(tag atom.Atom) bool {
	switch tag {
	case atom.Foreignobject, atom.Desc, atom.Title,
		atom.Mi, atom.Mo, atom.Mn, atom.Ms, atom.Mtext:
		return true
	}
	return false
}

// leavesForeign reports whether a start tag ends SVG and MathML that was never closed.
func leavesForeign(tag atom.Atom) bool {
	switch tag {
	case atom.B, atom.Big, atom.Blockquote, atom.Body, atom.Br, atom.Center, atom.Code, atom.Dd,
		atom.Div, atom.Dl, atom.Dt, atom.Em, atom.Embed, atom.H1, atom.H2, atom.H3, atom.H4,
		atom.H5, atom.H6, atom.Head, atom.Hr, atom.I, atom.Img, atom.Li, atom.Listing, atom.Menu,
		atom.Meta, atom.Nobr, atom.Ol, atom.P, atom.Pre, atom.Ruby, atom.S, atom.Small, atom.Span,
		atom.Strong, atom.Strike, atom.Sub, atom.Sup, atom.Table, atom.Tt, atom.U, atom.Ul,
		atom.Var:
		return true
	}
	return false
}
