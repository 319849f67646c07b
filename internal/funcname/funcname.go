// Package funcname finds out which func a func value is, as far as that is possible: stored requests name the func that is to
// read their response.
//
// A func value points to the address of its code, followed by what it captured. Two func values are the same if that
// pointer is the same: top-level funcs, and a value that was kept. A method value (s.ParsePage) is made anew each time it is
// written, so it is recognised by the symbol that the linker gave to its code and, where the receiver is a pointer, by
// the receiver; method values of other receivers are told apart by their method alone. Other closures are never compared by
// their code, since one literal makes many of them: they are unknown, never guessed.
//
// A short example:
//
//	var names funcname.Table
//	err := names.Add(funcname.Of(s.ParsePage), "page")
//	name, known := names.Name(funcname.Of(s.ParsePage)) // "page", true
package funcname

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// Func is a func value without its type. Values are equal if they are the same pointer.
type Func struct{ value unsafe.Pointer }

// Of returns a func value; that of nil is the zero Func, and must not be given to anything else here. F is its func type.
func Of[F any](f F) Func { return Func{*(*unsafe.Pointer)(unsafe.Pointer(&f))} }

// SameCode reports whether two func values run the same code: closures of one literal do, unless the func that makes them
// was inlined.
func SameCode(f, g Func) bool { return f.code() == g.code() }

// code returns the address of the func's code.
func (f Func) code() uintptr { return *(*uintptr)(f.value) }

// word returns the i-th word behind the func value; what a method value captured begins with word 1.
func (f Func) word(i uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Add(f.value, i*unsafe.Sizeof(i)))
}

// Table gives names to func values. The zero Table is empty. Name may be called concurrently, Add not.
type Table struct {
	funcs   map[Func]string
	methods map[uintptr][]namedMethod // by code
}

type namedMethod struct {
	name     string
	receiver unsafe.Pointer // nil: not compared
	vague    bool           // several have been added that cannot be told apart: none is recognised
}

// TakenError is the error of a func that cannot be told apart from one that has a name.
type TakenError struct {
	Name   string // of the one that is there
	Method bool   // they are method values of one method and one receiver, or of receivers that are not pointers
}

// Error says in which way the two are the same.
func (e *TakenError) Error() string {
	if e.Method {
		return fmt.Sprintf("it is the same method as %q", e.Name)
	}
	return fmt.Sprintf("it is the same func as %q", e.Name)
}

// Add names a func. The error is a [*TakenError]; then it has no other name than before.
func (t *Table) Add(f Func, name string) error {
	if other, ok := t.funcs[f]; ok {
		return &TakenError{Name: other}
	}
	if t.funcs == nil {
		t.funcs, t.methods = make(map[Func]string), make(map[uintptr][]namedMethod)
	}
	code := f.code()
	if symbol := methodSymbol(code); symbol != "" {
		m := namedMethod{name: name, receiver: receiverOf(f, symbol)}
		for _, other := range t.methods[code] {
			if other.receiver == m.receiver {
				return &TakenError{Name: other.name, Method: true}
			}
		}
		t.methods[code] = append(t.methods[code], m)
	}
	t.funcs[f] = name
	return nil
}

// Name returns the name of a func; known is false for one that was given no name.
func (t *Table) Name(f Func) (name string, known bool) {
	if name, known = t.funcs[f]; known {
		return name, true
	}
	for _, m := range t.methods[f.code()] {
		if !m.vague && (m.receiver == nil || m.receiver == f.word(1)) {
			return m.name, true
		}
	}
	return "", false
}

// Exact is Name without the method values whose receivers cannot be compared: those whose receivers are no pointers.
func (t *Table) Exact(f Func) (name string, known bool) {
	if name, known = t.funcs[f]; known {
		return name, true
	}
	for _, m := range t.methods[f.code()] {
		if m.receiver != nil && m.receiver == f.word(1) {
			return m.name, true
		}
	}
	return "", false
}

// Share is Add for a func that may have a name already: it keeps the first one. Method values of one method whose receivers
// cannot be compared are not recognised any more once there are two of them with different names.
func (t *Table) Share(f Func, name string) {
	var taken *TakenError
	if !errors.As(t.Add(f, name), &taken) || !taken.Method || taken.Name == name {
		return
	}
	for i := range t.methods[f.code()] {
		if m := &t.methods[f.code()][i]; m.receiver == nil {
			m.vague, t.funcs[f] = true, name
		}
	}
}

// Method recognises the method values of one method of one value. I is an interface that has the method. Make one with
// [MethodOf]. It may be used concurrently.
type Method[I any] struct {
	value I
	names []methodName

	mu       sync.RWMutex            // guards verdicts
	verdicts map[uintptr]*methodName // by code; nil: another func
}

// methodName is a symbol that a method value can have.
type methodName struct {
	symbol   string
	receiver unsafe.Pointer // nil: not compared
	iface    bool           // the receiver is an I
}

// MethodOf returns a [Method] that recognises the method values of a value, which must not be nil: written of the value itself, of
// the embedded one from which the method is promoted, or of an I that holds the value.
func MethodOf[I any](value I, name string) *Method[I] {
	names := append(methodNames(reflect.ValueOf(value), name), methodName{symbol: symbolOf(reflect.TypeFor[I](), name, false), iface: true})
	return &Method[I]{value: value, names: names, verdicts: make(map[uintptr]*methodName)}
}

// Is reports whether a func value is the method.
func (m *Method[I]) Is(f Func) bool {
	code := f.code()
	m.mu.RLock()
	own, known := m.verdicts[code]
	m.mu.RUnlock()
	if !known {
		if symbol := methodSymbol(code); symbol != "" {
			if i := slices.IndexFunc(m.names, func(n methodName) bool { return n.symbol == symbol }); i >= 0 {
				own = &m.names[i]
			}
		}
		m.mu.Lock()
		m.verdicts[code] = own
		m.mu.Unlock()
	}
	switch {
	case own == nil:
		return false
	case own.iface:
		value := (*[2]unsafe.Pointer)(unsafe.Pointer(&m.value))
		return f.word(1) == value[0] && f.word(2) == value[1]
	}
	return own.receiver == nil || own.receiver == f.word(1)
}

// methodNames lists the symbols that the method value can have: that of the value, or that of the embedded one from which
// the method is promoted.
func methodNames(v reflect.Value, name string) (names []methodName) {
	for {
		t, receiver := v.Type(), unsafe.Pointer(nil)
		method, ok := t.MethodByName(name)
		if !ok {
			return names
		}
		if t.Kind() == reflect.Pointer && t.Name() == "" {
			if v.IsNil() {
				return names
			}
			receiver = v.UnsafePointer()
			names = append(names, methodName{symbol: symbolOf(t.Elem(), name, true), receiver: receiver})
			v = v.Elem()
			if t = v.Type(); t.Kind() == reflect.Interface {
				return names
			}
		}
		declared := method
		if ofValue, ok := t.MethodByName(name); ok {
			names = append(names, methodName{symbol: symbolOf(t, name, false)})
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
			if _, ok := f.Type().MethodByName(name); ok {
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
