package report_test

import (
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/report"
)

// A reader that comes late has what its channel holds, and learns how many errors it has missed.
func ExampleSubscriptions() {
	var subscriptions report.Subscriptions
	errs := subscriptions.Subscribe(func(n int64) error { return fmt.Errorf("%d errors were missed", n) })
	for range report.Depth + 5 {
		subscriptions.Publish(errors.New("no answer"))
	}
	subscriptions.Close()
	var number int
	var last error
	for err := range errs {
		number, last = number+1, err
	}
	fmt.Println(number, last)
	// Output: 1025 5 errors were missed
}
