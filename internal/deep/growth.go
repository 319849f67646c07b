package deep

import (
	"bytes"
	"flag"
	"hash/fnv"
	"strings"
	"testing"
	"time"
)

const (
	growthSize  = 32 << 10
	growthTimes = 4
	// growthMost is how many times as long the longer input may take. Work that grows with the input takes growthTimes
	// times as long, work that grows with its square takes growthTimes² times as long.
	growthMost  = 3 * growthTimes
	growthNoise = 100 * time.Millisecond // what takes less is not judged
)

// Input makes an input of about that many bytes. A nil Input makes none.
type Input func(size int) []byte

// Growth is for a fuzz target. While the target explores, it fails if the time that work takes grows with the square of
// its input. When only the corpus is run, it works on a short input once.
//
//	f.Fuzz(func(t *testing.T, data []byte) {
//		deep.Growth(t, deep.Stretched(data), func(data []byte) { … })
func Growth(t *testing.T, input Input, work func(data []byte)) {
	t.Helper()
	if input == nil {
		return
	}
	if !exploring() {
		work(input(1 << 10))
		return
	}
	best := func(size int) time.Duration {
		data := input(size)
		best := time.Hour
		for range 3 { // other work of the process only ever adds
			if best = min(best, Took(func() { work(data) })); best < growthNoise {
				break
			}
		}
		return best
	}
	long := best(growthTimes * growthSize)
	if long < growthNoise {
		return
	}
	if short := best(growthSize); long > growthMost*short {
		t.Errorf("%d times the input takes %.1f times as long (%s): %.300q",
			growthTimes, float64(long)/float64(short), long, input(1))
	}
}

// exploring reports whether a fuzz target makes inputs of its own.
func exploring() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

// Repeated makes inputs of part, repeated, and tail, repeated as often: elements that open and close, for example.
func Repeated(part, tail string) Input {
	one := len(part) + len(tail)
	if one == 0 || one > growthSize/16 {
		return nil
	}
	return func(size int) []byte {
		n := max(size/one, 1)
		return []byte(strings.Repeat(part, n) + strings.Repeat(tail, n))
	}
}

// Stretched makes inputs of data, a piece of which is repeated. It makes them of some data alone, since a target gets
// much of it.
func Stretched(data []byte) Input {
	h := fnv.New32a()
	h.Write(data)
	random := int(h.Sum32() >> 1)
	const oneOf = 16
	if !exploring() || len(data) == 0 || random%oneOf != 0 {
		return nil
	}
	begin := random / oneOf % len(data)
	end := begin + 1 + random/7%(len(data)-begin)
	return func(size int) []byte {
		piece := data[begin:end]
		long := append(bytes.Clone(data[:begin]), bytes.Repeat(piece, max(size/len(piece), 1))...)
		return append(long, data[end:]...)
	}
}
