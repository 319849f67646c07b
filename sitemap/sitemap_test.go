package sitemap_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/tegenaria/tegenaria/sitemap"
)

const base = "https://a.example/maps/sitemap.xml"

// read collects what Parse yields.
func read(body string, options ...sitemap.Option) (entries []sitemap.Entry, bad []string, err error) {
	return readFrom(strings.NewReader(body), options...)
}

func readFrom(r io.Reader, options ...sitemap.Option) (entries []sitemap.Entry, bad []string, err error) {
	for entry, problem := range sitemap.Parse(r, base, options...) {
		var url *sitemap.URLError
		switch {
		case err != nil:
			panic("something came after the last error")
		case errors.As(problem, &url):
			bad = append(bad, url.URL)
		case problem != nil:
			err = problem
		default:
			entries = append(entries, entry)
		}
	}
	return entries, bad, err
}

func urls(entries []sitemap.Entry) []string {
	var urls []string
	for _, e := range entries {
		urls = append(urls, e.URL)
	}
	return urls
}

func set(body string) string {
	return `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + body + `</urlset>`
}

func TestURLs(t *testing.T) {
	tests := []struct {
		name, body string
		want       string // separated by spaces
		bad        []string
	}{
		{name: "url set", body: set("<url><loc>https://a.example/1</loc></url>\n<url>\n<loc>\n\thttps://a.example/2\n</loc></url>"), want: "https://a.example/1 https://a.example/2"},
		{name: "user names", body: set("<url><loc>https://info@a.example/1</loc></url><url><loc>//u:p@a.example/@2</loc></url>"), want: "https://a.example/1 https://a.example/@2"},
		{name: "nothing in it", body: set("")},
		{name: "an empty root", body: "<urlset/>"},
		{name: "index", body: `<sitemapindex><sitemap><loc>/1.xml</loc></sitemap><sitemap><loc>2.xml.gz</loc></sitemap></sitemapindex>`,
			want: "https://a.example/1.xml https://a.example/maps/2.xml.gz"},
		{name: "URLs without loc", body: `<sitemapindex><sitemap> https://a.example/1?a=1&amp;b=2 </sitemap></sitemapindex>`, want: "https://a.example/1?a=1&b=2"},
		{name: "loc after the text", body: set(`<url>x<loc>/1</loc></url>`), want: "https://a.example/maps/x"},
		{name: "references", body: set(`<url><loc>/?a=1&amp;b=&#000000000050;&#x33;&apos;&quot;</loc></url>`), want: "https://a.example/?a=1&b=23%27%22"},
		{name: "an & of its own", body: set(`<url><loc>/?a=1&b=2&nb&amp;sp;&#0;&#xD800;&;&</loc></url>`), want: "https://a.example/?a=1&b=2&nb&sp;&#0;&#xD800;&;&"},
		{name: "CDATA", body: set(`<url><loc><![CDATA[/?a=1&b=2]]></loc></url><url><loc>/<![CDATA[&amp;]]>&amp;<![CDATA[]]]]></loc></url>`), want: "https://a.example/?a=1&b=2 https://a.example/&amp;&]]"},
		{name: "comments", body: `<!-- <urlset> --><?x <urlset> ?>` + set(`<url><!-- <loc>/0</loc> > --><loc>/<!---->1</loc></url>`), want: "https://a.example/1"},
		{name: "document type", body: `<!DOCTYPE urlset SYSTEM "x>y" [<!ELEMENT urlset (url)> <!-- ' -->]>` + set(`<url><loc>/1</loc></url>`), want: "https://a.example/1"},
		{name: "prefixes", body: `<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"><s:url><s:loc>/1</s:loc></s:url></s:urlset>`, want: "https://a.example/1"},
		{name: "a wrong namespace", body: `<urlset xmlns="x"><url><loc>/1</loc></url></urlset>`, want: "https://a.example/1"},
		{name: "a tag with >", body: `<urlset a=">" b='">'><url a = "/>"><loc>/1</loc></url></urlset>`, want: "https://a.example/1"},
		{name: "urls in an index", body: `<sitemapindex><url><loc>/1</loc></url></sitemapindex>`, want: "https://a.example/1"},
		{name: "an entry without URL", body: set("<url><lastmod>2024</lastmod></url><url><loc/></url><url><loc>/1</loc></url>"), want: "https://a.example/1"},
		{name: "a loc of something else", body: set("<url><link><loc>/0</loc></link><x><loc>/0</loc></x><loc>/1</loc></url>"), want: "https://a.example/1"},
		{name: "two locs", body: set("<url><loc>/1</loc><loc>/2</loc></url>"), want: "https://a.example/1"},
		{name: "no end tags", body: set("<url><loc>/1<lastmod>2024</lastmod></url><url><loc>/2</loc><url><loc>/3</loc></url>"), want: "https://a.example/12024 https://a.example/2 https://a.example/3"},
		{name: "image without end", body: set("<url><loc>/1</loc><image><loc>/i</loc></url><url><loc>/2</loc></url>"), want: "https://a.example/1 https://a.example/2"},
		{name: "unknown elements", body: set("<url><x><loc>/0</loc><url2/></x><loc>/1</loc></url><x><loc>/0</loc></x>"), want: "https://a.example/1"},
		{name: "upper case URL", body: set("<url><loc>HTTP://A.EXAMPLE/X y</loc></url>"), want: "http://a.example/X%20y"},
		{name: "bad URLs", body: set("<url><loc>http://[/</loc></url><url><loc>/1</loc></url>"), want: "https://a.example/1", bad: []string{"http://[/"}},
		{name: "white space first", body: "\r\n \t" + set("<url><loc>/1</loc></url>"), want: "https://a.example/1"},
		{name: "what follows the end", body: set("<url><loc>/1</loc></url>") + "<url><loc>/2</loc></url><<&", want: "https://a.example/1"},

		{name: "text", body: "https://a.example/1\r\n\n  http://b.example/2?a&b  \nhttps://a.example/3", want: "https://a.example/1 http://b.example/2?a&b https://a.example/3"},
		{name: "text with a BOM", body: "\uFEFFhttps://a.example/1\n", want: "https://a.example/1"},
		{name: "text with other lines", body: "https://a.example/1\n# x\n/2\nftp://a.example/\nhttps://a.example/3\n", want: "https://a.example/1 https://a.example/3", bad: []string{"/2", "ftp://a.example/"}},
		{name: "a long line", body: "https://a.example/1\nhttps://a.example/" + strings.Repeat("x", 100_000) + "\nhttps://a.example/3\n", want: "https://a.example/1 https://a.example/3",
			bad: []string{"https://a.example/" + strings.Repeat("x", 16<<10-18)}},

		{name: "RSS 2.0", body: `<rss version="2.0"><channel><link>/0</link><image><url>/0</url><link>/0</link></image>` +
			`<item><link>/1</link><guid>https://a.example/0</guid></item><item><guid isPermaLink="false">https://a.example/2</guid></item>` +
			`<item><guid>17</guid></item><item><atom:link href="/0"/><link>/3?a=1&amp;b=2</link><source url="/0"/></item></channel></rss>`,
			want: "https://a.example/1 https://a.example/2 https://a.example/3?a=1&b=2"},
		{name: "RSS with markup", body: `<rss><channel><item><description><p>a<br>b<br></description><link>/1</link></item><item><link>/2</link></item></channel></rss>`,
			want: "https://a.example/2"},
		{name: "RSS 1.0", body: `<rdf:RDF><channel rdf:about="/0"><link>/0</link><items><rdf:Seq><rdf:li resource="/0"/></rdf:Seq></items></channel>` +
			`<item rdf:about="/0"><link>/1</link></item><item rdf:about="/2"><title>t</title></item></rdf:RDF>`, want: "https://a.example/1 https://a.example/2"},
		{name: "Atom", body: `<feed xmlns="http://www.w3.org/2005/Atom"><link href="/0"/><entry><link rel="self" href="/0"/><link href="/1"/><link rel="alternate" href="/0"/></entry>` +
			`<entry><link rel="alternate" href="2?a&amp;b"/><content type="xhtml"><div><a href="/0">x</a></div></content></entry></feed>`,
			want: "https://a.example/1 https://a.example/maps/2?a&b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, reader := range []io.Reader{strings.NewReader(tt.body), iotest.OneByteReader(strings.NewReader(tt.body)), bytes.NewReader(packed(packed([]byte(tt.body))))} {
				entries, bad, err := readFrom(reader)
				if err != nil {
					t.Errorf("the error is %v", err)
				}
				if got := urls(entries); strings.Join(got, " ") != tt.want {
					t.Errorf("URLs:\n got %s\nwant %s", got, tt.want)
				}
				if !slices.Equal(bad, tt.bad) {
					t.Errorf("unusable URLs %q, want %q", bad, tt.bad)
				}
			}
		})
	}
}

