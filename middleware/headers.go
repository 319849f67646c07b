package middleware

import (
	"maps"

	"github.com/tegenaria/tegenaria"
)

// DefaultHeaders gives each request the headers that it lacks. A header of the request itself is never changed.
type DefaultHeaders struct {
	part
	header map[string]string
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
	return &DefaultHeaders{newPart("default headers", 0, priorityDefaultHeaders), maps.Clone(header)}
}

// ProcessRequest adds what is missing.
func (m *DefaultHeaders) ProcessRequest(ctx *tegenaria.Context) error {
	for name, value := range m.header {
		setDefault(ctx.Request, name, value)
	}
	return nil
}
