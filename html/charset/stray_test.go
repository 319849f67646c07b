package charset_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/tegenaria/tegenaria/html/charset"
)

// languages are texts of which all bytes beyond ASCII are letters, as pages have them between their tags.
var languages = []struct {
	name, text string
	encodings  []string // others in which pages in the language come, and that are recognised
}{
	{"French", "L’été dernier, élèves et professeurs étaient très fatigués : où était passée la fenêtre brisée ?", []string{"windows-1252"}},
	{"French, one letter", "éééééééé", []string{"windows-1252"}},
	{"French in capitals", "ÉCOLE SUPÉRIEURE DE L'ÉNERGIE, MÉTÉO ET SÉCURITÉ", []string{"windows-1252"}},
	{"German", "Die Bäume blühen schön, müde Füße gehen größere Straßen, äußerst übel für Öfen und Ähren", []string{"windows-1252"}},
	{"Spanish", "El niño añadió más azúcar al café, según la tradición de la región española", []string{"windows-1252"}},
	{"Polish", "Zażółć gęślą jaźń, źdźbło trawy na łące, późną jesienią dąb traci liście", nil},
	{"Turkish", "Şişli’de yaşayan öğrenciler güneşli günlerde çay içer, ağaçların gölgesinde üşümez", nil},
	{"Russian", "Москва, столица России, город федерального значения, крупнейший по численности населения.", []string{"windows-1251", "koi8-r"}},
	{"Greek", "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και η έδρα της Περιφέρειας Αττικής.", nil},
	{"Hebrew", "ירושלים היא בירת ישראל והעיר הגדולה ביותר בה", nil},
	{"Arabic", "القاهرة هي عاصمة جمهورية مصر العربية وأكبر مدنها", nil},
	{"Thai", "กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย", nil},
	{"Hindi", "नई दिल्ली भारत की राजधानी है और एक बड़ा नगर है", nil},
	{"Japanese", "これは日本語の文章です。東京都は日本の首都であり、世界でも有数の大都市である。わたしのなまえはなかのです。", []string{"shift_jis", "euc-jp"}},
	{"Japanese in hiragana", "これはひらがなだけでかかれたぶんしょうです。みなさんにつたえたいことはたくさんあります", []string{"shift_jis", "euc-jp"}},
	{"Chinese", "北京是中华人民共和国的首都，是全国的政治中心、文化中心，也是世界著名的古都和现代化国际城市。", []string{"gbk"}},
	{"Korean", "서울은 대한민국의 수도이자 최대 도시이다. 한강을 끼고 있으며 정치 경제 사회 문화의 중심지이다.", []string{"euc-kr"}},
	{"Chinese of Taiwan", "臺北市是中華民國的首都，也是臺灣的政治、文化、商業、娛樂與傳播中心。", []string{"big5"}},
	{"signs", "“Quotes” — dashes … and €5 • bullets ✓ 😀", nil},
}

// It fails if a page in UTF-8 with a byte that does not belong there is read in another encoding, or loses more than that byte.
func TestStrayBytes(t *testing.T) {
	for _, l := range languages {
		half := strings.IndexByte(l.text, ' ') + 1
		for _, stray := range []struct{ name, before, after string }{
			{"a lead byte at the end", "", "\xc3"},
			{"a cut character at the end", "", "\xe3\x81"},
			{"a lead byte in front", "\xc3", ""},
			{"a byte of windows-1252", "caf\xe9 ", ""},
			{"a no-break space of latin 1", "\xa0", " "},
			{"a continuation", "a\x80", ""},
			{"FF", "\xff", ""},
			{"surrogates", "", "\xed\xa0\xbd\xed\xb8\x80"},
		} {
			t.Run(l.name+"/"+stray.name, func(t *testing.T) {
				before, after := stray.before+l.text[:half], l.text[half:]+stray.after
				body := []byte("<p>" + before + after)
				for _, contentType := range []string{"text/html", "text/plain", ""} {
					text, e, source := charset.Decode(body, contentType)
					if e != charset.UTF8 || source != charset.ByGuess || !strings.Contains(string(text), l.text) {
						t.Errorf("as %q: %v by %v, %q", contentType, e, source, text)
					}
				}
			})
		}
	}
}

// It fails if text in a legacy encoding is taken for UTF-8 with mistakes, or is no longer recognised: whole, and cut anywhere.
func TestLegacyText(t *testing.T) {
	for _, l := range languages {
		for _, name := range l.encodings {
			t.Run(l.name+"/"+name, func(t *testing.T) {
				enc, err := htmlindex.Get(name)
				if err != nil {
					t.Fatal(err)
				}
				body, err := enc.NewEncoder().Bytes([]byte(l.text))
				if err != nil {
					t.Fatal(err)
				}
				want, _ := charset.Lookup(name)
				if text, e, _ := charset.Decode(body, "text/html"); e != want || string(text) != l.text {
					t.Errorf("%v, %q", e, text)
				}
				for i := range body {
					if e, source := charset.Detect(body[i:], "text/html"); e == charset.UTF8 && source == charset.ByGuess && len(body)-i > 8 {
						t.Errorf("from byte %d on it is %v by %v: %q", i, e, source, body[i:])
					}
				}
			})
		}
	}
}

