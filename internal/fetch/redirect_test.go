package fetch

import (
	"testing"
)

func TestIsRedirect(t *testing.T) {
	for _, tt := range []struct {
		status int
		header map[string][]string
		want   bool
	}{
		{301, map[string][]string{"Location": {"/x"}}, true},
		{302, map[string][]string{"Location": {"/x", ""}}, true},
		{303, map[string][]string{"location": {"/x"}}, true},
		{307, map[string][]string{"LOCATION": {"/x"}}, true},
		{308, map[string][]string{"Location": {}, "location": {"/x"}}, true},
		{308, map[string][]string{"Location": {""}}, false},
		{302, nil, false},
		{300, map[string][]string{"Location": {"/x"}}, false},
		{304, map[string][]string{"Location": {"/x"}}, false},
		{201, map[string][]string{"Location": {"/x"}}, false},
	} {
		if got := IsRedirect(tt.status, tt.header); got != tt.want {
			t.Errorf("%d %v: %v", tt.status, tt.header, got)
		}
	}
}

// A Location in a charset of the server's own is escaped byte for byte, as browsers do. It fails if it is taken for UTF-8.
func TestLocationURL(t *testing.T) {
	for location, want := range map[string]string{
		" /a b ": "/a b", "/ä": "/ä", "/\xe4?q=\xff": "/%E4?q=%FF", "": "",
	} {
		if got := LocationURL(location); got != want {
			t.Errorf("LocationURL(%q) = %q, want %q", location, got, want)
		}
	}
}

// Of the methods that change something 303 makes a GET, and 301 and 302 do so of POST alone. It fails if 307 does.
func TestBecomesGet(t *testing.T) {
	for _, tt := range []struct {
		method string
		status int
		want   bool
	}{
		{"GET", 303, false}, {"HEAD", 303, false}, {"POST", 303, true}, {"PUT", 303, true}, {"POST", 301, true}, {"POST", 302, true},
		{"PUT", 302, false}, {"POST", 307, false}, {"POST", 308, false}, {"DELETE", 301, false},
	} {
		if got := BecomesGet(tt.method, tt.status); got != tt.want {
			t.Errorf("BecomesGet(%s, %d) = %t", tt.method, tt.status, got)
		}
	}
}

// Another origin sees no secret, whatever the case of its name, and everything else.
func TestDropCredentials(t *testing.T) {
	header := map[string]string{
		"Host": "a.example", "AUTHORIZATION": "1", "Cookie": "1", "x-api-key": "1", "X-Auth-Token": "1", "Api-Key": "1", "proxy-Authorization": "1",
		"x-mine": "1", "Accept": "text/html", "Cookies": "2", "X-Proxy-For": "3",
	}
	DropCredentials(header, []string{"X-Mine", "Other"})
	if len(header) != 3 || header["Accept"] == "" || header["Cookies"] == "" || header["X-Proxy-For"] == "" {
		t.Errorf("left: %q", header)
	}
	DropCredentials(nil, nil)
}

// A request without a body does not describe one.
func TestDropContent(t *testing.T) {
	header := map[string]string{"Content-Type": "a/b", "content-length": "3", "CONTENT-Encoding": "gzip", "Content": "x", "X-Content-Type": "y"}
	DropContent(header)
	if len(header) != 2 || header["Content"] != "x" || header["X-Content-Type"] != "y" {
		t.Errorf("left: %q", header)
	}
}
