package urlx

// What a byte means to the fast path, one bit per component. A set bit stops the run of bytes that
// are copied as they are.
const (
	stopPath     = 1 << iota // path: delimiters, and the path percent-encode set
	stopQuery                // query of http(s): #, and the special-query percent-encode set
	stopFragment             // the fragment percent-encode set
	stopOpaque               // path of mailto:, javascript: and the like: all but the plainest
	refuse                   // tab, LF, CR: taken out by the standard, anywhere
)

// stops follows §1.3 of the URL standard, "percent-encoded bytes".
var stops = func() (t [256]uint8) {
	set := func(bits uint8, chars string) {
		for i := range len(chars) {
			t[chars[i]] |= bits
		}
	}
	const all = stopPath | stopQuery | stopFragment | stopOpaque
	for c := range t {
		if c <= 0x20 || c >= 0x7f {
			t[c] = all
		}
	}
	set(all|refuse, "\t\n\r")
	set(all, "\"<>")
	set(stopPath, "/?#\\^`{}")
	set(stopQuery, "#'")
	set(stopFragment|stopOpaque, "`")
	return t
}()

// hostBytes maps the bytes of plain host names to lower case, and all others to 0.
var hostBytes = func() (t [256]byte) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] = byte(c)
		t[c-'a'+'A'] = byte(c)
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = byte(c)
	}
	t['-'], t['.'], t['_'] = '-', '.', '_'
	return t
}()

const upperHex = "0123456789ABCDEF"

// unhex maps hex digits to their value plus 1, and all other bytes to 0.
var unhex = func() (t [256]byte) {
	for i := range byte(16) {
		t["0123456789abcdef"[i]] = i + 1
		t[upperHex[i]] = i + 1
	}
	return t
}()

// unreserved are the bytes that need no percent-encoding anywhere (RFC 3986 §2.3).
var unreserved = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~") {
		t[c] = true
	}
	return t
}()

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
