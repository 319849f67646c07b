package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/sitemap"
)

func TestErrors(t *testing.T) {
	entry := "<url><loc>/1</loc></url>"
	many := strings.Repeat(entry, 10)
	refused := &sitemap.FormatError{}
	over := &sitemap.LimitError{}
	tests := []struct {
		name, body string
		options    []sitemap.Option
		entries    int // before the error
		want       any // nil: no error
		text       string
	}{
		{name: "empty", want: &refused, text: "empty"},
		{name: "white space", body: " \n", want: &refused, text: "empty"},
		{name: "a page", body: "<!DOCTYPE html><html><body>Not found</body></html>", want: &refused, text: "<html> is the root of no sitemap"},
		{name: "text", body: "Not found\n", want: &refused, text: "neither XML nor a list of URLs"},
		{name: "no elements", body: "<!-- -->", want: &refused, text: "no elements"},
		{name: "end in the root", body: "<urlset>" + entry, entries: 1, want: &refused, text: "breaks off"},
		{name: "end in an entry", body: "<urlset>" + entry + "<url><loc>/2", entries: 1, want: &refused, text: "breaks off"},
		{name: "end in a tag", body: "<urlset>" + entry + "<url><loc", entries: 1, want: &refused, text: "breaks off"},
		{name: "end in a comment", body: "<urlset>" + entry + "<!-- ", entries: 1, want: &refused, text: "breaks off"},
		{name: "end behind <", body: "<urlset>" + entry + "<", entries: 1, want: &refused, text: "breaks off"},
		{name: "broken gzip", body: "\x1f\x8bxx", want: &refused, text: "gzip"},
		{name: "short gzip", body: string(packed([]byte(set(many)))[:60]), entries: -1, want: &refused, text: "gzip"},

		{name: "entities", body: `<!DOCTYPE urlset [<!ENTITY a "aaaa">]>` + set("<url><loc>/&a;</loc></url>"), want: &refused, text: "entities"},
		{name: "parameter entities", body: `<!DOCTYPE urlset [<!ENTITY % a SYSTEM "http://b.example/">%a;]>` + set(entry), want: &refused, text: "entities"},
		{name: "a long document type", body: "<!DOCTYPE urlset [" + strings.Repeat("<!ELEMENT a (b)>", 10_000) + "]>" + set(entry), want: &over, text: "document type"},

		{name: "URLs", body: set(many), options: []sitemap.Option{sitemap.MaxURLs(9)}, entries: 9, want: &over, text: "9 URLs"},
		{name: "as many URLs as may be", body: set(many), options: []sitemap.Option{sitemap.MaxURLs(10)}, entries: 10},
		{name: "URLs in text", body: strings.Repeat("http://a.example/\n", 3), options: []sitemap.Option{sitemap.MaxURLs(2)}, entries: 2, want: &over, text: "2 URLs"},
		{name: "URLs by default", body: strings.Repeat("http://a.example/\n", 50_001), entries: 50_000, want: &over, text: "50000 URLs"},
		{name: "no limit of URLs", body: strings.Repeat("http://a.example/\n", 50_001), options: []sitemap.Option{sitemap.MaxURLs(0)}, entries: 50_001},
		{name: "bytes", body: set(many), options: []sitemap.Option{sitemap.MaxBytes(int64(len(set(many))) - 1)}, entries: 10, want: &over, text: "bytes"},
		{name: "as many bytes as may be", body: set(many), options: []sitemap.Option{sitemap.MaxBytes(int64(len(set(many))))}, entries: 10},
		{name: "unpacked bytes", body: string(packed([]byte(set(many)))), options: []sitemap.Option{sitemap.MaxBytes(150)}, entries: -1, want: &over, text: "150 bytes"},
		{name: "gzip that does not compress", body: string(stored([]byte(set(many)))), options: []sitemap.Option{sitemap.MaxBytes(int64(len(set(many))))}, entries: 10},
		{name: "the largest limit", body: string(packed([]byte(set(many)))), options: []sitemap.Option{sitemap.MaxBytes(math.MaxInt64)}, entries: 10},
		{name: "no limit of bytes", body: set(many), options: []sitemap.Option{sitemap.MaxBytes(0)}, entries: 10},
		{name: "a long tag", body: "<urlset " + strings.Repeat("a", 70_000) + ">" + entry, want: &over, text: "tag"},
		{name: "an open quotation", body: `<urlset a=">` + strings.Repeat(entry, 5000), want: &over, text: "tag"},
		{name: "alternates", body: set("<url><loc>/</loc>" + strings.Repeat(`<link rel="alternate" href="/a"/>`, 10_001) + "</url>"), want: &over, text: "of one URL"},
		{name: "as many alternates as may be", body: set("<url><loc>/</loc>" + strings.Repeat(`<link rel="alternate" href="/a"/>`, 10_000) + "</url>"), entries: 1},
		{name: "deep elements", body: "<urlset>" + strings.Repeat("<a>", 300) + entry, want: &over, text: "levels"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, _, err := read(tt.body, tt.options...)
			if tt.entries >= 0 && len(entries) != tt.entries {
				t.Errorf("%d entries, want %d", len(entries), tt.entries)
			}
			switch {
			case tt.want == nil && err == nil:
			case tt.want == nil || !errors.As(err, tt.want) || !strings.Contains(err.Error(), tt.text):
				t.Errorf("error %v, want a %T with %q", err, tt.want, tt.text)
			}
		})
	}
}

