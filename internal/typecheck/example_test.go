package typecheck_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/typecheck"
)

func Example() {
	check := typecheck.New[string]("PipelineFunc")
	for _, item := range []any{1, 2} {
		_, ok := item.(string)
		check.Saw(item, ok)
	}
	fmt.Println(check.Warning())
	// Output: PipelineFunc[string] saw 2 items, none of them of the type string (the first was a int): write the type that the parser sends, which is that of its Output, in the place of string
}
