package slots_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/tegenaria/tegenaria/internal/deep"
)

func names(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("host%07d.example", i)
	}
	return names
}

func heapNow() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemory gives many slots work; when the work is done, the table is empty. A deep check weighs the slots, and looks
// whether the memory is given back.
func TestMemory(t *testing.T) {
	n := 3_000
	if deep.Checks() {
		n = 300_000
	}
	hosts := names(n)
	before := heapNow()
	tab := delayed(time.Second)
	for _, name := range hosts {
		tab.Add(name, 0, 1)
	}
	const name = 24 // the size class of a name here
	each := float64(heapNow()-before)/float64(n) - name
	t.Logf("%.0f bytes a slot without its name", each)
	if deep.Checks() && each > 250 {
		t.Errorf("%.0f bytes a slot without its name, want at most 250", each)
	}
	for range n {
		finish(tab, acquire(t, tab, at(0)), at(0))
	}
	for tab.Len() > 0 {
		tab.Acquire(at(2), false)
	}
	if left := heapNow() - before; deep.Checks() && left > 1<<20 {
		t.Errorf("the empty table holds %d bytes", left)
	}
	runtime.KeepAlive(tab)
	runtime.KeepAlive(hosts)
}

// BenchmarkMemory reports what a slot with work takes when there are a million.
func BenchmarkMemory(b *testing.B) {
	const n = 1_000_000
	hosts := names(n)
	b.ReportAllocs()
	for b.Loop() {
		before := heapNow()
		tab := delayed(time.Second)
		for _, name := range hosts {
			tab.Add(name, 0, 1)
		}
		b.ReportMetric(float64(heapNow()-before)/n, "B/slot")
		runtime.KeepAlive(tab)
	}
}

// BenchmarkTable takes an entry through all its calls while n slots have work: one Add, Acquire,
// Head, Started and Release each.
func BenchmarkTable(b *testing.B) {
	for _, delay := range []time.Duration{0, time.Second} {
		for _, n := range []int{1e2, 1e4, 1e6} {
			b.Run(fmt.Sprintf("delay=%v/slots=%.0e", delay, float64(n)), func(b *testing.B) {
				hosts := names(n)
				tab := delayed(delay)
				for _, name := range hosts {
					tab.Add(name, 0, 1)
				}
				now, step := epoch, delay/time.Duration(n)+1
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					now = now.Add(step)
					tab.Add(hosts[i%n], 0, 1)
					g, ok := tab.Acquire(now, false)
					if !ok {
						b.Fatal("nothing ready")
					}
					tab.Head(g, 0, true)
					tab.Started(g, now)
					tab.Release(g)
				}
			})
		}
	}
}

// The name of a slot is often cut out of a page.
func TestNamesAreNotHeld(t *testing.T) {
	before := heapNow()
	tab := free()
	for i := range 64 {
		page := string(fmt.Appendf(make([]byte, 0, 1<<20), "host%02d.example%1000000d", i, i))
		tab.Add(page[:14], 0, 1)
		if s, ok := tab.Lookup(page[:14]); !ok || unsafe.StringData(s.Name) == unsafe.StringData(page) {
			t.Errorf("the slot %q is a part of the page", s.Name)
		}
	}
	if held := heapNow() - before; deep.Checks() && held > 1<<20 {
		t.Errorf("64 slots hold %d bytes", held)
	}
	runtime.KeepAlive(tab)
}
