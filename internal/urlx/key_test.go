package urlx_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

func TestKey(t *testing.T) {
	for _, c := range []struct{ name, url, want string }{
		{"already canonical", "https://example.com/a?b=c", "https://example.com/a?b=c"},
		{"scheme and host", "HTTP://Example.COM/A", "http://example.com/A"},
		{"default port", "https://example.com:443/", "https://example.com/"},
		{"other port", "https://example.com:80/", "https://example.com:80/"},
		{"empty path", "http://example.com", "http://example.com/"},
		{"fragment", "http://example.com/a#b", "http://example.com/a"},
		{"fragment behind a space", "http://example.com/a #b", "http://example.com/a%20"},
		{"dot segments", "http://example.com/a/./b/../c", "http://example.com/a/c"},
		{"encoded dot segments", "http://example.com/a/%2e%2E/c", "http://example.com/c"},
		{"hex digits", "http://example.com/%c3%a9%2f", "http://example.com/%C3%A9%2F"},
		{"unreserved", "http://example.com/%7e%41%2d?%5f=%31", "http://example.com/~A-?_=1"},
		{"unreserved make no new encoding", "http://example.com/%%34%31", "http://example.com/%%341"},
		{"broken encodings", "http://example.com/%zz%4", "http://example.com/%zz%4"},
		{"not ASCII", "http://example.com/é", "http://example.com/%C3%A9"},
		{"international host", "http://Bücher.de/", "http://xn--bcher-kva.de/"},
		{"credentials", "http://u:%70@example.com/", "http://example.com/"},
		{"a user name", "https://info@example.com:8443/a@b?c@d", "https://example.com:8443/a@b?c@d"},
		{"an empty user name", "https://:@example.com", "https://example.com/"},
		{"a user name that looks like a host", "http://a.test:x@example.com/", "http://example.com/"},
		{"an at sign in the path", "http://example.com/@a", "http://example.com/@a"},
		{"a user of another scheme", "ssh://git@example.com/a#b", "ssh://git@example.com/a"},
		{"pairs", "http://a/?b=2&a=3&b=1", "http://a/?a=3&b=1&b=2"},
		{"names before values", "http://a/?a1=0&a=1", "http://a/?a=1&a1=0"},
		{"sorted when decoded", "http://a/?b=1&%61=2", "http://a/?a=2&b=1"},
		{"repeated pairs stay", "http://a/?a=1&a=1", "http://a/?a=1&a=1"},
		{"no value", "http://a/?b&a", "http://a/?a&b"},
		{"empty value", "http://a/?b=&a=", "http://a/?a&b"},
		{"empty pairs", "http://a/?&b=1&&a=1&", "http://a/?a=1&b=1"},
		{"nothing but empty pairs", "http://a/?&=&", "http://a/"},
		{"empty query", "http://a/?", "http://a/"},
		{"no name", "http://a/?b&=1", "http://a/?=1&b"},
		{"equals signs", "http://a/?b==&a=c=d", "http://a/?a=c=d&b=="},
		{"question marks", "http://a/??b&a?", "http://a/??b&a?"},
		{"plus and space differ", "http://a/?q=a+b%20c", "http://a/?q=a+b%20c"},
		{"semicolons are not for pairs", "http://a/?b;a", "http://a/?b;a"},
		{"slashes stay", "http://a//b///", "http://a//b///"},
		{"other schemes", "mailto:%41?b&a#c", "mailto:%41?b&a"},
		{"spaces the fragment kept", "data:x  #y", "data:x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := urlx.AppendKey([]byte("%41?b&a "), c.url, false)
			if err != nil || string(got) != "%41?b&a "+c.want {
				t.Errorf("AppendKey(%q) = %q, %v; want %q behind what was there", c.url, got, err, c.want)
			}
		})
	}
}

func TestKeyKeepOrder(t *testing.T) {
	got, err := urlx.AppendKey(nil, "http://a/?b=2&&a=&b=%31", true)
	if want := "http://a/?b=2&a&b=1"; err != nil || string(got) != want {
		t.Errorf("key is %q, %v; want %q", got, err, want)
	}
}

