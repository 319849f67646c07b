package funcname

import (
	"errors"
	"fmt"
)

// Parsers knows the parsers of a run by name, and finds the name of a func value. "" is the name of the spider's own. F is the
// func type of parsers, and I an interface that has the spider's own as a method. The zero value has none. Lookup and Name may be
// called concurrently, Add and SetOwn not.
type Parsers[F, I any] struct {
	byName map[string]F
	names  Table
	own    *Method[I] // recognises the spider's own; nil if there is none
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
	return nil
}

// SetOwn makes parser the spider's own. It is recognised by the method of that name, which the spider has.
func (p *Parsers[F, I]) SetOwn(parser F, spider I, method string) {
	p.put("", parser)
	p.own = MethodOf(spider, method)
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

// Name returns the name of a parser; "" for nil and for the spider's own. It returns false for a parser that was given no name.
func (p *Parsers[F, I]) Name(parser F) (name string, ok bool) {
	f := Of(parser)
	if f == (Func{}) {
		return "", true
	}
	if name, ok := p.names.Name(f); ok {
		return name, true
	}
	return "", p.own != nil && p.own.Is(f)
}
