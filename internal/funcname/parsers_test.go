package funcname_test

import (
	"math/bits"
	"testing"

	"github.com/tegenaria/tegenaria/internal/funcname"
)

// A func is found if it is the same value, and a method value by its method too; what was given no name is not found. It fails
// when a compiler names method values in another way.
func TestParsers(t *testing.T) {
	s, v, g, one, looped := &byPointer{}, byValue{new(int)}, &generic[*byPointer]{}, closure(1), loop()
	var p funcname.Parsers[parser]
	if name, ok := p.Name(top); ok {
		t.Errorf("nothing was named, and it is %q", name)
	}
	if _, ok := p.Lookup(""); ok {
		t.Error("there is an own parser before it was set")
	}
	for name, f := range map[string]parser{
		"top": top, "double": double, "one": one, "looped": looped[0], "library": bits.Len, "instance": instance[int],
		"page": s.Page, "inlined": s.Parse, "value": v.Parse, "generic": g.Parse,
	} {
		if err := p.Add(name, f); err != nil {
			t.Fatal(err)
		}
		if got, ok := p.Name(f); got != name || !ok {
			t.Errorf("%q itself is %q, %v", name, got, ok)
		}
		if f, ok := p.Lookup(name); !ok || f == nil {
			t.Errorf("no parser %q", name)
		}
	}
	if _, ok := p.Lookup("half"); ok {
		t.Error("a parser that nobody named is found")
	}
	if err := p.SetOwn(half, nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name           string
		f              parser
		want, byMethod string // "no" if it is not found
	}{
		{"nil", nil, "", "no"},
		{"own", half, "", "no"},
		{"top-level func", top, "top", "no"},
		{"func with another inlined", double, "double", "no"},
		{"the other one", inner, "no", "no"},
		{"func of another package", bits.Len, "library", "no"},
		{"another func of that package", bits.OnesCount, "no", "no"},
		{"closure that was kept", one, "one", "no"},
		{"closure made again", closure(1), "no", "no"},
		{"closure of a loop", looped[0], "looped", "no"},
		{"another closure of the loop", looped[1], "no", "no"},
		{"another instance of a generic func", instance[string], "no", "no"},
		{"method", s.Page, "no", "page"},
		{"promoted method", embedder{s}.Page, "no", "page"},
		{"method of another receiver", (&byPointer{}).Page, "no", "page"},
		{"inlined method", s.Parse, "no", "inlined"},
		{"method of a value", v.Parse, "no", "value"},
		{"method of an interface", reader(v).Parse, "no", "no"},
		{"method of a generic type", g.Parse, "no", "generic"},
		{"method of another instance", (&generic[*byValue]{}).Parse, "no", "no"},
		{"method in a generic func", g.page(), "no", "no"},
	} {
		got, ok := p.Name(tt.f)
		byMethod, okByMethod := p.NameOfMethod(tt.f)
		if ok != (tt.want != "no") || ok && got != tt.want || okByMethod != (tt.byMethod != "no") || okByMethod && byMethod != tt.byMethod {
			t.Errorf("%s is %q, %v, and the method %q, %v; want %q and %q", tt.name, got, ok, byMethod, okByMethod, tt.want, tt.byMethod)
		}
	}
}

// The func of a method expression is the same value wherever it is written.
func TestParsersOfMethodExpressions(t *testing.T) {
	var p funcname.Parsers[func(number) int]
	if err := p.Add("double", number.double); err != nil {
		t.Fatal(err)
	}
	if name, ok := p.Name(number.double); name != "double" || !ok {
		t.Errorf("%q, %v", name, ok)
	}
	if name, ok := p.Name(number.half); ok {
		t.Errorf("another method is %q", name)
	}
}

// What cannot be named is refused with an error that says why, and what was there stays.
func TestParsersMistakes(t *testing.T) {
	s, other := &byPointer{}, &byPointer{}
	for _, tt := range []struct {
		name, want string
		parser     parser
	}{
		{"x", `parser "x" is nil`, nil},
		{"", "a parser has no name; the empty name is the spider's Parser", half},
		{"double", `two parsers have the name "double"`, half},
		{"again", `parsers "double" and "again" are the same func and cannot be told apart; register it once`, double},
		{"page2", `parsers "page" and "page2" are the same method, whose receivers are not compared; register it once, or wrap one in a func`, other.Page},
	} {
		var p funcname.Parsers[parser]
		if p.Add("double", double) != nil || p.Add("page", s.Page) != nil {
			t.Fatal("two parsers that differ are refused")
		}
		if err := p.Add(tt.name, tt.parser); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v", tt.name, err)
		}
		if f, ok := p.Lookup("double"); !ok || f(4) != 8 {
			t.Errorf("%q: what was there is gone", tt.name)
		}
		if name, ok := p.NameOfMethod(other.Page); name != "page" || !ok {
			t.Errorf("%q: the method is %q, %v", tt.name, name, ok)
		}
	}
}
