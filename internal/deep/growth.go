package deep

import (
	"flag"
	"strings"
	"testing"
	"time"
)

// Growth is the body of a fuzz target that looks for work that grows with the square of the page. It makes a page of part, repeated,
// and tail, repeated as often. While the target is fuzzed, it fails if a page of twice the size takes far more than twice the time;
// otherwise, when only the corpus is run, it reads a small page once.
func Growth(t *testing.T, part, tail string, read func(page []byte)) {
	const size = 128 << 10
	one := len(part) + len(tail)
	if one == 0 || one > size/64 {
		return
	}
	page := func(n int) []byte { return []byte(strings.Repeat(part, n) + strings.Repeat(tail, n)) }
	if f := flag.Lookup("test.fuzz"); f == nil || f.Value.String() == "" {
		read(page(50))
		return
	}
	n := size / one
	var small, large time.Duration
	for range 4 { // other work on the machine only ever adds
		small, large = least(small, page(n), read), least(large, page(2*n), read)
		if large < 100*time.Millisecond || large < 3*small {
			return
		}
	}
	t.Errorf("%q and %q: %d bytes take %v, and twice as many %v", part, tail, n*one, small, large)
}

// least returns how long it takes to read a page, or the time before if that was shorter.
func least(before time.Duration, page []byte, read func([]byte)) time.Duration {
	begin := time.Now()
	read(page)
	if took := time.Since(begin); before == 0 || took < before {
		return took
	}
	return before
}
