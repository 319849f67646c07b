package deep

import (
	"bytes"
	"flag"
	"hash/fnv"
	"testing"
	"time"
)

const (
	growthSize  = 32 << 10
	growthTimes = 4
	// growthMost is how many times as long the longer input may take. Work that grows with the input takes growthTimes times as long,
	// work that grows with its square takes growthTimes² times as long.
	growthMost  = 3 * growthTimes
	growthNoise = 100 * time.Millisecond // what takes less is not judged
)

// Growth fails if the time that work takes grows with the square of its input. It is called by a fuzz target, and makes two long inputs
// of what the target was given: a piece of it is repeated. It measures only while a fuzz target explores, and then some of the inputs
// alone.
//
//	f.Fuzz(func(t *testing.T, data []byte) {
//		deep.Growth(t, data, func(data []byte) { … })
func Growth(t *testing.T, data []byte, work func(data []byte)) {
	t.Helper()
	h := fnv.New32a()
	h.Write(data)
	random := int(h.Sum32() >> 1)
	const oneOf = 16
	if exploring := flag.Lookup("test.fuzz"); exploring == nil || exploring.Value.String() == "" || len(data) == 0 || random%oneOf != 0 {
		return
	}
	begin := random / oneOf % len(data)
	end := begin + 1 + random/7%(len(data)-begin)
	took := func(size int) time.Duration {
		piece := data[begin:end]
		long := append(bytes.Clone(data[:begin]), bytes.Repeat(piece, max(size/len(piece), 1))...)
		long = append(long, data[end:]...)
		best := time.Hour
		for range 3 {
			from := time.Now()
			work(long)
			if best = min(best, time.Since(from)); best < growthNoise {
				break
			}
		}
		return best
	}
	long := took(growthTimes * growthSize)
	if long < growthNoise {
		return
	}
	if short := took(growthSize); long > growthMost*short {
		t.Errorf("%d times the input takes %.1f times as long (%s): %.100q, repeated in %.200q", growthTimes, float64(long)/float64(short), long, data[begin:end], data)
	}
}
