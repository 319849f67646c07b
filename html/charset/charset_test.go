package charset_test

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/tegenaria/tegenaria/html/charset"
)

func TestLookup(t *testing.T) {
	for _, test := range []struct{ label, want string }{
		{"utf-8", "UTF-8"},
		{"UTF8", "UTF-8"},
		{" \t\n\f\rutf-8 ", "UTF-8"},
		{"latin1", "windows-1252"},
		{"ISO-8859-1", "windows-1252"},
		{"us-ascii", "windows-1252"},
		{"iso-8859-9", "windows-1254"},
		{"gb2312", "GBK"},
		{"shift_jis", "Shift_JIS"},
		{"ISO-8859-8-I", "ISO-8859-8-I"},
		{"unicode", "UTF-16LE"},
		{"utf-16", "UTF-16LE"},
		{"hz-gb-2312", "replacement"},
		{"cseucpkdfmtjapanese", "EUC-JP"},
		{"x-user-defined", "x-user-defined"},
		{"", ""},
		{"utf-7", ""},
		{"utf 8", ""},
		{"\u00a0utf-8", ""},
		{"ut\u017f-8", ""},
		{"iso-10646-ucs-2-and-longer-than-any", ""},
	} {
		t.Run(test.label, func(t *testing.T) {
			e, ok := charset.Lookup(test.label)
			if ok != (test.want != "") || ok && e.String() != test.want {
				t.Errorf("Lookup = %v, %v; want %q", e, ok, test.want)
			}
		})
	}
	if e := charset.Encoding(200); e.String() != "unknown" {
		t.Errorf("the name of no encoding is %q", e)
	}
}

// TestLabels compares with the table of golang.org/x/text, which was generated from the standard's.
func TestLabels(t *testing.T) {
	labels := charset.Labels()
	if len(labels) != 228 {
		t.Errorf("%d labels, the standard has 228", len(labels))
	}
	for label, e := range labels {
		if label != strings.ToLower(label) || len(label) > charset.MaxLabel {
			t.Errorf("label %q", label)
		}
		theirs, err := htmlindex.Get(label)
		if err != nil {
			t.Errorf("%s: %v", label, err)
			continue
		}
		if name, err := htmlindex.Name(theirs); err != nil || !strings.EqualFold(name, e.String()) {
			t.Errorf("%s is %s, want %s (%v)", label, e, name, err)
		}
		if got, ok := charset.Lookup(strings.ToUpper(label)); !ok || got != e {
			t.Errorf("Lookup(%q) = %v, %v; want %v", label, got, ok, e)
		}
	}
}

func TestDetect(t *testing.T) {
	pad := strings.Repeat(" ", 1024)
	for _, test := range []struct {
		name, body, header, want string
		source                   charset.Source
	}{
		{"nothing", "", "", "windows-1252", charset.ByDefault},
		{"ASCII", "<p>hello", "", "windows-1252", charset.ByDefault},
		{"UTF-8 without a word", "<p>h\u00e9", "", "UTF-8", charset.ByValidity},
		{"UTF-8 after a KiB of ASCII", pad + "<p>h\u00e9", "", "UTF-8", charset.ByValidity},
		{"latin 1 without a word", "<p>h\xe9", "", "windows-1252", charset.ByDefault},
		{"UTF-8 that is cut at the end", "<p>h\u00e9" + "\xe2\x82", "", "UTF-8", charset.ByGuess},
		{"BOM", "\xef\xbb\xbf<meta charset=koi8-r>", "text/html; charset=gbk", "UTF-8", charset.ByBOM},
		{"BOM of UTF-16LE", "\xff\xfea\x00", "text/html; charset=utf-8", "UTF-16LE", charset.ByBOM},
		{"BOM of UTF-16BE", "\xfe\xff\x00a", "", "UTF-16BE", charset.ByBOM},
		{"header over meta", "<meta charset=koi8-r>", "text/html; charset=gbk", "GBK", charset.ByHeader},
		{"header of UTF-16", "<\x00p\x00", "text/html; charset=utf-16", "UTF-16LE", charset.ByHeader},
		{"header without a known label", "<meta charset=koi8-r>", "text/html; charset=none", "KOI8-R", charset.ByDocument},
		{"header without charset", "<meta charset=koi8-r>", "text/html", "KOI8-R", charset.ByDocument},
		{"meta over validity", "<meta charset=koi8-r>\u00e9", "", "KOI8-R", charset.ByDocument},
		{"late meta", pad + "<p><META CHARSET=koi8-r>", "", "KOI8-R", charset.ByDocument},
		{"late meta over validity", pad + "\u00e9<meta charset=koi8-r>", "", "KOI8-R", charset.ByDocument},
		{"late meta over prescan", "<title><meta charset=gbk></title>" + pad + "<meta charset=koi8-r>", "", "KOI8-R", charset.ByDocument},
		{"late meta over XML", "<?xml encoding='gbk'?>" + pad + "<meta charset=koi8-r>", "", "KOI8-R", charset.ByDocument},
		{"late meta after UTF-16", "<\x00?\x00x\x00" + pad + "<meta charset=koi8-r>", "", "UTF-16LE", charset.ByDocument},
		{"late meta of UTF-16", pad + "<meta charset=utf-16>", "", "UTF-8", charset.ByDocument},
		{"late content", pad + "<meta charset=none content='text/html; charset=koi8-r' http-equiv=Content-Type>", "", "KOI8-R", charset.ByDocument},
		{"late content without pragma", pad + "<meta content='text/html; charset=koi8-r'>", "", "windows-1252", charset.ByDefault},
		{"meta in JSON", "{\"a\": \"<meta charset=koi8-r>\u00e9\"}", "application/json", "UTF-8", charset.ByType},
		{"meta in plain text", "<meta charset=koi8-r>", "text/plain", "windows-1252", charset.ByDefault},
		{"meta in XHTML", "<meta charset=koi8-r>", "Application/XHTML+XML", "KOI8-R", charset.ByDocument},
		{"XML", "<?xml version='1.0' encoding='koi8-r'?>", "application/rss+xml; x=y", "KOI8-R", charset.ByDocument},
		{"meta of no type", "<meta charset=koi8-r>", "unknown", "KOI8-R", charset.ByDocument},
		{"late meta in a comment", pad + "<!-- <meta charset=koi8-r> -->", "", "windows-1252", charset.ByDefault},
		{"late meta in a script", pad + "<script>'<meta charset=koi8-r>'</script>", "", "windows-1252", charset.ByDefault},
		{"late charset without meta", pad + "<p charset=koi8-r><metal charset=koi8-r>", "", "windows-1252", charset.ByDefault},
		{"meta in a title that the prescan sees", "<title><meta charset=gbk></title>", "", "GBK", charset.ByDocument},
		{"meta that is cut by the first KiB", pad[:1024-len("<meta charset=koi8-r")] + "<meta charset=koi8-r>", "", "KOI8-R", charset.ByDocument},
		{"meta that just fits", pad[:1024-len("<meta charset=koi8-r>")] + "<meta charset=koi8-r>", "", "KOI8-R", charset.ByDocument},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, source := charset.Detect([]byte(test.body), test.header)
			if e.String() != test.want || source != test.source {
				t.Errorf("Detect = %v by %v, want %s by %v", e, source, test.want, test.source)
			}
		})
	}
}

