package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
)

// A client reaches this machine only where it is allowed to; a body is bounded, and counts in the budget until its hold is
// released.
func ExampleClient() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer server.Close()

	budget, loopback := fetch.NewBudget(1<<20, nil), new(fetch.Loopback)
	loopback.Allow(server.URL)
	client := fetch.New(fetch.Config{Agent: "example/1.0", Bodies: budget, Loopback: loopback, Limits: fetch.Limits{Body: 5}})
	defer client.Close()

	var hold fetch.Hold
	answer, err := client.Do(context.Background(), fetch.Request{URL: server.URL, Timeout: time.Minute, Hold: &hold})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Status, string(answer.Body), budget.Used())
	budget.Release(&hold)

	_, err = client.Do(context.Background(), fetch.Request{URL: "http://localhost:1/", Timeout: time.Minute})
	var private *fetch.PrivateAddressError
	fmt.Println(errors.As(err, &private), budget.Used())
	// Output:
	// 200 hello 5
	// true 0
}
