package buffer_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/buffer"
)

func ExampleBuffer() {
	b, err := buffer.NewBuffer[string](1)
	if err != nil {
		panic(err)
	}
	fmt.Println(b.Put("a"))
	fmt.Println(b.Put("b")) // full
	b.Close()
	fmt.Println(b.Get())
	fmt.Println(b.Get())
	// Output:
	// true <nil>
	// false <nil>
	// a true <nil>
	//  false buffer: closed buffer
}

func ExamplePool() {
	pool, err := buffer.NewPool[int](2, 3) // up to three buffers of two
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for i := range 6 {
		pool.Put(ctx, i)
		fmt.Print(pool.BufferNumber(), " ")
	}
	fmt.Println("buffers")

	// There is room for six: the seventh waits, here until its context is done.
	soon, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	fmt.Println(errors.Is(pool.Put(soon, 6), context.DeadlineExceeded))

	pool.Close()
	for {
		v, err := pool.Get(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(v, " ")
	}
	// Output:
	// 1 1 2 2 3 3 buffers
	// true
	// 0 1 2 3 4 5 buffer: closed buffer pool
}
