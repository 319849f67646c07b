package funcname_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/funcname"
)

type shop struct{ sold int }

func (s *shop) buy(n int) { s.sold += n }

// A method value is a new func value each time. It is the same method of the same receiver all the same.
func ExampleTable() {
	s, other := &shop{}, &shop{}
	var names funcname.Table
	fmt.Println(names.Add(funcname.Of(s.buy), "buy"))
	fmt.Println(names.Name(funcname.Of(s.buy)))
	fmt.Println(names.Name(funcname.Of(other.buy)))
	fmt.Println(names.Add(funcname.Of(s.buy), "purchase"))
	// Output:
	// <nil>
	// buy true
	//  false
	// it is the same method as "buy"
}
