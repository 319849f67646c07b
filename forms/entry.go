package forms

import (
	"net/url"
	"strings"

	"golang.org/x/text/unicode/bidi"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
)

// Entry is a name and its value, or its file.
type Entry struct {
	Name  string
	Value string
	File  *File  // nil: the value counts; a file without a name stands for an upload without a file
	Type  string // the Content-Type of a value in multipart/form-data; "": none is sent, as by browsers
}

// Entries returns what the form sends, in order: the entry list of the HTML standard (section 4.10.21.4), then what Add
// has added. Nothing of it is encoded yet.
func (f *Form) Entries() []Entry {
	var entries []Entry
	encoding, clicked := f.charset(), f.button()
	dirs := make(map[uint32]string)
	for i := range f.controls {
		c := &f.controls[i]
		switch {
		case c.disabled, c.isButton() && c != clicked, (c.kind == checkbox || c.kind == radio) && !c.checked:
			continue
		case c.kind == image:
			prefix := ""
			if c.name != "" {
				prefix = c.name + "."
			}
			entries = append(entries, Entry{Name: prefix + "x", Value: itoa(f.x)}, Entry{Name: prefix + "y", Value: itoa(f.y)})
			continue
		case c.name == "":
			continue
		}
		switch {
		case c.kind == list:
			for j := range c.options {
				if o := &c.options[j]; o.selected && !o.disabled {
					entries = append(entries, Entry{Name: c.name, Value: o.value})
				}
			}
		case c.kind == file:
			if len(c.files) == 0 {
				entries = append(entries, Entry{Name: c.name, File: &File{}})
			}
			for j := range c.files {
				entries = append(entries, Entry{Name: c.name, File: &c.files[j]})
			}
		case c.kind == hidden && strings.EqualFold(c.name, "_charset_"):
			entries = append(entries, Entry{Name: c.name, Value: encoding.String()})
		default:
			entries = append(entries, Entry{Name: c.name, Value: c.value})
		}
		if name := c.node.Attr("dirname"); name != "" && c.hasDirection() {
			entries = append(entries, Entry{Name: name, Value: direction(c, dirs)})
		}
	}
	return append(entries, f.added...)
}

// Values returns what the form sends by name, see [Form.Entries]. Of a file it is the name.
func (f *Form) Values() url.Values {
	values := make(url.Values)
	for _, e := range f.Entries() {
		if e.File != nil {
			e.Value = e.File.Name
		}
		values.Add(e.Name, e.Value)
	}
	return values
}

// charset returns the encoding that the form is sent in (section 4.10.21.5, "picking an encoding for the form").
func (f *Form) charset() charset.Encoding {
	labels, ok := f.node.LookupAttr("accept-charset")
	if !ok {
		return f.encoding.Output()
	}
	for _, label := range strings.FieldsFunc(labels, func(r rune) bool { return isSpace(r) || r == ',' }) {
		if e, ok := charset.Lookup(label); ok {
			return e.Output()
		}
	}
	return f.encoding.Output() // as browsers; the standard would have UTF-8
}

// hasDirection reports whether a dirname of the control counts.
func (c *control) hasDirection() bool {
	switch c.typ {
	case "textarea", "hidden", "text", "search", "tel", "url", "email", "password", "submit":
		return !c.node.Is(html.AtomButton)
	}
	return false
}

// direction returns ltr or rtl (section 3.2.6.4). known are the directions of elements that were looked at.
func direction(c *control, known map[uint32]string) string {
	switch dir, has := c.node.LookupAttr("dir"); strings.ToLower(dir) {
	case "ltr", "rtl":
		return strings.ToLower(dir)
	case "auto":
		return strong(c.value, "ltr")
	default:
		if !has && c.typ == "tel" {
			return "ltr"
		}
	}
	dir := "ltr"
	var passed []uint32
	for a := range c.node.Ancestors() {
		if d, ok := known[a.ID()]; ok {
			dir = d
			break
		}
		passed = append(passed, a.ID())
		own := strings.ToLower(a.Attr("dir"))
		if own == "auto" {
			own = "ltr"
			if d := textDirection(a); d != "" {
				own = d
			}
		}
		if own == "ltr" || own == "rtl" {
			dir = own
			break
		}
	}
	for _, id := range passed {
		known[id] = dir
	}
	return dir
}

// textDirection returns the direction of the text in an element, "" if it has none ("contained text auto directionality"). Elements with a
// direction of their own are left out.
func textDirection(e html.Node) string {
	for id, end := e.ID()+1, e.EndID(); id < end; id++ {
		n := e.Document().Node(id)
		switch {
		case n.Kind() == html.TextNode:
			if d := strong(string(n.Data()), ""); d != "" {
				return d
			}
		case n.Is(html.AtomBdi) || n.Is(html.AtomScript) || n.Is(html.AtomStyle) || n.Is(html.AtomTextarea) || hasDir(n):
			id = n.EndID() - 1
		}
	}
	return ""
}

// hasDir reports whether the attribute dir of an element is one of its states.
func hasDir(n html.Node) bool {
	switch strings.ToLower(n.Attr("dir")) {
	case "ltr", "rtl", "auto":
		return true
	}
	return false
}

// strong returns the direction of the first character that has one.
func strong(s, otherwise string) string {
	for _, r := range s {
		p, _ := bidi.LookupRune(r)
		switch p.Class() {
		case bidi.L:
			return "ltr"
		case bidi.R, bidi.AL:
			return "rtl"
		}
	}
	return otherwise
}
