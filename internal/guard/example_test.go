package guard_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

func ExampleProtect() {
	err := guard.Protect(func() error { panic("no such page") })
	fmt.Println(err, guard.Stack(err) != nil)
	// Output: panic: no such page true
}

// plugin is the owner of code that may not return.
type plugin struct{}

func (plugin) Slow(at string, took time.Duration) {}
func (plugin) Abandon(lost guard.Loss)            { fmt.Println("given up in", lost.At) }

// A piece that ignores the end of its context is left behind, one second later.
func ExampleWatch_Apart() {
	watch := guard.NewWatch(guard.Config{
		Limit:   10 * time.Millisecond,
		TooLate: func(at string) error { return fmt.Errorf("%s took too long", at) },
	})
	defer watch.Close()
	call := &guard.Call{Owner: plugin{}}
	call.Life.Parent = context.Background()
	release := make(chan struct{})
	defer close(release)
	err := watch.Apart(call, "start", func() {
		<-call.Life.Done()
		fmt.Println(context.Cause(&call.Life))
		<-release
	})
	fmt.Println(errors.Is(err, guard.ErrGivenUp), call.GivenUp())
	// Output:
	// start took too long
	// given up in start
	// true true
}
