package telemetry

// other is the label of all values that come after the first ones.
const other = "other"

// labels bounds the values of a label: the first ones keep their names, whatever comes later. The zero value has seen none.
type labels struct {
	most  int
	known map[string]bool
}

// label returns the value that stands for one.
func (l *labels) label(value string) string {
	if l.known[value] {
		return value
	}
	if len(l.known) >= l.most {
		return other
	}
	if l.known == nil {
		l.known = make(map[string]bool)
	}
	l.known[value] = true
	return value
}
