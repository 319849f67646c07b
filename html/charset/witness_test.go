package charset_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html/charset"
)

var encodingRS = flag.String("encodingrs", "", "folder of the test data of encoding_rs, the decoders of Firefox: .../src/test_data")

// TestEncodingRS decodes every pair and triple of bytes that the indexes of the standard know and do
// not know, and expects what Firefox's decoders make of them. They are older than GB 18030-2022,
// which gave 18 pairs that were private a meaning.
func TestEncodingRS(t *testing.T) {
	if *encodingRS == "" {
		t.Skip("the test data of encoding_rs is not part of the project; name its folder with -encodingrs DIR")
	}
	for _, test := range []struct {
		file      string
		e         charset.Encoding
		min       int // lines at least
		since2022 int
	}{
		{"big5", charset.Big5, 19000, 0},
		{"euc_kr", charset.EUCKR, 23000, 0},
		{"gb18030", charset.GB18030, 23000, 18},
		{"gb18030", charset.GBK, 23000, 18},
		{"iso_2022_jp", charset.ISO2022JP, 8000, 0},
		{"jis0208", charset.EUCJP, 8000, 0},
		{"jis0212", charset.EUCJP, 8000, 0},
		{"shift_jis", charset.ShiftJIS, 10000, 0},
	} {
		t.Run(test.e.String()+" "+test.file, func(t *testing.T) {
			read := func(name string) [][]byte {
				data, err := os.ReadFile(filepath.Join(*encodingRS, test.file+name))
				if err != nil {
					t.Fatal(err)
				}
				return bytes.Split(data, []byte("\n"))
			}
			coded, want := read("_in.txt"), read("_in_ref.txt")
			if len(coded) != len(want) || len(coded) < test.min {
				t.Fatalf("%d lines, %d expected of them, at least %d", len(coded), len(want), test.min)
			}
			since2022 := 0
			for i := range coded {
				got := test.e.Decode(coded[i])
				if bytes.Equal(got, want[i]) {
					continue
				}
				r, _ := utf8.DecodeRune(got)
				if was, _ := utf8.DecodeRune(want[i]); unicode.Is(unicode.Co, was) && (0xfe10 <= r && r <= 0xfe19 || 0x9fb4 <= r && r <= 0x9fbb) {
					since2022++
					continue
				}
				t.Errorf("%q is %+q, in encoding_rs %+q", coded[i], got, want[i])
			}
			if since2022 != test.since2022 {
				t.Errorf("%d pairs have the meaning of 2022, want %d", since2022, test.since2022)
			}
			t.Logf("%d lines", len(coded))
		})
	}
}
