package tegenaria

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

func ExampleRFPDupeFilter() {
	filter := NewRFPDupeFilter(1<<20, 7).IncludeHeaders("Accept-Language")
	for _, r := range []*Request{
		NewRequest("https://example.com/?a=1&b=2", GET, nil),
		NewRequest("HTTPS://EXAMPLE.com:443/?b=2&a=1#top", GET, nil),
		NewRequest("https://example.com/?a=1&b=2", GET, nil, RequestWithRequestHeader(map[string]string{"accept-language": "de"})),
	} {
		duplicate, err := filter.DoDupeFilter(r)
		fmt.Println(duplicate, err)
	}
	// Output:
	// false <nil>
	// true <nil>
	// false <nil>
}

func with(header map[string]string) RequestOption { return RequestWithRequestHeader(header) }

// The acceptance cases of duplicate filters, each with the defect of others that it excludes.
func TestDoDupeFilter(t *testing.T) {
	type pair struct {
		name      string
		a, b      *Request
		duplicate bool
	}
	get := func(url string, opts ...RequestOption) *Request { return NewRequest(url, GET, nil, opts...) }
	post := func(opts ...RequestOption) *Request { return NewRequest("http://h/", POST, nil, opts...) }
	plain := func() *RFPDupeFilter { return NewRFPDupeFilter(1<<16, 4) }
	headers := func() *RFPDupeFilter { return plain().IncludeHeaders("X-One", "x-two") }
	for _, group := range []struct {
		name   string
		filter func() *RFPDupeFilter
		pairs  []pair
	}{
		{"default", plain, []pair{
			{"same", get("http://h/a"), get("http://h/a"), true},
			{"other path", get("http://h/a"), get("http://h/b"), false},
			{"path differs in case", get("http://h/a"), get("http://h/A"), false},
			{"trailing slash", get("http://h/a"), get("http://h/a/"), false},
			{"host differs in case", get("http://h/a"), get("HTTP://H/a"), true},
			{"default port", get("http://h/a"), get("http://h:80/a"), true},
			{"other port", get("http://h/a"), get("http://h:8080/a"), false},
			{"empty path", get("http://h"), get("http://h/"), true},
			{"scheme", get("http://h/"), get("https://h/"), false},
			{"fragment", get("http://h/a"), get("http://h/a#frag"), true},
			{"order of the query", get("http://h/?b=2&a=1"), get("http://h/?a=1&b=2"), true},
			{"value of the query", get("http://h/?a=1"), get("http://h/?a=2"), false},
			{"params are the query", get("http://h/?a=1&b=2"), get("http://h/?a=1", RequestWithRequestParams(map[string]string{"b": "2"})), true},
			{"params replace", get("http://h/?a=2"), get("http://h/?a=1", RequestWithRequestParams(map[string]string{"a": "2"})), true},
			{"method", get("http://h/"), NewRequest("http://h/", HEAD, nil), false},
			{"method differs in case", get("http://h/"), NewRequest("http://h/", "get", nil), true},
			{"no method is GET", get("http://h/"), NewRequest("http://h/", "", nil), true},
			{"same body", post(RequestWithBody([]byte("x"))), post(RequestWithBody([]byte("x"))), true},
			{"other body", post(RequestWithBody([]byte("x"))), post(RequestWithBody([]byte("y"))), false},
			{"no body", post(), post(RequestWithBody([]byte("x"))), false},
			{"empty body", post(), post(RequestWithBody([]byte{})), true},
			{"body of a reader", post(RequestWithBody([]byte("x"))), post(RequestWithBodyReader(strings.NewReader("x"))), true},
			{"headers do not count", get("http://h/"), get("http://h/", with(map[string]string{"X-One": "1"})), true},
			{"meta does not count", get("http://h/"), get("http://h/", RequestWithRequestMeta(map[string]any{"a": 1})), true},
			{"variant", get("http://h/"), get("http://h/", RequestWithVariant("a")), false},
			{"other variant", get("http://h/", RequestWithVariant("a")), get("http://h/", RequestWithVariant("b")), false},
			{"same variant", get("http://h/", RequestWithVariant("a")), get("http://h/", RequestWithVariant("a")), true},
			{"empty variant", get("http://h/"), get("http://h/", RequestWithVariant("")), true},
			{"do not filter", get("http://h/"), get("http://h/", RequestWithDoNotFilter(true)), false},
			{"was not filtered", get("http://h/", RequestWithDoNotFilter(true)), get("http://h/"), false},
		}},
		{"headers", headers, []pair{
			{"same", get("http://h/", with(map[string]string{"X-One": "a"})), get("http://h/", with(map[string]string{"X-One": "a"})), true},
			{"value differs in case", get("http://h/", with(map[string]string{"X-One": "abc"})), get("http://h/", with(map[string]string{"X-One": "ABC"})), false},
			{"name differs in case", get("http://h/", with(map[string]string{"X-One": "a", "X-Two": "b"})), get("http://h/", with(map[string]string{"x-TWO": "b", "x-one": "a"})), true},
			{"other name", get("http://h/", with(map[string]string{"X-One": "a"})), get("http://h/", with(map[string]string{"X-Two": "a"})), false},
			{"name that was not chosen", get("http://h/", with(map[string]string{"X-One": "a"})), get("http://h/", with(map[string]string{"X-One": "a", "Y": "b"})), true},
			{"missing", get("http://h/"), get("http://h/", with(map[string]string{"X-One": ""})), false},
			{"forged neighbour", get("http://h/", with(map[string]string{"X-One": "1;\nX-Two:2"})), get("http://h/", with(map[string]string{"X-One": "1", "X-Two": "2"})), false},
			{"name in two spellings", get("http://h/", with(map[string]string{"X-One": "a", "x-one": "b"})), get("http://h/", with(map[string]string{"x-one": "a", "X-One": "b"})), true},
		}},
		{"query order", func() *RFPDupeFilter { return plain().KeepQueryOrder() }, []pair{
			{"same order", get("http://h/?b=2&a=1"), get("http://h/?b=2&a=1"), true},
			{"other order", get("http://h/?b=2&a=1"), get("http://h/?a=1&b=2"), false},
		}},
	} {
		for _, tt := range group.pairs {
			t.Run(group.name+"/"+tt.name, func(t *testing.T) {
				filter := group.filter()
				if duplicate, err := filter.DoDupeFilter(tt.a); duplicate || err != nil {
					t.Fatalf("the first is a duplicate: %v, %v", duplicate, err)
				}
				if duplicate, err := filter.DoDupeFilter(tt.b); duplicate != tt.duplicate || err != nil {
					t.Errorf("duplicate = %v, %v; want %v", duplicate, err, tt.duplicate)
				}
			})
		}
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

func TestFingerprintErrors(t *testing.T) {
	filter := NewRFPDupeFilter(1024, 4)
	broken := errors.New("broken")
	for _, tt := range []struct {
		name  string
		r     *Request
		field string
		is    error
	}{
		{"no scheme", NewRequest("example.com/a", GET, nil), "Url", nil},
		{"no host", NewRequest("http://?a", GET, nil), "Url", nil},
		{"empty", NewRequest("", GET, nil), "Url", nil},
		{"body that cannot be read", NewRequest("http://h/", POST, nil, RequestWithBodyReader(brokenReader{broken})), "BodyReader", broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := filter.Fingerprint(tt.r)
			var re *RequestError
			if !errors.As(err, &re) || re.Field != tt.field || re.URL != tt.r.Url || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v, want a RequestError of field %s", err, tt.field)
			}
			if _, err := filter.DoDupeFilter(tt.r); err == nil {
				t.Error("DoDupeFilter has no error")
			}
		})
	}
}

