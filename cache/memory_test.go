package cache_test

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"
	"weak"

	"github.com/tegenaria/tegenaria/cache"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// raw is a codec that allocates nothing.
type raw struct{}

func (raw) Append(dst []byte, v []byte) []byte { return append(dst, v...) }
func (raw) Decode(src []byte) ([]byte, error)  { return nil, nil }

// TestQueueMemory holds many entries of 100 bytes, a million of them in a deep check, which weighs them.
func TestQueueMemory(t *testing.T) {
	entries := 100_000
	if deep.Checks() {
		entries = 1_000_000
	}
	for _, tt := range []struct {
		slots, most int // bytes of live heap for an entry
	}{
		{1, 110}, {1_000, 125}, {100_000, 145},
	} {
		t.Run(fmt.Sprintf("slots=%d", tt.slots), func(t *testing.T) {
			value := make([]byte, 100)
			before := cache.LiveHeap()
			q := cache.NewQueue[[]byte](raw{})
			for i := range entries {
				q.Enqueue(fmt.Sprintf("host%06d.example", i%tt.slots), 0, value)
			}
			live := cache.LiveHeap() - before
			each, said := float64(live)/float64(entries), float64(q.Bytes())/float64(entries)
			t.Logf("%d slots: %.1f bytes an entry, Bytes says %.1f", tt.slots, each, said)
			if said < 100 {
				t.Errorf("Bytes says %.1f an entry of 100", said)
			}
			if deep.Checks() && each > float64(tt.most) {
				t.Errorf("%.1f bytes an entry, want at most %d", each, tt.most)
			}
			if deep.Checks() && (said < each*0.9 || said > each*1.1) {
				t.Errorf("Bytes says %.1f an entry, the heap %.1f: more than a tenth apart", said, each)
			}
			for i := range entries {
				if _, _, ok, err := q.Dequeue(fmt.Sprintf("host%06d.example", i%tt.slots)); !ok || err != nil {
					t.Fatalf("entry %d: %v %v", i, ok, err)
				}
			}
			if live := cache.LiveHeap() - before; deep.Checks() && live > 1<<20 {
				t.Errorf("the empty queue holds %d bytes", live)
			}
			if q.Bytes() != 0 {
				t.Errorf("Bytes of the empty queue: %d", q.Bytes())
			}
			runtime.KeepAlive(q)
		})
	}
}

// TestQueueOneURLHosts is the worst case for the index: each slot has one entry.
func TestQueueOneURLHosts(t *testing.T) {
	slots := 5_000
	if deep.Checks() {
		slots = 200_000
	}
	value := make([]byte, 100)
	before := cache.LiveHeap()
	q := cache.NewQueue[[]byte](raw{})
	for i := range slots {
		q.Enqueue(fmt.Sprintf("host%06d.example", i), 0, value)
	}
	each := float64(cache.LiveHeap()-before) / float64(slots)
	t.Logf("%.1f bytes for a slot with one entry, Bytes says %.1f", each, float64(q.Bytes())/float64(slots))
	if q.Len() != slots || q.Bytes() < int64(100*slots) {
		t.Errorf("%d entries hold %d bytes", q.Len(), q.Bytes())
	}
	if deep.Checks() && each > 320 {
		t.Errorf("%.1f bytes for a slot with one entry, want at most 320", each)
	}
	runtime.KeepAlive(q)
}

// A queue that is used for long at a small length must not grow.
func TestQueueSteady(t *testing.T) {
	for _, length := range []int{1, 3, 30, 300, 3000} {
		q := cache.NewQueue[[]byte](raw{})
		value := make([]byte, 100)
		for range length {
			q.Enqueue("s", 0, value)
		}
		var most int64
		for range 50_000 {
			q.Enqueue("s", 0, value)
			q.Dequeue("s")
			most = max(most, q.Bytes())
		}
		if want := int64(length*101*3/2 + 1<<10); most > want {
			t.Errorf("length %d: up to %d bytes, want at most %d", length, most, want)
		}
	}
}

func BenchmarkQueue(b *testing.B) {
	value := make([]byte, 100)
	for _, slots := range []int{1, 1_000, 100_000} {
		names := make([]string, slots)
		for i := range names {
			names[i] = fmt.Sprintf("host%06d.example", i)
		}
		b.Run(fmt.Sprintf("Enqueue/slots=%d", slots), func(b *testing.B) {
			b.ReportAllocs()
			q := cache.NewQueue[[]byte](raw{})
			for i := 0; b.Loop(); i++ {
				if i%1_000_000 == 999_999 {
					q = cache.NewQueue[[]byte](raw{})
				}
				q.Enqueue(names[i%slots], 0, value)
			}
		})
		b.Run(fmt.Sprintf("Both/slots=%d", slots), func(b *testing.B) {
			b.ReportAllocs()
			q := cache.NewQueue[[]byte](raw{})
			for i := range 1_000_000 {
				q.Enqueue(names[i%slots], 0, value)
			}
			for i := 0; b.Loop(); i++ {
				q.Enqueue(names[i%slots], 0, value)
				q.Dequeue(names[i%slots])
			}
		})
	}
}

// A slot that was long once must not keep a large chunk for the few entries it has now.
func TestQueueShrinks(t *testing.T) {
	q := cache.NewQueue[[]byte](raw{})
	value := make([]byte, 100)
	for range 10_000 {
		q.Enqueue("s", 0, value)
	}
	for range 9_990 {
		q.Dequeue("s")
	}
	for range 1_000 {
		q.Enqueue("s", 0, value)
		q.Dequeue("s")
	}
	if q.Len() != 10 || q.Bytes() > 4<<10 {
		t.Errorf("%d entries hold %d bytes", q.Len(), q.Bytes())
	}
}

// The name of a slot is often cut out of a page.
func TestQueueDoesNotHoldOnToNames(t *testing.T) {
	q := cache.NewQueue[[]byte](raw{})
	enqueue := func() weak.Pointer[byte] {
		page := fmt.Sprintf("host.example%1000000d", 1)
		q.Enqueue(page[:12], 0, nil)
		return weak.Make(unsafe.StringData(page))
	}
	page := enqueue()
	runtime.GC()
	if page.Value() != nil {
		t.Error("the queue holds the page that the name of its slot is a part of")
	}
	runtime.KeepAlive(q)
}
