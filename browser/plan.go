package browser

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/tegenaria/tegenaria"
)

// plan is what a request wants of its page. The request's variant stores it, so that it is part of the request's key.
type plan struct {
	Ready   *condition `json:"ready,omitempty"` // nil: the page is awaited until it is quiet
	Do      []step     `json:"do,omitempty"`
	Capture []string   `json:"capture,omitempty"` // patterns of URLs
}

// variantOf begins the variant of a request with a plan.
const variantOf = "browser:"

// with returns an option that changes the plan of a request. A variant that is not a plan is replaced.
func with(change func(*plan)) tegenaria.RequestOption {
	return func(r *tegenaria.Request) {
		p, _ := planOf(r)
		change(&p)
		text, err := json.Marshal(p)
		if err != nil { // it is made of texts and numbers
			panic(err)
		}
		tegenaria.RequestWithVariant(variantOf + string(text))(r)
	}
}

var errPlan = errors.New("what it says about the page cannot be read")

// planOf returns the plan of a request. Variants that begin otherwise are not for this package.
func planOf(r *tegenaria.Request) (p plan, err error) {
	text, ok := strings.CutPrefix(r.Variant(), variantOf)
	if !ok {
		return p, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return plan{}, &tegenaria.RequestError{URL: r.Url, Field: "Variant", Err: errors.Join(errPlan, err), Remedy: "make it with the options of package browser"}
	}
	return p, nil
}
