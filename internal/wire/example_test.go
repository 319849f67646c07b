package wire_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/wire"
)

func Example() {
	refuse := func(field string, err error) error { return fmt.Errorf("%s: %w", field, err) }
	r := wire.Request{URL: "http://a.example/", Method: "POST", Body: []byte("q=1"), MaxRedirects: wire.DefaultMaxRedirects}
	data, err := r.Append(nil, &wire.Values{}, refuse)
	fmt.Println(len(data), err)

	read := wire.Request{Method: wire.DefaultMethod, MaxRedirects: wire.DefaultMaxRedirects}
	err = read.Read(data, &wire.Values{})
	fmt.Printf("%s %s %s %v\n", read.Method, read.URL, read.Body, err)
	// Output:
	// 29 <nil>
	// POST http://a.example/ q=1 <nil>
}
