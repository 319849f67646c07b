package funcname_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/funcname"
)

type parser func(n uint) int

type byPointer struct{ tag int }

func (s *byPointer) Page(n uint) int {
	for range n {
		s.tag++
	}
	return s.tag
}

// Parse is inlined.
func (s *byPointer) Parse(uint) int { return 7 }

type byValue struct{ tag *int }

func (s byValue) Parse(n uint) int { return int(n) + *s.tag }

type generic[T any] struct{ _ T }

func (s *generic[T]) Parse(n uint) int { return int(n) }

// page is a method value of a generic type, made in a generic func.
func (s *generic[T]) page() parser { return s.Parse }

type embedder struct{ *byPointer }

type reader interface{ Parse(n uint) int }

//go:noinline
func closure(add int) parser { return func(n uint) int { return int(n) + add } }

func loop() (list []parser) {
	for i := range 2 {
		list = append(list, func(n uint) int { return int(n) + i })
	}
	return list
}

func top(n uint) int { return len(loop()) + int(n) }

// inner is inlined into double.
func inner(n uint) int  { return 2 * int(n) }
func double(n uint) int { return inner(n) }
func half(n uint) int   { return int(n / 2) }

func instance[T any](n uint) int { return len(make([]T, n)) }

type number uint

func (n number) double() int { return 2 * int(n) }
func (n number) half() int   { return int(n) / 2 }

func TestSameCode(t *testing.T) {
	one := funcname.Of(closure(1))
	if !funcname.SameCode(one, funcname.Of(closure(2))) || funcname.SameCode(one, funcname.Of(parser(top))) {
		t.Error("closures of one literal have the same code, others have not")
	}
	if funcname.Of[parser](nil) != (funcname.Func{}) {
		t.Error("nil is not the zero Func")
	}
}

func TestDescribe(t *testing.T) {
	p, v, n := &byPointer{1}, byValue{new(int)}, 1
	literal := func(m uint) int { return n + int(m) }
	for _, tt := range []struct {
		f               parser
		symbol, last    string
		method, literal bool
	}{
		{top, "funcname_test.top", "top", false, false},
		{double, "funcname_test.double", "double", false, false},
		{p.Page, "funcname_test.(*byPointer).Page", "Page", true, false},
		{p.Parse, "funcname_test.(*byPointer).Parse", "Parse", true, false},
		{v.Parse, "funcname_test.byValue.Parse", "Parse", true, false},
		{literal, "funcname_test.TestDescribe.func1", "func1", false, true},
		{closure(1), "funcname_test.closure.func1", "func1", false, true},
		{nil, "", "", false, true},
	} {
		d := funcname.Describe(funcname.Of(tt.f))
		if !strings.HasSuffix(d.Symbol, tt.symbol) || d.Last != tt.last || d.Method != tt.method || d.Literal != tt.literal {
			t.Errorf("%+v, want %+v", d, tt)
		}
	}
	if d := funcname.Describe(funcname.Of(parser(instance[int]))); !d.Literal || d.Method {
		t.Errorf("an instance of a generic func: %+v", d)
	}
}
