// Package funcname finds the name under which a func was registered: stored requests name the func that is to read their
// response.
//
// A func value is the registered one if it is the same value, as a top-level func always is, and a value that was kept. A method
// value (s.ParsePage) is a new value each time it is written, so where the caller asks for it, one is also found by its method. Its
// receiver is not compared, so one method cannot be registered twice. Other closures, instances of generic funcs and methods that
// cannot be told apart are unknown, never guessed.
//
// A short example:
//
//	var parsers funcname.Parsers[Parser]
//	err := parsers.Add("page", s.ParsePage)
//	name, known := parsers.NameOfMethod(s.ParsePage) // "page", true
package funcname

import (
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"unsafe"
)

// Func is a func value without its type. Two are equal if they are the same value.
type Func struct {
	value unsafe.Pointer // the func value as it is; what it points to is not read
	code  uintptr
}

// Of returns a func value; that of nil is the zero Func. F is its func type.
func Of[F any](f F) Func {
	return Func{*(*unsafe.Pointer)(unsafe.Pointer(&f)), reflect.ValueOf(f).Pointer()}
}

// SameCode reports whether two func values run the same code: closures of one literal do, unless the func that makes them
// was inlined.
func SameCode(f, g Func) bool { return f.code == g.code }

// Code returns where the code of the func is, 0 for nil. It is one for all closures of a literal.
func (f Func) Code() uintptr { return f.code }

// Description names a func in messages.
type Description struct {
	Symbol  string // the name that Go gave it: "main.detail", "main.(*shop).detail", "main.main.func1"
	Last    string // the name of the func or the method itself
	Method  bool   // it is a method value
	Literal bool   // it is a func literal or an instance of a generic func: what is written again is another func
}

// Describe describes a func.
func Describe(f Func) (d Description) {
	d.Symbol, d.Method = strings.CutSuffix(symbol(f.code), methodValue)
	d.Literal = !d.Method && literal.MatchString(d.Symbol)
	d.Last = d.Symbol[strings.LastIndexByte(d.Symbol, '.')+1:]
	return d
}

// literal matches what the names of func literals and of instances of generic funcs have.
var literal = regexp.MustCompile(`\.func\d+|\.gowrap\d+|\.\.\.\]|^$`)

// methodValue is how the names end that the compiler gives to method values.
const methodValue = "-fm"

// symbol returns the name of the func that begins at an address, "" if it has none. The first instructions may be those
// of a func that was inlined: package runtime gives those no Func.
func symbol(code uintptr) string {
	for pc := code; code != 0; pc++ {
		frame, _ := runtime.CallersFrames([]uintptr{pc + 1}).Next() // of the instruction before pc + 1
		if frame.Entry != code {
			break
		}
		if frame.Func != nil {
			return frame.Function
		}
	}
	return ""
}
