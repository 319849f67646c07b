package pipeline

import "reflect"

// CheckValue checks a value by the tags of its type, which need not be known when the test is compiled.
func CheckValue(v reflect.Value) ([]Fault, error) {
	p, err := planOf(v.Type())
	if err != nil {
		return nil, err
	}
	invalid := InvalidError{Type: v.Type().String()}
	p.check(v, "", 0, &invalid)
	return invalid.Faults, nil
}

// CompareAmounts compares the amounts of a Money.
func CompareAmounts(a, b string) int {
	x, _ := decimalOf(a)
	y, _ := decimalOf(b)
	return x.compare(y)
}
