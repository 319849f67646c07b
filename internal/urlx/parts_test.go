package urlx_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

func TestParts(t *testing.T) {
	for _, c := range []struct{ url, scheme, hostname, port, origin, path string }{
		{"https://example.com/a?b#c", "https", "example.com", "443", "https://example.com", "/a?b"},
		{"http://example.com", "http", "example.com", "80", "http://example.com", "/"},
		{"http://example.com?q", "http", "example.com", "80", "http://example.com", "/?q"},
		{"http://example.com#f/?", "http", "example.com", "80", "http://example.com", "/"},
		{"http://example.com/?", "http", "example.com", "80", "http://example.com", "/?"},
		{"HTTP://Example.COM:80/A b", "http", "example.com", "80", "http://example.com", "/A%20b"},
		{"https://example.com:8443/", "https", "example.com", "8443", "https://example.com:8443", "/"},
		{"http://u:p@example.com:81/x", "http", "example.com", "81", "http://example.com:81", "/x"},
		{"http://u@example.com/", "http", "example.com", "80", "http://example.com", "/"},
		{"http://127.0.0.1:8080/x", "http", "127.0.0.1", "8080", "http://127.0.0.1:8080", "/x"},
		{"http://2130706433/x", "http", "127.0.0.1", "80", "http://127.0.0.1", "/x"},
		{"http://[::1]/", "http", "::1", "80", "http://[::1]", "/"},
		{"http://[0::1]:81/", "http", "::1", "81", "http://[::1]:81", "/"},
		{"http://Bücher.de/", "http", "xn--bcher-kva.de", "80", "http://xn--bcher-kva.de", "/"},
		{"http://good.example\\@evil.example/", "http", "good.example", "80", "http://good.example", "/@evil.example/"},
		{"http://good.example@evil.example/", "http", "evil.example", "80", "http://evil.example", "/"},
		{"http:/a/../b", "http", "a", "80", "http://a", "/b"},
		{"ftp://x/y", "ftp", "x", "21", "ftp://x", "/y"},
		{"wss://x/y", "wss", "x", "443", "wss://x", "/y"},
		{"ws://x/y", "ws", "x", "80", "ws://x", "/y"},
		{"mailto:a@b", "mailto", "", "", "", "a@b"},
		{"file:///a", "file", "", "", "", "/a"},
		{"/a", "", "", "", "", ""},
		{"example.com", "", "", "", "", ""},
		{"http://", "", "", "", "", ""},
		{"http://a:b/", "", "", "", "", ""},
		{"", "", "", "", "", ""},
	} {
		t.Run(c.url, func(t *testing.T) {
			for _, p := range []struct{ name, got, want string }{
				{"Scheme", urlx.Scheme(c.url), c.scheme},
				{"Hostname", urlx.Hostname(c.url), c.hostname},
				{"Port", urlx.Port(c.url), c.port},
				{"Origin", urlx.Origin(c.url), c.origin},
				{"Path", urlx.Path(c.url), c.path},
			} {
				if p.got != p.want {
					t.Errorf("%s is %q, want %q", p.name, p.got, p.want)
				}
			}
		})
	}
}

func TestMachineOrigin(t *testing.T) {
	for url, want := range map[string]string{
		"http://a.test/x.":         "http://a.test",
		"http://a.test./x":         "http://a.test",
		"https://A.TEST.:8443/":    "https://a.test:8443",
		"http://u:p.@http.:80?q=.": "http://http",
		"http://[::1]:8080/":       "http://[::1]:8080",
		"http://./":                "http://.",
		"/a./b":                    "",
	} {
		if got := urlx.MachineOrigin(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

func TestCutFragment(t *testing.T) {
	for _, c := range []struct{ abs, url, fragment string }{
		{"http://a/b", "http://a/b", ""},
		{"http://a/b#", "http://a/b", ""},
		{"http://a/b#c#d", "http://a/b", "c#d"},
	} {
		if url, fragment := urlx.CutFragment(c.abs); url != c.url || fragment != c.fragment {
			t.Errorf("CutFragment(%q) = %q, %q; want %q, %q", c.abs, url, fragment, c.url, c.fragment)
		}
	}
}

func TestRegistrableDomain(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"example.com", "example.com"},
		{"a.b.example.com", "example.com"},
		{"a.b.co.uk", "b.co.uk"},
		{"go.dev", "go.dev"},
		{"pkg.GO.dev", "go.dev"},
		{"UPPER.EXAMPLE.COM", "example.com"},
		{"www.example.com.", "example.com"},
		{"me.github.io", "me.github.io"},
		{"a.me.github.io", "me.github.io"},
		{"co.uk", "co.uk"},
		{"com", "com"},
		{"localhost", "localhost"},
		{"a.localhost", "a.localhost"},
		{"127.0.0.1", "127.0.0.1"},
		{"1.2.3.4.evil.com", "evil.com"},
		{"::1", "::1"},
		{"[::1]", "::1"},
		{"2001:DB8::1", "2001:db8::1"},
		{"www.Bücher.de", "xn--bcher-kva.de"},
		{"www.xn--bcher-kva.de", "xn--bcher-kva.de"},
		{"a_b.example.com", "example.com"},
		{"", ""},
		{".", ""},
		{".com", ".com"},
		{"a..com", "a..com"},
	} {
		if got := urlx.RegistrableDomain(c.host); got != c.want {
			t.Errorf("RegistrableDomain(%q) = %q, want %q", c.host, got, c.want)
		}
	}
}

func TestMergeParams(t *testing.T) {
	for _, c := range []struct {
		name   string
		url    string
		params map[string]string
		want   string
	}{
		{"none", "http://a/?b&&c#d", nil, "http://a/?b&&c#d"},
		{"no query", "http://a/", map[string]string{"b": "2", "a": "1"}, "http://a/?a=1&b=2"},
		{"no path", "http://a", map[string]string{"b": "2"}, "http://a?b=2"},
		{"own query stays", "http://a/?z=1&y=%7e", map[string]string{"b": "2"}, "http://a/?z=1&y=%7e&b=2"},
		{"same name", "http://a/?b=1&c=2&b=3", map[string]string{"b": "4"}, "http://a/?c=2&b=4"},
		{"same name, encoded", "http://a/?%62+%63=1&c", map[string]string{"b c": "4"}, "http://a/?c&b+c=4"},
		{"fragment", "http://a/?b=1#c?d", map[string]string{"e": "f"}, "http://a/?b=1&e=f#c?d"},
		{"empty fragment", "http://a/#", map[string]string{"e": "f"}, "http://a/?e=f#"},
		{"empty query", "http://a/?", map[string]string{"e": "f"}, "http://a/?e=f"},
		{"form encoding", "http://a/", map[string]string{"a b": "c&d=é+#"}, "http://a/?a+b=c%26d%3D%C3%A9%2B%23"},
		{"empty value", "http://a/", map[string]string{"a": ""}, "http://a/?a="},
		{"broken encoding", "http://a/?%zz=1", map[string]string{"%zz": "2"}, "http://a/?%25zz=2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := urlx.MergeParams(c.url, c.params); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
