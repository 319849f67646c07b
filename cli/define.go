package cli

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Definition is a spider of an App, with what is known of it before it is made. [Define] makes one.
type Definition struct {
	name, help string
	args       []argument
	make       func(values map[string]string) (spider tegenaria.SpiderInterface, args any, err error) // values of arguments that were given, by name
	mistake    error
}

// argument is an argument of a spider.
type argument struct {
	name, help, def string
	index           []int // of the field
	typ             reflect.Type
}

// Define describes a spider with arguments, and how it is made of them. Each field of A with the tag arg is an argument of that name:
//
//	type ShopArgs struct {
//		Category string    `arg:"category" default:"all" help:"of the catalogue"`
//		Since    time.Time `arg:"since" help:"only what is newer"`
//	}
//
// Fields are texts, bools, numbers, durations, times, types that have UnmarshalText, and lists of these. The tag default is the value
// of an argument that is not given; without the tag it is the zero value. An argument is given as -a category=books, as --category
// books unless the command has a flag of that name, or in the section args of the spider in tegenaria.yaml. Names consist of lower
// case letters, digits, - and _. A is a struct. The error of make, say about a value, ends the command with exit code 2.
func Define[A any](name, help string, make func(args A) (tegenaria.SpiderInterface, error)) Definition {
	d := Definition{name: name, help: help}
	d.args, d.mistake = argumentsOf(reflect.TypeFor[A]())
	switch {
	case name == "" || strings.HasPrefix(name, "-") || strings.Contains(name, "://"):
		d.mistake = errors.Join(d.mistake, fmt.Errorf("%q is no name for a spider", name))
	case make == nil:
		d.mistake = errors.Join(d.mistake, errors.New("the func that makes the spider is nil"))
	}
	if d.mistake != nil {
		d.mistake = fmt.Errorf("cli.Define(%q): %w", name, d.mistake)
	}
	d.make = func(values map[string]string) (tegenaria.SpiderInterface, any, error) {
		var a A
		if err := d.fill(reflect.ValueOf(&a).Elem(), values); err != nil {
			return nil, nil, err
		}
		spider, err := make(a)
		if err == nil && spider == nil {
			err = fmt.Errorf("spider %q: the func that makes it has returned nil", name)
		}
		return spider, a, err
	}
	return d
}

// of makes the spider of the arguments in layers, which keep them for its [Run].
func (d *Definition) of(l *layers) (spider tegenaria.SpiderInterface, err error) {
	spider, l.made, err = d.make(l.values)
	return spider, err
}

// fixed describes a spider that there is already.
func fixed(s tegenaria.SpiderInterface) Definition {
	if s == nil {
		return Definition{mistake: errors.New("cli: a spider is nil")}
	}
	return Definition{name: s.GetName(), make: func(map[string]string) (tegenaria.SpiderInterface, any, error) { return s, nil, nil }}
}

// argumentsOf reads the tags of a struct.
func argumentsOf(t reflect.Type) (args []argument, err error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("arguments are the fields of a struct, and %s is none", t)
	}
	var errs []error
	known := make(map[string]bool)
	for _, f := range reflect.VisibleFields(t) {
		name, ok := f.Tag.Lookup("arg")
		if !ok {
			continue
		}
		a := argument{name: name, help: f.Tag.Get("help"), def: f.Tag.Get("default"), index: f.Index, typ: f.Type}
		switch {
		case !f.IsExported():
			errs = append(errs, fmt.Errorf("field %s: it is not exported", f.Name))
		case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || name[0] == '-':
			errs = append(errs, fmt.Errorf("field %s: %q is no name for an argument: use lower case letters, digits, - and _", f.Name, name))
		case !setting.Parsable(f.Type):
			errs = append(errs, fmt.Errorf("field %s: no text can be made a %s", f.Name, f.Type))
		case known[name]:
			errs = append(errs, fmt.Errorf("field %s: there are two arguments %q", f.Name, name))
		case a.def != "":
			if err := setting.Parse(reflect.New(f.Type).Elem(), a.def); err != nil {
				errs = append(errs, fmt.Errorf("field %s: its default: %w", f.Name, err))
			}
		}
		known[name] = true
		args = append(args, a)
	}
	return args, errors.Join(errs...)
}

// names returns the names of the arguments.
func (d *Definition) names() (names []string) {
	for _, a := range d.args {
		names = append(names, a.name)
	}
	return names
}

// argument finds an argument.
func (d *Definition) argument(name string) (argument, error) {
	for _, a := range d.args {
		if a.name == name {
			return a, nil
		}
	}
	if len(d.args) == 0 {
		return argument{}, fmt.Errorf("spider %q has no arguments, and is given %q", d.name, name)
	}
	text := meant(name, d.names())
	if text == "" {
		text = "; it has " + strings.Join(d.names(), ", ")
	}
	return argument{}, fmt.Errorf("spider %q has no argument %q%s", d.name, name, text)
}

// check reports whether a value can be given to an argument.
func (d *Definition) check(name, value string) error {
	a, err := d.argument(name)
	if err != nil {
		return err
	}
	if err := setting.Parse(reflect.New(a.typ).Elem(), value); err != nil {
		return fmt.Errorf("argument %s: %w", name, err)
	}
	return nil
}

// fill sets the fields of the struct of arguments.
func (d *Definition) fill(v reflect.Value, values map[string]string) error {
	for _, a := range d.args {
		text, ok := values[a.name]
		if !ok {
			if text = a.def; text == "" {
				continue
			}
		}
		if err := setting.Parse(v.FieldByIndex(a.index), text); err != nil {
			return fmt.Errorf("argument %s: %w", a.name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, err := d.argument(name); err != nil {
			return err
		}
	}
	return nil
}

// definition finds a spider.
func (a *App) definition(name string) (*Definition, error) {
	var names []string
	for i := range a.defs {
		if a.defs[i].name == name {
			return &a.defs[i], nil
		}
		names = append(names, a.defs[i].name)
	}
	if len(names) == 0 {
		return nil, usagef("there is no spider %q: this program has none; tegenaria new makes a project of spiders, and "+
			"tegenaria crawl FILE.go runs a spider in one file", urlx.Redact(name))
	}
	return nil, usagef("there is no spider %q%s; this program has %s", urlx.Redact(name), meant(name, names), listed(names))
}

// listed names some of many.
func listed(names []string) string {
	const most = 10
	names = slices.Sorted(slices.Values(names))
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
