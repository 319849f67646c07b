package middleware

import (
	"maps"
	"slices"

	"github.com/tegenaria/tegenaria"
)

// DefaultHeaders gives each request the headers that it lacks. A header of the request itself is never changed.
type DefaultHeaders struct {
	part
	fields [][2]string // name and value
}

var _ tegenaria.MiddlewaresInterface = (*DefaultHeaders)(nil)

// NewDefaultHeaders sends these headers; nil stands for
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
		m.fields = append(m.fields, [2]string{name, header[name]})
	}
	return m
}

// ProcessRequest adds what is missing.
func (m *DefaultHeaders) ProcessRequest(ctx *tegenaria.Context) error {
	for _, field := range m.fields {
		setDefault(ctx.Request, field[0], field[1])
	}
	return nil
}
