package e2e_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// bombBytes is how many bytes a bomb has when its coding is removed: a little less than Limits.Body.
const bombBytes = 31 << 20

// bombKind is one way of making a page that takes much more memory than it has bytes.
type bombKind struct {
	name  string
	media string // Content-Type
	as    string // what the child reads it as: "" a page, "map" a sitemap
	asks  int    // how many such pages there are; 0: one

	body   func() []byte // without its coding
	coding string        // Content-Encoding; "": gzip
	robots bool          // body is the robots.txt of the host, and the page itself a good one
	header func(h http.Header, n int)
	few    bool // it belongs to the short form
	worst  bool // six of it are tried at once
	plain  bool // the Content-Encoding is not said: the body itself is packed
	query  bool // the child runs the query of this name alone
}

// bombFiller is white space that cannot be packed well. It stands before each bomb, so that Limits.Ratio is not what
// saves the process: 31 MB of "<" would be packed to 30 kB, more than a thousand times less.
var bombFiller = sync.OnceValue(func() []byte {
	random := rand.New(rand.NewPCG(14, 1))
	filler := make([]byte, 192<<10)
	for i := range filler {
		filler[i] = " \t\n"[random.IntN(3)]
	}
	return filler
})

// repeated is a bomb of one part many times.
func repeated(head, part, tail string) func() []byte {
	return func() []byte {
		b := append(bytes.Clone(bombFiller()), head...)
		b = append(b, strings.Repeat(part, (bombBytes-len(b)-len(tail))/len(part))...)
		return append(b, tail...)
	}
}

// numbered is a bomb of parts with a number in each, as fmt.Appendf writes it.
func numbered(head, part, tail string) func() []byte {
	return func() []byte {
		b := append(bytes.Clone(bombFiller()), head...)
		for n := 0; len(b) < bombBytes-len(tail)-64; n++ {
			b = fmt.Appendf(b, part, n)
		}
		return append(b, tail...)
	}
}

// halves is a bomb of which the second half is another part.
func halves(first, second string) func() []byte {
	return func() []byte {
		b := append(bytes.Clone(bombFiller()), strings.Repeat(first, (bombBytes/2-len(bombFiller()))/len(first))...)
		return append(b, strings.Repeat(second, bombBytes/2/len(second))...)
	}
}

// bare is a bomb without filler.
func bare(part string) func() []byte {
	return func() []byte { return bytes.Repeat([]byte(part), bombBytes/len(part)) }
}

// twice packs a body.
func twice(body func() []byte) func() []byte {
	return func() []byte { return pack("gzip", body()) }
}

const htmlUTF8 = "text/html; charset=utf-8"

func htmlKinds() (kinds []bombKind) {
	for _, k := range []struct {
		name string
		body func() []byte
	}{
		{"b", repeated("", "<b>", "")},
		{"div", repeated("", "<div>", "")},
		{"lt", repeated("", "<", "")},
		{"href", repeated("", "<a href=/x>", "")},
		{"hrefs", numbered("", "<a href=/%d>", "")},
		{"hrefs-long", numbered("", "<a href='/%0512d'>", "")},
		{"attributes", numbered("<p", " a%d", ">")},
		{"attributes-same", repeated("<p", " a=b", ">")},
		{"attributes-many", repeated("", "<p a b c d e f g h i j>", "")},
		{"attribute-names", numbered("", "<p a%d>", "")},
		{"element-names", numbered("", "<x%d>", "")},
		{"br", repeated("", "<br>", "")},
		{"end-p", repeated("", "</p>", "")},
		{"li", repeated("<ul>", "<li>", "")},
		{"table", repeated("", "<table>", "")},
		{"table-cells", repeated("<table>", "<tr><td>", "")},
		{"table-foster", repeated("<table>", "x<b>", "")},
		{"table-nested", repeated("", "<table><tr><td>", "")},
		{"svg", repeated("", "<svg>", "")},
		{"svg-nul", repeated("<svg>", "\x00", "")},
		{"math", repeated("<math>", "<mi>", "")},
		{"template", repeated("", "<template>", "")},
		{"select", repeated("", "<select><option>", "")},
		{"option", repeated("<select>", "<option>", "")},
		{"formatting", repeated("", "<p><b><i><u><s>", "")},
		{"noahs-ark", numbered("", "<b id=%d><p>", "")},
		{"adoption", repeated("", "<a><div>", "")},
		{"adoption-end", repeated("", "<b><p></b>", "")},
		{"nobr", repeated("", "<nobr><div>", "")},
		{"entities", repeated("", "&nGt;", "")},
		{"ampersands", repeated("", "&", "")},
		{"references", repeated("", "&#0;", "")},
		{"comments", repeated("", "<!---->", "")},
		{"comment", repeated("<!--", "a", "-->")},
		{"text", repeated("<p>", "some text ", "")},
		{"words", repeated("<p>", "a ", "")},
		{"doctypes", repeated("", "<!doctype a>", "")},
		{"doctype", repeated("<!doctype ", "a", ">")},
		{"script", repeated("", "<script></script>", "")},
		{"title", repeated("", "<title>a</title>", "")},
		{"metas", repeated("", `<meta http-equiv=refresh content="0;url=/x">`, "")},
		{"bases", numbered("", "<base href=/%d/>", "")},
		{"text-deep", halves("<div>", "text ")},
		{"text-wide", repeated("", "<div>t</div>", "")},
	} {
		kinds = append(kinds, bombKind{name: "html-" + k.name, media: htmlUTF8, body: k.body,
			few: k.name == "b" || k.name == "attributes"})
	}
	return kinds
}

