package charset_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/tegenaria/tegenaria/html/charset"
)

// textDiffers are the cases of TestMalformed in which golang.org/x/text does not follow the standard, and what it makes of them.
var textDiffers = map[string]string{
	"UTF-16LE first half and a byte at the end": "..",

	"GBK lead in front of 0xff":             "..",
	"GBK private character":                 ".",
	"GBK four bytes, second a sign":         "㺇",
	"gb18030 after the last character":      ".2.6",
	"gb18030 private character":             "ḿ",
	"gb18030 letter in two bytes":           ".",
	"gb18030 between the planes":            ".1.0",
	"gb18030 four bytes, cut after two":     ".0",
	"gb18030 four bytes, cut after three":   ".0.",
	"Big5 pair without meaning, ASCII":      ".",
	"EUC-JP katakana in front of 0x80":      "..",
	"EUC-JP three bytes, third wrong":       "..a",
	"EUC-JP lead in front of 0x80":          "..<",
	"Shift_JIS pair without meaning, ASCII": ".",

	"Shift_JIS first private character":         ".",
	"Shift_JIS private character after the gap": ".",
	"Shift_JIS last private character":          ".",

	"ISO-2022-JP Roman":                       "\\~a",
	"ISO-2022-JP beyond ASCII":                ".a\x0e\x0f",
	"ISO-2022-JP line break in JIS":           "\n$\"",
	"ISO-2022-JP lead in front of an escape":  "...",
	"ISO-2022-JP lead in front of a control":  "ξa",
	"ISO-2022-JP escapes one after the other": "a",
	"ISO-2022-JP JIS X 0212 is not of it":     ".",

	"windows-1252 controls": "€.",
}

