package links_test

import (
	"math"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/links"
)

// TestRefreshContent has the cases of the shared declarative refresh steps, step by step.
func TestRefreshContent(t *testing.T) {
	const doc, x = "http://example.com/dir/page#f", "http://example.com/dir/x"
	for _, test := range []struct {
		name, content, url string
		after              time.Duration
	}{
		{"usual", "5; url=x", x, 5 * time.Second},
		{"no space", "0;url=x", x, 0},
		{"comma", "5, url=x", x, 5 * time.Second},
		{"space alone", "5 url=x", x, 5 * time.Second},
		{"spaces everywhere", " \n5 ; \t url \t= \n x", x, 5 * time.Second},
		{"capitals", "5;URL=x", x, 5 * time.Second},
		{"double quotes", `5;url="x"y`, x, 5 * time.Second},
		{"single quotes", `5;url='x'y`, x, 5 * time.Second},
		{"quote that is not closed", `5;url='x`, x, 5 * time.Second},
		{"quotes without url", `5;'x'`, x, 5 * time.Second},
		{"no url=", "5;x", x, 5 * time.Second},
		{"begins like url", "5;urx", "http://example.com/dir/urx", 5 * time.Second},
		{"begins with u", "5;u", "http://example.com/dir/u", 5 * time.Second},
		{"url without equals sign", "5;url x", "http://example.com/dir/url%20x", 5 * time.Second},
		{"absolute", "5;url=https://other.example/#g", "https://other.example/#g", 5 * time.Second},
		{"empty url", "5;url=", "http://example.com/dir/page", 5 * time.Second},
		{"empty quotes", "5;url=''", "http://example.com/dir/page", 5 * time.Second},
		{"reload", "5", doc, 5 * time.Second},
		{"reload with semicolon", "5; ", doc, 5 * time.Second},
		{"fraction is cut", "1.9;url=x", x, time.Second},
		{"dots", "1.2.3;url=x", x, time.Second},
		{"dot first", ".5;url=x", x, 0},
		{"very long", "99999999999999999999;url=x", x, math.MaxInt64},
		{"longest", "9223372036;url=x", x, 9223372036 * time.Second},
		{"empty", "", "", 0},
		{"no time", "url=x", "", 0},
		{"semicolon first", ";url=x", "", 0},
		{"negative", "-1;url=x", "", 0},
		{"no separator", "5x", "", 0},
		{"bad URL", "5;url=http://exa mple/", "", 0},
		{"javascript", "5;url=javascript:x()", "", 0},
		{"other scheme", "5;url=ftp://example.com/", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			url, after, ok := links.Refresh([]byte(`<meta http-equiv=refresh content="`+escape(test.content)+`">`), doc)
			if url != test.url || after != test.after || ok != (test.url != "") {
				t.Errorf("Refresh = %q, %v, %v; want %q, %v", url, after, ok, test.url, test.after)
			}
		})
	}
}

func escape(s string) string {
	var escaped []byte
	for _, c := range []byte(s) {
		if c == '"' {
			escaped = append(escaped, "&quot;"...)
			continue
		}
		escaped = append(escaped, c)
	}
	return string(escaped)
}

func TestRefreshMarkup(t *testing.T) {
	const x = "http://example.com/x"
	for _, test := range []struct{ name, body, want string }{
		{"capitals", `<META HTTP-EQUIV="Refresh" CONTENT="0;url=x">`, x},
		{"content first", `<meta content='0;url=x' http-equiv='refresh'>`, x},
		{"in the body", `<body><p><meta http-equiv=refresh content="0;url=x">`, x},
		{"first of two", `<meta http-equiv=refresh content="0;url=x"><meta http-equiv=refresh content="0;url=y">`, x},
		{"first that is valid", `<meta http-equiv=refresh content="y"><meta http-equiv=refresh content="0;url=x">`, x},
		{"other equiv", `<meta http-equiv=content-type content="0;url=x">`, ""},
		{"no equiv", `<meta name=refresh content="0;url=x">`, ""},
		{"no content", `<meta http-equiv=refresh>`, ""},
		{"noscript", `<noscript><meta http-equiv=refresh content="0;url=x"></noscript>`, ""},
		{"after noscript", `<noscript></noscript><meta http-equiv=refresh content="0;url=x">`, x},
		{"template", `<template><meta http-equiv=refresh content="0;url=x"></template>`, ""},
		{"comment", `<!-- <meta http-equiv=refresh content="0;url=x"> -->`, ""},
		{"script", `<script>'<meta http-equiv=refresh content="0;url=x">'</script>`, ""},
		{"base before", `<base href="/b/"><meta http-equiv=refresh content="0;url=../x">`, x},
		{"base after", `<meta http-equiv=refresh content="0;url=x"><base href="/b/">`, x},
		{"second base", `<base href="/b/"><base href="/c/"><meta http-equiv=refresh content="0;url=x">`, "http://example.com/b/x"},
		{"entities", `<meta http-equiv=refresh content="0;url=x?a&amp;b">`, x + "?a&b"},
		{"nothing", ``, ""},
		{"dashes", `--http-http-equi`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			url, _, ok := links.Refresh([]byte(test.body), "http://example.com/")
			if url != test.want || ok != (test.want != "") {
				t.Errorf("Refresh = %q, %v; want %q", url, ok, test.want)
			}
		})
	}
}

// A header is read as the content of the element is, from the page's own URL.
func TestRefreshHeader(t *testing.T) {
	for _, tt := range []struct {
		value, want string
		after       time.Duration
	}{
		{"0; url=/to", "http://a.example/to", 0},
		{"5;URL='to'", "http://a.example/dir/to", 5 * time.Second},
		{"3, //b.example/", "http://b.example/", 3 * time.Second},
		{"30", "http://a.example/dir/page", 30 * time.Second},
		{"url=/to", "", 0},
		{"", "", 0},
	} {
		url, after, ok := links.RefreshHeader(tt.value, "http://a.example/dir/page")
		if url != tt.want || after != tt.after || ok != (tt.want != "") {
			t.Errorf("%q: %q after %s, %v", tt.value, url, after, ok)
		}
	}
}
