package tegenaria

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// The fast way of the engine and the way of users lead to one key.
func TestKeyerAgrees(t *testing.T) {
	for _, filter := range []*RFPDupeFilter{
		NewRFPDupeFilter(1, 1),
		NewRFPDupeFilter(1, 1).KeepQueryOrder(),
		NewRFPDupeFilter(1, 1).IncludeHeaders("Accept"),
	} {
		k := filter.keyer()
		for _, url := range []string{"http://h/", "HTTP://Host:80/a/../b?z=1&a=2#f", "https://example.com/%7euser?q=%41"} {
			resolved, err := urlx.Parse(url)
			if err != nil {
				t.Fatal(err)
			}
			resolved, _ = urlx.CutFragment(resolved)
			fast := k.resolved([]byte(resolved))
			slow, err := k.request(NewRequest(url, GET, nil))
			if err != nil {
				t.Fatal(err)
			}
			public, err := filter.Fingerprint(NewRequest(url, GET, nil))
			if err != nil {
				t.Fatal(err)
			}
			if fast != slow || fast != Key(public) {
				t.Errorf("%s: keys %x, %x and %x", url, fast, slow, public)
			}
		}
	}
}

// Keys are stored for years: what they are made of must not change unless keyVersion does.
func TestKeysAreStable(t *testing.T) {
	filter := NewRFPDupeFilter(1, 1).IncludeHeaders("Accept")
	for _, tt := range []struct {
		r    *Request
		want string
	}{
		{NewRequest("http://example.com/", GET, nil), "68483b03c68573918f6cf0979e19eb7d"},
		{NewRequest("http://example.com/a?b=1&a=2", GET, nil), "b892c3ec1ef7646c6161b7cf31792ac7"},
		{NewRequest("http://example.com/", POST, nil, RequestWithBody([]byte("x")), with(map[string]string{"accept": "text/html"})), "c7063be062b1c669a4f0c40e4e3b2c21"},
	} {
		got, err := filter.Fingerprint(tt.r)
		if err != nil || fmt.Sprintf("%x", got) != tt.want {
			t.Errorf("%s %s: %x, %v; want %s", tt.r.Method, tt.r.Url, got, err, tt.want)
		}
	}
}

func TestUnfilteredKey(t *testing.T) {
	seen := make(map[Key]string)
	for _, parent := range []Key{{}, {1}, {2}} {
		for _, fp := range []Key{{}, {1}, {2}} {
			for k := range uint64(3) {
				what := fmt.Sprint(parent[0], fp[0], k)
				key := unfilteredKey(parent, fp, k)
				if other, ok := seen[key]; ok {
					t.Errorf("%s and %s have one key", what, other)
				}
				seen[key] = what
				if key != unfilteredKey(parent, fp, k) {
					t.Errorf("%s: another key the second time", what)
				}
			}
		}
	}
}

func TestKeyerAllocates(t *testing.T) {
	k := NewRFPDupeFilter(1, 1).keyer()
	url := []byte("http://example.com/some/page.html?a=1")
	if n := testing.AllocsPerRun(100, func() { k.resolved(url) }); n != 0 {
		t.Errorf("%v allocations for a link", n)
	}
}

// FuzzFingerprint checks that the two ways agree, that an error is the same for both, and that the
// canonical form is stable: any request has the key of itself in upper-case method and again.
func FuzzFingerprint(f *testing.F) {
	for _, url := range []string{"http://example.com/", "http://h/?b=2&a=1#f", "HTTPS://[::1]:443/%zz", "http://h/a b", "x", "http://h/\xff"} {
		f.Add(url, "get", []byte("body"), "X-One", "value")
	}
	filter := NewRFPDupeFilter(1, 1).IncludeHeaders("X-One")
	f.Fuzz(func(t *testing.T, url, method string, body []byte, name, value string) {
		k := filter.keyer()
		slow, err1 := k.request(&Request{Url: url, Method: method})
		if resolved, err := urlx.Parse(url); err == nil && (method == "" || strings.EqualFold(method, GET)) && plainHost([]byte(resolved)) != nil {
			resolved, _ = urlx.CutFragment(resolved)
			if fast := k.resolved([]byte(resolved)); fast != slow {
				t.Fatalf("%q: %x as resolved, %x as a request", url, fast, slow)
			}
		}
		if err1 != nil {
			return
		}
		r := &Request{Url: url, Method: method, Body: body, Header: map[string]string{name: value}}
		full, err := k.request(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := k.request(r); again != full {
			t.Fatal("another key the second time")
		}
		if len(body) > 0 && full == slow {
			t.Fatal("the body does not count")
		}
		longer := *r
		longer.Body = append(body[:len(body):len(body)], 0)
		if other, _ := k.request(&longer); other == full {
			t.Fatal("another body does not count")
		}
	})
}

func BenchmarkKeyerURL(b *testing.B) {
	k := NewRFPDupeFilter(1, 1).keyer()
	for _, bench := range []struct{ name, url string }{
		{"path", "http://www.example.com/catalogue/category/books/mystery_3/index.html"},
		{"query", "http://www.example.com/search?q=gophers&page=2&sort=asc"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			url := []byte(bench.url)
			b.ReportAllocs()
			for b.Loop() {
				k.resolved(url)
			}
		})
	}
}

func BenchmarkDoDupeFilter(b *testing.B) {
	filter := NewRFPDupeFilter(10_000_000, 7)
	r := NewRequest("", GET, nil)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Url = fmt.Sprintf("http://www.example.com/catalogue/%d", i%100_000)
		if _, err := filter.DoDupeFilter(r); err != nil {
			b.Fatal(err)
		}
	}
}