func TestEntry(t *testing.T) {
	when := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	tests := []struct {
		name, body string
		want       sitemap.Entry
	}{
		{"defaults", set("<url><loc>/</loc></url>"), sitemap.Entry{Priority: 0.5}},
		{"all", set("<url><loc>/</loc><lastmod>2024-05-06</lastmod><changefreq> Daily </changefreq><priority>0.8</priority></url>"),
			sitemap.Entry{LastMod: when("2024-05-06T00:00:00Z"), ChangeFreq: sitemap.Daily, Priority: 0.8}},
		{"other order", set("<url><priority>1</priority><lastmod>2024-05-06T01:02:03Z</lastmod><loc>/</loc></url>"),
			sitemap.Entry{LastMod: when("2024-05-06T01:02:03Z"), Priority: 1}},
		{"a decimal comma", set("<url><loc>/</loc><priority>0,3</priority></url>"), sitemap.Entry{Priority: 0.3}},
		{"nonsense", set("<url><loc>/</loc><lastmod>soon</lastmod><changefreq>often</changefreq><priority>7</priority></url>"), sitemap.Entry{UnreadDate: "soon", Priority: 0.5}},
		{"one date of two", set("<url><loc>/</loc><lastmod>2024</lastmod><updated>yesterday</updated></url>"),
			sitemap.Entry{LastMod: when("2024-01-01T00:00:00Z"), Priority: 0.5}},
		{"no date of a video", set("<url><loc>/</loc><video:video><video:publication_date>soon</video:publication_date></video:video></url>"),
			sitemap.Entry{UnreadDate: "soon", Priority: 0.5, Videos: []sitemap.Video{{}}}},
		{"not a number", set("<url><loc>/</loc><priority>NaN</priority></url>"), sitemap.Entry{Priority: 0.5}},
		{"index", "<sitemapindex><sitemap><loc>/</loc><lastmod>2024-05</lastmod></sitemap></sitemapindex>",
			sitemap.Entry{Sitemap: true, LastMod: when("2024-05-01T00:00:00Z"), Priority: 0.5}},
		{"alternates", set(`<url><loc>/</loc><xhtml:link rel="alternate" hreflang="de-CH" href="/?a=1&amp;b=2"/>` +
			`<xhtml:link rel='alternate' media="only screen and (max-width: 640px)" href='m'></xhtml:link><xhtml:link rel="amphtml" href="/amp"/></url>`),
			sitemap.Entry{Priority: 0.5, Alternates: []sitemap.Alternate{
				{URL: "https://a.example/?a=1&b=2", Lang: "de-CH"}, {URL: "https://a.example/maps/m", Media: "only screen and (max-width: 640px)"}}}},
		{"images", set(`<url><image:image><image:loc>/1.jpg</image:loc><image:title>A &amp; B</image:title><image:caption>c</image:caption>` +
			`<image:geo_location>Limerick, Ireland</image:geo_location><image:license>/l</image:license></image:image><image:image><image:loc>/2.jpg</image:loc></image:image><loc>/</loc></url>`),
			sitemap.Entry{Priority: 0.5, Images: []sitemap.Image{
				{URL: "https://a.example/1.jpg", Title: "A & B", Caption: "c", GeoLocation: "Limerick, Ireland", License: "https://a.example/l"}, {URL: "https://a.example/2.jpg"}}}},
		{"news", set(`<url><loc>/</loc><news:news><news:publication><news:name>The Paper</news:name><news:language>en</news:language></news:publication><news:title>T</news:title>` +
			`<news:publication_date>2008-12-23</news:publication_date><news:access>Subscription</news:access><news:genres>Blog, Satire</news:genres><news:keywords>a,,b </news:keywords><news:stock_tickers>X:A</news:stock_tickers></news:news></url>`),
			sitemap.Entry{Priority: 0.5, News: &sitemap.News{Publication: "The Paper", Lang: "en", Title: "T", Published: when("2008-12-23T00:00:00Z"), Access: "Subscription",
				Genres: []string{"Blog", "Satire"}, Keywords: []string{"a", "b"}, Tickers: []string{"X:A"}}}},
		{"video", set(`<url><loc>/</loc><video:video><video:title>T</video:title><video:description><![CDATA[<b>D</b>]]></video:description><video:thumbnail_loc>/t.jpg</video:thumbnail_loc>` +
			`<video:content_loc>/v.mp4</video:content_loc><video:player_loc allow_embed="yes">/p</video:player_loc><video:duration>600</video:duration><video:publication_date>2007-11-05T19:20:30+08:00</video:publication_date>` +
			`<video:expiration_date>2009-11-05</video:expiration_date><video:rating>4.2</video:rating><video:view_count>12345</video:view_count><video:tag>a</video:tag><video:tag>b</video:tag><video:category>c</video:category>` +
			`<video:uploader info="/u?a&amp;b">U</video:uploader><video:restriction relationship="deny">IE GB</video:restriction><video:platform relationship="allow">web tv</video:platform>` +
			`<video:family_friendly>no</video:family_friendly><video:requires_subscription>Yes</video:requires_subscription><video:live>yes</video:live></video:video></url>`),
			sitemap.Entry{Priority: 0.5, Videos: []sitemap.Video{{Title: "T", Description: "<b>D</b>", Thumbnail: "https://a.example/t.jpg", Content: "https://a.example/v.mp4", Player: "https://a.example/p",
				Duration: 10 * time.Minute, Published: when("2007-11-05T19:20:30+08:00"), Expires: when("2009-11-05T00:00:00Z"), Rating: 4.2, Views: 12345, Tags: []string{"a", "b"}, Category: "c",
				Uploader: "U", UploaderInfo: "https://a.example/u?a&b", Countries: sitemap.Restriction{Names: []string{"IE", "GB"}, Deny: true}, Platforms: sitemap.Restriction{Names: []string{"web", "tv"}},
				AdultsOnly: true, Subscription: true, Live: true}}}},
		{"video without sense", set(`<url><loc>/</loc><video:video><video:duration>-1</video:duration><video:rating>6</video:rating><video:view_count>many</video:view_count><video:uploader>U</video:uploader></video:video></url>`),
			sitemap.Entry{Priority: 0.5, Videos: []sitemap.Video{{Uploader: "U"}}}},
		{"RSS", `<rss><channel><pubDate>Mon, 01 Jan 2001 00:00:00 GMT</pubDate><item><link>/</link><pubDate>Thu, 05 Jan 2017 13:34:51 +0100</pubDate></item></channel></rss>`,
			sitemap.Entry{Priority: 0.5, LastMod: when("2017-01-05T13:34:51+01:00")}},
		{"RSS 1.0", `<rdf:RDF><item><link>/</link><dc:date>2017-01-05T13:34+01:00</dc:date></item></rdf:RDF>`,
			sitemap.Entry{Priority: 0.5, LastMod: when("2017-01-05T13:34:00+01:00")}},
		{"Atom 1.0", `<feed><updated>2001-01-01T00:00:00Z</updated><entry><published>2002-01-01T00:00:00Z</published><updated>2003-12-13T18:30:02.25Z</updated><published>2002-01-01T00:00:00Z</published><link href="/"/></entry></feed>`,
			sitemap.Entry{Priority: 0.5, LastMod: when("2003-12-13T18:30:02.25Z")}},
		{"Atom 0.3", `<feed version="0.3"><entry><created>2002-01-01</created><modified>2003-12-13T18:30:02Z</modified><issued>2002-01-01</issued><link rel="alternate" href="/"/></entry></feed>`,
			sitemap.Entry{Priority: 0.5, LastMod: when("2003-12-13T18:30:02Z")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, _, err := read(tt.body)
			if err != nil || len(entries) != 1 {
				t.Fatalf("%d entries, error %v", len(entries), err)
			}
			tt.want.URL = "https://a.example/"
			if got := inUTC(entries[0]); !reflect.DeepEqual(got, inUTC(tt.want)) {
				t.Errorf("\n got %+v\nwant %+v", got, inUTC(tt.want))
			}
		})
	}
}

