package urlx

// ResolveFast resolves by the fast path alone; false means that it declines.
func ResolveFast(b *Base, ref string) (string, bool) {
	url, ok := appendFast(nil, b, ref, true)
	return string(url), ok
}

// ResolveSlow resolves by the library alone.
func ResolveSlow(b *Base, ref string) (string, error) {
	url, err := appendSlow(nil, b, ref, true)
	return string(url), err
}

// PlainAuthority reports whether the accessors would take abs apart without parsing it.
func PlainAuthority(abs string) bool { return plainAuthority(abs) }
