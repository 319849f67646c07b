package identity_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/identity"
)

// Two URLs of one page have one key. The value of a header that counts makes another one.
func ExampleKeyer() {
	k := identity.Keyer{Headers: []string{"accept"}}
	a, _ := k.Request("GET", "http://a.example/?b=1&a=2#top", nil, nil)
	b, _ := k.Request("get", "http://A.example:80/?a=2&b=1", nil, nil)
	c, err := k.Request("GET", "http://a.example/?a=2&b=1", nil, map[string]string{"Accept": "text/plain"})
	fmt.Println(a == b, a == c, err)
	// Output: true false <nil>
}