func TestContentType(t *testing.T) {
	for _, test := range []struct{ header, want string }{
		{"text/html; charset=koi8-r", "KOI8-R"},
		{"text/html;charset=koi8-r", "KOI8-R"},
		{"text/html ;\t CHARSET=KOI8-R ", "KOI8-R"},
		{`text/html; charset="koi8-r"`, "KOI8-R"},
		{`text/html; charset="koi\8-r"`, "KOI8-R"},
		{`text/html; charset="koi8-r`, "KOI8-R"},
		{`text/html; charset="koi8-r"x; charset=gbk`, "KOI8-R"},
		{`text/html; x="a;charset=gbk"; charset=koi8-r`, "KOI8-R"},
		{"text/html; charset; charset=koi8-r", "KOI8-R"},
		{"text/html; charset=; charset=koi8-r", "KOI8-R"},
		{"text/html; charset=koi8-r; charset=gbk", "KOI8-R"},
		{"text/html;;; charset=koi8-r", "KOI8-R"},
		{"charset=koi8-r", "KOI8-R"},
		{"; charset=koi8-r", "KOI8-R"},
		{"text/html; charset =koi8-r", "windows-1252"},
		{"text/html; charset='koi8-r'", "windows-1252"},
		{"text/html charset=koi8-r", "windows-1252"},
		{"text/html; charset", "windows-1252"},
		{"text/html; charset=", "windows-1252"},
		{`text/html; charset="`, "windows-1252"},
		{`text/html; charset="\`, "windows-1252"},
		{"text/html; xcharset=koi8-r", "windows-1252"},
		{"koi8-r", "windows-1252"},
	} {
		t.Run(test.header, func(t *testing.T) {
			if e, _ := charset.Detect(nil, test.header); e.String() != test.want {
				t.Errorf("Detect = %v, want %s", e, test.want)
			}
		})
	}
}

// TestPrescan has what the cases of html5lib leave out.
func TestPrescan(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"UTF-16LE", "<\x00?\x00x\x00m\x00", "UTF-16LE"},
		{"UTF-16BE", "\x00<\x00?\x00x\x00m", "UTF-16BE"},
		{"UTF-16 in a meta", "<meta charset=utf-16be>", "UTF-8"},
		{"x-user-defined", "<meta charset=x-user-defined>", "windows-1252"},
		{"in a comment", "<!-- <meta charset=koi8-r> --><meta charset=gbk>", "GBK"},
		{"after the shortest comment", "<!--><meta charset=koi8-r>", "KOI8-R"},
		{"after a comment of three dashes", "<!---><meta charset=koi8-r>", "KOI8-R"},
		{"in a comment that does not end", "<!-- <meta charset=koi8-r>", ""},
		{"in an attribute", `<a title="<meta charset=koi8-r>"><meta charset=gbk>`, "GBK"},
		{"in an end tag", `</a title="<meta charset=koi8-r>"><meta charset=gbk>`, "GBK"},
		{"in a bogus comment", `<?php <meta charset=koi8-r>`, ""},
		{"after a doctype", `<!DOCTYPE html><META CHARSET=KOI8-R>`, "KOI8-R"},
		{"after slashes", `<meta/charset=koi8-r/>`, ""},
		{"slash in front", `<meta/charset='koi8-r'/>`, "KOI8-R"},
		{"first attribute counts", `<meta charset=gbk charset=koi8-r>`, "GBK"},
		{"unknown label", `<meta charset=none><meta charset=koi8-r>`, "KOI8-R"},
		{"charset over content", `<meta http-equiv=content-type content="charset=gbk" charset=koi8-r>`, "KOI8-R"},
		{"charset in front of content", `<meta charset=koi8-r http-equiv=content-type content="charset=gbk">`, "KOI8-R"},
		{"unknown charset in front of content", `<meta charset=none http-equiv=content-type content="charset=gbk">`, ""},
		{"content without pragma", `<meta content="text/html; charset=gbk">`, ""},
		{"second charset of content", `<meta http-equiv=content-type content="charset charset=gbk">`, "GBK"},
		{"charset at the end of content", `<meta http-equiv=content-type content="charset=">`, ""},
		{"label ends at a semicolon", `<meta http-equiv=content-type content="charset=gbk;x">`, "GBK"},
		{"equals sign in a name", `<meta =charset=gbk charset=koi8-r>`, "KOI8-R"},
		{"value that is missing", `<meta charset=><meta charset=koi8-r>`, "KOI8-R"},
		{"not metal", `<metal charset=koi8-r>`, ""},
		{"XML", `<?xml version="1.0" encoding="koi8-r"?>`, "KOI8-R"},
		{"XML in single quotes", "<?xml version='1.0' encoding \n=\t'koi8-r'?>", "KOI8-R"},
		{"XML and meta", `<?xml encoding="gbk"?><meta charset=koi8-r>`, "KOI8-R"},
		{"XML of UTF-16", `<?xml encoding="utf-16"?>`, "UTF-8"},
		{"XML not at the beginning", ` <?xml encoding="koi8-r"?>`, ""},
		{"XML without encoding", `<?xml version="1.0"?>`, ""},
		{"XML with a space in the label", `<?xml encoding="koi8-r "?>`, ""},
		{"XML without quotes", `<?xml encoding=koi8-r?>`, ""},
		{"XML without equals sign", `<?xml encoding"koi8-r"?>`, ""},
		{"XML that is cut", `<?xml encoding="koi8-r`, ""},
		{"XML that is cut in front of the label", `<?xml encoding=`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, ok := charset.Prescan([]byte(test.page))
			if ok != (test.want != "") || ok && e.String() != test.want {
				t.Errorf("Prescan = %v, %v; want %q", e, ok, test.want)
			}
			// Whatever the page is cut to: nothing panics.
			for i := range test.page {
				charset.Prescan([]byte(test.page[:i]))
			}
		})
	}
}

