package tegenaria

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// parserTable knows the parsers of a run by name and finds the name of a func value. "" is the
// spider's own Parser. It is safe for concurrent use.
//
// A func value is a pointer to its code's address and what it captured. Two func values are the same
// parser if that pointer is the same: top-level funcs, and a func value that was registered itself.
// A method value (s.ParsePage) is made anew each time it is written, so it is recognised by its code
// and, if the receiver is a pointer, by the receiver. Method values of other receivers are told apart by
// method alone. Other closures are never compared by code: one literal makes many parsers.
type parserTable struct {
	byName  map[string]Parser
	byFunc  map[unsafe.Pointer]string
	methods map[uintptr][]methodParser // by code

	spider SpiderInterface
	own    []methodName // how the spider's Parser may appear

	mu      sync.RWMutex            // guards what follows
	ownCode map[uintptr]*methodName // verdicts by code; nil: not the spider's Parser
}

// methodParser is a registered method value.
type methodParser struct {
	name     string
	receiver unsafe.Pointer // nil: not compared
}

// methodName is the symbol of a method value.
type methodName struct {
	symbol   string
	receiver unsafe.Pointer // nil: not compared
	iface    bool           // the receiver is a SpiderInterface
}

// newParserTable collects the parsers of a run: those registered with the engine, then those of the
// spider. The error joins all mistakes.
func newParserTable(spider SpiderInterface, named []namedParser) (*parserTable, error) {
	t := &parserTable{
		byName:  make(map[string]Parser),
		byFunc:  make(map[unsafe.Pointer]string),
		methods: make(map[uintptr][]methodParser),
		spider:  spider,
		ownCode: make(map[uintptr]*methodName),
	}
	var errs []error
	for _, p := range named {
		errs = append(errs, t.add(p))
	}
	if set, ok := spider.(ParserSet); ok {
		parsers := set.Parsers()
		names := make([]string, 0, len(parsers))
		for name := range parsers {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			errs = append(errs, t.add(namedParser{name, parsers[name]}))
		}
	}
	if spider != nil {
		t.byName[""] = spider.Parser
		if s, ok := spider.(*funcSpider); ok && s.parser != nil {
			t.byName[""] = s.parser // as it was given, so that a parser made by Handle is seen to be one
		}
		t.own = append(methodNames(reflect.ValueOf(spider)), methodName{
			symbol: "github.com/tegenaria/tegenaria.SpiderInterface.Parser" + methodValue, iface: true,
		})
	}
	return t, errors.Join(errs...)
}

func (t *parserTable) add(p namedParser) error {
	if p.parser == nil {
		return fmt.Errorf("parser %q is nil", p.name)
	}
	if p.name == "" {
		return errors.New("a parser has no name; the empty name is the spider's Parser")
	}
	if _, ok := t.byName[p.name]; ok {
		return fmt.Errorf("two parsers have the name %q", p.name)
	}
	fn := funcOf(p.parser)
	if other, ok := t.byFunc[fn]; ok {
		return fmt.Errorf("parsers %q and %q are the same func and cannot be told apart; register it once", other, p.name)
	}
	code := codeOf(fn)
	if symbol := methodSymbol(code); symbol != "" {
		m := methodParser{name: p.name, receiver: receiverOf(fn, symbol)}
		for _, other := range t.methods[code] {
			if other.receiver == m.receiver {
				return fmt.Errorf("parsers %q and %q are the same method and cannot be told apart; register it once, or wrap one in a func", other.name, p.name)
			}
		}
		t.methods[code] = append(t.methods[code], m)
	}
	t.byName[p.name] = p.parser
	t.byFunc[fn] = p.name
	return nil
}

// lookup returns the parser of that name.
func (t *parserTable) lookup(name string) (Parser, bool) {
	p, ok := t.byName[name]
	return p, ok
}

// name returns the name of a parser; "" for nil and for the spider's Parser. It is false for a parser
// that nobody named.
func (t *parserTable) name(p Parser) (string, bool) {
	if p == nil {
		return "", true
	}
	fn := funcOf(p)
	if name, ok := t.byFunc[fn]; ok {
		return name, true
	}
	code := codeOf(fn)
	for _, m := range t.methods[code] {
		if m.receiver == nil || m.receiver == word(fn, 1) {
			return m.name, true
		}
	}
	return "", t.isOwn(fn, code)
}

