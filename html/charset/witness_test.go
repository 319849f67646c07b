package charset_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html/charset"
)

var encodingRS = flag.String("encodingrs", "", "folder of the test data of encoding_rs, the decoders of Firefox: .../src/test_data")

// TestEncodingRS decodes every pair and triple of bytes that the indexes of the standard know and do
// not know, and expects what Firefox's decoders make of them, but for as many differences of golang.org/x/text
// as are counted here.
func TestEncodingRS(t *testing.T) {
	if *encodingRS == "" {
		t.Skip("the test data of encoding_rs is not part of the project; name its folder with -encodingrs DIR")
	}
	for _, test := range []struct {
		file  string
		e     charset.Encoding
		min   int // lines at least
		lost  int // private characters, and ḿ, that are U+FFFD
		eaten int // letters and signs of ASCII that are lost behind a lead byte that they have no meaning with
	}{
		{"big5", charset.Big5, 19000, 0, 396},
		{"euc_kr", charset.EUCKR, 23000, 0, 0},
		{"gb18030", charset.GB18030, 23000, 2067, 0},
		{"gb18030", charset.GBK, 23000, 2067, 0},
		{"iso_2022_jp", charset.ISO2022JP, 8000, 0, 0},
		{"jis0208", charset.EUCJP, 8000, 0, 0},
		{"jis0212", charset.EUCJP, 8000, 0, 0},
		{"shift_jis", charset.ShiftJIS, 10000, 1880, 492},
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
			lost, eaten := 0, 0
			for i := range coded {
				got := string(test.e.Decode(coded[i]))
				expected := string(want[i])
				if got == expected {
					continue
				}
				r, _ := utf8.DecodeRuneInString(expected)
				switch ascii, ok := strings.CutPrefix(expected, "\uFFFD"); {
				case got != "\uFFFD":
					t.Errorf("%q is %+q, in encoding_rs %+q", coded[i], got, expected)
				case unicode.Is(unicode.Co, r) || expected == "ḿ":
					lost++
				case ok && len(ascii) == 1 && ascii >= "@":
					eaten++
				default:
					t.Errorf("%q is U+FFFD, in encoding_rs %+q", coded[i], expected)
				}
			}
			if lost != test.lost || eaten != test.eaten {
				t.Errorf("%d characters and %d of ASCII are lost, want %d and %d", lost, eaten, test.lost, test.eaten)
			}
			t.Logf("%d lines", len(coded))
		})
	}
}
