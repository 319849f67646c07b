package fieldcount

import "strings"

// The beginning of the names that counts of fields have among the counters of a durable job: "field/filled/Book.title".
const group = "field/"

// counters returns the counts of a field by the beginnings of their names.
func (f *Counts) counters() map[string]*int64 {
	return map[string]*int64{group + "items/": &f.Items, group + "filled/": &f.Filled, group + "looked/": &f.LookedFor,
		group + "defaulted/": &f.Defaulted, group + "missing/": &f.Missing, group + "failed/": &f.Failed}
}

// IsCounter reports whether a counter of a durable job is that of a field.
func IsCounter(name string) bool { return strings.HasPrefix(name, group) }

// Put sets the counters of a durable job to counts of fields; those that are 0 have none.
func Put(counters map[string]int64, counts map[string]Counts) {
	for key, f := range counts {
		for of, n := range f.counters() {
			if *n > 0 {
				counters[of+key] = *n
			}
		}
	}
}

// In returns the counts of fields among the counters of a durable job.
func In(counters map[string]int64) map[string]Counts {
	sum := make(map[string]Counts)
	for name, n := range counters {
		if rest, ok := strings.CutPrefix(name, group); ok {
			of, key, _ := strings.Cut(rest, "/")
			f := Counts{}
			if at := f.counters()[group+of+"/"]; at != nil {
				*at = n
				Merge(sum, key, f)
			}
		}
	}
	return sum
}
