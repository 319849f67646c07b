package tegenaria_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/links"
)

// follow returns what a handler follows that asks for the links of a page.
func follow(t *testing.T, r *tegenaria.Response, opts ...links.Option) (urls []string) {
	t.Helper()
	handler := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
		return out.FollowLinks(opts...)
	})
	ctx := tegenaria.NewContext(r.Request())
	ctx.DownloadResult = &tegenaria.RequestResult{Response: r}
	requests := make(chan *tegenaria.Context, 16)
	if err := handler(ctx, make(chan *tegenaria.ItemMeta), requests); err != nil {
		t.Fatal(err)
	}
	close(requests)
	for c := range requests {
		urls = append(urls, c.Request.Url)
	}
	return urls
}

// TestLinksOfParsedPage: whether CSS or XPath was asked before makes no difference to the links.
func TestLinksOfParsedPage(t *testing.T) {
	const page = `<base href="/b/"><title>t</title><p><a href="?q=%s" rel=nofollow>x</a><svg><a href=1></a></svg>` +
		`<template><area href=2></template><link href=3><a href=4>y</a>`
	optionSets := map[string][]links.Option{
		"no options": nil, "repeated": {links.Unique(false)}, "restricted": {links.CSS("p, r")}, "everything": {links.Everything()},
	}
	for _, test := range []struct {
		name, contentType, body string
		links                   int
	}{
		{"UTF-8", "text/html", fmt.Sprintf(page, "é"), 4},
		{"windows-1252", "text/html; charset=windows-1252", fmt.Sprintf(page, "\xe9"), 4},
		{"two byte order marks", "text/html", "\uFEFF\uFEFF" + fmt.Sprintf(page, "é"), 4},
		{"XML", "text/xml", `<r><title><a href="1"/></title><A href="2"/></r>`, 1},
		{"frameset", "text/html", `<frameset><a href=1>`, 1},
		{"empty", "", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			fresh := func() *tegenaria.Response { return responseOf(test.contentType, test.body) }
			parsed := func() *tegenaria.Response {
				r := fresh()
				r.CSS("a")
				return r
			}
			if n := len(fresh().Links()); n != test.links {
				t.Errorf("%d links, want %d", n, test.links)
			}
			for name, opts := range optionSets {
				if got, want := parsed().Links(opts...), fresh().Links(opts...); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: the parsed page has the links\n%+v\nthe other\n%+v", name, got, want)
				}
				if got, want := follow(t, parsed(), opts...), follow(t, fresh(), opts...); !slices.Equal(got, want) {
					t.Errorf("%s: of the parsed page %q are followed, of the other %q", name, got, want)
				}
			}
			r := parsed()
			r.SetBody([]byte("<a href=5>"))
			if got := follow(t, r); !slices.Equal(got, []string{"http://a.test/dir/5"}) {
				t.Errorf("of another body %q are followed", got)
			}
		})
	}
}
