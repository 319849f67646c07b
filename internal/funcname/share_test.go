package funcname_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/funcname"
)

// Funcs that share a name keep the first one; methods of values are not recognised once two of them have names.
func TestShare(t *testing.T) {
	one, two := 1, 2
	first, second := byValue{&one}, byValue{&two}
	pointer, other := &byPointer{1}, &byPointer{2}
	var names funcname.Table
	names.Share(funcname.Of(top), "top")
	names.Share(funcname.Of(top), "again")
	names.Share(funcname.Of(pointer.Parse), "pointer")
	names.Share(funcname.Of(pointer.Parse), "again")
	names.Share(funcname.Of(first.Parse), "first")
	for _, tt := range []struct {
		name        string
		f           funcname.Func
		loose, want string
	}{
		{"top-level func", funcname.Of(top), "top", "top"},
		{"method", funcname.Of(pointer.Parse), "pointer", "pointer"},
		{"method of another pointer", funcname.Of(other.Parse), "", ""},
		{"method of a value", funcname.Of(first.Parse), "first", ""},
		{"method of another value", funcname.Of(second.Parse), "first", ""},
	} {
		if got, _ := names.Name(tt.f); got != tt.loose {
			t.Errorf("%s: Name is %q, want %q", tt.name, got, tt.loose)
		}
		if got, _ := names.Exact(tt.f); got != tt.want {
			t.Errorf("%s: Exact is %q, want %q", tt.name, got, tt.want)
		}
	}
	kept := funcname.Of(second.Parse)
	names.Share(kept, "second")
	if got, known := names.Name(funcname.Of(first.Parse)); known {
		t.Errorf("one of two values is taken for %q", got)
	}
	if got, _ := names.Exact(kept); got != "second" {
		t.Errorf("the func that was kept is %q", got)
	}
}

func TestDescribe(t *testing.T) {
	p, v, n := &byPointer{1}, byValue{new(int)}, 1
	literal := func(m int) int { return n + m }
	for _, tt := range []struct {
		f               funcname.Func
		symbol, last    string
		method, literal bool
	}{
		{funcname.Of(top), "funcname_test.top", "top", false, false},
		{funcname.Of(p.Page), "funcname_test.(*byPointer).Page", "Page", true, false},
		{funcname.Of(v.Parse), "funcname_test.byValue.Parse", "Parse", true, false},
		{funcname.Of(literal), "funcname_test.TestDescribe.func1", "func1", false, true},
		{funcname.Of(closure(1)), "funcname_test.closure.func1", "func1", false, true},
	} {
		d := funcname.Describe(tt.f)
		if !strings.HasSuffix(d.Symbol, tt.symbol) || d.Last != tt.last || d.Method != tt.method || d.Literal != tt.literal {
			t.Errorf("%+v, want %+v", d, tt)
		}
	}
}