func TestKeyOfManyPairs(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{31, 32, 33, 1000} {
		pairs := make([]string, n)
		for i := range pairs {
			pairs[i] = "p" + strconv.Itoa(10000+i) + "=x"
		}
		want := "http://a/?" + strings.Join(pairs, "&")
		r.Shuffle(n, func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		got, err := urlx.AppendKey(nil, "http://a/?"+strings.Join(pairs, "&"), false)
		if err != nil || string(got) != want {
			t.Errorf("%d pairs: key is %q, %v", n, got, err)
		}
	}
}

func TestKeyErrors(t *testing.T) {
	for _, url := range []string{"", "/a", "http://", "http://a:b/", "example.com"} {
		got, err := urlx.AppendKey([]byte("x"), url, false)
		if err == nil || string(got) != "x" {
			t.Errorf("AppendKey(%q) = %q, %v; want an error and nothing appended", url, got, err)
		}
	}
}

// checkKey holds what must hold for the key of any URL.
func checkKey(t *testing.T, url string, seed uint64) {
	t.Helper()
	key, err := urlx.AppendKey(nil, url, false)
	if err != nil {
		return
	}
	if len(key)+len(url) > urlx.MaxSlow {
		return
	}
	if again, err := urlx.AppendKey(nil, string(key), false); err != nil || string(again) != string(key) {
		t.Fatalf("key of %q is %q, whose key is %q, %v", url, key, again, err)
	}
	ordered, err := urlx.AppendKey(nil, url, true)
	if err != nil {
		t.Fatalf("keepOrder: %v", err)
	}
	if again, err := urlx.AppendKey(nil, string(ordered), true); err != nil || string(again) != string(ordered) {
		t.Fatalf("ordered key of %q is %q, whose key is %q, %v", url, ordered, again, err)
	}
	if again, err := urlx.AppendKey(nil, string(ordered), false); err != nil || string(again) != string(key) {
		t.Fatalf("ordered key of %q is %q, whose key is %q, %v; want %q", url, ordered, again, err, key)
	}

	serialised, err := urlx.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	serialised, _ = urlx.CutFragment(serialised)
	if same, err := urlx.AppendKey(nil, serialised+"#x?y&z", false); err != nil || string(same) != string(key) {
		t.Fatalf("key of %q is %q, with a fragment %q, %v", url, key, same, err)
	}
	if scheme := urlx.Scheme(serialised); scheme != "http" && scheme != "https" {
		return
	}
	if same := urlx.AppendResolvedKey(nil, []byte(serialised), false); string(same) != string(key) {
		t.Fatalf("key of %q is %q, once resolved it is %q", url, key, same)
	}
	front, query, _ := strings.Cut(serialised, "?")
	pairs := strings.Split(query, "&")
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	shuffled := front + "?" + strings.Join(pairs, "&")
	if same, err := urlx.AppendKey(nil, shuffled, false); err != nil || string(same) != string(key) {
		t.Fatalf("key of %q is %q, of %q it is %q, %v", url, key, shuffled, same, err)
	}
}

func TestKeyProperties(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20000 {
		checkKey(t, "http://a/"+randomRef(r)+"?"+randomRef(r)+"&"+randomRef(r), r.Uint64())
		checkKey(t, randomRef(r), r.Uint64())
	}
}

func FuzzKey(f *testing.F) {
	for i, url := range []string{
		"http://a/?b=2&a=3&b=1#c", "HTTPS://U:%41@B.c:443/%%34%31/%2e%2E?&=&x=", "http://[::1]:80?%26=%3d&+",
		"mailto:a%41 #x", "data:x  ?  ", "file:///%43|/..", "http://x/?a=&a&=a&a==", "foo://H/%2e/%7e?b&a", "ws://x:80/",
	} {
		f.Add(url, uint64(i))
	}
	f.Fuzz(checkKey)
}
