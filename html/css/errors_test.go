package css_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/css"
)

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		selector string
		offset   int
		words    string
	}{
		{"", 0, "expected a selector"},
		{"  ", 2, "expected a selector"},
		{"a,", 2, "expected a selector"},
		{"a,,b", 2, "expected a selector"},
		{",a", 0, "expected a selector"},
		{"a >", 3, "expected a selector"},
		{"> a", 0, "expected a selector"},
		{"a > > b", 4, "expected a selector"},
		{"a)", 1, "expected ,"},
		{"a & b", 2, "expected a selector"},
		{"a*", 1, "expected a combinator"},
		{".a b*", 4, "expected a combinator"},
		{"a b/**/*", 7, "expected a combinator"},
		{"a /* b", 2, "comment is not closed"},
		{"#", 1, "expected an id"},
		{".", 1, "expected a class"},
		{".5cm", 1, "expected a class"},
		{"é.-5", 3, "expected a class"},
		{"a[", 2, "expected the name of an attribute"},
		{"a[b", 3, "expected ], ="},
		{"a[b ", 4, "expected ], ="},
		{"a[b c]", 4, "expected ], ="},
		{"a[b=]", 4, "expected a value"},
		{"a[b=c", 5, "expected ]"},
		{"a[b=c x]", 6, "expected ], i or s"},
		{"a[b=c i", 7, "expected ]"},
		{"a[b='c]", 4, "string is not closed"},
		{"a[b='c\nd']", 4, "string is not closed on its line"},
		{"a[b%=c]", 3, "expected ], ="},
		{"a[*=c]", 2, "expected the name of an attribute"},
		{"a[b#=(]", 5, "regular expression is not closed"},
		{"a[b#=*]", 5, "missing argument"},
		{":", 1, "expected the name of a pseudo-class"},
		{":::before", 2, "expected the name of a pseudo-class"},
		{"a:nosuch", 1, "unknown pseudo-class :nosuch"},
		{"a:nosuch(b)", 1, "unknown pseudo-class :nosuch()"},
		{"a:root(b)", 1, "unknown pseudo-class :root()"},
		{"a:not", 5, "expected ( after :not"},
		{"a:not()", 6, "expected a selector"},
		{"a:not(b", 7, "expected )"},
		{"a:is(b,)", 7, "expected a selector"},
		{":not(::text)", 5, "cannot stand inside parentheses"},
		{":has(>)", 6, "expected a selector"},
		{":not(> a)", 5, "expected a selector"},
		{"a:nth-child()", 12, "expected a number"},
		{"a:nth-child(2n+)", 15, "expected a number"},
		{"a:nth-child(2 from b)", 14, "expected of or )"},
		{"a:nth-of-type(2 of b)", 16, "expected )"},
		{"a:nth-child(x)", 12, "expected a number"},
		{":lang()", 6, "expected a language"},
		{":contains(5)", 10, "expected a string"},
		{":contains('a'", 13, "expected )"},
		{":matches(()", 9, "not closed"},
		{":matches(*)", 9, "missing argument"},
		{"a::nosuch", 1, "unknown pseudo-element ::nosuch"},
		{"a::text b", 8, "must be the end"},
		{"a::text::text", 7, "must be the end"},
		{"a::before::text", 9, "must be the end"},
		{"a::attr(href) b", 14, "must be the end"},
		{"a::text()", 1, "takes no argument"},
		{"a::attr", 1, "wants the name of an attribute"},
		{"a::attr(", 8, "expected the name of an attribute"},
		{"a::attr()", 8, "expected the name of an attribute"},
		{"a::attr(b c)", 10, "expected )"},
		{"ns|a", 0, "prefix ns is not declared"},
		{":not(ns|a)", 5, "prefix ns is not declared"},
		{"[ns|a]", 1, "prefix ns is not declared"},
		{"*|", 2, "expected the name of an element"},
		{"a||b", 1, "expected a combinator"},
		{strings.Repeat(":not(", 100) + "a" + strings.Repeat(")", 100), 325, "nested too deeply"},
		{strings.Repeat("a ", 1<<19) + "a", 1 << 20, "too long"},
	} {
		_, err := css.Compile(test.selector)
		var syntax *css.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: error %v", test.selector, err)
			continue
		}
		if syntax.Query != test.selector || syntax.Offset != test.offset || !strings.Contains(syntax.Message, test.words) {
			t.Errorf("%s: at byte %d: %s; want at byte %d: %s", test.selector, syntax.Offset, syntax.Message, test.offset, test.words)
		}
		if !strings.Contains(err.Error(), syntax.Message) {
			t.Errorf("%s: message %q", test.selector, err)
		}
	}
}

func TestMustCompile(t *testing.T) {
	defer func() {
		if _, ok := recover().(*css.SyntaxError); !ok {
			t.Error("no panic with a *SyntaxError")
		}
	}()
	css.MustCompile("a[")
}
