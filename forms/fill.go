package forms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// find returns the controls of a name that fit, or the error that there are none. A disabled control takes no part, so it does not fit.
func (f *Form) find(name, what string, fits func(*control) bool) ([]*control, error) {
	var found []*control
	sort, off := "", false
	for _, i := range f.byName[name] {
		c := &f.controls[i]
		switch {
		case !fits(c):
			sort = c.what()
		case c.disabled:
			off = true
		default:
			found = append(found, c)
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case off:
		return nil, f.wrong(name, "it is disabled, so a browser does not send it; if a script enables it, use Add", nil)
	case sort != "":
		return nil, f.wrong(name, fmt.Sprintf("it is %s, not %s", sort, what), nil)
	}
	return nil, f.wrong(name, "no control has this name; Add sends a field that the form lacks", f.Names())
}

// what names the sort of a control and the method for it.
func (c *control) what() string {
	switch c.kind {
	case checkbox:
		return "a checkbox (use Check or Choose)"
	case radio:
		return "a radio button (use Choose)"
	case list:
		return "a select (use Choose)"
	case file:
		return "a file upload (use Upload)"
	case submit, image, push:
		return "a button (use Click)"
	}
	return "a text field (use Set)"
}

// Set gives the controls of a name these values: text fields, hidden ones and textareas, one value for each. For a select, radio buttons
// and checkboxes it is [Form.Choose]. The value of an input is what a browser would keep of it: no line ends in a text, nothing
// that is not a number in a number.
func (f *Form) Set(name string, values ...string) error {
	var fields, choices int
	for _, i := range f.byName[name] {
		switch c := &f.controls[i]; {
		case c.disabled:
		case c.kind == text || c.kind == hidden:
			fields++
		case c.kind == checkbox || c.kind == radio || c.kind == list:
			choices++
		}
	}
	if choices > 0 {
		return f.Choose(name, values...)
	}
	found, err := f.find(name, "a text field", func(c *control) bool { return c.kind == text || c.kind == hidden })
	if err != nil {
		return err
	}
	if len(found) != len(values) {
		return f.wrong(name, fmt.Sprintf("%d fields have this name, and %d values were given; give one for each", len(found), len(values)), nil)
	}
	kept := make([]string, len(values))
	for i, c := range found {
		switch {
		case c.typ == "textarea":
			kept[i] = newlines(values[i], "\n")
		case c.kind == text:
			if kept[i] = c.sanitize(values[i]); kept[i] == "" && values[i] != "" && strings.TrimFunc(values[i], isSpace) != "" {
				return f.wrong(name, fmt.Sprintf("the value is not one of an input of the type %s", c.typ), nil)
			}
		default:
			kept[i] = values[i]
		}
	}
	for i, c := range found {
		c.value = kept[i]
	}
	return nil
}

// Add sends a field that the form has no control for, such as one that a script of the page would add. Such fields follow the form's own.
func (f *Form) Add(name string, values ...string) error {
	if name == "" {
		return f.wrong("", "a field without a name cannot be added", nil)
	}
	for _, v := range values {
		f.added = append(f.added, Entry{Name: name, Value: v})
	}
	return nil
}

// Check checks the checkboxes and radio buttons of a name that have one of these values, or all checkboxes of the name
// if no value is given. Others stay as they are, but for radio buttons, of which one is checked.
func (f *Form) Check(name string, values ...string) error { return f.check(name, values, true) }

// Uncheck is the reverse of [Form.Check].
func (f *Form) Uncheck(name string, values ...string) error { return f.check(name, values, false) }

func (f *Form) check(name string, values []string, on bool) error {
	found, err := f.find(name, "a checkbox", func(c *control) bool { return c.kind == checkbox || c.kind == radio })
	if err != nil {
		return err
	}
	if err := f.known(name, values, found); err != nil {
		return err
	}
	isRadio := func(c *control) bool { return c.kind == radio }
	if len(values) == 0 && on && len(found) > 1 && slices.ContainsFunc(found, isRadio) {
		return f.wrong(name, "it is a group of radio buttons; say which one", valuesOf(found))
	}
	var last *control // the radio button that was checked last
	for _, c := range found {
		if len(values) > 0 && !slices.Contains(values, c.value) {
			continue
		}
		if c.kind == radio && on {
			if last == nil {
				f.uncheckRadios(name)
			} else {
				last.checked = false
			}
			last = c
		}
		c.checked = on
	}
	return nil
}

// uncheckRadios unchecks the radio buttons of a group.
func (f *Form) uncheckRadios(name string) {
	for _, i := range f.byName[name] {
		if c := &f.controls[i]; c.kind == radio {
			c.checked = false
		}
	}
}

func valuesOf(controls []*control) []string {
	var values []string
	for _, c := range controls {
		values = append(values, c.value)
	}
	return values
}

// known returns the error of a value that none of the controls has.
func (f *Form) known(name string, values []string, among []*control) error {
	have := make(map[string]bool, len(among))
	for _, c := range among {
		have[c.value] = true
	}
	for _, v := range values {
		if !have[v] {
			return f.wrong(name, fmt.Sprintf("none has the value %.100q", v), valuesOf(among))
		}
	}
	return nil
}

// Choose chooses exactly these options of a select, by their values or, if no value fits, by the texts that they show;
// of radio buttons the one with this value, and of checkboxes those with these. No option chooses none, which a select
// with several lines allows.
func (f *Form) Choose(name string, options ...string) error {
	found, err := f.find(name, "a select", func(c *control) bool { return c.kind == list || c.kind == radio || c.kind == checkbox })
	if err != nil {
		return err
	}
	if len(found) == 1 && found[0].kind == list {
		return f.chooseOptions(found[0], options)
	}
	if slices.ContainsFunc(found, func(c *control) bool { return c.kind == list }) {
		return f.wrong(name, "several controls have this name, a select among them, so it is not clear which one is meant", nil)
	}
	if err := f.known(name, options, found); err != nil {
		return err
	}
	if len(options) > 1 && !slices.ContainsFunc(found, func(c *control) bool { return c.kind == checkbox }) {
		return f.wrong(name, "one radio button can be chosen, not several", valuesOf(found))
	}
	if slices.ContainsFunc(found, func(c *control) bool { return c.kind == radio }) {
		f.uncheckRadios(name)
	}
	chosen := false // a radio button; further ones with its value stay unchecked
	for _, c := range found {
		c.checked = slices.Contains(options, c.value) && (c.kind == checkbox || !chosen)
		chosen = chosen || c.kind == radio && c.checked
	}
	return nil
}

// chooseOptions chooses options of a select.
func (f *Form) chooseOptions(c *control, names []string) error {
	var exist []string
	byValue, byLabel := make(map[string]int), make(map[string]int)
	for i := len(c.options) - 1; i >= 0; i-- { // the first of several wins, and one that is not disabled
		o := &c.options[i]
		if before, ok := byValue[o.value]; !ok || !o.disabled || c.options[before].disabled {
			byValue[o.value] = i
		}
		if before, ok := byLabel[o.label]; !ok || !o.disabled || c.options[before].disabled {
			byLabel[o.label] = i
		}
	}
	for i := range c.options {
		if !c.options[i].disabled {
			exist = append(exist, c.options[i].value)
		}
	}
	if len(names) > 1 && !c.multiple {
		return f.wrong(c.name, "one option can be chosen, not several", exist)
	}
	chosen := make(map[int]bool)
	for _, name := range names {
		i, ok := byValue[name]
		if !ok {
			i, ok = byLabel[spaces(name)]
		}
		switch {
		case !ok:
			return f.wrong(c.name, fmt.Sprintf("no option is %.100q", name), exist)
		case c.options[i].disabled:
			return f.wrong(c.name, fmt.Sprintf("the option %.100q is disabled", name), exist)
		}
		chosen[i] = true
	}
	for i := range c.options {
		c.options[i].selected = chosen[i]
	}
	return nil
}

// Upload gives a file upload these files; none takes back what was chosen.
func (f *Form) Upload(name string, files ...File) error {
	found, err := f.find(name, "a file upload", func(c *control) bool { return c.kind == file })
	if err != nil {
		return err
	}
	if len(found) > 1 {
		return f.wrong(name, fmt.Sprintf("%d file uploads have this name, so it is not clear which one is meant", len(found)), nil)
	}
	if len(files) > 1 && !found[0].multiple {
		return f.wrong(name, "it takes one file, not several", nil)
	}
	found[0].files = slices.Clone(files)
	return nil
}

// Click says which button sends the form: by its name, its value or text, or its id, in this order. Without Click it is
// the first button, as when Enter is pressed; Click("") sends the form without a button, as a script does. A picture is
// clicked at its left upper corner, see [Form.ClickAt].
func (f *Form) Click(button string) error { return f.ClickAt(button, 0, 0) }

// ClickAt is [Form.Click] at a place of a picture (input type=image): x pixels to the right and y down from its left upper corner.
func (f *Form) ClickAt(button string, x, y int) error {
	if button == "" {
		f.clicked = noButton
		return nil
	}
	var names []string
	for _, of := range []func(c *control) string{
		func(c *control) string { return c.name },
		func(c *control) string { return c.label() },
		func(c *control) string { return c.node.Attr("id") },
	} {
		for i := range f.controls {
			c := &f.controls[i]
			if c.kind != submit && c.kind != image {
				continue
			}
			name := of(c)
			names = append(names, name)
			if name != button {
				continue
			}
			if c.disabled {
				return f.wrong(button, "the button is disabled", nil)
			}
			f.clicked, f.x, f.y = i, x, y
			return nil
		}
	}
	return f.wrong(button, "no button of the form has this name, text or id", names)
}

// longLabel is how many bytes of the text of a button are looked at. Buttons inside each other have that text in common.
const longLabel = 1024

// label returns what a button shows.
func (c *control) label() string {
	if c.node.Is(html.AtomButton) {
		x := c.node.Document().Index()
		text := x.Text().Of(x.Position(c.node))
		return spaces(text[:min(len(text), longLabel)])
	}
	if c.kind == image {
		return c.node.Attr("alt")
	}
	return c.value
}
