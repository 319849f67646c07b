package pipeline

import (
	"fmt"
	"strings"
)

// Bounds of an InvalidError.
const (
	mostFaults = 100 // of an item
	mostShown  = 5   // in a message
	mostValue  = 80  // characters of a value in a message
)

// Fault is one thing that is wrong with an item.
type Fault struct {
	Field string `json:"field"` // "offers[2].price", by the names that JSON has; "" is the item itself
	Rule  string `json:"rule"`  // "min", or the keyword of a JSON Schema
	Text  string `json:"text"`  // what is wrong, with the value: "-3 is less than 0"
}

// InvalidError is the failure of an item that is not what its type, or its schema, says. It has all faults of the item, up to 100.
type InvalidError struct {
	Type   string // of the item: "main.Book"
	Faults []Fault
}

// Error names the first five faults, each with its field.
func (e *InvalidError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline: an item of type %s is not valid", e.Type)
	for i, f := range e.Faults {
		if i == mostShown {
			fmt.Fprintf(&b, "; and %d more", len(e.Faults)-i)
			break
		}
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		b.WriteString(separator)
		if f.Field != "" {
			b.WriteString(f.Field + ": ")
		}
		b.WriteString(f.Text)
	}
	return b.String()
}

// Reason is the field and the rule of the first fault, "price: min": items are counted by it in Stats.ItemReasons.
func (e *InvalidError) Reason() string {
	switch {
	case len(e.Faults) == 0:
		return "not valid"
	case e.Faults[0].Field == "":
		return e.Faults[0].Rule
	}
	return e.Faults[0].Field + ": " + e.Faults[0].Rule
}

// add adds a fault, unless there are enough.
func (e *InvalidError) add(field, rule, format string, args ...any) {
	if len(e.Faults) < mostFaults {
		e.Faults = append(e.Faults, Fault{field, rule, fmt.Sprintf(format, args...)})
	}
}

// TagError is a mistake in a field of an item's type. All mistakes of a type are reported together.
type TagError struct {
	Type  string // of the item: "main.Book"
	Field string // "Offers.Price", by the names of Go
	Tag   string // `min:"x"`
	Err   error
}

// Error names the field and its tag.
func (e *TagError) Error() string {
	if e.Tag == "" {
		return fmt.Sprintf("pipeline: %s.%s: %v", e.Type, e.Field, e.Err)
	}
	return fmt.Sprintf("pipeline: %s.%s: the tag %s: %v", e.Type, e.Field, e.Tag, e.Err)
}

// Unwrap returns what is wrong.
func (e *TagError) Unwrap() error { return e.Err }

// shown is a value as messages have it: on one line, and cut.
func shown(s string) string {
	if runes := []rune(s[:min(len(s), 4*mostValue)]); len(runes) > mostValue {
		return fmt.Sprintf("%q…", string(runes[:mostValue]))
	}
	return fmt.Sprintf("%q", s)
}
