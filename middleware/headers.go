package middleware

import (
	"maps"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
)

// DefaultHeaders adds headers to requests that lack them. It never changes a header of the request itself.
type DefaultHeaders struct {
	part
	fields [][2]string // name and value; no name twice
}

var _ tegenaria.MiddlewaresInterface = (*DefaultHeaders)(nil)

// NewDefaultHeaders sends these headers. If a name occurs in several spellings, the first one is used; nil means
//
//	Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8
//	Accept-Language: en
func NewDefaultHeaders(header map[string]string) *DefaultHeaders {
	if header == nil {
		header = map[string]string{
			"Accept":          "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
			"Accept-Language": "en",
		}
	}
	m := &DefaultHeaders{part: newPart("default headers", 0, priorityDefaultHeaders)}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		same := func(known [2]string) bool { return strings.EqualFold(known[0], name) }
		if !slices.ContainsFunc(m.fields, same) {
			m.fields = append(m.fields, [2]string{name, header[name]})
		}
	}
	return m
}

// ProcessRequest adds what is missing.
func (m *DefaultHeaders) ProcessRequest(ctx *tegenaria.Context) error {
	r := ctx.Request
	plain := len(r.Header) == 0
	for _, field := range m.fields {
		if plain && r.Header != nil {
			r.Header[field[0]] = field[1]
		} else {
			setDefault(r, field[0], field[1])
		}
	}
	return nil
}
