package html

import (
	"iter"
	"slices"
)

// TokenKind says what a token is.
type TokenKind uint8

// The kinds of tokens.
const (
	EndToken      TokenKind = iota // the end of the source
	TextToken                      // text
	StartTagToken                  // <name …>
	EndTagToken                    // </name>
	CommentToken                   // <!-- … --> and what counts as a comment
	DoctypeToken                   // <!DOCTYPE …>
)

var tokenNames = [...]string{"end", "text", "start tag", "end tag", "comment", "doctype"}

// String returns the name of a kind in lower case.
func (k TokenKind) String() string {
	if int(k) >= len(tokenNames) {
		return "unknown"
	}
	return tokenNames[k]
}

// State says how a tokenizer reads what comes next.
type State uint8

// The states of section 13.2.5 that a tokenizer can be between two tokens.
const (
	DataState      State = iota // markup
	RCDATAState                 // text with character references, up to an end tag
	RawTextState                // text up to an end tag
	ScriptState                 // a script up to its end tag
	PlaintextState              // text up to the end of the source
	CDATAState                  // text up to ]]>
)

// Tokenizer cuts a page in UTF-8 into tokens (section 13.2.5). What it returns are views of the page
// or of a buffer of its own; they must not be changed, and those of the buffer hold until the next
// call of Next. A tokenizer is not safe for concurrent use.
//
// Next changes to the state that the contents of elements like script, style and title ask for. What
// only a tree can know is left to the caller: that in SVG and MathML these elements hold markup
// ([Tokenizer.SetState]) and that <![CDATA[ is no comment there ([Tokenizer.AllowCDATA]).
type Tokenizer struct {
	s     scanner
	cdata bool // <![CDATA[ starts a section of text
	buf   []byte
	names names
	seen  atomSet
}

// NewTokenizer returns a tokenizer for a page.
func NewTokenizer(source []byte) *Tokenizer {
	t := &Tokenizer{}
	t.Reset(source)
	return t
}

// Reset starts over with another page and keeps the memory.
func (t *Tokenizer) Reset(source []byte) {
	t.s = scanner{src: source, attrs: t.s.attrs[:0]}
	t.names.reset()
	t.cdata = false
}

// SetState changes how the tokenizer reads on. The states RCDATAState, RawTextState and ScriptState
// end at the end tag with this name, which must be in lower case; the others need none.
func (t *Tokenizer) SetState(state State, endTag string) { t.s.state, t.s.until = state, endTag }

// AllowCDATA says whether <![CDATA[ starts a section of text, as in SVG and MathML, or a comment.
func (t *Tokenizer) AllowCDATA(allow bool) { t.cdata = allow }

// Next goes to the next token and returns its kind: EndToken at the end of the page and ever after.
// Text comes in pieces where markup that is not a token lies between them.
func (t *Tokenizer) Next() TokenKind {
	t.buf = t.buf[:0]
	for {
		t.s.next()
		switch t.s.kind {
		case StartTagToken:
			t.s.enter(t.Atom())
		case sectionToken:
			if t.cdata {
				t.s.section()
				continue
			}
			t.s.bogus(t.s.pos + 2)
		}
		return t.s.kind
	}
}

// enter sets the state for the contents of an element that has just started (sections 13.2.6.2 and
// 13.2.6.4.7).
func (s *scanner) enter(a Atom) {
	switch a {
	case AtomTitle, AtomTextarea:
		s.state = RCDATAState
	case AtomStyle, AtomXmp, AtomIframe, AtomNoembed, AtomNoframes:
		s.state = RawTextState
	case AtomScript:
		s.state = ScriptState
	case AtomPlaintext:
		s.state = PlaintextState
	default:
		return
	}
	s.until = a.String()
}

// Pos returns the position in the page at which the token starts.
func (t *Tokenizer) Pos() int { return t.s.from }

// Raw returns the token as it is written, up to the start of the next one.
func (t *Tokenizer) Raw() []byte { return t.s.src[t.s.from:t.s.pos] }

// Atom returns the number of a tag's name if that is the same in all documents, else 0.
func (t *Tokenizer) Atom() Atom { return t.s.atom() }

// atom returns the static atom of the name of the tag.
func (s *scanner) atom() Atom {
	if s.kind != StartTagToken && s.kind != EndTagToken {
		return 0
	}
	if n := s.end - s.start; n <= 8 && !s.odd {
		return wordAtom(loadWord(s.src, s.start, n))
	}
	raw := s.src[s.start:s.end]
	if s.odd {
		var buf [maxFolded]byte
		if len(raw) > len(buf)/len(replacement) {
			return 0
		}
		return staticAtom(appendName(buf[:0], raw))
	}
	return staticAtom(raw)
}

// maxFolded is room for any name of the generated table, had it all letters replaced.
const maxFolded = 96

// Name returns the name of a tag or document type in lower case, nil for other tokens.
func (t *Tokenizer) Name() []byte {
	switch t.s.kind {
	case StartTagToken, EndTagToken:
		return t.name(t.s.start, t.s.end, t.s.odd)
	case DoctypeToken:
		return t.name(int(t.s.doctype.name.start), int(t.s.doctype.name.end), true)
	}
	return nil
}

