package buffer_test

import (
	"context"
	"sync"
	"testing"
)

// One value in, one value out, nobody else there; a channel does the same beside it.
func BenchmarkPutGet(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.Run("pool", func(b *testing.B) {
		p := newPool[*int](b, 64, 16)
		v := new(int)
		b.ReportAllocs()
		for b.Loop() {
			if p.Put(ctx, v) != nil {
				b.Fatal("closed")
			}
			if _, err := p.Get(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("channel", func(b *testing.B) {
		c := make(chan *int, 64)
		v := new(int)
		b.ReportAllocs()
		for b.Loop() {
			select {
			case c <- v:
			case <-ctx.Done():
			}
			select {
			case <-c:
			case <-ctx.Done():
			}
		}
	})
}

// A pool that always holds 100 values, so that its store moves through its chunks.
func BenchmarkPutGetHalfFull(b *testing.B) {
	p := newPool[*int](b, 64, 16)
	v := new(int)
	for range 100 {
		put(b, p, v)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Put(background, v)
		p.Get(background)
	}
}

// Grows to 16 buffers and drains, 1,024 values an operation.
func BenchmarkBurst(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		p := newPool[*int](b, 64, 16)
		for range 1024 {
			p.Put(background, nil)
		}
		for range 1024 {
			p.Get(background)
		}
	}
}

// A writer and a reader that keep waiting for each other.
func BenchmarkHandOff(b *testing.B) {
	b.Run("pool", func(b *testing.B) {
		p := newPool[*int](b, 1, 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				if _, err := p.Get(background); err != nil {
					return
				}
			}
		})
		b.ReportAllocs()
		for b.Loop() {
			p.Put(background, nil)
		}
		p.Close()
		wg.Wait()
	})
	b.Run("channel", func(b *testing.B) {
		c := make(chan *int, 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range c {
			}
		})
		b.ReportAllocs()
		for b.Loop() {
			c <- nil
		}
		close(c)
		wg.Wait()
	})
}
