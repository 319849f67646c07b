package httpx_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// A body that would become too large is cut off while it is decoded.
func ExampleNewReader() {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(make([]byte, 1<<20))
	_ = w.Close()

	body, err := httpx.NewReader([]string{"gzip"}, &packed, httpx.Limits{Decoded: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer body.Close()
	page, err := io.ReadAll(body)
	var large *httpx.TooLargeError
	fmt.Println(len(page) <= 1000, errors.As(err, &large))
	// Output: true true
}
