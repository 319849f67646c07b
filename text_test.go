package tegenaria_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/links"
)

func textPage(contentType string, body []byte) *tegenaria.Response {
	req := tegenaria.NewRequest("http://example.com/", tegenaria.GET, nil)
	header := map[string][]string{}
	if contentType != "" {
		header["Content-Type"] = []string{contentType}
	}
	return tegenaria.NewResponse(req, 200, header, body)
}

func TestResponseText(t *testing.T) {
	kib := strings.Repeat(" ", 1024)
	for _, tt := range []struct{ name, contentType, body, want string }{
		{"nothing", "", "", ""},
		{"ASCII", "text/html", "<p>a", "<p>a"},
		{"UTF-8 by header", "text/html; charset=utf-8", "<p>é", "<p>é"},
		{"UTF-8 that nobody declares, after a KiB", "text/html", kib + "é", kib + "é"},
		{"broken UTF-8", "text/html; charset=utf-8", "a\xe2\x82b\xff", "a\uFFFDb\uFFFD"},
		{"mark over header", "text/html; charset=latin1", "\xef\xbb\xbfé", "é"},
		{"mark of UTF-16", "text/html; charset=utf-8", "\xff\xfea\x00\xe9\x00", "aé"},
		{"header over document", "text/html; charset=koi8-r", "<meta charset=windows-1251>\xc1", "<meta charset=windows-1251>а"},
		{"document", "text/html", "<meta charset=windows-1251>\xe0", "<meta charset=windows-1251>а"},
		{"XML declaration", "application/xml", "<?xml version='1.0' encoding='iso-8859-2'?>\xb1", "<?xml version='1.0' encoding='iso-8859-2'?>ą"},
		{"nobody knows", "", "caf\xe9", "café"},
		{"Shift_JIS keeps quotes", "text/html; charset=sjis", "<a title=\"\x82\">", "<a title=\"\uFFFD\">"},
		{"encoding that invites attacks", "text/html; charset=iso-2022-kr", "<script>", "\uFFFD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := textPage(tt.contentType, []byte(tt.body)).Text()
			if err != nil || got != tt.want {
				t.Errorf("Text = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// References are resolved as browsers do on a page in another encoding, whichever way they are asked for.
func TestResponseLinksInEncoding(t *testing.T) {
	r := textPage("text/html; charset=iso8859-15", []byte("<a href='/\xe9?q=\xe9&amp;c=&euro;#\xe9'>"))
	const want = "http://example.com/%C3%A9?q=%E9&c=%A4"
	if found := r.Links(); len(found) != 1 || found[0].URL != want || found[0].Fragment != "%C3%A9" {
		t.Errorf("Links = %v, want %s", found, want)
	}
	if req, err := r.Follow(r.CSS("a").Attr("href")); err != nil || req.Url != want+"#%C3%A9" {
		t.Errorf("Follow = %v, %v; want %s", req, err, want)
	}
	r.Header["Link"] = []string{"</next>; rel=next"}
	r.Header["Content-Type"] = []string{"text/html; charset=utf-8"}
	r.SetBody([]byte("<img src=/é?é>"))
	var urls []string
	for _, l := range r.Links(links.Everything()) {
		urls = append(urls, l.URL)
	}
	if !slices.Equal(urls, []string{"http://example.com/next", "http://example.com/%C3%A9?%C3%A9"}) {
		t.Errorf("Everything = %q", urls)
	}
	r.Header["Content-Type"] = []string{"text/css"}
	r.SetBody([]byte("@import '/b.css';"))
	if found := r.Links(links.Everything(), links.Header(r.Header)); len(found) != 2 || found[1].URL != "http://example.com/b.css" {
		t.Errorf("style sheet: %v", found)
	}
}

// FuzzResponseText checks that a text is always UTF-8, the body itself where that is UTF-8 as its header says, and
// that asking for it changes nothing.
func FuzzResponseText(f *testing.F) {
	f.Add([]byte("<meta charset=gbk>\x81\x30\x81"), "text/html")
	f.Add([]byte("\xfe\xff\x00a\xd8"), "")
	f.Add([]byte("a\xe2\x82é"), "text/html; charset=utf-8")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		r := textPage(contentType, bytes.Clone(body))
		text, err := r.Text()
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(text) {
			t.Errorf("%q is no UTF-8", text)
		}
		if contentType == "text/html; charset=utf-8" && utf8.Valid(body) && !bytes.HasPrefix(body, []byte("\ufeff")) && text != string(body) {
			t.Errorf("valid UTF-8 became %q", text)
		}
		if again, err := r.Text(); err != nil || again != text || !bytes.Equal(r.Bytes(), body) {
			t.Errorf("second time %q, %v; the body is %q now", again, err, r.Bytes())
		}
	})
}
