package funcname_test

import (
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria/internal/funcname"
)

type parser func(n int) int

type spider interface{ Parse(n int) int }

type byPointer struct{ tag int }

func (s *byPointer) Parse(n int) int { return n + s.tag }
func (s *byPointer) Page(n int) int {
	for range n {
		s.tag++
	}
	return s.tag
}

type byValue struct{ tag *int }

func (s byValue) Parse(n int) int { return n + *s.tag }

type generic[T any] struct{ _ T }

func (s *generic[T]) Parse(n int) int { return n }

type embedsPointer struct{ *byPointer }

type embedsValue struct{ byPointer }

type embedsTwice struct{ embedsPointer }

type embedsInterface struct{ spider }

type overrides struct{ *byPointer }

func (s *overrides) Parse(n int) int { return 2 * n }

//go:noinline
func closure(add int) parser { return func(n int) int { return n + add } }

func top(n int) int { return n }

func is(m *funcname.Method[spider], p parser) bool { return m.Is(funcname.Of(p)) }

// All forms in which a spider's method can be written, and those of others that must not be taken for it. It fails when a
// compiler names method values in another way.
func TestMethod(t *testing.T) {
	one := 1
	pointer, another := &byPointer{1}, &byPointer{1}
	value, gen, over := byValue{&one}, &generic[string]{}, &overrides{pointer}
	inPointer, inValue, twice := &embedsPointer{pointer}, &embedsValue{*pointer}, &embedsTwice{embedsPointer{pointer}}
	inInterface := &embedsInterface{pointer}
	for _, tt := range []struct {
		name string
		of   spider
		f    parser
		want bool
	}{
		{"pointer", pointer, pointer.Parse, true},
		{"pointer in an interface", pointer, spider(pointer).Parse, true},
		{"another pointer", pointer, another.Parse, false},
		{"another pointer in an interface", pointer, spider(another).Parse, false},
		{"another method", pointer, pointer.Page, false},
		{"value", value, value.Parse, true},
		{"pointer to a value", &value, value.Parse, true},
		{"generic", gen, gen.Parse, true},
		{"another generic", gen, (&generic[string]{}).Parse, false},
		{"generic of another type", gen, (&generic[int]{}).Parse, false},
		{"embedded pointer", inPointer, inPointer.Parse, true},
		{"embedded pointer itself", inPointer, pointer.Parse, true},
		{"embedded pointer of a value", *inPointer, inPointer.Parse, true},
		{"embedded value", inValue, inValue.Parse, true},
		{"what another embeds", inValue, pointer.Parse, false},
		{"embedded twice", twice, twice.Parse, true},
		{"in an embedded interface", inInterface, spider(inInterface).Parse, true},
		{"overrides", over, over.Parse, true},
		{"overridden", over, over.byPointer.Parse, false},
		{"top-level func", pointer, top, false},
		{"closure", pointer, closure(1), false},
	} {
		m := funcname.MethodOf(tt.of, "Parse")
		for range 2 { // the second answer comes from memory
			if got := is(m, tt.f); got != tt.want {
				t.Errorf("%s: %v", tt.name, got)
			}
		}
	}
}

// A func is known by the name that it was given, and no other one is taken for it. It fails if closures are compared by
// their code.
func TestTable(t *testing.T) {
	var names funcname.Table
	s, another, one := &byPointer{1}, &byPointer{1}, closure(1)
	for name, f := range map[string]parser{"top": top, "one": one, "page": s.Page, "another": another.Page} {
		if err := names.Add(funcname.Of(f), name); err != nil {
			t.Fatal(err)
		}
	}
	for name, f := range map[string]parser{"top": top, "one": one, "page": s.Page, "another": another.Page, "": closure(1)} {
		if got, known := names.Name(funcname.Of(f)); got != name || known != (name != "") {
			t.Errorf("%q is %q, %v", name, got, known)
		}
	}
	if !funcname.SameCode(funcname.Of(one), funcname.Of(closure(2))) || funcname.SameCode(funcname.Of(one), funcname.Of(parser(top))) {
		t.Error("closures of one literal have the same code, others have not")
	}
	for _, tt := range []struct {
		f    parser
		want funcname.TakenError
	}{{one, funcname.TakenError{Name: "one"}}, {s.Page, funcname.TakenError{Name: "page", Method: true}}} {
		var taken *funcname.TakenError
		if err := names.Add(funcname.Of(tt.f), "again"); !errors.As(err, &taken) || *taken != tt.want {
			t.Errorf("%v, want %+v", err, tt.want)
		}
	}
}
