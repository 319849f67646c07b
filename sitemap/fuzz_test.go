package sitemap_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/sitemap"
)

// FuzzParse: whatever comes in, the entries are within the limits and have absolute URLs, errors come last, and
// neither how the input is handed over nor what else could be read changes anything.
func FuzzParse(f *testing.F) {
	f.Add([]byte(set("<url><loc>/1</loc><lastmod>2024-05-06</lastmod><image:image><image:loc>/i</image:loc></image:image></url>")))
	f.Add([]byte("<sitemapindex><sitemap><loc>/1.xml</loc></sitemap></sitemapindex>"))
	f.Add([]byte("<rss><channel><item><link>/1</link><pubDate>Thu, 05 Jan 2017 13:34:51 +0100</pubDate></item></channel></rss>"))
	f.Add([]byte("<feed><entry><link href='/1'/></entry></feed>"))
	f.Add([]byte("https://a.example/1\nhttps://a.example/2\n"))
	f.Add(packed([]byte("<urlset/>")))
	f.Fuzz(func(t *testing.T, body []byte) {
		deep.Growth(t, deep.Stretched(body), func(body []byte) {
			for range sitemap.Parse(bytes.NewReader(body), "https://a.example/") {
			}
		})
		const maxURLs, maxBytes = 20, 1 << 16
		limits := []sitemap.Option{sitemap.MaxURLs(maxURLs), sitemap.MaxBytes(maxBytes)}
		entries, _, err := readFrom(bytes.NewReader(body), limits...)
		if len(entries) > maxURLs {
			t.Errorf("%d entries", len(entries))
		}
		for _, e := range entries {
			if urlx.Scheme(e.URL) == "" || e.Priority < 0 || e.Priority > 1 {
				t.Errorf("%+v", e)
			}
		}
		again, _, errAgain := readFrom(iotest.HalfReader(bytes.NewReader(body)), limits...)
		if !reflect.DeepEqual(again, entries) || (errAgain == nil) != (err == nil) {
			t.Errorf("in halves: %+v, %v; at once: %+v, %v", again, errAgain, entries, err)
		}
	})
}

// FuzzWellFormed compares the scanner with encoding/xml on what is well-formed, a URL in the text of loc.
func FuzzWellFormed(f *testing.F) {
	f.Add("<a b='>'/>", "x&amp;y", "<!-- > -->")
	f.Add("<b><c>t</c></b>", "<![CDATA[a&b]]>z", "<?p ?>")
	f.Add("", "&#65;&#x42;&#0000000000000067;", "")
	f.Fuzz(func(t *testing.T, before, text, after string) {
		body := "<urlset><url><other>" + before + "</other><loc>http://a.example/x" + text + "</loc><other>" + after + "</other></url></urlset>"
		loc, ok := onlyLoc(body)
		if !ok {
			return
		}
		expected, err := urlx.Parse(strings.TrimSpace(loc))
		if err != nil {
			return
		}
		entries, _, err := read(body)
		if err != nil || len(entries) != 1 || entries[0].URL != expected {
			t.Errorf("%q: got %q, %v, want %q", body, urls(entries), err, expected)
		}
	})
}

// onlyLoc is the text of the only loc of the only url of a document, by encoding/xml. What encoding/xml reads though
// it is not well-formed (a declaration in an element, a name with two prefixes, half a surrogate pair), or reads
// differently (CR as LF), is left out; so are the two rules of ours that are not XML's: an entry begins at any depth,
// and text of an entry may be its URL.
func onlyLoc(body string) (loc string, ok bool) {
	if strings.Contains(body, "\r") || len(body) > 32<<10 { // half of what a tag or a text may have
		return "", false
	}
	var open []string
	entries, locs := 0, 0
	for d := xml.NewDecoder(strings.NewReader(body)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			sound := strings.HasPrefix(loc, "http://a.example/") && !strings.ContainsRune(loc, utf8.RuneError)
			return loc, sound && entries == 1 && locs == 1
		}
		if err != nil {
			return "", false
		}
		switch token := token.(type) {
		case xml.Directive:
			return "", false
		case xml.StartElement:
			name := token.Name.Local
			switch open = append(open, name); {
			case strings.Contains(name, ":") || len(open) > 200:
				return "", false
			case name == "url" || name == "sitemap":
				entries++
			case name == "loc" && len(open) == 3:
				locs++
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			switch {
			case len(open) >= 3 && open[2] == "loc":
				loc += string(token)
			case len(open) == 2 && len(bytes.TrimSpace(token)) > 0:
				return "", false
			}
		}
	}
}

// FuzzParseTime: what is a date to time.Parse is the same date to us.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2024", "2024-05-06T07:08:09.5+02:00", "Thu, 05 Jan 2017 13:34:51 EST", "2024-05-06 07:08", "1 J"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		deep.Growth(t, deep.Stretched([]byte(s)), func(s []byte) { _, _ = sitemap.ParseTime(string(s)) })
		got, err := sitemap.ParseTime(s)
		want, wantErr := time.Parse(time.RFC3339Nano, s)
		if wantErr == nil && (err != nil || !got.Equal(want)) {
			t.Errorf("ParseTime(%q) = %v, %v, want %v", s, got, err, want)
		}
	})
}
