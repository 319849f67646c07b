package tegenaria

import (
	"maps"
	"net/http"
)

// withoutRedirects returns a func that sends requests as the user's client does, by a transport. A redirect is an answer
// like any other.
func withoutRedirects(c *http.Client, t http.RoundTripper) func(*http.Request) (*http.Response, error) {
	if t == nil {
		t = http.DefaultTransport
	}
	plain := *c
	plain.Transport = locationHider{t}
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(r *http.Request) (*http.Response, error) {
		resp, err := plain.Do(r) //nolint:bodyclose // its caller does
		if err == nil {
			move(resp.Header, hiddenLocation, "Location")
		}
		return resp, err
	}
}

// locationHider hides the Location of a response from an http.Client, which reads it even where it does not follow it:
// a Location that is no URL would be the end of the response.
type locationHider struct{ http.RoundTripper }

// hiddenLocation is a name that http.Header.Get does not find, and that cannot come over a connection.
const hiddenLocation = "location"

// RoundTrip hides the header's Location.
func (h locationHider) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	if err != nil || resp == nil || resp.Header["Location"] == nil {
		return resp, err
	}
	hidden := *resp // the transport may keep its own
	hidden.Header = maps.Clone(resp.Header)
	move(hidden.Header, "Location", hiddenLocation)
	return &hidden, nil
}

// move gives a header field another name.
func move(header map[string][]string, from, to string) {
	if values, ok := header[from]; ok {
		delete(header, from)
		header[to] = values
	}
}
