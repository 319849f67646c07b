package funcname

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Parsers knows the parsers of a run by name, and finds the name of a func value. "" is the name of the spider's own. F is the
// func type of parsers. The zero value has none. Lookup, Name and NameOfMethod may be called concurrently, Add and SetOwn not.
type Parsers[F any] struct {
	// Inside returns the func that a parser was made of, by which it is recognised too; false for a parser that was not made of
	// one. Nil: none is. It is set before all else.
	Inside func(parser F) (Func, bool)

	byName  map[string]F
	funcs   map[unsafe.Pointer]string // the names of parsers, and of the funcs that they were made of, by value
	methods map[uintptr]string        // the names of those that are method values, by code
	own     string                    // the symbol of a method value of the spider's Parser; "" if none is recognised
}

// Add names a parser. The error says what is wrong with name or parser; then it is not added.
func (p *Parsers[F]) Add(name string, parser F) error {
	f := Of(parser)
	if f == (Func{}) {
		return fmt.Errorf("parser %q is nil", name)
	}
	if name == "" {
		return errors.New("a parser has no name; the empty name is the spider's Parser")
	}
	if _, ok := p.byName[name]; ok {
		return fmt.Errorf("two parsers have the name %q", name)
	}
	if other, ok := p.funcs[f.value]; ok {
		return fmt.Errorf("parsers %q and %q are the same func and cannot be told apart; register it once", other, name)
	}
	if err := p.addMethod(name, p.inside(parser)); err != nil {
		return err
	}
	p.put(name, parser)
	return nil
}

// SetOwn makes parser the spider's own, after all others were added. If parser is the method Parser of a spider, spider is its type, else
// nil. The error says that another parser is the same method.
func (p *Parsers[F]) SetOwn(parser F, spider reflect.Type) error {
	p.put("", parser)
	if spider == nil {
		return p.addMethod("", p.inside(parser))
	}
	p.own = symbolOfParser(spider)
	for code, name := range p.methods {
		if symbol(code) == p.own {
			return sameMethod(name, "")
		}
	}
	return nil
}

// addMethod names a func if it is a method value.
func (p *Parsers[F]) addMethod(name string, f Func) error {
	if !strings.HasSuffix(symbol(f.code), methodValue) {
		return nil
	}
	if other, ok := p.methods[f.code]; ok {
		return sameMethod(other, name)
	}
	if p.methods == nil {
		p.methods = make(map[uintptr]string)
	}
	p.methods[f.code] = name
	return nil
}

// sameMethod is the error of two parsers that are one method; name is "" for the spider's own.
func sameMethod(other, name string) error {
	both := fmt.Sprintf("parsers %q and %q", other, name)
	if name == "" {
		both = fmt.Sprintf("parser %q and the spider's Parser", other)
	}
	return fmt.Errorf("%s are the same method, whose receivers are not compared; register it once, or wrap one in a func", both)
}

// put adds a parser. A func that several parsers were made of keeps its first name.
func (p *Parsers[F]) put(name string, parser F) {
	if p.byName == nil {
		p.byName, p.funcs = make(map[string]F), make(map[unsafe.Pointer]string)
	}
	p.byName[name] = parser
	for _, f := range []Func{Of(parser), p.inside(parser)} {
		if _, ok := p.funcs[f.value]; !ok {
			p.funcs[f.value] = name
		}
	}
}

// inside returns the func that a parser was made of, or the parser itself.
func (p *Parsers[F]) inside(parser F) Func {
	if p.Inside != nil {
		if f, ok := p.Inside(parser); ok {
			return f
		}
	}
	return Of(parser)
}

// symbolOfParser returns the symbol of method values of a type's method Parser. It returns "" for a generic type, whose instances
// have one symbol. A Parser that is promoted from an embedded field has another symbol, and is not recognised.
func symbolOfParser(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		if _, ok := t.Elem().MethodByName("Parser"); ok {
			t = t.Elem() // a method of the value is bound to the value
		}
	}
	m, ok := t.MethodByName("Parser")
	if !ok || strings.Contains(t.String(), "[") {
		return ""
	}
	return symbol(m.Func.Pointer()) + methodValue
}

// Lookup returns the parser of that name; false if there is none.
func (p *Parsers[F]) Lookup(name string) (parser F, ok bool) {
	parser, ok = p.byName[name]
	return parser, ok
}

// Names returns the names of the parsers, sorted, without the spider's own.
func (p *Parsers[F]) Names() []string {
	names := slices.Sorted(maps.Keys(p.byName))
	if len(names) > 0 && names[0] == "" {
		names = names[1:]
	}
	return names
}

// Name returns the name of a parser; "" for nil and for the spider's own. It returns false for one that is not the value
// that was given a name, nor made of the same func.
func (p *Parsers[F]) Name(parser F) (name string, ok bool) {
	f := Of(parser)
	if f == (Func{}) {
		return "", true
	}
	if name, ok = p.funcs[f.value]; !ok {
		name, ok = p.funcs[p.inside(parser).value]
	}
	return name, ok
}

// NameOfMethod returns the name of a parser that is, or was made of, a method value. It is recognised by its method, whatever its
// receiver is.
func (p *Parsers[F]) NameOfMethod(parser F) (name string, ok bool) {
	f := p.inside(parser)
	if name, ok = p.methods[f.code]; !ok {
		ok = p.own != "" && symbol(f.code) == p.own
	}
	return name, ok
}