func otherKinds() []bombKind {
	const xml, json = "application/xml", "application/json"
	long := strings.Repeat("l", 2000)
	return []bombKind{
		{name: "xml-nested", media: xml, body: repeated("", "<a>", "")},
		{name: "xml-wide", media: xml, body: repeated("<r>", "<a/>", "</r>")},
		{name: "xml-attributes", media: xml, body: numbered("<r", " a%d=''", "/>")},
		{name: "xml-namespaces", media: xml, body: numbered("<r>", "<a xmlns:n%d='u'>", "")},
		{name: "xml-names", media: xml, body: numbered("<r>", "<a%d/>", "</r>")},
		{name: "xml-references", media: xml, body: repeated("<r>", "&#9;", "</r>")},
		{name: "xml-entities", media: xml, body: numbered("<!DOCTYPE r [", "<!ENTITY e%d 'aaaaaaaa'>", "]><r/>")},
		{name: "xml-comments", media: xml, body: repeated("<r>", "<!---->", "</r>")},

		{name: "json-nested", media: json, body: halves("[", "]")},
		{name: "json-numbers", media: json, body: repeated("[", "0,", "0]")},
		{name: "json-objects", media: json, body: repeated("[", "{},", "0]"), few: true},
		{name: "json-keys", media: json, body: numbered("{", `"%d":0,`, `"":0}`)},
		{name: "json-string", media: json, body: repeated(`"`, "a", `"`)},
		{name: "json-escapes", media: json, body: repeated(`["`, `\u0800`, `"]`)},

		{name: "sitemap-wide", media: xml, as: "map", body: numbered("<urlset>", "<url><loc>http://elsewhere.test/%d</loc></url>", "</urlset>"), few: true},
		{name: "sitemap-alternates", media: xml, as: "map", body: numbered("<urlset xmlns:x='http://www.w3.org/1999/xhtml'><url><loc>http://elsewhere.test/</loc>",
			"<x:link rel='alternate' hreflang='a' href='http://elsewhere.test/%d'/>", "</url></urlset>")},
		{name: "sitemap-images", media: xml, as: "map", body: numbered("<urlset xmlns:i='http://www.google.com/schemas/sitemap-image/1.1'><url><loc>http://elsewhere.test/</loc>",
			"<i:image><i:loc>http://elsewhere.test/%d</i:loc></i:image>", "</url></urlset>")},
		{name: "sitemap-index", media: xml, as: "map", body: numbered("<sitemapindex>", "<sitemap><loc>http://elsewhere.test/%d</loc></sitemap>", "</sitemapindex>")},
		{name: "sitemap-long", media: xml, as: "map", body: numbered("<urlset>", "<url><loc>http://elsewhere.test/"+long+"%d</loc></url>", "</urlset>")},
		{name: "sitemap-loc", media: xml, as: "map", body: repeated("<urlset><url><loc>http://elsewhere.test/", "a", "</loc></url></urlset>")},
		{name: "sitemap-nested", media: xml, as: "map", body: repeated("", "<a>", "")},
		{name: "sitemap-text", media: "text/plain", as: "map", body: numbered("", "http://elsewhere.test/%d\n", "")},
		{name: "sitemap-gzip-gzip", media: "application/gzip", as: "map", plain: true,
			body: twice(twice(numbered("<urlset>", "<url><loc>http://elsewhere.test/%d</loc></url>", "</urlset>")))},

		{name: "robots-rules", media: "text/plain", robots: true, body: numbered("User-agent: *\n", "Disallow: /x%d\n", ""), few: true},
		{name: "robots-agents", media: "text/plain", robots: true, body: numbered("", "User-agent: a%d\nDisallow: /x\n\n", "")},
		{name: "robots-line", media: "text/plain", robots: true, body: repeated("User-agent: *\nDisallow: /", "a*", "")},
		{name: "robots-sitemaps", media: "text/plain", robots: true, body: numbered("", "Sitemap: http://elsewhere.test/%d\n", "")},

		{name: "header-many", media: htmlUTF8, asks: 40, header: func(h http.Header, n int) {
			for i := range 900 {
				h.Add(fmt.Sprintf("X-%d-%d", n, i), strings.Repeat("a", 1000))
			}
		}},
		{name: "header-large", media: htmlUTF8, asks: 40, header: func(h http.Header, _ int) {
			h.Set("X-Large", strings.Repeat("a", 1000<<10))
		}},
		{name: "header-too-large", media: htmlUTF8, asks: 8, header: func(h http.Header, _ int) {
			h.Set("X-Large", strings.Repeat("a", 8<<20))
		}},
		{name: "header-too-many", media: htmlUTF8, asks: 8, header: func(h http.Header, _ int) {
			for i := range 50_000 {
				h.Add("X", fmt.Sprint(i))
			}
		}},
		{name: "cookies-many", media: htmlUTF8, asks: 40, few: true, header: func(h http.Header, n int) {
			for i := range 900 {
				h.Add("Set-Cookie", fmt.Sprintf("c%d-%d=%s; Path=/", n, i, strings.Repeat("a", 1000)))
			}
		}},
		{name: "cookies-large", media: htmlUTF8, asks: 40, header: func(h http.Header, n int) {
			for i := range 240 {
				h.Add("Set-Cookie", fmt.Sprintf("c%d-%d=%s; Path=/", n, i, strings.Repeat("a", 4000)))
			}
		}},

		{name: "charset-utf-16", media: "text/html; charset=utf-16le", body: func() []byte {
			b := make([]byte, 0, bombBytes)
			for _, u := range utf16.Encode([]rune(string(bombFiller()))) {
				b = append(b, byte(u), byte(u>>8))
			}
			return append(b, bytes.Repeat([]byte{0x00, 0x08}, (bombBytes-len(b))/2)...)
		}},
		{name: "charset-gb18030", media: "text/html; charset=gb18030", body: repeated("", "\xb0\xa1", "")},
		{name: "charset-windows-1252", media: "text/html; charset=windows-1252", body: repeated("", "\x80", "")},
		{name: "charset-windows-1252-b", media: "text/html; charset=windows-1252", body: repeated("\x80", "<b>", "")},
		{name: "charset-broken-utf-8", media: htmlUTF8, body: repeated("", "\xff", "")},
		{name: "charset-iso-2022-jp", media: "text/html; charset=iso-2022-jp", body: repeated("\x1b$B", "$\"", "")},

		{name: "coding-br", media: htmlUTF8, coding: "br", body: repeated("", "<b>", "")},
		{name: "coding-zstd", media: htmlUTF8, coding: "zstd", body: repeated("", "<b>", "")},
		{name: "coding-deflate", media: htmlUTF8, coding: "deflate", body: repeated("", "<b>", "")},
		{name: "coding-gzip-gzip", media: htmlUTF8, coding: "gzip, gzip", body: repeated("", "<b>", "")},
		{name: "coding-br-zstd-gzip", media: htmlUTF8, coding: "br, zstd, gzip", body: repeated("", "<b>", "")},
		{name: "coding-ratio", media: htmlUTF8, coding: "br", body: bare("<b>")},
		{name: "coding-too-large", media: htmlUTF8, body: func() []byte { return append(repeated("", "<b>", "")(), bare("<i>")()...) }},
	}
}

