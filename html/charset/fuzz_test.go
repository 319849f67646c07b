package charset_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html/charset"
)

// signInFour reports whether body has what golang.org/x/text takes for a character of four bytes of gb18030 though the
// second is no digit.
func signInFour(body []byte) bool {
	for i := 3; i < len(body); i++ {
		if sign := body[i-2]; body[i-3] > 0x80 && ':' <= sign && sign <= '?' && body[i-1] > 0x80 && '0' <= body[i] && body[i] <= '9' {
			return true
		}
	}
	return false
}

// FuzzDecode checks what holds for every page: the text is UTF-8, valid input is not copied or changed,
// and ASCII stays where it is: no decoder may eat the end of a tag.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("<meta charset=koi8-r>\xc1\xc2"), "text/html")
	f.Add([]byte("\xff\xfe<\x00p\x00>\x00\x3d\xd8"), "")
	f.Add([]byte("<p>\xf0\x9f\x98 \xed\xa0\x80"), "text/html; charset=utf-8")
	f.Add([]byte("\x81\x30\x81\x30\x81\x22<\xfe\xfe"), "text/html; charset=\"gb\\18030\"")
	f.Add([]byte("\x81<\x810"), "text/html; charset=gbk")
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
			case charset.GBK, charset.GB18030:
				if signInFour(body) {
					continue
				}
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
