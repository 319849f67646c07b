package funcname_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/funcname"
)

func TestRegister(t *testing.T) {
	for want, d := range map[string]funcname.Description{
		`On("detail", Handle(detail))`: {Last: "detail"},
		`On("detail", Handle(s.detail)), where s is the value whose method was passed`:             {Last: "detail", Method: true},
		`detail := Handle(…) once, before the crawl, then On("detail", detail), and pass that var`: {Last: "func1", Literal: true},
	} {
		if got := d.Register("On", "Handle(%s)"); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
