package charset_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/charset"
)

// A text that is made of a body has a bound, exact for small and large ones; one that is a part of the body has none. It fails if the
// bound is compared with a guess.
func TestDecodeWithin(t *testing.T) {
	for name, tt := range map[string]struct{ contentType, body string }{
		"latin":        {"text/html; charset=windows-1252", "a\xe9"},
		"euro":         {"text/html; charset=windows-1252", "\x80"},
		"broken UTF-8": {"text/html; charset=utf-8", "\xff"},
		"UTF-16":       {"text/html; charset=utf-16le", "\x34\x4e"},
		"GBK":          {"text/html; charset=gbk", "\xb0\xa1"},
	} {
		for _, n := range []int{10, 200_000} {
			body := []byte(strings.Repeat(tt.body, n))
			want, _, _ := charset.Decode(body, tt.contentType)
			if text, _, _, ok := charset.DecodeWithin(body, tt.contentType, len(want)); !ok || string(text) != string(want) {
				t.Errorf("%s ×%d: %d bytes within %d, %v", name, n, len(text), len(want), ok)
			}
			if text, _, _, ok := charset.DecodeWithin(body, tt.contentType, len(want)-1); ok || text != nil {
				t.Errorf("%s ×%d: %d bytes within %d", name, n, len(text), len(want)-1)
			}
		}
	}
	if text, _, _, ok := charset.DecodeWithin([]byte("é"), "", 1); !ok || string(text) != "é" {
		t.Errorf("a text that is not copied: %q, %v", text, ok)
	}
}
