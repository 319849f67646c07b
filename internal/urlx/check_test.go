package urlx_test

import (
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// A URL that can be asked has a host; what is wrong with another one is said in words. It fails if a missing scheme is taken
// for another scheme.
func TestAskedHost(t *testing.T) {
	for url, want := range map[string]struct {
		host, text string
		err        error
	}{
		"http://example.test/a":         {host: "example.test"},
		"HTTPS://Example.test:8443?q=1": {host: "example.test"},
		"http://[::1]:80/":              {host: "::1"},
		"ftp://example.test/":           {text: `scheme "ftp" is not supported`, err: urlx.SchemeError("ftp")},
		"mailto:somebody":               {text: `scheme "mailto" is not supported`, err: urlx.SchemeError("mailto")},
		"/path":                         {text: "relative"},
		"":                              {text: "relative"},
		"http://":                       {text: "no host"},
	} {
		host, err := urlx.AskedHost(url)
		if want.text == "" && (err != nil || host != want.host) || want.text != "" && err == nil {
			t.Errorf("AskedHost(%q) = %q, %v, want %q, %s", url, host, err, want.host, want.text)
		}
		if want.err != nil && (!errors.Is(err, want.err) || err.Error() != want.text) {
			t.Errorf("AskedHost(%q): %v, want %v", url, err, want.err)
		}
	}
}
