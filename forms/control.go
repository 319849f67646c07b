package forms

import (
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// kind is how a control takes part in a form.
type kind uint8

const (
	text     kind = iota // one value: text-like inputs and textarea
	hidden               // one value that nobody sees
	checkbox             // a value if it is checked
	radio                // the same, one of a group
	list                 // a select
	file
	submit // a button that sends the form
	image  // the same with the place that was clicked
	push   // a button that sends nothing
)

// control is one of a form's.
type control struct {
	node     html.Node
	kind     kind
	typ      string // of an input, in lower case; "textarea"
	name     string
	value    string   // of all but list and file
	checked  bool     // checkbox and radio
	disabled bool     // or in a datalist: it takes no part
	multiple bool     // list, file
	options  []option // of a list
	files    []File
}

// option is one of a select.
type option struct {
	value, label       string
	selected, disabled bool
}

// isButton reports whether the control takes part only when it was clicked.
func (c *control) isButton() bool { return c.kind >= submit }

// inputTypes are the types of input elements that are not text without restrictions.
var inputTypes = map[string]kind{
	"hidden": hidden, "text": text, "search": text, "tel": text, "url": text, "email": text, "password": text, "date": text, "month": text,
	"week": text, "time": text, "datetime-local": text, "number": text, "range": text, "color": text, "checkbox": checkbox, "radio": radio,
	"file": file, "submit": submit, "image": image, "reset": push, "button": push,
}

// state is what an element inherits from its ancestors.
type state struct {
	id     uint32 // of the element
	form   uint32 // the nearest form that it is in
	choice int    // the select that it is in, by its index among the controls; -1: none
	flags  uint8
}

const (
	inTemplate uint8 = 1 << iota // no part of the page
	inDatalist
	disabled      // by a fieldset
	fencedOutside // the fieldset itself stands in a disabled one
	hadLegend     // the fieldset has had its first legend
	groupDisabled // the optgroup
	chosen        // inside of an option, whose text belongs to it
)

// survey finds the controls of a form in document order.
type survey struct {
	doc      *html.Document
	form     html.Node
	spans    []span
	byID     bool // form attributes with the id of the form mean it
	id       string
	controls []control
	open     []state // the ancestors of the node at hand
}

// span is the part of the source in which the parser gives controls to a form, which need not be those that stand in it.
type span struct {
	from, to int
	form     uint32
}

// controlsOf returns the controls whose form owner is the form (HTML standard, section 4.10.18.3). It takes one walk of
// the page, and one of its tags.
func controlsOf(form html.Node) []control {
	s := survey{doc: form.Document(), form: form, id: form.Attr("id")}
	s.findSpans()
	s.byID = s.id != "" && firstWithID(s.doc, s.id) == form
	end := uint32(s.doc.Len()) + 1
	for id := uint32(1); id < end; id++ {
		n := s.doc.Node(id)
		parent := n.Parent().ID()
		for len(s.open) > 0 && s.open[len(s.open)-1].id != parent {
			s.open = s.open[:len(s.open)-1]
		}
		above := state{choice: -1}
		if len(s.open) > 0 {
			above = s.open[len(s.open)-1]
		}
		if n.IsElement() || id == 1 {
			s.open = append(s.open, s.enter(n, above))
		}
	}
	for i := range s.controls {
		if c := &s.controls[i]; c.kind == list {
			c.settleOptions()
		}
	}
	settleRadios(s.controls)
	return s.controls
}

// enter looks at an element, and returns what those inside of it inherit.
func (s *survey) enter(n html.Node, above state) state {
	here := above
	here.id = n.ID()
	here.flags &= inTemplate | inDatalist | disabled | groupDisabled | chosen
	if n.Namespace() != html.HTML || above.flags&inTemplate != 0 {
		return here
	}
	switch n.Atom() {
	case html.AtomTemplate:
		here.flags |= inTemplate
	case html.AtomForm:
		here.form = n.ID()
	case html.AtomDatalist:
		here.flags |= inDatalist
	case html.AtomFieldset:
		if above.flags&disabled != 0 {
			here.flags |= fencedOutside
		}
		if hasAttr(n, html.AtomDisabled) {
			here.flags |= disabled
		}
	case html.AtomLegend:
		// What is in the first legend of a disabled fieldset is not disabled by it.
		if p := n.Parent(); p.Is(html.AtomFieldset) && above.flags&hadLegend == 0 {
			s.open[len(s.open)-1].flags |= hadLegend
			if above.flags&fencedOutside == 0 {
				here.flags &^= disabled
			}
		}
	case html.AtomInput, html.AtomButton, html.AtomSelect, html.AtomTextarea:
		if s.owner(n, above) != s.form.ID() {
			if n.Is(html.AtomSelect) {
				here.choice = -1
			}
			break
		}
		c := newControl(n)
		c.disabled = hasAttr(n, html.AtomDisabled) || above.flags&(disabled|inDatalist) != 0
		if c.kind == list {
			here.choice = len(s.controls)
		}
		s.controls = append(s.controls, c)
	case html.AtomOptgroup:
		if hasAttr(n, html.AtomDisabled) {
			here.flags |= groupDisabled
		}
	case html.AtomOption:
		if above.choice >= 0 && above.flags&chosen == 0 {
			c := &s.controls[above.choice]
			c.options = append(c.options, newOption(n, above.flags&groupDisabled != 0))
		}
		here.flags |= chosen
	}
	return here
}

// owner returns the form that a control belongs to, 0 for none.
func (s *survey) owner(n html.Node, above state) uint32 {
	if id, ok := n.LookupAttr("form"); ok {
		if s.byID && id == s.id {
			return s.form.ID()
		}
		return 0 // or another form
	}
	if i, _ := slices.BinarySearchFunc(s.spans, n.Pos(), func(p span, pos int) int { return p.from - pos }); i > 0 {
		if p := s.spans[i-1]; n.Pos() < p.to && !n.Implied() {
			return p.form
		}
	}
	return above.form
}

// findSpans reads the tags of the page. A form owns the controls that are parsed between its start tag and the next end
// tag of a form, even where the parser moves one of them elsewhere, as it does with a form between the rows of a table
// (sections 13.2.4.4 and 13.2.6.1).
func (s *survey) findSpans() {
	if s.doc.IsXML() {
		return
	}
	forms := make(map[int]uint32) // by position
	end := uint32(s.doc.Len()) + 1
	for id := uint32(1); id < end; id++ {
		if n := s.doc.Node(id); n.Is(html.AtomForm) {
			forms[n.Pos()] = id
		}
	}
	templates, open := 0, false
	for tags := html.NewTags(s.doc.Source()); tags.Next(); {
		switch a := tags.Atom(); {
		case a == html.AtomTemplate && !tags.IsEnd():
			templates++
		case a == html.AtomTemplate && templates > 0:
			templates--
		case a != html.AtomForm || templates > 0:
		case tags.IsEnd() && open:
			s.spans[len(s.spans)-1].to = tags.Pos()
			open = false
		case !tags.IsEnd() && !open && forms[tags.Pos()] != 0:
			s.spans = append(s.spans, span{tags.Pos(), len(s.doc.Source()), forms[tags.Pos()]})
			open = true
		}
	}
}

// firstWithID returns the first element of the page with that id.
func firstWithID(d *html.Document, id string) html.Node {
	end := uint32(d.Len()) + 1
	for i := uint32(1); i < end; i++ {
		n := d.Node(i)
		if n.Is(html.AtomTemplate) {
			i = n.EndID() - 1
			continue
		}
		if a := n.FindAttr(html.AtomId); !a.IsZero() && string(a.Bytes()) == id {
			return n
		}
	}
	return html.Node{}
}

func hasAttr(n html.Node, name html.Atom) bool { return !n.FindAttr(name).IsZero() }

// newControl reads a control without its options.
func newControl(n html.Node) control {
	c := control{node: n, name: n.Attr("name"), multiple: hasAttr(n, html.AtomMultiple)}
	value, hasValue := n.LookupAttr("value")
	switch n.Atom() {
	case html.AtomTextarea:
		c.kind, c.typ, c.value = text, "textarea", newlines(childText(n), "\n")
	case html.AtomSelect:
		c.kind, c.typ = list, "select"
	case html.AtomButton:
		c.kind, c.value = submit, value
		switch c.typ = strings.ToLower(n.Attr("type")); c.typ {
		case "submit":
		case "button", "reset":
			c.kind = push
		default:
			_, command := n.LookupAttr("command")
			_, commandFor := n.LookupAttr("commandfor")
			if c.typ = "submit"; command || commandFor {
				c.kind = push
			}
		}
	default:
		c.typ = strings.ToLower(n.Attr("type"))
		var known bool
		if c.kind, known = inputTypes[c.typ]; !known {
			c.typ = "text"
		}
		switch c.kind {
		case checkbox, radio:
			if c.checked = hasAttr(n, html.AtomChecked); !hasValue {
				value = "on"
			}
		case submit:
			if !hasValue {
				value = "Submit" // the standard leaves the label to browsers, and they send it
			}
		case text:
			value = c.sanitize(value)
		}
		c.value = value
	}
	return c
}

// childText returns the text of a node without that of the elements in it, which a textarea only has in XML.
func childText(n html.Node) string {
	var b []byte
	for c := range n.Children() {
		if c.Kind() == html.TextNode {
			b = append(b, c.Data()...)
		}
	}
	return string(b)
}

// newOption reads an option (section 4.10.10).
func newOption(n html.Node, groupDisabled bool) option {
	o := option{label: spaces(n.Text()), selected: hasAttr(n, html.AtomSelected), disabled: groupDisabled || hasAttr(n, html.AtomDisabled)}
	value, ok := n.LookupAttr("value")
	if o.value = value; !ok {
		o.value = o.label
	}
	if label := n.Attr("label"); label != "" {
		o.label = label
	}
	return o
}

// settleOptions chooses what a select shows at first (section 4.10.7, "selectedness setting algorithm").
func (c *control) settleOptions() {
	if c.multiple {
		return
	}
	last := -1
	for i := range c.options {
		if c.options[i].selected {
			if last >= 0 {
				c.options[last].selected = false
			}
			last = i
		}
	}
	if size, ok := number(c.node.Attr("size")); last >= 0 || ok && size > 1 {
		return
	}
	for i := range c.options {
		if !c.options[i].disabled {
			c.options[i].selected = true
			return
		}
	}
}

// settleRadios leaves the last one of each group checked.
func settleRadios(controls []control) {
	last := make(map[string]int)
	for i := range controls {
		c := &controls[i]
		if c.kind != radio || !c.checked || c.name == "" {
			continue
		}
		if before, ok := last[c.name]; ok {
			controls[before].checked = false
		}
		last[c.name] = i
	}
}
