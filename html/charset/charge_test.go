package charset_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// The memory of a decoded text is asked for before it is allocated, and is no more or less than that; a refusal ends it. A
// text that grows beyond its first memory makes it fail.
func TestH01DecodingAsksForItsMemory(t *testing.T) {
	const size = 4 << 20
	for name, test := range map[string]struct{ contentType, body string }{
		"latin":        {"text/html; charset=windows-1252", strings.Repeat("\xe9", size)},
		"euro":         {"text/html; charset=windows-1252", strings.Repeat("\x80", size)},
		"broken UTF-8": {"text/html; charset=utf-8", strings.Repeat("\xff", size)},
		"UTF-16":       {"text/html; charset=utf-16le", strings.Repeat("\x34\x4e", size/2)},
		"half pairs":   {"text/html; charset=utf-16be", strings.Repeat("\xd8\x00", size/2)},
		"ASCII in two": {"text/html; charset=utf-16le", strings.Repeat("a\x00", size/2)},
		"GBK":          {"text/html; charset=gbk", strings.Repeat("\xb0\xa1", size/2)},
		"broken GBK":   {"text/html; charset=gbk", strings.Repeat("\xff", size)},
		"ISO-2022-JP":  {"text/html; charset=iso-2022-jp", strings.Repeat("\x1b(I1\x1b(B", size/7)},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(test.body)
			granted, all := int64(0), int64(0)
			grow := func(n int64) error {
				granted += n
				all += max(n, 0)
				return nil
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text, _, _, err := charset.DecodeCharged(body, test.contentType, grow)
			runtime.ReadMemStats(&after)
			took := int64(after.TotalAlloc - before.TotalAlloc)
			if err != nil || granted < int64(len(text)) || granted > int64(len(text)+utf8.UTFMax) || deep.Checks() && took > 2*all+1<<20 {
				t.Errorf("%d bytes were granted, %d allocated for %d of text, %v", all, took, len(text), err)
			}
			no := errors.New("no memory")
			runtime.ReadMemStats(&before)
			_, _, _, err = charset.DecodeCharged(body, test.contentType, func(int64) error { return no })
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, no) || deep.Checks() && took > 1<<20 {
				t.Errorf("refused: %v, %d bytes were allocated", err, took)
			}
		})
	}
}
