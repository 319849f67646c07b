package middleware

import "github.com/tegenaria/tegenaria"

// URLLengthOptions say what [URLLength] refuses.
type URLLengthOptions struct {
	Priority int // 0: the place in the package comment's table
	Max      int // bytes, 0: 2,083, which was the limit of Internet Explorer
}

// URLLength refuses longer URLs, including those of redirects and seeds: they end as filtered: long URL. The engine's
// Limits.URLLength applies too, and costs less.
type URLLength struct {
	part
	limit int
}

var (
	_ tegenaria.MiddlewaresInterface = (*URLLength)(nil)
	_ tegenaria.RequestFilter        = (*URLLength)(nil)
)

// NewURLLength makes a URLLength.
func NewURLLength(o URLLengthOptions) *URLLength {
	return &URLLength{newPart("URL length", o.Priority, priorityURLLength), orDefault(o.Max, 2083)}
}

// AcceptRequest refuses URLs that are too long.
func (m *URLLength) AcceptRequest(_ *tegenaria.Response, r *tegenaria.Request) error {
	if len(r.Url) > m.limit {
		return tegenaria.IgnoreRequest("long URL")
	}
	return nil
}