// TestMalformed has the rules of the standard's decoders for what is no character. A dot is U+FFFD. Every case that is not
// in textDiffers must be as the standard says, and every one that is must not.
func TestMalformed(t *testing.T) {
	differs := maps.Clone(textDiffers)
	for _, test := range []struct {
		e    charset.Encoding
		name string
		text string
		want string
	}{
		{charset.UTF8, "lone continuation bytes", "a\x80\xbfb", "a..b"},
		{charset.UTF8, "two bytes, cut", "\xc3a", ".a"},
		{charset.UTF8, "three bytes, cut after two", "\xe2\x82a", ".a"},
		{charset.UTF8, "four bytes, cut after three", "\xf0\x9f\x98a", ".a"},
		{charset.UTF8, "four bytes, cut by the end", "\xf0\x9f\x98", "."},
		{charset.UTF8, "overlong, two bytes", "\xc0\xaf", ".."},
		{charset.UTF8, "overlong, three bytes", "\xe0\x80\xaf", "..."},
		{charset.UTF8, "overlong, four bytes", "\xf0\x80\x80\xaf", "...."},
		{charset.UTF8, "surrogate", "\xed\xa0\x80", "..."},
		{charset.UTF8, "too large", "\xf4\x90\x80\x80", "...."},
		{charset.UTF8, "no leads", "\xf5\xff", ".."},
		{charset.UTF8, "U+FFFD itself", "\uFFFD\xff", ".."},
		{charset.UTF8, "byte order mark", "\ufeffa\xff", "\ufeffa."},

		{charset.UTF16LE, "pair", "\x3d\xd8\x00\xde", "\U0001F600"},
		{charset.UTF16BE, "pair", "\xd8\x3d\xde\x00", "\U0001F600"},
		{charset.UTF16LE, "odd", "a\x00b", "a."},
		{charset.UTF16LE, "first half, then a letter", "\x3d\xd8a\x00", ".a"},
		{charset.UTF16LE, "first half twice", "\x3d\xd8\x3d\xd8\x00\xde", ".\U0001F600"},
		{charset.UTF16LE, "first half at the end", "\x3d\xd8", "."},
		{charset.UTF16LE, "first half and a byte at the end", "\x3d\xd8a", "."},
		{charset.UTF16LE, "second half", "\x00\xdea\x00", ".a"},
		{charset.UTF16LE, "second half at the end", "\x00\xde", "."},
		{charset.UTF16LE, "one byte", "a", "."},

		{charset.GBK, "euro sign", "\x80", "€"},
		{charset.GBK, "0xff", "\xffa", ".a"},
		{charset.GBK, "lead at the end", "\x81", "."},
		{charset.GBK, "lead in front of a quote", "\x81\"a", ".\"a"},
		{charset.GBK, "lead in front of 0x7f", "\x81\x7f", ".\x7f"},
		{charset.GBK, "lead in front of 0xff", "\x81\xff", "."},
		{charset.GBK, "four bytes", "\x81\x30\x81\x30", "\u0080"},
		{charset.GBK, "private character", "\xa1\x40", "\ue4c6"},
		{charset.GBK, "lead in front of a tag", "\x81</a>", ".</a>"},
		{charset.GBK, "four bytes, second a sign", "\x81<\x810", ".<."},
		{charset.GB18030, "letter in two bytes", "\xa8\xbc", "ḿ"},
		{charset.GB18030, "four bytes beyond the plane", "\x90\x30\x81\x30", "\U00010000"},
		{charset.GB18030, "last character", "\xe3\x32\x9a\x35", "\U0010FFFF"},
		{charset.GB18030, "after the last character", "\xe3\x32\x9a\x36", "."},
		{charset.GB18030, "private character", "\x81\x35\xf4\x37", "\ue7c7"},
		{charset.GB18030, "between the planes", "\x84\x31\xa5\x30", "."},
		{charset.GB18030, "four bytes, third wrong", "\x81\x30a", ".0a"},
		{charset.GB18030, "four bytes, fourth wrong", "\x81\x30\x81\"", ".0.\""},
		{charset.GB18030, "four bytes, cut after two", "\x81\x30", "."},
		{charset.GB18030, "four bytes, cut after three", "\x81\x30\x81", "."},

		{charset.Big5, "pair", "\xa4\xa4", "中"},
		{charset.Big5, "letters with two accents", "\x88\x62\x88\x64\x88\xa3\x88\xa5", "\u00CA\u0304\u00CA\u030C\u00EA\u0304\u00EA\u030C"},
		{charset.Big5, "beyond the plane", "\x87\x45", "\U00027267"},
		{charset.Big5, "0x80 and 0xff", "\x80\xffa", "..a"},
		{charset.Big5, "lead in front of a quote", "\xa1\"", ".\""},
		{charset.Big5, "pair without meaning, ASCII", "\x81\x41", ".A"},
		{charset.Big5, "pair without meaning", "\x81\xa1a", ".a"},
		{charset.Big5, "lead in front of 0x80", "\xa1\x80a", ".a"},
		{charset.Big5, "lead at the end", "\xa1", "."},

		{charset.EUCJP, "pair", "\xa4\xa2", "あ"},
		{charset.EUCJP, "katakana", "\x8e\xb1", "ｱ"},
		{charset.EUCJP, "katakana out of range", "\x8e\xe0a", ".a"},
		{charset.EUCJP, "katakana in front of 0x80", "\x8e\x80", "."},
		{charset.EUCJP, "katakana in front of ASCII", "\x8ea", ".a"},
		{charset.EUCJP, "three bytes", "\x8f\xb0\xa1", "丂"},
		{charset.EUCJP, "three bytes, second wrong", "\x8fa", ".a"},
		{charset.EUCJP, "three bytes, third ASCII", "\x8f\xb0a", ".a"},
		{charset.EUCJP, "three bytes, third wrong", "\x8f\xb0\x80a", ".a"},
		{charset.EUCJP, "three bytes without meaning", "\x8f\xa1\xa1a", ".a"},
		{charset.EUCJP, "three bytes, cut", "\x8f\xb0", "."},
		{charset.EUCJP, "lead in front of ASCII", "\xa4<", ".<"},
		{charset.EUCJP, "lead in front of 0x80", "\xa4\x80<", ".<"},
		{charset.EUCJP, "no leads", "\x80\xa0\xff", "..."},

		{charset.ShiftJIS, "pair", "\x82\xa0", "あ"},
		{charset.ShiftJIS, "trail below 0x80", "\x83\x5c", "ソ"},
		{charset.ShiftJIS, "katakana", "\xb1", "ｱ"},
		{charset.ShiftJIS, "0x80", "\x80", "\u0080"},
		{charset.ShiftJIS, "no leads", "\xa0\xfd\xfe\xff", "...."},
		{charset.ShiftJIS, "lead in front of a quote", "\x82\"", ".\""},
		{charset.ShiftJIS, "pair without meaning, ASCII", "\x85\x41", ".A"},
		{charset.ShiftJIS, "pair without meaning", "\x85\xa0a", ".a"},
		{charset.ShiftJIS, "first private character", "\xf0\x40", "\ue000"},
		{charset.ShiftJIS, "private character after the gap", "\xf0\x80", "\ue03f"},
		{charset.ShiftJIS, "last private character", "\xf9\xfc", "\ue757"},
		{charset.ShiftJIS, "private, 0x7f", "\xf0\x7f", ".\x7f"},
		{charset.ShiftJIS, "private, trail too large", "\xf0\xfda", ".a"},
		{charset.ShiftJIS, "lead at the end", "\x82", "."},

		{charset.EUCKR, "pair", "\xb0\xa1", "가"},
		{charset.EUCKR, "extension", "\x81\x41", "갂"},
		{charset.EUCKR, "pair without meaning, ASCII", "\xc8\x41", ".A"},
		{charset.EUCKR, "pair without meaning", "\xc9\xa1a", ".a"},
		{charset.EUCKR, "no leads", "\x80\xff", ".."},
		{charset.EUCKR, "lead in front of a quote", "\xb0\"", ".\""},
		{charset.EUCKR, "lead at the end", "\xb0", "."},

		{charset.ISO2022JP, "ASCII", "a\\~", "a\\~"},
		{charset.ISO2022JP, "Roman", "\x1b(J\\~a", "¥‾a"},
		{charset.ISO2022JP, "katakana", "\x1b(I1", "ｱ"},
		{charset.ISO2022JP, "katakana out of range", "\x1b(I`\x1b(B`", ".`"},
		{charset.ISO2022JP, "both of JIS", "\x1b$B$\"\x1b$@$\"\x1b(Ba", "ああa"},
		{charset.ISO2022JP, "beyond ASCII", "\x80a\x0e\x0f", ".a.."},
		{charset.ISO2022JP, "line break in JIS", "\x1b$B\n$\"", ".あ"},
		{charset.ISO2022JP, "lead at the end", "\x1b$B$", "."},
		{charset.ISO2022JP, "lead in front of an escape", "\x1b$B$\x1b(Ba", ".a"},
		{charset.ISO2022JP, "lead in front of a control", "\x1b$B$\n\x1b(Ba", ".a"},
		{charset.ISO2022JP, "pair without meaning", "\x1b$B)!\x1b(Ba", ".a"},
		{charset.ISO2022JP, "escape of nothing", "\x1b(Xa", ".(Xa"},
		{charset.ISO2022JP, "escape of nothing in JIS", "\x1b$B\x1b$\"a", ".あ."},
		{charset.ISO2022JP, "escapes one after the other", "\x1b(J\x1b(Ba", ".a"},
		{charset.ISO2022JP, "escape cut by the end", "\x1b(", ".("},
		{charset.ISO2022JP, "JIS X 0212 is not of it", "\x1b$(Da", ".$(Da"},

		{charset.Windows1252, "controls", "\x80\x81", "€\u0081"},
		{charset.Windows1253, "no character", "\xaaa", ".a"},
		{charset.ISO8859_8I, "Hebrew", "\xe0", "א"},
		{charset.XUserDefined, "both ends", "\x80\xff", "\uf780\uf7ff"},
		{charset.Replacement, "anything", "<p>hello", "."},
		{charset.Replacement, "nothing", "", ""},
	} {
		name := fmt.Sprint(test.e, " ", test.name)
		if other, ok := differs[name]; ok {
			if other == test.want {
				t.Errorf("%s: no difference to the standard", name)
			}
			test.want = other
			delete(differs, name)
		}
		t.Run(name, func(t *testing.T) {
			want := strings.ReplaceAll(test.want, ".", "\uFFFD")
			if got := string(test.e.Decode([]byte(test.text))); got != want {
				t.Errorf("Decode(%q) = %q, want %q", test.text, got, want)
			}
		})
	}
	for name := range differs {
		t.Errorf("%s: no such case", name)
	}
}