// queryKinds are pages that are parsed within the limits and of which a query makes much.
func queryKinds() (kinds []bombKind) {
	whole := func(page string) func() []byte {
		return func() []byte { return append(bytes.Clone(bombFiller()), page...) }
	}
	deep := strings.Repeat("<div>", 1000) + strings.Repeat("some text ", 50_000)
	deeper := strings.Repeat("<div>", 20_000)
	text := "<p>" + strings.Repeat("a ", 8<<20)
	for _, k := range []struct {
		name string
		body func() []byte
	}{
		{"nested-texts", whole(deep)}, {"nested-gets", whole(deep)}, {"nested-each", whole(deep)},
		{"node-sets", whole(deeper)}, {"contexts", whole(deeper)}, {"all-nodes", whole(strings.Repeat("<br>", 900_000))},
		{"matches", whole(text)}, {"places", whole(text)}, {"joined", whole(deep)},
		{"json-values", whole("<script>[" + strings.Repeat("0,", 8<<20) + "0]</script>")},
		{"style-sheet", whole("<style>" + strings.Repeat("a{b:url(/\\63)}", 1<<20) + "</style>")},
	} {
		kinds = append(kinds, bombKind{name: "query-" + k.name, media: htmlUTF8, body: k.body, query: true,
			header: func(h http.Header, _ int) { h.Set("X-Query", k.name) }, worst: true})
	}
	return kinds
}