func TestZeroCopy(t *testing.T) {
	for _, test := range []struct{ name, body, header string }{
		{"ASCII", "<p>hello", ""},
		{"ASCII as latin 1", "<p>hello", "text/html; charset=iso-8859-1"},
		{"ASCII as Shift_JIS", "<p>hello", "text/html; charset=shift_jis"},
		{"UTF-8", "<p>h\u00e9", "text/html; charset=utf-8"},
		{"UTF-8 that is detected", "<p>h\u00e9", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := []byte(test.body)
			text, _, _ := charset.Decode(body, test.header)
			if !bytes.Equal(text, body) || &text[0] != &body[0] {
				t.Errorf("Decode = %q, a copy", text)
			}
			if n := testing.AllocsPerRun(10, func() { charset.Decode(body, test.header) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
	body := []byte("\xef\xbb\xbfh\u00e9")
	if text, _, _ := charset.Decode(body, ""); &text[0] != &body[3] {
		t.Errorf("Decode = %q, a copy", text)
	}
}

func TestBOM(t *testing.T) {
	for _, test := range []struct {
		name, body string
		want       charset.Encoding
		length     int
	}{
		{"UTF-8", "\xef\xbb\xbfx", charset.UTF8, 3},
		{"UTF-16, big end first", "\xfe\xff\x00x", charset.UTF16BE, 2},
		{"UTF-16, little end first", "\xff\xfex\x00", charset.UTF16LE, 2},
		{"UTF-32 is none: its mark is that of UTF-16", "\xff\xfe\x00\x00", charset.UTF16LE, 2},
		{"a part of a mark", "\xef\xbb", charset.UTF8, 0},
		{"nothing", "", charset.UTF8, 0},
		{"later", "x\xef\xbb\xbf", charset.UTF8, 0},
	} {
		if e, n := charset.BOM([]byte(test.body)); e != test.want || n != test.length {
			t.Errorf("%s: %v, %d", test.name, e, n)
		}
	}
}
