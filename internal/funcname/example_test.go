package funcname_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/funcname"
)

type shop struct{ sold int }

func (s *shop) buy(n int) { s.sold += n }

// A method value is a new func value each time. It is found by its method all the same, and by its method alone.
func ExampleParsers() {
	s, other := &shop{}, &shop{}
	var parsers funcname.Parsers[func(n int)]
	fmt.Println(parsers.Add("buy", s.buy))
	fmt.Println(parsers.NameOfMethod(s.buy))
	fmt.Println(parsers.Add("buy of another", other.buy))
	// Output:
	// <nil>
	// buy true
	// parsers "buy" and "buy of another" are the same method, whose receivers are not compared; register it once, or wrap one in a func
}
