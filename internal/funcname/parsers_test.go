package funcname_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/internal/funcname"
)

func double(n int) int { return 2 * n }
func half(n int) int   { return n / 2 }

// A parser is found by its name and its name by the parser; what was given no name is unknown.
func TestParsers(t *testing.T) {
	s := &byPointer{}
	var p funcname.Parsers[parser, spider]
	if name, ok := p.Name(double); ok {
		t.Errorf("nothing was named, and it is %q", name)
	}
	if _, ok := p.Lookup(""); ok {
		t.Error("there is an own parser before it was set")
	}
	for name, f := range map[string]parser{"double": double, "page": s.Page} {
		if err := p.Add(name, f); err != nil {
			t.Fatal(err)
		}
	}
	p.SetOwn(s.Parse, s, "Parse")
	for _, tt := range []struct {
		parser parser
		name   string
		ok     bool
	}{
		{nil, "", true}, {double, "double", true}, {half, "", false}, {s.Page, "page", true}, {s.Parse, "", true},
		{(&byPointer{}).Parse, "", false}, {(&byPointer{}).Page, "", false},
	} {
		if name, ok := p.Name(tt.parser); name != tt.name || ok != tt.ok {
			t.Errorf("%q, %v; want %q, %v", name, ok, tt.name, tt.ok)
		}
	}
	for _, name := range []string{"", "double", "page"} {
		if f, ok := p.Lookup(name); !ok || f == nil {
			t.Errorf("no parser %q", name)
		}
	}
	if _, ok := p.Lookup("half"); ok {
		t.Error("a parser that nobody named is found")
	}
}

// What cannot be named is refused with an error that says why, and what was there stays.
func TestParsersMistakes(t *testing.T) {
	s := &byPointer{}
	for _, tt := range []struct {
		name, want string
		parser     parser
	}{
		{"x", `parser "x" is nil`, nil},
		{"", "a parser has no name; the empty name is the spider's Parser", half},
		{"double", `two parsers have the name "double"`, half},
		{"again", `parsers "double" and "again" are the same func and cannot be told apart; register it once`, double},
		{"page2", `parsers "page" and "page2" are the same method and cannot be told apart; register it once, or wrap one in a func`, s.Page},
	} {
		var p funcname.Parsers[parser, spider]
		if p.Add("double", double) != nil || p.Add("page", s.Page) != nil {
			t.Fatal("two parsers that differ are refused")
		}
		if err := p.Add(tt.name, tt.parser); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v", tt.name, err)
		}
		if f, ok := p.Lookup("double"); !ok || f(4) != 8 {
			t.Errorf("%q: what was there is gone", tt.name)
		}
	}
}
