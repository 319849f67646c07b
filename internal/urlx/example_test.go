package urlx_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

func ExampleBase_Resolve() {
	base, err := urlx.ParseBase("https://example.com/a/b")
	if err != nil {
		fmt.Println(err)
		return
	}
	var buf []byte
	for _, ref := range []string{"../c?q=1#top", "//Other.example:443", "/a|b c", "mailto:me@example.com", "http://a:b"} {
		buf, err = base.Resolve(buf[:0], ref)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(string(buf))
	}
	// Output:
	// https://example.com/c?q=1#top
	// https://other.example/
	// https://example.com/a|b%20c
	// mailto:me@example.com
	// urlx: resolving "http://a:b" against "https://example.com/a/b": the port is not a number
}

func ExampleAppendKey() {
	for _, url := range []string{
		"https://example.com/~me/?a=1&b=2",
		"HTTPS://Example.com:443/x/../%7Eme/?b=2&&a=1#top",
	} {
		key, err := urlx.AppendKey(nil, url, false)
		fmt.Println(string(key), err)
	}
	// Output:
	// https://example.com/~me/?a=1&b=2 <nil>
	// https://example.com/~me/?a=1&b=2 <nil>
}

func ExampleRegistrableDomain() {
	fmt.Println(urlx.RegistrableDomain("www.shop.example.co.uk"))
	fmt.Println(urlx.RegistrableDomain("127.0.0.1"))
	// Output:
	// example.co.uk
	// 127.0.0.1
}

func ExampleMergeParams() {
	fmt.Println(urlx.MergeParams("https://example.com/?q=old&lang=en#top", map[string]string{"q": "a b", "page": "2"}))
	// Output: https://example.com/?lang=en&page=2&q=a+b#top
}

func ExampleHTTP() {
	u, err := urlx.HTTP("https://example.com/%zz|x?y=[1]#top")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.Host, u.RequestURI())
	// Output: example.com /%zz|x?y=[1]
}
