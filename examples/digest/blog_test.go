package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
)

// How a pipeline grows up, in eleven small programs. First the stages as plain functions, and what
// happens to them when a receiver leaves; then the digest of a tree, which package stage runs.

// gen is a source: it owns the channel it returns and closes it after the last number.
func gen(nums ...int) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		for _, n := range nums {
			out <- n
		}
	}()
	return out
}

// sq is a stage: it receives until its input is closed, then closes its output.
func sq(in <-chan int) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		for n := range in {
			out <- n * n
		}
	}()
	return out
}

// merge is a fan-in: many senders, so a separate one closes when all have left.
func merge(room int, ins ...<-chan int) <-chan int {
	out := make(chan int, room)
	var senders sync.WaitGroup
	for _, in := range ins {
		senders.Go(func() {
			for n := range in {
				out <- n
			}
		})
	}
	go func() {
		senders.Wait()
		close(out)
	}()
	return out
}

// Square: a source, a stage, and the main program as the sink.
func Example_square() {
	out := sq(gen(2, 3))
	fmt.Println(<-out)
	fmt.Println(<-out)
	// Output:
	// 4
	// 9
}

// Square2: a stage whose input and output have the same type follows itself; the sink is a range.
func Example_square2() {
	for n := range sq(sq(gen(2, 3))) {
		fmt.Println(n)
	}
	// Output:
	// 16
	// 81
}

// Sqfan: two stages share one input (fan-out), and their outputs become one (fan-in).
func Example_sqfan() {
	in := gen(2, 3)
	for n := range merge(0, sq(in), sq(in)) {
		fmt.Println(n)
	}
	// Unordered output:
	// 4
	// 9
}

// Sqbuffer: room for what is not received lets every sender leave. It holds for this many numbers
// and no more: one too many, and it is sqleak again.
func Example_sqbuffer() {
	in := gen(2, 3)
	out := merge(1, sq(in), sq(in))
	first := <-out
	fmt.Println(first == 4 || first == 9)
	// Output: true
}

// counted runs senders and knows how many have not left.
type counted struct{ running atomic.Int32 }

func (c *counted) Go(f func()) {
	c.running.Add(1)
	go func() {
		defer c.running.Add(-1)
		f()
	}()
}

// square sends the squares of nums, each from a goroutine of its own. A nil done never speaks.
func (c *counted) square(done <-chan struct{}, nums ...int) <-chan int {
	out := make(chan int)
	for _, n := range nums {
		c.Go(func() {
			select {
			case out <- n * n:
			case <-done:
			}
		})
	}
	return out
}

// Sqleak: a receiver that leaves early leaves its senders behind. Nothing but a receiver frees them.
func TestSqleak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var senders counted
		out := senders.square(nil, 2, 3, 4)
		<-out
		synctest.Wait()
		if n := senders.running.Load(); n != 2 {
			t.Fatalf("%d senders are stuck, want 2: nobody receives from them", n)
		}
		<-out // the cure: who receives does it to the end
		<-out
		synctest.Wait()
		if n := senders.running.Load(); n != 0 {
			t.Errorf("%d senders are left", n)
		}
	})
}

// Sqdone1: the receiver tells each sender that it leaves. It has to know how many there are: with
// one word too few one of them stays.
func TestSqdone1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var senders counted
		done := make(chan struct{}, 2)
		<-senders.square(done, 2, 3, 4)
		for _, left := range []int32{1, 0} {
			done <- struct{}{}
			synctest.Wait()
			if n := senders.running.Load(); n != left {
				t.Errorf("%d senders are left, want %d", n, left)
			}
		}
	})
}

// Sqdone2: closing the channel tells all of them, however many there are.
func TestSqdone2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var senders counted
		done := make(chan struct{})
		<-senders.square(done, 2, 3, 4, 5, 6, 7)
		close(done)
		synctest.Wait()
		if n := senders.running.Load(); n != 0 {
			t.Errorf("%d senders are left", n)
		}
	})
}

// Sqdone3: every stage listens, a deferred call tells them on every way out, and each closes its
// output whatever made it leave. Today the channel is that of a context.
func TestSqdone3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stages counted
		gen := func(ctx context.Context, nums ...int) <-chan int {
			out := make(chan int)
			stages.Go(func() {
				defer close(out)
				for _, n := range nums {
					select {
					case out <- n:
					case <-ctx.Done():
						return
					}
				}
			})
			return out
		}
		sq := func(ctx context.Context, in <-chan int) <-chan int {
			out := make(chan int)
			stages.Go(func() {
				defer close(out)
				for n := range in {
					select {
					case out <- n * n:
					case <-ctx.Done():
						return
					}
				}
			})
			return out
		}
		first := func() int {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			return <-sq(ctx, sq(ctx, gen(ctx, 2, 3, 4, 5)))
		}
		if got := first(); got != 16 {
			t.Errorf("got %d, want 16", got)
		}
		synctest.Wait()
		if n := stages.running.Load(); n != 0 {
			t.Errorf("%d stages are left", n)
		}
	})
}

var tree = fstest.MapFS{
	"b":      {Data: []byte("message digest")},
	"a":      {Data: []byte("abc")},
	"dir/it": {Data: []byte("a")},
}

// show prints the digest of the tree as the command does.
func show(mode Mode) {
	sums := make(map[string]string)
	err := Digest(context.Background(), tree, mode, func(s Sum) error {
		sums[s.Path] = fmt.Sprintf("%x", s.MD5)
		return nil
	})
	for _, path := range slices.Sorted(maps.Keys(sums)) {
		fmt.Printf("%s  %s\n", sums[path], path)
	}
	fmt.Println(err)
}

// Serial: walk and digest, one file after the other.
func Example_serial() {
	show(Serial)
	// Output:
	// 900150983cd24fb0d6963f7d28e17f72  a
	// f96b697d7cb7938d525a2f31aaf161d0  b
	// 0cc175b9c0f1b6a831c399e269772661  dir/it
	// <nil>
}

// Parallel: a worker for every file that is found while the others are busy.
func Example_parallel() {
	show(Parallel)
	// Output:
	// 900150983cd24fb0d6963f7d28e17f72  a
	// f96b697d7cb7938d525a2f31aaf161d0  b
	// 0cc175b9c0f1b6a831c399e269772661  dir/it
	// <nil>
}

// Bounded: twenty workers, so at most twenty files are open whatever the size of the tree.
func Example_bounded() {
	show(Bounded)
	// Output:
	// 900150983cd24fb0d6963f7d28e17f72  a
	// f96b697d7cb7938d525a2f31aaf161d0  b
	// 0cc175b9c0f1b6a831c399e269772661  dir/it
	// <nil>
}