// inUTC makes equal times look equal.
func inUTC(e sitemap.Entry) sitemap.Entry {
	e.LastMod = e.LastMod.UTC()
	for i := range e.Videos {
		e.Videos[i].Published, e.Videos[i].Expires = e.Videos[i].Published.UTC(), e.Videos[i].Expires.UTC()
	}
	if e.News != nil {
		e.News.Published = e.News.Published.UTC()
	}
	return e
}

func TestEncodings(t *testing.T) {
	body := set("<url><loc>/é</loc><image><title>é€</title></image></url>")
	encode := func(e interface{ String(string) (string, error) }, s string) string {
		encoded, err := e.String(s)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	latin := `<?xml version="1.0" encoding="ISO-8859-15"?>` + body
	tests := []struct{ name, body string }{
		{"UTF-8", body},
		{"UTF-8, declared", `<?xml version="1.0" encoding="utf-8"?>` + body},
		{"UTF-8 BOM", "\uFEFF" + body},
		{"UTF-8 BOM wins", "\uFEFF" + latin},
		{"ISO-8859-15", encode(charmap.ISO8859_15.NewEncoder(), latin)},
		{"single quotes", encode(charmap.Windows1252.NewEncoder(), `<?xml version='1.0' encoding='windows-1252' ?>`+body)},
		{"UTF-16, little", encode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder(), body)},
		{"UTF-16, big", encode(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder(), body)},
		{"UTF-16, no BOM", encode(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder(), body)},
		{"UTF-16 declared in UTF-8", `<?xml version="1.0" encoding="UTF-16"?>` + body},
		{"another instruction", `<?xml-stylesheet encoding="latin1"?>` + body},
		{"a comment", `<!-- <?xml encoding="latin1"?> -->` + body},
		{"in the middle", strings.Replace(body, "<url>", `<?xml encoding="latin1"?><url>`, 1)},
		{"unknown", `<?xml version="1.0" encoding="x-nobody"?>` + body},
		{"white space before the BOM", "\r\n \t\uFEFF" + latin},
		{"two BOMs", "\uFEFF\uFEFF" + latin},
		{"BOMs and white space", "\uFEFF\n\uFEFF\n" + body},
		{"Latin-1, not declared", encode(charmap.Windows1252.NewEncoder(), body)},
		{"Latin-1, declared as UTF-8", encode(charmap.Windows1252.NewEncoder(), `<?xml version="1.0" encoding="UTF-8"?>`+body)},
		{"in capitals", strings.NewReplacer("urlset", "URLSET", "<url>", "<URL>", "</url>", "</Url>", "loc", "LOC", "image", "IMAGE", "title", "Title").Replace(body)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, _, err := read(tt.body)
			if err != nil || len(entries) != 1 || entries[0].URL != "https://a.example/%C3%A9" || len(entries[0].Images) != 1 || entries[0].Images[0].Title != "é€" {
				t.Errorf("got %+v, error %v", entries, err)
			}
		})
	}
}

