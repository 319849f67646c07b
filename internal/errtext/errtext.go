// Package errtext gives the texts of errors for places that show more than the text: a line of the log and the error of a request have
// the URL as a field, and a program prints its own name. An error whose text contains these can leave them out itself, by the method
// of [Shorter], so nobody has to look for them in finished sentences.
//
//	err := &fetch.TooSlowError{URL: "http://a.test/"}
//	err.Error()                           // "the body of http://a.test/ comes too slowly: …"
//	errtext.Beside(err, "http://a.test/") // "the body comes too slowly: …"
package errtext

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Module begins the texts of errors that are about a crawl as a whole.
const Module = "tegenaria: "

// Shorter is an error that can leave out of its text what is shown beside it. Errors of other modules need not implement it: their
// text then repeats the URL.
type Shorter interface {
	error
	// WithoutURL returns the text without this URL, as [urlx.Redact] prints it, and without the name of this module. Other URLs
	// remain. It may be called concurrently.
	WithoutURL(url string) string
}

// Beside returns the text of an error as it is shown beside a URL, which is printed by [urlx.Redact], or "" if there is none. An error
// that is no [Shorter] is asked for its text, in which the texts of the errors that it wraps are replaced by what they say beside the URL.
func Beside(err error, url string) string {
	if short, ok := err.(Shorter); ok {
		return short.WithoutURL(url)
	}
	text := fmt.Sprint(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		text = replace(text, e.Unwrap(), url)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			text = replace(text, inner, url)
		}
	}
	return text
}

func replace(text string, inner error, url string) string {
	if inner == nil {
		return text
	}
	return strings.Replace(text, inner.Error(), Beside(inner, url), 1)
}

// At returns how a text names a URL, its password hidden: " of http://a.test/" if before is " of ". It is "" for the URL that is
// shown beside the text, and if there is none.
func At(before, url, shown string) string {
	if url = urlx.Redact(url); url == shown || url == "" {
		return ""
	}
	return before + url
}

// Because is how a text ends that has a reason: a colon and the reason, or nothing if there is none.
func Because(reason error, url string) string {
	if reason == nil {
		return ""
	}
	return ": " + Beside(reason, url)
}

// New returns an error with a text that begins with the name of this module.
func New(text string) error { return &plain{text} }

type plain struct{ text string }

func (e *plain) Error() string            { return Module + e.text }
func (e *plain) WithoutURL(string) string { return e.text }

// Failed returns the error of something that has failed for a URL. before is the word before the URL:
//
//	Failed("decoding the JSON", " of ", "http://a.test/", err) // "tegenaria: decoding the JSON of http://a.test/: unexpected end"
func Failed(doing, before, url string, err error) error { return &failed{doing, before, url, err} }

type failed struct {
	doing, before, url string
	err                error
}

func (e *failed) Error() string { return Module + e.WithoutURL("") }
func (e *failed) Unwrap() error { return e.err }
func (e *failed) WithoutURL(shown string) string {
	return e.doing + At(e.before, e.url, shown) + Because(e.err, shown)
}
