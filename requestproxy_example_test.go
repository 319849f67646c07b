package tegenaria_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria"
)

// User and password of a proxy stand in its URL.
func ExampleRequestWithRequestProxy() {
	through := tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://user:password@proxy.example:3128"})
	r := tegenaria.NewRequest("https://example.com/", "GET", nil, through)
	fmt.Println(r.Proxy.ProxyUrl)
	// Output: http://user:password@proxy.example:3128
}