// Wherever the buffer ends within a document, it is read alike.
func TestBufferEnds(t *testing.T) {
	body := `<url a="x>y"><!-- > --><loc>/1?a=1&amp;b=<![CDATA[2>&]]>]></loc><?p ?><image:image><image:loc>/i</image:loc></image:image></url><url><loc>/2</loc></url>`
	want, _, err := read(set(body))
	if err != nil || len(want) != 2 {
		t.Fatalf("%+v, %v", want, err)
	}
	const buffer = 32 << 10
	for shift := range len(body) + 100 {
		padded := "<urlset>" + strings.Repeat(" ", buffer-shift) + body + "</urlset>"
		got, _, err := read(padded)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("with %d bytes in the first buffer: %+v, %v", shift, got, err)
		}
	}
}

// Parse reads no more than its caller takes, and may be left at any time.
func TestStop(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("<urlset>"), &repeat{unit: "<url><loc>/1</loc></url>"})
	n := 0
	for _, err := range sitemap.Parse(endless, base) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	text := &repeat{unit: "https://a.example/\nx\n"}
	for _, err := range sitemap.Parse(text, base) {
		if err != nil {
			break
		}
	}
	missing := "<urlset><url><loc>/1</loc><url><loc>/2</loc>"
	for range sitemap.Parse(strings.NewReader(missing), base) {
		break
	}
}

