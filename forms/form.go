package forms

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// Form is a form of a page, to be filled in. What it is given first is what the page says. Its methods that change it return a
// [*FormError] for a mistake and remember the first one, which Submit returns again: so a program may look at Submit's error alone. A
// change that is a mistake changes nothing. A Form is not safe for concurrent use; the page is not changed.
type Form struct {
	node     html.Node
	url      string // of the page
	encoding charset.Encoding
	controls []control
	byName   map[string][]int // the controls of a name
	added    []Entry
	clicked  int // the button by its index among the controls; noButton, or implied
	x, y     int
	err      error
}

// The values of Form.clicked that are no button.
const (
	noButton = -1
	implied  = -2 // what Enter would click: the first button of the form
)

// Option gives Of what the page does not say itself.
type Option func(*Form)

// Charset names the encoding of the page, which the form is sent in unless its accept-charset says otherwise. The default is UTF-8.
func Charset(e charset.Encoding) Option { return func(f *Form) { f.encoding = e } }

// Find returns the form that a node of a page belongs to: the node itself, the form that it is a control of, or the innermost form that it
// stands in. It returns the zero Node if there is none.
func Find(n html.Node) html.Node {
	if n.Is(html.AtomForm) {
		return n
	}
	if id, ok := n.LookupAttr("form"); ok {
		if form := firstWithID(n.Document(), id); form.Is(html.AtomForm) {
			return form
		}
		return html.Node{}
	}
	if n.Kind() == html.NoNode {
		return html.Node{}
	}
	s := survey{doc: n.Document()}
	s.findSpans()
	for a := range n.Ancestors() {
		if a.Is(html.AtomForm) {
			return s.doc.Node(s.owner(n, state{form: a.ID()}))
		}
	}
	return s.doc.Node(s.owner(n, state{}))
}

// Of reads the form that a node belongs to, see [Find]. docURL is the URL of the page, which an action is resolved
// against; a base element counts. The error is a [*FormError] that lists the forms of the page.
func Of(n html.Node, docURL string, options ...Option) (*Form, error) {
	form := Find(n)
	if form.IsZero() {
		return nil, NoForm(n.Document(), docURL, "this is no form, and stands in none")
	}
	f := &Form{node: form, url: docURL, clicked: implied}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("forms: option %d is nil; leave it out", i+1)
		}
		option(f)
	}
	f.controls = controlsOf(form)
	f.byName = make(map[string][]int, len(f.controls))
	for i := range f.controls {
		if c := &f.controls[i]; c.name != "" && c.kind != push {
			f.byName[c.name] = append(f.byName[c.name], i)
		}
	}
	return f, nil
}

// NoForm returns the error of a page that lacks the form that was looked for. It lists the forms that the page has; doc may be nil.
func NoForm(doc *html.Document, docURL, reason string) *FormError {
	e := &FormError{URL: docURL, Reason: reason}
	if doc == nil {
		return e
	}
	var names []string
	end := uint32(doc.Len()) + 1
	for id := uint32(1); id < end; id++ {
		if n := doc.Node(id); n.Is(html.AtomForm) {
			names = append(names, describe(n))
		}
	}
	if len(names) == 0 {
		e.Reason += "; the page has no form, perhaps a script makes it"
	}
	return e.list(names)
}

// describe writes how to select a form.
func describe(n html.Node) string {
	switch id, name, action := n.Attr("id"), n.Attr("name"), n.Attr("action"); {
	case id != "":
		return "form#" + id
	case name != "":
		return fmt.Sprintf("form[name=%s]", name)
	case action != "":
		return fmt.Sprintf("form[action=%s]", action)
	}
	return "form"
}

// Node returns the form element.
func (f *Form) Node() html.Node { return f.node }

// Err returns the first mistake that was made in filling in the form, nil if there was none.
func (f *Form) Err() error { return f.err }

// wrong is the error of a mistake, with what there is instead.
func (f *Form) wrong(name, reason string, exists []string) error {
	e := (&FormError{URL: f.url, Form: describe(f.node), Name: name, Reason: reason}).list(exists)
	if f.err == nil {
		f.err = e
	}
	return e
}

// Names returns the names of the controls in document order, each once. Buttons that send nothing are left out.
func (f *Form) Names() []string {
	var names []string
	seen := make(map[string]bool, len(f.byName))
	for i := range f.controls {
		if c := &f.controls[i]; c.name != "" && c.kind != push && !seen[c.name] {
			seen[c.name] = true
			names = append(names, c.name)
		}
	}
	return names
}

// resolve makes an action a URL.
func (f *Form) resolve(action string) (string, error) {
	if strings.TrimFunc(action, isSpace) == "" {
		return urlx.Parse(f.url)
	}
	e := f.encoding
	if e.Output() != charset.UTF8 && !isOtherScheme(action) {
		action = string(e.AppendReference(nil, action))
	}
	return urlx.Resolve(links.BaseFrom(f.node.Document(), f.url), action)
}

// isOtherScheme reports whether a reference has a scheme whose query is not encoded.
func isOtherScheme(ref string) bool {
	switch urlx.Scheme(ref) {
	case "", "http", "https":
		return false
	}
	return true
}
