package xpath

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token of XPath 1.0, section 3.7.
type tokenKind uint8

const (
	end      tokenKind = iota
	symbol             // ( ) [ ] . .. @ , :: and the operators, named ones too
	number             // a number
	literal            // a string in quotes
	name               // a name test: a, p:a, p:*, *
	call               // the name of a function
	nodeType           // comment, text, processing-instruction, node
	axisName
	variable
)

// token is one of them. text is the symbol, the value of a literal or the name.
type token struct {
	kind  tokenKind
	text  string
	value float64 // of a number
	pos   int     // in bytes from the start of the expression
}

// lex cuts an expression into tokens. The last one is end.
func lex(expr string) ([]token, error) {
	l := lexer{text: expr}
	for {
		l.skipSpace()
		t := token{kind: end, pos: l.pos}
		if l.pos < len(l.text) {
			var err error
			if t, err = l.next(); err != nil {
				return nil, err
			}
		}
		l.tokens = append(l.tokens, t)
		if t.kind == end {
			return l.tokens, nil
		}
	}
}

type lexer struct {
	text   string
	pos    int
	tokens []token
}

func (l *lexer) fail(pos int, message string) *SyntaxError {
	return &SyntaxError{Expr: l.text, Offset: pos, Message: message}
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.pos]) >= 0 {
		l.pos++
	}
}

func (l *lexer) rest() string { return l.text[l.pos:] }

// take makes a token of the next n bytes.
func (l *lexer) take(kind tokenKind, n int) token {
	t := token{kind: kind, text: l.text[l.pos : l.pos+n], pos: l.pos}
	l.pos += n
	return t
}

// symbols, longer ones first. The star stands for itself: whether it multiplies depends on what
// comes before it.
var symbols = []string{"::", "..", "//", "!=", "<=", ">=", "(", ")", "[", "]", "@", ",", ".", "/", "|", "+", "-", "=", "<", ">", "*"}

func (l *lexer) next() (token, error) {
	c := l.text[l.pos]
	switch {
	case c == '"' || c == '\'':
		n := strings.IndexByte(l.text[l.pos+1:], c)
		if n < 0 {
			return token{}, l.fail(l.pos, "string is not closed")
		}
		t := l.take(literal, n+2)
		t.text = t.text[1 : n+1]
		return t, nil
	case isDigit(c) || c == '.' && len(l.rest()) > 1 && isDigit(l.text[l.pos+1]):
		return l.number(), nil
	case c == '$':
		n := qnameLen(l.text[l.pos+1:])
		if n == 0 {
			return token{}, l.fail(l.pos, "expected the name of a variable")
		}
		return l.take(variable, n+1), nil
	}
	if n := ncnameLen(l.rest()); n > 0 {
		return l.named(n), nil
	}
	for _, s := range symbols {
		if strings.HasPrefix(l.rest(), s) {
			t := l.take(symbol, len(s))
			if s == "*" && !l.operatorMayFollow() {
				t.kind = name
			}
			return t, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(l.rest())
	return token{}, l.fail(l.pos, "unexpected character "+strconv.QuoteRune(r))
}

// operatorMayFollow implements the first rule of section 3.7: after these tokens, and at the start,
// a star is a name test and a name is no operator.
func (l *lexer) operatorMayFollow() bool {
	if len(l.tokens) == 0 {
		return false
	}
	before := l.tokens[len(l.tokens)-1]
	if before.kind != symbol {
		return before.kind != axisName
	}
	switch before.text {
	case ")", "]", ".", "..":
		return true
	}
	return false
}

// named makes a token of the name of n bytes that comes next and of what belongs to it.
func (l *lexer) named(n int) token {
	if l.operatorMayFollow() {
		switch l.rest()[:n] {
		case "and", "or", "mod", "div":
			return l.take(symbol, n)
		}
	}
	full := n
	if colon := l.rest()[n:]; len(colon) > 1 && colon[0] == ':' && colon[1] != ':' {
		if colon[1] == '*' {
			return l.take(name, n+2)
		}
		if local := ncnameLen(colon[1:]); local > 0 {
			full = n + 1 + local
		}
	}
	after := strings.TrimLeft(l.rest()[full:], " \t\r\n")
	switch {
	case strings.HasPrefix(after, "::"):
		return l.take(axisName, full)
	case strings.HasPrefix(after, "("):
		switch l.rest()[:full] {
		case "comment", "text", "processing-instruction", "node":
			return l.take(nodeType, full)
		}
		return l.take(call, full)
	}
	return l.take(name, full)
}

// number reads digits with a point and, which XPath 1.0 does not have but XPath 2.0, libxml2 and
// programmers do, an exponent.
func (l *lexer) number() token {
	n := digits(l.rest())
	if n < len(l.rest()) && l.rest()[n] == '.' {
		n++
		n += digits(l.rest()[n:])
	}
	if e := l.rest()[n:]; len(e) > 1 && (e[0] == 'e' || e[0] == 'E') {
		sign := 1
		if e[1] == '+' || e[1] == '-' {
			sign = 2
		}
		if d := digits(e[sign:]); d > 0 {
			n += sign + d
		}
	}
	t := l.take(number, n)
	t.value, _ = strconv.ParseFloat(t.text, 64) // too large is infinite, as it should be
	return t
}

func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// ncnameLen returns the length of the name without colon that s starts with (Namespaces in XML 1.0,
// production 4), or 0.
func ncnameLen(s string) int {
	for i, r := range s {
		switch {
		case r == '_' || unicode.IsLetter(r):
		case i > 0 && (r == '-' || r == '.' || r == 0xB7 || unicode.IsDigit(r) || unicode.Is(unicode.M, r)):
		default:
			return i
		}
	}
	return len(s)
}

// qnameLen returns the length of the name, with or without prefix, that s starts with, or 0.
func qnameLen(s string) int {
	n := ncnameLen(s)
	if n > 0 && n < len(s) && s[n] == ':' {
		if local := ncnameLen(s[n+1:]); local > 0 {
			return n + 1 + local
		}
	}
	return n
}
