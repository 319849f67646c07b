package middleware

import (
	"fmt"

	"github.com/tegenaria/tegenaria"
)

// RefererOptions set the policy for pages that set none.
type RefererOptions struct {
	Priority int            // 0: the place in the package comment's table
	Policy   ReferrerPolicy // of pages that have none; "": strict-origin-when-cross-origin, as browsers
}

// Referer sends the URL of the page that has the link, as far as the page's Referrer Policy allows: the policy of its
// meta elements, else of its Referrer-Policy header, else of RefererOptions. Seeds have no Referer, and a request's own
// Referer is not changed. At a redirect the header is shortened as the redirect's own policy, or else that of
// RefererOptions, demands; it never becomes longer again.
//
// Each waiting request stores its Referer, so a long queue needs more memory.
type Referer struct {
	part
	policy ReferrerPolicy
	pages  perPage[ReferrerPolicy]
}

var (
	_ tegenaria.MiddlewaresInterface = (*Referer)(nil)
	_ tegenaria.RequestFilter        = (*Referer)(nil)
)

// NewReferer makes a Referer. An unknown policy is an error.
func NewReferer(o RefererOptions) (*Referer, error) {
	if o.Policy == "" {
		o.Policy = StrictOriginWhenCrossOrigin
	}
	if !o.Policy.known() {
		return nil, fmt.Errorf("middleware: %q is no referrer policy", string(o.Policy))
	}
	return &Referer{part: newPart("referer", o.Priority, priorityReferer), policy: o.Policy}, nil
}

// AcceptRequest sets the header. It refuses nothing.
func (m *Referer) AcceptRequest(parent *tegenaria.Response, r *tegenaria.Request) error {
	if parent == nil || r.Attempt > 0 {
		return nil
	}
	own, has := field(r.Header, "Referer")
	if isRedirectOf(parent, r) {
		if !has {
			return nil
		}
		policy := headerPolicy(parent.Header["Referrer-Policy"])
		if policy == "" {
			policy = m.policy
		}
		if cut := policy.referrer(own, r.Url); cut != own {
			remove(r.Header, "Referer")
			if cut != "" {
				r.Header["Referer"] = cut
			}
		}
		return nil
	}
	if has {
		return nil
	}
	if value := m.pages.of(parent, m.read).referrer(parent.URL, r.Url); value != "" {
		r.Header["Referer"] = value
	}
	return nil
}

// read finds the policy of a page.
func (m *Referer) read(page *tegenaria.Response) ReferrerPolicy {
	policy := m.policy
	header, _ := field(page.Header, "Referrer-Policy")
	if p := headerPolicy(header); p != "" {
		policy = p
	}
	for _, element := range metas(page, "referrer") {
		if element.name == "referrer" {
			if p := metaPolicy(element.content); p != "" {
				policy = p
			}
		}
	}
	return policy
}