// isOwn tells whether a func value is the spider's method Parser.
func (t *parserTable) isOwn(fn unsafe.Pointer, code uintptr) bool {
	t.mu.RLock()
	own, known := t.ownCode[code]
	t.mu.RUnlock()
	if !known {
		if symbol := methodSymbol(code); symbol != "" {
			if i := slices.IndexFunc(t.own, func(m methodName) bool { return m.symbol == symbol }); i >= 0 {
				own = &t.own[i]
			}
		}
		t.mu.Lock()
		t.ownCode[code] = own
		t.mu.Unlock()
	}
	switch {
	case own == nil:
		return false
	case own.iface:
		spider := (*[2]unsafe.Pointer)(unsafe.Pointer(&t.spider))
		return word(fn, 1) == spider[0] && word(fn, 2) == spider[1]
	}
	return own.receiver == nil || own.receiver == word(fn, 1)
}

// methodNames lists the method values that a spider's Parser can be: its own, or that of the embedded
// value it is promoted from.
func methodNames(v reflect.Value) (names []methodName) {
	for {
		t, receiver := v.Type(), unsafe.Pointer(nil)
		method, ok := t.MethodByName("Parser")
		if !ok {
			return names
		}
		if t.Kind() == reflect.Pointer && t.Name() == "" {
			if v.IsNil() {
				return names
			}
			receiver = v.UnsafePointer()
			names = append(names, methodName{symbol: symbolOf(t.Elem(), true), receiver: receiver})
			v = v.Elem()
			if t = v.Type(); t.Kind() == reflect.Interface {
				return names
			}
		}
		declared := method
		if ofValue, ok := t.MethodByName("Parser"); ok {
			names = append(names, methodName{symbol: symbolOf(t, false)})
			declared = ofValue
		}
		if t.Kind() != reflect.Struct || !autogenerated(declared.Func.Pointer()) {
			return names
		}
		promoted := reflect.Value{}
		for i := range t.NumField() {
			f := v.Field(i)
			if !t.Field(i).Anonymous {
				continue
			}
			if f.Kind() == reflect.Interface || f.Kind() == reflect.Pointer && f.IsNil() {
				continue
			}
			if f.Kind() == reflect.Struct && f.CanAddr() {
				f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr()))
			}
			if _, ok := f.Type().MethodByName("Parser"); ok {
				if promoted.IsValid() {
					return names
				}
				promoted = f
			}
		}
		if !promoted.IsValid() {
			return names
		}
		v = promoted
	}
}

// methodValue is how the linker names end that the compiler gives to method values.
const methodValue = "-fm"

// symbolOf returns the linker's name of the method value Parser of a type or a pointer to it.
func symbolOf(t reflect.Type, pointer bool) string {
	path, name := linkerPath(t.PkgPath()), t.Name()
	if generic, _, ok := strings.Cut(name, "["); ok {
		name = generic + "[...]" // as package runtime prints it
	}
	if pointer {
		return path + ".(*" + name + ").Parser" + methodValue
	}
	return path + "." + name + ".Parser" + methodValue
}

// linkerPath escapes an import path as the linker does: dots behind the last slash, and what is not
// plain ASCII.
func linkerPath(path string) string {
	slash := strings.LastIndexByte(path, '/')
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c <= ' ' || c == '.' && i > slash || c == '%' || c == '"' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02x", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// codeSpan is how many bytes of a func are looked through. A method value is a few instructions
// long, unless the method was inlined into it.
const codeSpan = 512

// methodSymbol returns the linker's name of the code of a method value, "" for any other code. The name at
// the first instruction alone would not do: that may belong to a method inlined there.
func methodSymbol(code uintptr) string {
	for pc := code; pc < code+codeSpan; pc++ {
		f := runtime.FuncForPC(pc)
		if f == nil || f.Entry() != code {
			return ""
		}
		if strings.HasSuffix(f.Name(), methodValue) {
			return f.Name()
		}
	}
	return ""
}

// autogenerated tells whether the compiler wrote the method, to promote an embedded one.
func autogenerated(code uintptr) bool {
	for pc := code; pc < code+codeSpan; pc++ {
		f := runtime.FuncForPC(pc)
		if f == nil || f.Entry() != code {
			return false
		}
		if file, _ := f.FileLine(pc); file == "<autogenerated>" {
			return true
		}
	}
	return false
}

// receiverOf returns the receiver that a method value captured if it is a pointer, else nil.
func receiverOf(fn unsafe.Pointer, symbol string) unsafe.Pointer {
	if strings.Contains(symbol, ".(*") {
		return word(fn, 1)
	}
	return nil
}

// funcOf returns the pointer that a func value is.
func funcOf(p Parser) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// codeOf returns the address of a func value's code.
func codeOf(fn unsafe.Pointer) uintptr { return *(*uintptr)(fn) }

// word returns the i-th word behind a func value; what a method value captured begins with word 1.
func word(fn unsafe.Pointer, i uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Add(fn, i*unsafe.Sizeof(i)))
}
