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
		"http://Example.test.:80/a":     {host: "example.test"},
		"http://./":                     {host: "."},
		"http://[::1]:80/":              {host: "::1"},
		"ftp://example.test/":           {text: `scheme "ftp" is not supported`, err: urlx.SchemeError("ftp")},
		"mailto:somebody":               {text: `scheme "mailto" is not supported`, err: urlx.SchemeError("mailto")},
		"/path":                         {text: "the URL has no scheme", err: urlx.ErrNoScheme},
		"":                              {text: "the URL has no scheme", err: urlx.ErrNoScheme},
		"example.test/a":                {text: "the URL has no scheme", err: urlx.ErrNoScheme},
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

// A URL whose scheme was left out is told with the line to write. It fails if a host with a port is taken for a scheme, or if a password
// is printed.
func TestRemedy(t *testing.T) {
	for url, want := range map[string]struct{ text, remedy string }{
		"example.test/a":         {"the URL has no scheme", `write "https://example.test/a"`},
		"www.a.test":             {"the URL has no scheme", `write "https://www.a.test"`},
		" www.a.test ":           {"the URL has no scheme", `write "https://www.a.test"`},
		"//example.test/a":       {"the URL has no scheme", `write "https://example.test/a"`},
		"example.test:8080/a":    {"the URL has no scheme", `write "https://example.test:8080/a"`},
		"localhost:8080":         {"the URL has no scheme", `write "http://localhost:8080"`},
		"localhost/a":            {"the URL has no scheme", `write "http://localhost/a"`},
		"127.0.0.1:80/a":         {"the URL has no scheme", `write "http://127.0.0.1:80/a"`},
		"[::1]:80/":              {"the URL has no scheme", `write "http://[::1]:80/"`},
		"example.test?q=a.b":     {"the URL has no scheme", `write "https://example.test?q=a.b"`},
		"/a/b.html":              {"the URL has no scheme", `write the whole URL, such as "https://example.com/a/b.html"`},
		"../b.html":              {"the URL has no scheme", `write the whole URL, such as "https://example.com/"`},
		"#top":                   {"the URL has no scheme", `write the whole URL, such as "https://example.com/"`},
		"":                       {"the URL is empty", `write the whole URL, such as "https://example.com/"`},
		"//me:s3cret@a.test/":    {"the URL has no scheme", `write "https://me:xxxxx@a.test/"`},
		"ftp://example.test/":    {`scheme "ftp" is not supported`, "use http or https"},
		"mailto:somebody":        {`scheme "mailto" is not supported`, "use http or https"},
		"http://example.test:x/": {"the port is not a number", "write it as http://host/path or https://host/path"},
	} {
		_, err := urlx.AskedHost(url)
		if err == nil {
			t.Errorf("%q can be asked", url)
			continue
		}
		if text, remedy := urlx.Cause(urlx.Cure(url, err)).Error(), urlx.Remedy(url, err); text != want.text || remedy != want.remedy {
			t.Errorf("%q: %s; %s\nwant %s; %s", url, text, remedy, want.text, want.remedy)
		}
	}
}
