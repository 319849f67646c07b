package charset_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/tegenaria/tegenaria/html/charset"
)

// FuzzDecode checks what holds for every page: the text is UTF-8, valid input is not copied or changed,
// and ASCII stays where it is: no decoder may eat the end of a tag.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("<meta charset=koi8-r>\xc1\xc2"), "text/html")
	f.Add([]byte("\xff\xfe<\x00p\x00>\x00\x3d\xd8"), "")
	f.Add([]byte("<p>\xf0\x9f\x98 \xed\xa0\x80"), "text/html; charset=utf-8")
	f.Add([]byte("\x81\x30\x81\x30\x81\x22<\xfe\xfe"), "text/html; charset=\"gb\\18030\"")
	f.Add([]byte("\x1b$B$\"\x1b(B<\x1b(J\\"), "text/html; charset=iso-2022-jp")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		before := bytes.Clone(body)
		text, e, source := charset.Decode(body, contentType)
		if !bytes.Equal(body, before) {
			t.Fatal("the body was changed")
		}
		if !utf8.Valid(text) {
			t.Errorf("%v gave %q, which is no UTF-8", e, text)
		}
		if detected, by := charset.Detect(body, contentType); detected != e || by != source {
			t.Errorf("Decode says %v by %v, Detect %v by %v", e, source, detected, by)
		}
		if e == charset.UTF8 && utf8.Valid(body) && len(text) > 0 && &text[len(text)-1] != &body[len(body)-1] {
			t.Error("a copy of valid UTF-8")
		}
		for e := charset.UTF8; e <= charset.XUserDefined; e++ {
			decoded := e.Decode(body)
			if !utf8.Valid(decoded) {
				t.Errorf("%v gave %q, which is no UTF-8", e, decoded)
			}
			switch e {
			case charset.UTF16BE, charset.UTF16LE, charset.Replacement, charset.ISO2022JP:
				continue
			}
			// What separates attributes and tags is no part of any pair, only quotes and the like of it.
			for _, c := range []byte("<>\"'= &\n") {
				if have, want := bytes.Count(decoded, []byte{c}), bytes.Count(body, []byte{c}); have != want {
					t.Errorf("%v: %d times %q, want %d", e, have, c, want)
				}
			}
		}
		query := string(text)
		if got := e.AppendQuery(nil, query); !utf8.Valid(got) || bytes.ContainsFunc(got, func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Errorf("AppendQuery gave %q", got)
		}
	})
}

// FuzzUTF8 compares with the decoder of golang.org/x/text, which replaces maximal parts as well.
func FuzzUTF8(f *testing.F) {
	f.Add([]byte("a\xe2\x82\xf0\x9f\x98\xed\xa0\x80\xf4\x90\x80\xc0\xaf"))
	f.Add([]byte("\xe0\xa0\xe0\x80\xf0\x90\xf0\x80é"))
	theirs, err := htmlindex.Get("utf-8")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want, err := theirs.NewDecoder().Bytes(body)
		if err != nil {
			t.Fatal(err)
		}
		if got := charset.UTF8.Decode(body); !bytes.Equal(got, want) {
			t.Errorf("Decode(%q) = %q, want %q", body, got, want)
		}
	})
}