// It fails if text that is UTF-8 rather than not is read as pairs of bytes, or if few characters are taken for many.
func TestDoubtfulText(t *testing.T) {
	for _, test := range []struct {
		name, body string
		want       charset.Encoding
	}{
		{"a latin page that quotes UTF-8", "caf\xe9, d\xe9j\xe0 vu, na\xefve \u00e9", charset.Windows1252},
		{"half and half", strings.Repeat("\u00e9", 8) + strings.Repeat("\xe9 ", 8), charset.Windows1252},
		{"two thirds", strings.Repeat("\u00e9", 16) + strings.Repeat("\xe9 ", 8), charset.UTF8},
		{"more than half, in pairs of GBK", strings.Repeat("\u00e9", 12) + strings.Repeat("\xb0\xa1", 4), charset.Windows1252},
		{"one against one", "\u00e9 \xe9 ", charset.Windows1252},
		{"a latin letter at the end", "caf\xe9", charset.Windows1252},
	} {
		t.Run(test.name, func(t *testing.T) {
			if e, source := charset.Detect([]byte(test.body), "text/html"); e != test.want {
				t.Errorf("%v by %v, want %v", e, source, test.want)
			}
		})
	}
}

// JSON and XML are UTF-8, whatever their bytes look like, unless they say otherwise in the way of their kind.
func TestMediaTypes(t *testing.T) {
	hangul := "\xb0\xa1 \xb0\xa2 \xb0\xa3 \xb0\xa4 \xb0\xa5 \xb0\xa6 \xb0\xa7 \xb0\xa8 \xb0\xa9"
	const meta = "<meta charset=koi8-r>"
	for _, test := range []struct {
		name, contentType, body string
		want                    charset.Encoding
		source                  charset.Source
	}{
		{"JSON", "application/json", hangul, charset.UTF8, charset.ByType},
		{"JSON in ASCII", "text/json", "{}", charset.UTF8, charset.ByType},
		{"JSON of a kind", "Application/LD+JSON ; profile=x", hangul, charset.UTF8, charset.ByType},
		{"JSON with a charset", "application/json; charset=euc-kr", hangul, charset.EUCKR, charset.ByHeader},
		{"JSON with a byte order mark", "application/json", "\xef\xbb\xbf{}", charset.UTF8, charset.ByBOM},
		{"JSON about markup", "application/json", `"<?xml encoding='koi8-r'?>` + meta, charset.UTF8, charset.ByType},
		{"XML", "text/xml", "<a>" + hangul, charset.UTF8, charset.ByType},
		{"a feed", "application/rss+xml", "<rss>" + hangul, charset.UTF8, charset.ByType},
		{"XHTML", "application/xhtml+xml", "<html>" + hangul, charset.UTF8, charset.ByType},
		{"XHTML with a meta element", "application/xhtml+xml", meta, charset.KOI8R, charset.ByDocument},
		{"XHTML with two words", "application/xhtml+xml", "<?xml version='1.0' encoding='gbk'?>" + meta, charset.GBK, charset.ByDocument},
		{"XML with a charset", "text/xml; charset=euc-kr", "<a>" + hangul, charset.EUCKR, charset.ByHeader},
		{"a declaration", "text/xml", "<?xml version='1.0' encoding='koi8-r'?>", charset.KOI8R, charset.ByDocument},
		{"a declaration behind a line break", "text/xml", "\n<?xml version='1.0' encoding='koi8-r'?>", charset.KOI8R, charset.ByDocument},
		{"a declaration behind much white space", "application/atom+xml", strings.Repeat(" \r\n\t\f", 1000) + "<?xml version='1.0' encoding='koi8-r'?>", charset.KOI8R, charset.ByDocument},
		{"a declaration without its question mark", "text/xml", "<?xml version='1.0' encoding='koi8-r'><a/>", charset.KOI8R, charset.ByDocument},
		{"a declaration of UTF-16 that can be read", "text/xml", " <?xml version='1.0' encoding='utf-16'?>", charset.UTF8, charset.ByDocument},
		{"UTF-16", "text/xml", "<\x00?\x00x\x00m\x00l\x00", charset.UTF16LE, charset.ByDocument},
		{"markup of an entry", "application/rss+xml", "<?xml version='1.0' encoding='gbk'?><rss><![CDATA[" + meta + "]]></rss>", charset.GBK, charset.ByDocument},
		{"markup of an entry, and no declaration", "application/rss+xml", "<rss><![CDATA[" + meta + "]]></rss>", charset.UTF8, charset.ByType},
		{"an attribute of an element", "text/xml", "<?xml version='1.0'?><file encoding='koi8-r'/>", charset.UTF8, charset.ByType},
		{"HTML behind white space", "text/html", "\n<?xml version='1.0' encoding='koi8-r'?><p>\xc1", charset.Windows1252, charset.ByDefault},
	} {
		t.Run(test.name, func(t *testing.T) {
			if e, source := charset.Detect([]byte(test.body), test.contentType); e != test.want || source != test.source {
				t.Errorf("%v by %v, want %v by %v", e, source, test.want, test.source)
			}
		})
	}
}
