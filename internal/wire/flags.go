package wire

// Flags are what a request says by yes or no.
type Flags struct {
	NoRedirects, DoNotFilter, Spool bool
	ChainFiltered, ChainSetCookie   bool // of its chain of redirects
	Partial                         bool
}

// fields returns the flags in the order of their bits, from the lowest one: none is ever used again for another meaning.
func (f *Flags) fields() [6]*bool {
	return [...]*bool{&f.NoRedirects, &f.DoNotFilter, &f.Spool, &f.ChainFiltered, &f.ChainSetCookie, &f.Partial}
}

// bits returns the flags as they are stored.
func (f Flags) bits() (bits byte) {
	for i, set := range f.fields() {
		if *set {
			bits |= 1 << i
		}
	}
	return bits
}

// flagsOf returns the flags of stored bits.
func flagsOf(bits byte) (f Flags) {
	for i, set := range f.fields() {
		*set = bits&(1<<i) != 0
	}
	return f
}
