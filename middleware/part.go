package middleware

import (
	"strings"

	"github.com/tegenaria/tegenaria"
)

// part is what all middlewares have in common: name, place, and hooks that do nothing.
type part struct {
	name     string
	priority int
}

func newPart(name string, priority, standard int) part {
	if priority == 0 {
		priority = standard
	}
	return part{name, priority}
}

// GetName names the middleware in messages.
func (p part) GetName() string { return p.name }

// GetPriority is its place: the Priority of its options, or that of the table in the package comment.
func (p part) GetPriority() int { return p.priority }

// ProcessRequest lets the request pass.
func (part) ProcessRequest(*tegenaria.Context) error { return nil }

// ProcessResponse lets the response pass.
func (part) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }

// orDefault returns n, or what stands for it if it is 0.
func orDefault[T ~int | ~int64](n, standard T) T {
	if n == 0 {
		return standard
	}
	return n
}

// field looks a header up, whatever its case.
func field[V any](header map[string]V, name string) (value V, ok bool) {
	if len(header) > 8 { // fewer are faster looked through
		if value, ok = header[name]; ok {
			return value, true
		}
	}
	for k, v := range header {
		if len(k) == len(name) && (k == name || strings.EqualFold(k, name)) {
			return v, true
		}
	}
	return value, false
}

// first returns the first value of a response's header, "" if there is none.
func first(header map[string][]string, name string) string {
	if values := header[name]; len(values) > 0 {
		return values[0]
	}
	if values, _ := field(header, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// setDefault sets a header of a request unless there is one, whatever its case.
func setDefault(r *tegenaria.Request, name, value string) {
	if r.Header == nil {
		r.Header = make(map[string]string)
	}
	if _, ok := field(r.Header, name); !ok {
		r.Header[name] = value
	}
}

// remove removes a header, whatever its case.
func remove(header map[string]string, name string) {
	for k := range header {
		if len(k) == len(name) && strings.EqualFold(k, name) {
			delete(header, k)
		}
	}
}

// isHTML reports whether a response says that it is an HTML page.
func isHTML(resp *tegenaria.Response) bool {
	mime := first(resp.Header, "Content-Type")
	const html = "text/html"
	if strings.HasPrefix(mime, html) && (len(mime) == len(html) || mime[len(html)] == ';') {
		return true
	}
	mime, _, _ = strings.Cut(mime, ";")
	mime = strings.TrimSpace(mime)
	return strings.EqualFold(mime, "text/html") || strings.EqualFold(mime, "application/xhtml+xml")
}

// isRedirectOf reports whether r takes the place of the request that parent answered: it is the target of a redirect, or asks another
// downloader for the same page.
func isRedirectOf(parent *tegenaria.Response, r *tegenaria.Request) bool {
	if parent == nil || parent.Request() == nil {
		return false
	}
	asked, n := parent.Request(), len(r.Redirects)
	if len(asked.Redirects) == n {
		return asked.Url == r.Url && asked.Depth == r.Depth
	}
	return n > 0 && len(asked.Redirects) == n-1 && r.Redirects[n-1] == asked.Url
}
