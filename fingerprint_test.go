package tegenaria

import (
	"fmt"
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
			fast := k.keys.Resolved([]byte(resolved))
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

// Keys are stored for years: what they are made of must not change unless identity.Version does.
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