func (t *Tokenizer) name(start, end int, odd bool) []byte {
	raw := t.s.src[start:end:end]
	if !odd {
		return raw
	}
	at := len(t.buf)
	t.buf = appendName(t.buf, raw)
	return t.buf[at:len(t.buf):len(t.buf)]
}

// SelfClosing reports whether a tag ends in />. It means something in SVG and MathML only.
func (t *Tokenizer) SelfClosing() bool { return t.s.selfClose }

// Text returns what a text or comment holds, with character references replaced, nil for other
// tokens. NUL is left in text of the data and CDATA states, where the rules leave it to the tree, and
// replaced by U+FFFD elsewhere.
func (t *Tokenizer) Text() []byte {
	raw := t.s.src[t.s.start:t.s.end:t.s.end]
	references, nul := false, replaceNUL
	switch {
	case t.s.kind == CommentToken:
	case t.s.kind != TextToken:
		return nil
	default:
		references, nul = t.s.textRules()
	}
	if !needsDecoding(raw) {
		return raw
	}
	at := len(t.buf)
	t.buf = appendText(t.buf, raw, references, nul)
	return t.buf[at:len(t.buf):len(t.buf)]
}

// textRules returns how the text of the state it was found in is to be decoded.
func (s *scanner) textRules() (references bool, nul nulRule) {
	switch s.textState {
	case DataState:
		return true, keepNUL
	case RCDATAState:
		return true, replaceNUL
	case CDATAState:
		return false, keepNUL
	}
	return false, replaceNUL
}

// Attrs returns the names, in lower case, and values of the attributes of a start tag, with character
// references replaced. Of attributes with the same name only the first counts. The attributes of an
// end tag mean nothing and are not returned.
func (t *Tokenizer) Attrs() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if t.s.kind != StartTagToken {
			return
		}
		t.seen.begin()
		for _, a := range t.s.attrs {
			name := t.name(a.name, a.nameEnd, a.odd)
			if len(t.s.attrs) > 1 {
				if atom := t.names.intern(name, 0); atom != 0 && t.seen.add(atom) {
					continue
				}
			}
			value := t.s.src[a.value:a.valueEnd:a.valueEnd]
			if needsDecoding(value) {
				at := len(t.buf)
				t.buf = appendValue(t.buf, value)
				value = t.buf[at:len(t.buf):len(t.buf)]
			}
			if !yield(name, value) {
				return
			}
		}
	}
}

// Doctype returns what a document type declares, and whether it is so broken that the page is in
// quirks mode whatever it says.
func (t *Tokenizer) Doctype() (d Doctype, forceQuirks bool) {
	if t.s.kind != DoctypeToken {
		return Doctype{}, false
	}
	return t.s.doctype.decode(t.s.src), t.s.doctype.forceQuirks
}

// decode returns the texts of a document type in HTML.
func (d *rawDoctype) decode(source []byte) Doctype {
	text := func(s span) string {
		return string(appendText(nil, source[s.start:s.end], false, replaceNUL))
	}
	return Doctype{
		Name:   string(appendName(nil, source[d.name.start:d.name.end])),
		Public: text(d.public),
		System: text(d.system),

		HasPublic: d.public.start != 0,
		HasSystem: d.system.start != 0,
	}
}

// AppendText appends the text of a piece of markup to dst: what a parser would make text nodes of,
// without the contents of script and style elements. It sees tokens only, no tree.
func AppendText(dst, markup []byte) []byte {
	s := scanner{src: markup}
	for {
		s.next()
		switch s.kind {
		case EndToken:
			return dst
		case sectionToken:
			s.bogus(s.pos + 2)
		case StartTagToken:
			s.enter(s.atom())
			if s.state == ScriptState || s.state == RawTextState && s.until == "style" {
				// The text, if there is any, is the next token.
				s.pos = s.skipRaw()
			}
		case TextToken:
			raw := s.src[s.start:s.end]
			if !needsDecoding(raw) {
				dst = append(dst, raw...)
				continue
			}
			references, _ := s.textRules()
			dst = appendText(dst, raw, references, dropNUL)
		}
	}
}

// skipRaw returns the position of the end tag that ends the present state and leaves the state.
func (s *scanner) skipRaw() int {
	state := s.state
	s.state = DataState
	switch state {
	case ScriptState:
		return s.scriptEnd(s.pos)
	case PlaintextState:
		return len(s.src)
	}
	return s.rawEnd(s.pos)
}

// atomSet is a set of atoms that is emptied in no time.
type atomSet struct {
	stamps []uint32 // an atom is in the set if it has the present stamp
	stamp  uint32
}

// begin empties the set.
func (s *atomSet) begin() {
	s.stamp++
	if s.stamp == 0 {
		clear(s.stamps)
		s.stamp = 1
	}
}

// add adds an atom and reports whether it was there already.
func (s *atomSet) add(a Atom) (there bool) {
	if int(a) >= len(s.stamps) {
		return s.addLarge(a)
	}
	there = s.stamps[a] == s.stamp
	s.stamps[a] = s.stamp
	return there
}

// addLarge adds an atom for which there is no room yet. It is a func of its own for add to be inlined.
//
//go:noinline
func (s *atomSet) addLarge(a Atom) (there bool) {
	n := max(staticAtoms, 2*int(a)) - len(s.stamps)
	s.stamps = slices.Grow(s.stamps, n)
	s.stamps = append(s.stamps, make([]uint32, n)...)
	s.stamps[a] = s.stamp
	return false
}