// The body is read for the fingerprint, and there to be sent afterwards.
func TestFingerprintKeepsBody(t *testing.T) {
	r := NewRequest("http://h/", POST, nil, RequestWithBodyReader(strings.NewReader("hello")))
	if _, err := NewRFPDupeFilter(1024, 4).Fingerprint(r); err != nil {
		t.Fatal(err)
	}
	if string(r.Body) != "hello" || r.BodyReader != nil {
		t.Errorf("body %q, reader %v", r.Body, r.BodyReader)
	}
}

// A Bloom filter that is far too small loses nothing: a filter without the exact set calls nearly all
// of these duplicates.
func TestDupeFilterLosesNothing(t *testing.T) {
	urls := 1_000_000
	if testing.Short() || israce.Enabled {
		urls = 50_000
	}
	filter := NewRFPDupeFilter(1024, 1)
	for i := range urls {
		r := Request{Url: fmt.Sprintf("http://host%d.example/page/%d", i%100, i)}
		if duplicate, err := filter.DoDupeFilter(&r); duplicate || err != nil {
			t.Fatalf("%s: duplicate %v, error %v", r.Url, duplicate, err)
		}
	}
}

// Of many that ask about one request at once, one is told that it is new.
func TestDupeFilterConcurrent(t *testing.T) {
	filter := NewRFPDupeFilter(1<<16, 4)
	const workers, urls = 8, 2_000
	var fresh atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range urls {
				duplicate, err := filter.DoDupeFilter(NewRequest(fmt.Sprintf("http://h/%d", i), GET, nil))
				if err != nil {
					t.Error(err)
				}
				if !duplicate {
					fresh.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if fresh.Load() != urls {
		t.Errorf("%d of %d URLs were new", fresh.Load(), urls)
	}
}

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

// Keys are stored for years: the rules by which they are made must not change unless identity.Version does.
func TestKeysAreStable(t *testing.T) {
	filter := NewRFPDupeFilter(1, 1).IncludeHeaders("Accept")
	for _, tt := range []struct {
		r    *Request
		want string
	}{
		{NewRequest("http://example.com/", GET, nil), "68483b03c68573918f6cf0979e19eb7d"},
		{NewRequest("http://example.com/a?b=1&a=2", GET, nil), "b892c3ec1ef7646c6161b7cf31792ac7"},
		{NewRequest("http://example.com/", POST, nil, RequestWithBody([]byte("x")), with(map[string]string{"accept": "text/html"})), "c7063be062b1c669a4f0c40e4e3b2c21"},
		{NewRequest("http://example.com/", GET, nil, RequestWithVariant("v")), "0687be5c2f8981cea385119e4b6d2cbd"},
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
