package funcname

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Parsers knows the parsers of a run by name, and finds the name of a func value. "" is the name of the spider's own. F is the
// func type of parsers, and I an interface that has the spider's own as a method. The zero value has none. Lookup and Name may be
// called concurrently, Add and SetOwn not.
type Parsers[F, I any] struct {
	// Inside returns the func that a parser was made of, by which it is recognised too; false for a parser that was not made of
	// one. Nil: none is. It is set before all else.
	Inside func(parser F) (Func, bool)

	byName  map[string]F
	names   Table
	inside  Table      // the names by the funcs that parsers were made of
	own     *Method[I] // recognises the spider's own; nil if there is none
	ownFunc Func       // the spider's own, as it was given
}

// Add names a parser. The error says what is wrong with name or parser; then it is not added.
func (p *Parsers[F, I]) Add(name string, parser F) error {
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
	var taken *TakenError
	if errors.As(p.names.Add(f, name), &taken) {
		if taken.Method {
			return fmt.Errorf("parsers %q and %q are the same method and cannot be told apart; register it once, or wrap one in a func", taken.Name, name)
		}
		return fmt.Errorf("parsers %q and %q are the same func and cannot be told apart; register it once", taken.Name, name)
	}
	p.put(name, parser)
	p.share(parser, name)
	return nil
}

// share gives the func that a parser was made of the parser's name, unless it has one.
func (p *Parsers[F, I]) share(parser F, name string) {
	if p.Inside == nil {
		return
	}
	if inside, ok := p.Inside(parser); ok {
		p.inside.Share(inside, name)
	}
}

// SetOwn makes parser the spider's own. It is recognised by the method of that name, which the spider has.
func (p *Parsers[F, I]) SetOwn(parser F, spider I, method string) {
	p.put("", parser)
	p.share(parser, "")
	p.own, p.ownFunc = MethodOf(spider, method), Of(parser)
}

func (p *Parsers[F, I]) put(name string, parser F) {
	if p.byName == nil {
		p.byName = make(map[string]F)
	}
	p.byName[name] = parser
}

// Lookup returns the parser of that name; false if there is none.
func (p *Parsers[F, I]) Lookup(name string) (parser F, ok bool) {
	parser, ok = p.byName[name]
	return parser, ok
}

// Names returns the names of the parsers, sorted, without the spider's own.
func (p *Parsers[F, I]) Names() []string {
	names := slices.Sorted(maps.Keys(p.byName))
	if len(names) > 0 && names[0] == "" {
		names = names[1:]
	}
	return names
}

// Name returns the name of a parser; "" for nil and for the spider's own. It returns false for a parser that was given no name.
func (p *Parsers[F, I]) Name(parser F) (name string, ok bool) {
	f := Of(parser)
	if f == (Func{}) {
		return "", true
	}
	if name, ok := p.names.Name(f); ok {
		return name, true
	}
	if f == p.ownFunc || p.own != nil && p.own.Is(f) {
		return "", true
	}
	if p.Inside != nil {
		if inside, ok := p.Inside(parser); ok {
			return p.inside.Exact(inside)
		}
	}
	return "", false
}

// NameOfMethod is Name for a parser that was made of a method value, which it recognises by the method alone if its receiver is no
// pointer and cannot be compared.
func (p *Parsers[F, I]) NameOfMethod(parser F) (name string, ok bool) {
	if p.Inside == nil {
		return "", false
	}
	inside, ok := p.Inside(parser)
	if !ok {
		return "", false
	}
	return p.inside.Name(inside)
}