// stored returns a gzip stream that is longer than its content.
func stored(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		panic(err)
	}
	if _, err := w.Write(body); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// What the reader fails with comes out as it is, and what it gave before counts.
func TestReaderFails(t *testing.T) {
	broken := errors.New("the line is dead")
	body := "<urlset><url><loc>/1</loc></url>"
	entries, _, err := readFrom(io.MultiReader(strings.NewReader(body), iotest.ErrReader(broken)))
	if len(entries) != 1 || !errors.Is(err, broken) {
		t.Errorf("%d entries, error %v", len(entries), err)
	}
	if _, _, err := readFrom(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	entries, _, err = readFrom(io.MultiReader(strings.NewReader("http://a.example/1\n"), iotest.ErrReader(broken)))
	if len(entries) != 1 || !errors.Is(err, broken) {
		t.Errorf("text: %d entries, error %v", len(entries), err)
	}
}

// A text without end, a comment, a gigantic document: what is held of it is small, and the limit ends it.
func TestMemoryIsBounded(t *testing.T) {
	const limit = 4 << 20
	for _, tt := range []struct{ name, start, unit string }{
		{"a text", "<urlset><url><loc>", "x"},
		{"markup in a text", "<urlset><url><loc>", "< "},
		{"CDATA", "<urlset><url><loc><![CDATA[", "x>"},
		{"a comment", "<urlset><!--", ">-"},
		{"an instruction", "<urlset><?", ">?"},
		{"between elements", "<urlset>", "x"},
		{"end tags", "<urlset>", "</a>"},
		{"empty elements", "<urlset>", "<a/>"},
		{"a line", "http://a.example/", "x"},
		{"gzip of nothing", "", string(packed(nil))},
		{"gzip of gzip of nothing", "", string(packed(bytes.Repeat(packed(nil), 1000)))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := readFrom(io.MultiReader(strings.NewReader(tt.start), &repeat{unit: tt.unit}), sitemap.MaxBytes(limit))
			runtime.ReadMemStats(&after)
			var over *sitemap.LimitError
			if tt.name != "a line" && (!errors.As(err, &over) || over.Limit != limit) {
				t.Errorf("error %v, want the limit of %d bytes", err, limit)
			}
			if used := after.TotalAlloc - before.TotalAlloc; deep.Checks() && used > 1<<20 {
				t.Errorf("%d KiB were allocated for %d MiB of input", used>>10, limit>>20)
			}
		})
	}
}

// An entry is handed out whole: 31 MB of its images were 300 MB. The test fails if maxParts does not bound them.
func TestPartsOfAnEntryAreBounded(t *testing.T) {
	for _, part := range []string{`<link rel="alternate" href="/a"/>`, "<image><loc>/a</loc></image>", "<video><title>a</title></video>"} {
		body := set("<url><loc>/</loc>" + strings.Repeat(part, 20_000) + "</url>")
		told := 0
		for _, err := range sitemap.Parse(strings.NewReader(body), "http://a.example/") {
			var over *sitemap.LimitError
			if told++; !errors.As(err, &over) || over.Limit != 10_000 {
				t.Errorf("%s: %v", part, err)
			}
		}
		if told != 1 {
			t.Errorf("%s: %d answers, want one error", part, told)
		}
	}
}
