package tegenaria

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/forms"
)

// Form is a form of a page. Its methods Set, Add, Check, Uncheck, Choose, Upload, Click and ClickAt fill it in as a
// person would, Values and Entries are what it sends; see [forms.Form]. Hidden fields, such as tokens against forged
// requests, are sent automatically. A method that is called with a name or an option that the form does not have
// returns a [*FormError], which Request returns again: so it is enough to check the error of Request. A Form is not
// safe for concurrent use.
//
//	form, err := page.Form("form#login")
//	if err != nil {
//		return err
//	}
//	form.Set("user", "ada")
//	form.Set("password", secret)
//	r, err := form.Request(tegenaria.RequestWithParserName("in"))
type Form struct {
	*forms.Form
	page *Request
}

// FormError says why a form was not found, or cannot be filled in or sent, and lists what the page or the form has
// instead.
//
//	URL    string   // of the page
//	Form   string   // how the form can be selected
//	Name   string   // of the control
//	Reason string
//	Exists []string // the first 20 of what there is instead; More is the number of the others
type FormError = forms.FormError

// Form returns the form that the first match of a CSS selector is, belongs to, or stands in. The error is a
// [*FormError] that lists the forms of the page. Panics are as for [Response.CSS].
func (r *Response) Form(query string) (*Form, error) {
	form, err := r.page.Form((*pageHost)(r), query)
	if err != nil {
		return nil, err
	}
	return &Form{form, r.req}, nil
}

// CSRF is a token that a page has for the scripts that log in or send data.
//
//	Token, Header, Field, From string
//
// Its method Headers returns the header that sends it.
type CSRF = forms.CSRF

// CSRF returns the token of a page whose login is sent by a script: that of a meta element, or else of a cookie that
// such scripts send back, which the response has set or the request has sent. The zero CSRF means that there is none.
// Panics are as for [Response.CSS].
//
//	tegenaria.RequestWithRequestHeader(page.CSRF().Headers())
func (r *Response) CSRF() CSRF {
	if r.req == nil {
		return r.page.CSRF((*pageHost)(r), nil, nil)
	}
	return r.page.CSRF((*pageHost)(r), r.req.Header, r.req.Cookies)
}

// Request makes the request that a browser would send for the form: by GET with the fields in the URL, or by POST in
// the encoding that the form or the button names. Further options follow. It sends nothing yet. Files are not read into
// memory before the request is accepted; a durable cache stores them with it, up to Limits.Body. The error is a
// [*FormError].
func (f *Form) Request(opts ...RequestOption) (*Request, error) {
	s, err := f.Submit()
	if err != nil {
		return nil, err
	}
	r := NewRequest(s.URL, s.Method, nil, slices.Concat([]RequestOption{withForm(s.Body)}, opts)...)
	r.inherit(f.page)
	return r, nil
}

// RequestWithMultipart sends fields and files as multipart/form-data (RFC 7578), as a browser sends a form; entries are
// made by [forms.Text], [forms.Upload] and [forms.FileAt]. It sets the Content-Type. A request without a method is then
// a POST. Equal entries make equal bodies, so duplicates are found. Files that are opened are read when the request is
// accepted, up to Limits.Body. If one cannot be read, the request fails when it is sent.
func RequestWithMultipart(entries ...forms.Entry) RequestOption {
	return func(r *Request) {
		body, err := forms.Multipart(entries...)
		if err != nil {
			r.fail(&RequestError{URL: r.Url, Field: "BodyReader", Err: err, Remedy: "name a file that can be read"})
			return
		}
		withForm(body)(r)
	}
}

// withForm sends the body of a form.
func withForm(body *forms.Body) RequestOption {
	return func(r *Request) {
		if body == nil {
			return
		}
		if data, ok := body.Bytes(); ok {
			r.Body = data
		} else {
			r.BodyReader = &formReader{body.Reader(), body}
		}
		maps.DeleteFunc(r.Header, func(name, _ string) bool { return strings.EqualFold(name, "Content-Type") })
		r.setDefaultHeader("Content-Type", body.Type)
	}
}

// formReader reads a body that can be read again.
type formReader struct {
	io.Reader
	body *forms.Body
}