// bombKinds lists all kinds.
func bombKinds() []bombKind {
	kinds := append(append(htmlKinds(), otherKinds()...), queryKinds()...)
	for i := range kinds {
		kinds[i].worst = kinds[i].worst || slices.Contains(worstKinds, kinds[i].name)
	}
	return kinds
}

// worstKinds took most memory of their sort before there were bounds, or are not like the others.
var worstKinds = []string{
	"html-b", "html-div", "html-lt", "html-href", "html-attributes", "html-br", "html-table", "html-svg", "html-template", "html-select",
	"html-formatting", "html-noahs-ark", "html-text", "xml-nested", "json-objects", "json-string", "sitemap-images", "robots-rules",
	"header-large", "cookies-many", "charset-windows-1252", "charset-broken-utf-8", "coding-zstd", "coding-gzip-gzip",
}

// bombCache keeps the packed bodies, by the name of their kind.
var bombCache sync.Map

// packed returns the body of a kind in its coding.
func (k bombKind) packed() []byte {
	if k.body == nil {
		return nil
	}
	if b, ok := bombCache.Load(k.name); ok {
		return b.([]byte)
	}
	b := k.body()
	if !k.plain {
		for coding := range strings.SplitSeq(k.contentEncoding(), ", ") {
			b = pack(coding, b)
		}
	}
	bombCache.Store(k.name, b)
	return b
}

func (k bombKind) contentEncoding() string {
	switch {
	case k.plain:
		return ""
	case k.coding == "":
		return "gzip"
	}
	return k.coding
}

// pack adds one content coding.
func pack(coding string, body []byte) []byte {
	var packed bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w, _ = gzip.NewWriterLevel(&packed, flate.BestSpeed+4)
	case "deflate":
		w = zlib.NewWriter(&packed)
	case "br":
		w = brotli.NewWriterLevel(&packed, 5)
	case "zstd":
		w, _ = zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
	default:
		panic("no such coding: " + coding)
	}
	if _, err := w.Write(body); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return bytes.Clone(packed.Bytes())
}

// TestBombKinds checks that the bombs are of the size that they are meant to have, and small on the wire.
func TestBombKinds(t *testing.T) {
	seen := make(map[string]bool)
	for _, k := range bombKinds() {
		if seen[k.name] {
			t.Errorf("two kinds are named %s", k.name)
		}
		seen[k.name] = true
		if !k.few || k.body == nil {
			continue
		}
		if n, p := len(k.body()), len(k.packed()); n > 32<<20 || n < 30<<20 || n/p > 990 {
			t.Errorf("%s: %d bytes, packed %d", k.name, n, p)
		}
	}
}
