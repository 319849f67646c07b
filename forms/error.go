package forms

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// FormError says why a form cannot be filled in or sent. It has no value that was given to a control, since that may be a
// password.
type FormError struct {
	URL    string   // of the page
	Form   string   // how the form can be told from others, such as `form#login`; "" if there is none
	Name   string   // of the control, or what was looked for; "" if it is about the form itself
	Reason string   // what is wrong, such as `no control has this name`
	Exists []string // what there is instead: names, options, buttons or forms; the first 20
	More   int      // how many there are beyond these
	Err    error    // the cause; may be nil
}

// Error names page, form and control, and what there is instead.
func (e *FormError) Error() string {
	var b strings.Builder
	b.WriteString("forms: ")
	if e.Form != "" {
		b.WriteString(e.Form + " of ")
	}
	b.WriteString(urlx.Redact(e.URL) + ": ")
	if e.Name != "" {
		fmt.Fprintf(&b, "%.200q: ", e.Name)
	}
	b.WriteString(e.Reason)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	for i, name := range e.Exists {
		b.WriteString([]string{", ", "; there are: "}[min(1, 1-min(i, 1))])
		fmt.Fprintf(&b, "%.100q", name)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, " and %d more", e.More)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *FormError) Unwrap() error { return e.Err }

// maxListed is how many names an error lists.
const maxListed = 20

// list adds what there is, each once.
func (e *FormError) list(names []string) *FormError {
	seen := make(map[string]bool)
	for _, name := range names {
		switch {
		case name == "" || seen[name]:
		case len(e.Exists) < maxListed:
			e.Exists = append(e.Exists, name)
		default:
			e.More++
		}
		seen[name] = true
	}
	return e
}
