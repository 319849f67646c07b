package stage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

// words is a source of words and a sink that prints them.
type words []string

func (w *words) Next(context.Context) bool { return len(*w) > 0 }
func (w *words) Payload() string           { word := (*w)[0]; *w = (*w)[1:]; return word }
func (w *words) Error() error              { return nil }

func (w *words) Consume(_ context.Context, word string) error {
	fmt.Println(word)
	return nil
}

func Example() {
	upper := stage.ProcessorFunc[string](func(_ context.Context, word string) (string, error) {
		return strings.ToUpper(word), nil
	})
	long := stage.ProcessorFunc[string](func(_ context.Context, word string) (string, error) {
		if len(word) < 4 {
			return "", stage.ErrDrop
		}
		return word, nil
	})
	flow := &words{"a", "spider", "has", "eight", "legs"}
	err := stage.New(stage.FIFO(long), stage.FIFO(upper)).Process(context.Background(), flow, flow)
	fmt.Println(err)
	// Output:
	// SPIDER
	// EIGHT
	// LEGS
	// <nil>
}

// note is a payload that several processors may have at the same time.
type note struct{ text string }

func (n *note) Clone() *note { return &note{text: n.text} }

func ExampleBroadcast() {
	add := func(s string) stage.Processor[*note] {
		return stage.ProcessorFunc[*note](func(_ context.Context, n *note) (*note, error) {
			n.text += s
			return n, nil
		})
	}
	flow := &values[*note]{in: []*note{{"page"}}}
	_ = stage.New(stage.Broadcast(add(" in the graph"), add(" in the index"))).Process(context.Background(), flow, flow)
	for _, n := range flow.out {
		fmt.Println(n.text)
	}
	// Unordered output:
	// page in the graph
	// page in the index
}

// What failed goes to a dead letter queue and the run goes on.
func ExampleErrDrop() {
	parse := stage.ProcessorFunc[string](func(_ context.Context, word string) (string, error) {
		if word == "?" {
			return "", errors.New("no word")
		}
		return word, nil
	})
	var dead []string
	forgiving := stage.ProcessorFunc[string](func(ctx context.Context, word string) (string, error) {
		out, err := parse(ctx, word)
		if err != nil {
			dead = append(dead, word)
			return "", fmt.Errorf("%w: %w", stage.ErrDrop, err)
		}
		return out, nil
	})
	flow := &words{"web", "?", "thread"}
	err := stage.New(stage.FIFO(forgiving)).Process(context.Background(), flow, flow)
	fmt.Println(err, dead)
	// Output:
	// web
	// thread
	// <nil> [?]
}

func ExamplePipeline_ProcessUntil() {
	deaf := make(chan struct{})
	defer close(deaf)
	stuck := stage.ProcessorFunc[string](func(_ context.Context, word string) (string, error) {
		<-deaf // no look at the context
		return word, nil
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	giveUp, end := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer end()
	flow := &words{"one", "two", "three"}
	err := stage.New(stage.FixedWorkerPool(stuck, 2)).ProcessUntil(ctx, giveUp, flow, flow)
	fmt.Println(err)
	// Output:
	// context deadline exceeded
	// stage: workers left behind: stage 0: 2
}

func ExampleStageError() {
	bad := stage.ProcessorFunc[string](func(_ context.Context, word string) (string, error) {
		return "", errors.New("disk full")
	})
	flow := &words{"word"}
	err := stage.New(stage.FIFO(bad)).Process(context.Background(), flow, flow)
	var where *stage.StageError
	fmt.Println(err)
	fmt.Println(errors.As(err, &where), where.Stage, where.Err)
	// Output:
	// stage 0: disk full
	// true 0 disk full
}

// Workers that take what they do from a queue themselves.
func ExamplePull() {
	queue := make(chan int, 10)
	for n := range 10 {
		queue <- n
	}
	close(queue)
	next := func(context.Context) (n int, more bool) { // several workers may be here at a time
		n, more = <-queue
		return n, more
	}

	var sum atomic.Int64
	add := stage.ProcessorFunc[int](func(_ context.Context, n int) (int, error) {
		sum.Add(int64(n))
		return n, nil
	})
	err := stage.Pull(context.Background(), 4, next, add)
	fmt.Println(sum.Load(), err)
	// Output: 45 <nil>
}
