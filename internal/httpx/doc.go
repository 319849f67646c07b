// Package httpx holds what HTTP needs beside net/http.
//
// Content decoding: [NewReader] removes the codings that a Content-Encoding header names, in reverse
// order, with bounds on what comes out while it comes out:
//
//	body, err := httpx.NewReader(resp.Header["Content-Encoding"], resp.Body, httpx.Limits{Decoded: 32 << 20})
//	if unknown := (*httpx.UnknownCodingError)(nil); errors.As(err, &unknown) {
//		return resp.Body, nil // as it came
//	} else if err != nil {
//		return nil, err
//	}
//	defer body.Close()
//	page, err := io.ReadAll(body)
//
// Each coding is a stage that reads the one before it; the first reads the body. A stage counts its
// output and fails at its limit, so that neither memory nor a later stage ever sees more.
//
// Names and connections: a [Resolver] looks host names up once for a time, [Dial] connects to the first of the
// addresses that answers. A [Transport] sends what most of a crawl is, requests without a body, in HTTP/1. For
// the others, a [Conn] gives net/http whole HTTP/1 responses that were asked for and nothing else.
package httpx