// TestGuess reads the texts that golang.org/x/text is tested with, whose encodings their names tell,
// and Russian ones.
func TestGuess(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/text").Output()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(string(bytes.TrimSpace(dir)), "encoding", "testdata")
	for _, test := range []struct {
		file, text string // another file with the same text in UTF-8
		want       charset.Encoding
		source     charset.Source
	}{
		{"rashomon-shift-jis.txt", "rashomon-utf-8.txt", charset.ShiftJIS, charset.ByGuess},
		{"rashomon-euc-jp.txt", "rashomon-utf-8.txt", charset.EUCJP, charset.ByGuess},
		{"sunzi-bingfa-simplified-gbk.txt", "sunzi-bingfa-simplified-utf-8.txt", charset.GBK, charset.ByGuess},
		{"sunzi-bingfa-traditional-big5.txt", "sunzi-bingfa-traditional-utf-8.txt", charset.Big5, charset.ByGuess},
		{"unsu-joh-eun-nal-euc-kr.txt", "unsu-joh-eun-nal-utf-8.txt", charset.EUCKR, charset.ByGuess},
		{"candide-windows-1252.txt", "candide-utf-8.txt", charset.Windows1252, charset.ByDefault},
		{"candide-utf-8.txt", "candide-utf-8.txt", charset.UTF8, charset.ByValidity},
		{"rashomon-utf-8.txt", "rashomon-utf-8.txt", charset.UTF8, charset.ByValidity},
	} {
		t.Run(test.file, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(data, test.file))
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join(data, test.text))
			if err != nil {
				t.Fatal(err)
			}
			got, e, source := charset.Decode(body, "")
			if e != test.want || source != test.source {
				t.Errorf("Decode found %v by %v, want %v by %v", e, source, test.want, test.source)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("Decode gave %.60q…, want %.60q…", got, want)
			}
		})
	}
	const (
		russian = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему."
		greek   = "Όλες οι ευτυχισμένες οικογένειες μοιάζουν μεταξύ τους, κάθε δυστυχισμένη οικογένεια όμως."
		hebrew  = "כל המשפחות המאושרות דומות זו לזו, וכל משפחה אומללה היא אומללה בדרכה שלה"
	)
	for _, test := range []struct {
		name, text string
		in, want   charset.Encoding
	}{
		{"Russian", russian, charset.Windows1251, charset.Windows1251},
		{"Russian in KOI8-R", russian, charset.KOI8R, charset.KOI8R},
		{"Russian in capitals", strings.ToUpper(russian), charset.Windows1251, charset.Windows1252},
		{"a word of Russian", "семья", charset.Windows1251, charset.Windows1252},
		{"Greek is left to its declaration", greek, charset.Windows1253, charset.Windows1252},
		{"Hebrew is left to its declaration", hebrew, charset.Windows1255, charset.Windows1252},
		{"German", "Überall Äpfel, Öl, Straßen: größer, schöner, süßer. Übermäßig groß!", charset.Windows1252, charset.Windows1252},
	} {
		t.Run(test.name, func(t *testing.T) {
			enc, err := htmlindex.Get(test.in.String())
			if err != nil {
				t.Fatal(err)
			}
			body, err := enc.NewEncoder().Bytes([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if got, source := charset.Detect(body, ""); got != test.want {
				t.Errorf("Detect = %v by %v, want %v", got, source, test.want)
			}
		})
	}
}

func TestAppendQuery(t *testing.T) {
	for _, test := range []struct {
		e           charset.Encoding
		query, want string
	}{
		{charset.Windows1252, "price=£32&x=a b", "price=%A332&x=a b"},
		{charset.Windows1252, "c=♥", "c=%26%239829%3B"},
		{charset.ISO8859_15, "c=€", "c=%A4"},
		{charset.ShiftJIS, "ソ", "%83\\"},
		{charset.ShiftJIS, "あ", "%82%A0"},
		{charset.GBK, "中国", "%D6%D0%B9%FA"},
		{charset.ISO2022JP, "あaああ", "%1B$B$%22%1B(Ba%1B$B$%22$%22%1B(B"},
		{charset.ISO2022JP, "あ♔", "%1B$B$%22%1B(B%26%239812%3B"},
		{charset.UTF16LE, "é", "%C3%A9"},
		{charset.UTF8, "é", "%C3%A9"},
		{charset.Windows1252, "a\xff", "a%26%2365533%3B"},
		{charset.Windows1252, "", ""},
	} {
		t.Run(fmt.Sprint(test.e, " ", test.query), func(t *testing.T) {
			if got := test.e.AppendQuery([]byte("?"), test.query); string(got) != "?"+test.want {
				t.Errorf("AppendQuery = %q, want ?%q", got, test.want)
			}
		})
	}
}

func TestAppendReference(t *testing.T) {
	for _, test := range []struct{ ref, want string }{
		{"/é?é#é", "/é?%E9#é"},
		{"/é", "/é"},
		{"?é?é", "?%E9?%E9"},
		{"/é#?é", "/é#?é"},
		{"/é?#", "/é?#"},
		{"", ""},
	} {
		t.Run(test.ref, func(t *testing.T) {
			if got := charset.Windows1252.AppendReference([]byte("x"), test.ref); string(got) != "x"+test.want {
				t.Errorf("AppendReference = %q, want x%q", got, test.want)
			}
		})
	}
}
