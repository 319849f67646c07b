package forms

import (
	"errors"
	"strconv"
	"strings"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Submission is the request that a form makes.
type Submission struct {
	Method string // GET or POST
	URL    string // absolute; of a GET with the fields in its query
	Body   *Body  // nil for a GET
}

// The three encodings of a form.
const (
	urlEncoded = "application/x-www-form-urlencoded"
	multipart  = "multipart/form-data"
	plain      = "text/plain"
)

var (
	errScheme = errors.New("only http and https can be requested; perhaps a script sends this form")
	errDialog = errors.New("its method is dialog, which closes a dialog and sends nothing")
)

func itoa(n int) string { return strconv.Itoa(n) }

// Submit returns the request that a browser would make (HTML standard, section 4.10.21.3): what Click has clicked, or
// else the first button, may name another action, method and encoding than the form. The error is a [*FormError]: the
// first mistake in filling in the form, an action that is no URL of http or https, the method dialog, or a file that
// cannot be read. Constraints such as required and pattern are not checked, as with novalidate.
func (f *Form) Submit() (*Submission, error) {
	if f.err != nil {
		return nil, f.err
	}
	fail := func(reason string, err error) (*Submission, error) {
		return nil, &FormError{URL: f.url, Form: describe(f.node), Reason: reason, Err: err}
	}
	method := strings.ToLower(f.attr("method"))
	if method == "dialog" {
		return fail("it cannot be sent", errDialog)
	}
	action := f.attr("action")
	target, err := f.resolve(action)
	if err != nil {
		return fail("its action "+strconv.Quote(action)+" is no URL", urlx.Cause(err))
	}
	if scheme := urlx.Scheme(target); scheme != "http" && scheme != "https" {
		return fail("its action "+strconv.Quote(urlx.Redact(target))+" cannot be sent", errScheme)
	}
	entries, encoding := f.Entries(), f.charset()
	if method != "post" {
		url, fragment, hasFragment := strings.Cut(target, "#")
		url, _, _ = strings.Cut(url, "?")
		query := appendURLEncoded(append([]byte(url), '?'), entries, encoding)
		if hasFragment {
			query = append(append(query, '#'), fragment...)
		}
		return &Submission{Method: "GET", URL: string(query)}, nil
	}
	body, err := encode(strings.ToLower(f.attr("enctype")), entries, encoding)
	if err != nil {
		return fail("a file cannot be read", err)
	}
	return &Submission{Method: "POST", URL: target, Body: body}, nil
}

// attr returns an attribute of the form, or that of the button that sends it: formaction in place of action.
func (f *Form) attr(name string) string {
	if c := f.button(); c != nil {
		if v, ok := c.node.LookupAttr("form" + name); ok {
			return v
		}
	}
	return f.node.Attr(name)
}

// encode writes the body of a POST.
func encode(enctype string, entries []Entry, e charset.Encoding) (*Body, error) {
	switch enctype {
	case multipart:
		encoded := make([]Entry, len(entries))
		for i, entry := range entries {
			encoded[i] = Entry{Name: string(e.AppendForm(nil, newlines(entry.Name, "\r\n"))), Type: entry.Type}
			if entry.File == nil {
				encoded[i].Value = string(e.AppendForm(nil, newlines(entry.Value, "\r\n")))
				continue
			}
			file := *entry.File
			file.Name = string(e.AppendForm(nil, file.Name))
			if file.Type == "" {
				file.Type = TypeByName(entry.File.Name)
			}
			encoded[i].File = &file
		}
		return Multipart(encoded...)
	case plain:
		var b []byte
		for _, entry := range entries {
			b = e.AppendForm(b, newlines(entry.Name, "\r\n"))
			b = append(b, '=')
			b = e.AppendForm(b, newlines(entry.value(), "\r\n"))
			b = append(b, "\r\n"...)
		}
		return &Body{Type: plain, data: b}, nil
	}
	return &Body{Type: urlEncoded, data: appendURLEncoded(nil, entries, e)}, nil
}

// value returns the value, or the name of the file.
func (e *Entry) value() string {
	if e.File != nil {
		return e.File.Name
	}
	return e.Value
}

// appendURLEncoded appends the entries as pairs (URL standard, section 5.2).
func appendURLEncoded(dst []byte, entries []Entry, e charset.Encoding) []byte {
	var buf []byte
	for i := range entries {
		if i > 0 {
			dst = append(dst, '&')
		}
		buf = e.AppendForm(buf[:0], newlines(entries[i].Name, "\r\n"))
		dst = append(appendEscaped(dst, buf), '=')
		buf = e.AppendForm(buf[:0], newlines(entries[i].value(), "\r\n"))
		dst = appendEscaped(dst, buf)
	}
	return dst
}

// appendEscaped percent-encodes the bytes of the application/x-www-form-urlencoded percent-encode set; a space is +.
func appendEscaped(dst, s []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range s {
		switch {
		case c == ' ':
			dst = append(dst, '+')
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '*' || c == '-' || c == '.' || c == '_':
			dst = append(dst, c)
		default:
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		}
	}
	return dst
}

// button returns the control that sends the form, nil if none does.
func (f *Form) button() *control {
	if f.clicked >= 0 {
		return &f.controls[f.clicked]
	}
	if f.clicked == implied {
		for i := range f.controls {
			if c := &f.controls[i]; c.kind == submit || c.kind == image {
				if c.disabled {
					return nil
				}
				return c
			}
		}
	}
	return nil
}
