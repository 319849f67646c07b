package jsonsize_test

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/internal/jsonsize"
)

// A list of empty objects takes much more memory than it has bytes, unless the target says what an element is.
func ExampleOf() {
	body := []byte("[" + strings.Repeat("{},", 9999) + "{}]")
	var v any
	var small []struct{ OK bool }
	fmt.Println(jsonsize.Of(body, &v) > 20*int64(len(body)), jsonsize.Of(body, &small) < 5*int64(len(body)))
	// Output: true true
}
