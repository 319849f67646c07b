package identity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Keys are stored for years: what they are made of must not change unless Version does.
func TestKeysAreStable(t *testing.T) {
	k := identity.Keyer{Headers: []string{"accept"}}
	for _, tt := range []struct {
		method, url, body string
		header            map[string]string
		want              string
	}{
		{"GET", "http://example.com/", "", nil, "68483b03c68573918f6cf0979e19eb7d"},
		{"get", "http://example.com/a?b=1&a=2", "", nil, "b892c3ec1ef7646c6161b7cf31792ac7"},
		{"POST", "http://example.com/", "x", map[string]string{"aCCept": "text/html", "other": ""}, "c7063be062b1c669a4f0c40e4e3b2c21"},
	} {
		got, err := k.Request(tt.method, tt.url, []byte(tt.body), tt.header)
		if err != nil || fmt.Sprintf("%x", got) != tt.want {
			t.Errorf("%s %s: %x, %v; want %s", tt.method, tt.url, got, err, tt.want)
		}
	}
}

// A parent that runs again makes the same keys, and no other request has them. It fails if the number does not count.
func TestUnfilteredKey(t *testing.T) {
	seen := make(map[identity.Key]string)
	for _, parent := range []identity.Key{{}, {1}, {2}} {
		for _, fp := range []identity.Key{{}, {1}, {2}} {
			for k := range uint64(3) {
				what := fmt.Sprint(parent[0], fp[0], k)
				key := identity.Unfiltered(parent, fp, k)
				if other, ok := seen[key]; ok {
					t.Errorf("%s and %s have one key", what, other)
				}
				seen[key] = what
				if key != identity.Unfiltered(parent, fp, k) {
					t.Errorf("%s: another key the second time", what)
				}
			}
		}
	}
}

// A link takes no allocation. It fails if Resolved makes a string of the URL.
func TestKeyerAllocates(t *testing.T) {
	var k identity.Keyer
	url := []byte("http://example.com/some/page.html?a=1")
	if n := testing.AllocsPerRun(100, func() { k.Resolved(url) }); n != 0 {
		t.Errorf("%v allocations for a link", n)
	}
}

// FuzzKeyer checks that both ways of the keyer agree, that keys are stable, and that a body counts.
func FuzzKeyer(f *testing.F) {
	for _, url := range []string{"http://example.com/", "http://h/?b=2&a=1#f", "HTTPS://[::1]:443/%zz", "http://h/a b", "x", "http://h/\xff"} {
		f.Add(url, "get", []byte("body"), "X-One", "value")
	}
	f.Fuzz(func(t *testing.T, url, method string, body []byte, name, value string) {
		k := identity.Keyer{Headers: []string{"x-one"}}
		slow, wrong := k.Request(method, url, nil, nil)
		if resolved, err := urlx.Parse(url); err == nil && strings.EqualFold(method, "GET") && urlx.PlainHost([]byte(resolved)) != nil {
			resolved, _ = urlx.CutFragment(resolved)
			if fast := k.Resolved([]byte(resolved)); fast != slow {
				t.Fatalf("%q: %x as resolved, %x as a request", url, fast, slow)
			}
		}
		if wrong != nil {
			return
		}
		header := map[string]string{name: value}
		full, err := k.Request(method, url, body, header)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := k.Request(method, url, body, header); again != full {
			t.Fatal("another key the second time")
		}
		if len(body) > 0 && full == slow {
			t.Fatal("the body does not count")
		}
		if other, _ := k.Request(method, url, append(body[:len(body):len(body)], 0), header); other == full {
			t.Fatal("another body does not count")
		}
	})
}

func BenchmarkKeyerURL(b *testing.B) {
	var k identity.Keyer
	for _, bench := range []struct{ name, url string }{
		{"path", "http://www.example.com/catalogue/category/books/mystery_3/index.html"},
		{"query", "http://www.example.com/search?q=gophers&page=2&sort=asc"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			url := []byte(bench.url)
			b.ReportAllocs()
			for b.Loop() {
				k.Resolved(url)
			}
		})
	}
}
