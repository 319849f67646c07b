package buffer_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/buffer"
)

func TestNewBuffer(t *testing.T) {
	for _, capacity := range []int{1, 2, 1000} {
		b, err := buffer.NewBuffer[int](capacity)
		if err != nil || b.Cap() != capacity || b.Len() != 0 || b.Closed() {
			t.Errorf("NewBuffer(%d) = cap %d, len %d, closed %t, error %v", capacity, b.Cap(), b.Len(), b.Closed(), err)
		}
	}
	for _, capacity := range []int{0, -1} {
		_, err := buffer.NewBuffer[int](capacity)
		var illegal *buffer.IllegalParameterError
		if !errors.As(err, &illegal) || illegal.Name != "capacity" || illegal.Value != capacity {
			t.Errorf("NewBuffer(%d): error %v, want an IllegalParameterError of it", capacity, err)
		}
	}
}

func TestBuffer(t *testing.T) {
	for _, capacity := range []int{1, 2, 3, 7} {
		b, _ := buffer.NewBuffer[int](capacity)
		next, want := 0, 0
		// Each round fills and empties to another point, so that the ring wraps everywhere.
		for round := range 3 * capacity {
			for b.Len() < capacity {
				if ok, err := b.Put(next); !ok || err != nil {
					t.Fatalf("cap %d: Put with %d inside = %t, %v", capacity, b.Len(), ok, err)
				}
				next++
			}
			if ok, err := b.Put(-1); ok || err != nil {
				t.Fatalf("cap %d: Put into a full buffer = %t, %v; want false, nil", capacity, ok, err)
			}
			for b.Len() > round%capacity {
				if v, ok, err := b.Get(); v != want || !ok || err != nil {
					t.Fatalf("cap %d: Get = %d, %t, %v; want %d", capacity, v, ok, err, want)
				}
				want++
			}
		}
		for b.Len() > 0 {
			b.Get()
		}
		if v, ok, err := b.Get(); v != 0 || ok || err != nil {
			t.Fatalf("cap %d: Get from an empty buffer = %d, %t, %v; want 0, false, nil", capacity, v, ok, err)
		}
	}
}

func TestBufferClose(t *testing.T) {
	b, _ := buffer.NewBuffer[any](2)
	b.Put(nil) // a value like any other
	if !b.Close() || b.Close() || !b.Closed() {
		t.Fatal("Close must be true once, and Closed then")
	}
	if ok, err := b.Put(1); ok || err != buffer.ErrClosedBuffer {
		t.Errorf("Put after Close = %t, %v", ok, err)
	}
	if v, ok, err := b.Get(); v != nil || !ok || err != nil {
		t.Errorf("Get of what is left = %v, %t, %v; want nil, true, nil", v, ok, err)
	}
	if v, ok, err := b.Get(); v != nil || ok || err != buffer.ErrClosedBuffer {
		t.Errorf("Get when drained = %v, %t, %v", v, ok, err)
	}
}

func TestBufferConcurrently(t *testing.T) {
	b, _ := buffer.NewBuffer[int](4)
	var wg sync.WaitGroup
	var stored, taken [3]int
	for i := range stored {
		wg.Go(func() {
			for {
				ok, err := b.Put(1)
				if err != nil {
					return
				}
				if ok {
					stored[i]++
				} else {
					runtime.Gosched()
				}
				if stored[i] == 1000 {
					b.Close()
				}
			}
		})
		wg.Go(func() {
			for {
				v, ok, err := b.Get()
				if err != nil {
					return
				}
				if !ok {
					runtime.Gosched()
				}
				taken[i] += v
			}
		})
	}
	wg.Wait()
	if s, g := stored[0]+stored[1]+stored[2], taken[0]+taken[1]+taken[2]; s != g || s < 1000 {
		t.Errorf("stored %d, taken %d", s, g)
	}
}