// repeat yields the same over and over again.
type repeat struct {
	unit string
	at   int
	read int64
}

func (r *repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.unit[r.at:])
		r.at = (r.at + c) % len(r.unit)
		n += c
	}
	r.read += int64(n)
	return n, nil
}

func TestNoBase(t *testing.T) {
	var got []string
	for entry, err := range sitemap.Parse(strings.NewReader(set("<url><loc>/1</loc></url><url><loc>https://info@a.example/2</loc></url>")), "") {
		got = append(got, fmt.Sprint(entry.URL, err != nil))
	}
	if want := []string{"true", "https://a.example/2false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A text has comments and line ends of all kinds, and none of its marks is a URL.
func TestTextLines(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"LF", "https://a.example/1\nhttps://a.example/2\n", "https://a.example/1 https://a.example/2"},
		{"CR LF", "https://a.example/1\r\nhttps://a.example/2\r\n", "https://a.example/1 https://a.example/2"},
		{"CR alone", "https://a.example/1\rhttps://a.example/2", "https://a.example/1 https://a.example/2"},
		{"comments", "# pages\nhttps://a.example/1\n  # more\nhttps://a.example/2#x", "https://a.example/1 https://a.example/2#x"},
		{"marks", "\n\uFEFF\uFEFF\nhttps://a.example/1", "https://a.example/1"},
		{"Latin-1", "https://a.example/caf\xe9\rhttps://a.example/\xc3\xa9", "https://a.example/caf%C3%A9 https://a.example/%C3%A9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entries, bad, err := read(tt.body)
			var got []string
			for _, e := range entries {
				got = append(got, e.URL)
			}
			if strings.Join(got, " ") != tt.want || len(bad) > 0 || err != nil {
				t.Errorf("got %q, bad %v, error %v", got, bad, err)
			}
		})
	}
}
