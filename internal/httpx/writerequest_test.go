package httpx

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Nothing is sent that could be taken for something else, and no error quotes what may be a secret.
func TestRequestsThatCannotBeSent(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*http.Request)
		names string // that the error has
	}{
		"line end in a value":    {func(r *http.Request) { r.Header["X"] = []string{"secret\r\nY: z"} }, "field X"},
		"NUL in a value":         {func(r *http.Request) { r.Header["X"] = []string{"secret\x00"} }, "field X"},
		"colon in a name":        {func(r *http.Request) { r.Header["X: y"] = []string{"secret"} }, "X: y"},
		"line end in the agent":  {func(r *http.Request) { r.Header["User-Agent"] = []string{"secret\nX: y"} }, "field User-Agent"},
		"space in the host":      {func(r *http.Request) { r.Host = "a.example b" }, "a.example b"},
		"no host":                {func(r *http.Request) { r.URL.Host = "" }, "host"},
		"line end in the query":  {func(r *http.Request) { r.URL.RawQuery = "a\r\nX: y" }, "target"},
		"space in the query":     {func(r *http.Request) { r.URL.RawQuery = "a HTTP/1.1" }, "target"},
		"line end in the target": {func(r *http.Request) { r.URL.Opaque = "//a.example/\r\nX: y" }, "target"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: http.Header{"User-Agent": {"x"}}}
			tt.spoil(r)
			var sent bytes.Buffer
			err := checkHeader(r.Header)
			if err == nil {
				err = writeRequest(&sent, r)
			}
			if err == nil || sent.Len() > 0 || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), tt.names) || isLost(err) {
				t.Errorf("%v, sent %q", err, sent.String())
			}
		})
	}
}
