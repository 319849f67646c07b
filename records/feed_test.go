package records_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/records"
)

const rss = `<?xml version="1.0"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:atom="http://www.w3.org/2005/Atom">
<channel><title>News &amp; more</title><link>/</link><description>About</description><ttl>60</ttl><language>en</language>
<atom:link rel="self" href="/feed.xml"/>
<item><title>One</title><link>/1</link><guid isPermaLink="false">id-1</guid><pubDate>Mon, 02 Jan 2006 15:04:05 +0100</pubDate>
<description>&lt;p&gt;Short&lt;/p&gt;</description><content:encoded><![CDATA[<p>Long</p>]]></content:encoded><dc:creator>Ann</dc:creator>
<category>a</category><category>b</category><enclosure url="/1.mp3" length="123" type="audio/mpeg"/><comments>/1#c</comments></item>
<item><title>Two</title><guid>http://a.test/2</guid><author>bob@a.test (Bob)</author>
<item><title>Three</title><link>http://a.test/3</link></item>
</channel></rss>`

const rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="/"><title>Old</title><link>http://a.test/</link><items><rdf:Seq/></items></channel>
<item rdf:about="/1"><title>One</title><link>http://a.test/1</link><dc:date>2006-01-02T15:04:05Z</dc:date><dc:subject>s</dc:subject></item></rdf:RDF>`

const atom = `<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de" xml:base="/blog/"><title type="html">&lt;b&gt;Blog&lt;/b&gt;</title><subtitle>Sub</subtitle>
<link href="."/><link rel="self" href="feed.atom"/><updated>2006-01-02T15:04:05Z</updated><author><name>Ann</name><uri>/ann</uri></author><icon>i.png</icon>
<entry><id>urn:1</id><title>One</title><link rel="replies" href="1#c"/><link href="1"/><updated>2006-01-03T00:00:00Z</updated>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>x<br/></p></div></content><category term="t" label="Topic"/><author><name>Bob</name><email>b@a.test</email></author></entry>
<title>After</title></feed>`

const jsonFeed = `{"version": "https://jsonfeed.org/version/1.1", "title": "News", "home_page_url": "/", "feed_url": "/feed.json",
"items": [{"id": 1, "url": "/1", "title": "One", "content_html": "<p>x</p>", "date_published": "2006-01-02T15:04:05Z", "tags": ["a"],
"attachments": [{"url": "/1.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 5}]}, 7, {"id": "2", "external_url": "http://b.test/"}], "authors": [{"name": "Ann", "url": "/ann"}]}`

// feedText reads a feed, as text.
func feedText(t testing.TB, body string, options ...records.Option) string {
	t.Helper()
	feed, entries := records.ReadFeed(strings.NewReader(body), records.Source{URL: "http://a.test/f"}, options...)
	var b strings.Builder
	for e, err := range entries {
		if err != nil {
			b.WriteString(strings.TrimPrefix(err.Error(), "records: http://a.test/f: ") + "\n")
			continue
		}
		if e.Feed != feed || e.Key() == "" {
			t.Errorf("entry %v", e)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(text)) + "\n")
	}
	text, err := json.Marshal(feed)
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text)) + "\n"
}

func TestFeeds(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"RSS", rss, `{"id":"id-1","url":"http://a.test/1","title":"One","summary":"<p>Short</p>","content":"<p>Long</p>","base":"http://a.test/f","comments":"http://a.test/1#c","published":"2006-01-02T15:04:05+01:00","authors":[{"name":"Ann"}],"categories":["a","b"],"enclosures":[{"url":"http://a.test/1.mp3","type":"audio/mpeg","length":123}]}
{"id":"http://a.test/2","url":"http://a.test/2","title":"Two","base":"http://a.test/f","authors":[{"name":"Bob","email":"bob@a.test"}]}
{"url":"http://a.test/3","title":"Three","base":"http://a.test/f"}
{"kind":"rss","version":"2.0","title":"News & more","description":"About","url":"http://a.test/","feed_url":"http://a.test/feed.xml","language":"en","ttl":3600000000000}
`},
		{"RSS 1.0", rdf, `{"url":"http://a.test/1","title":"One","base":"http://a.test/f","published":"2006-01-02T15:04:05Z","updated":"2006-01-02T15:04:05Z","categories":["s"]}
{"kind":"rss","version":"1.0","title":"Old","url":"http://a.test/"}
`},
		{"Atom", atom, `{"id":"urn:1","url":"http://a.test/blog/1","title":"One","content":"<p>x<br/></p>","base":"http://a.test/blog/","comments":"http://a.test/blog/1#c","published":"2006-01-03T00:00:00Z","updated":"2006-01-03T00:00:00Z","authors":[{"name":"Bob","email":"b@a.test"}],"categories":["Topic"]}
{"kind":"atom","version":"1.0","title":"<b>Blog</b>","description":"Sub","url":"http://a.test/blog/","feed_url":"http://a.test/blog/feed.atom","language":"de","image":"http://a.test/blog/i.png","updated":"2006-01-02T15:04:05Z","authors":[{"name":"Ann","url":"http://a.test/ann"}]}
`},
		{"JSON", jsonFeed, `{"id":"1","url":"http://a.test/1","title":"One","content":"<p>x</p>","base":"http://a.test/f","published":"2006-01-02T15:04:05Z","categories":["a"],"enclosures":[{"url":"http://a.test/1.mp3","type":"audio/mpeg","length":5}]}
record 2, line 3, byte 331: it is no object
{"id":"2","url":"http://b.test/","base":"http://a.test/f"}
{"kind":"json","version":"1.1","title":"News","url":"http://a.test/","feed_url":"http://a.test/feed.json","authors":[{"name":"Ann","url":"http://a.test/ann"}]}
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := feedText(t, tt.body); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// What a document has that Entry has no field for is found by queries.
func TestFeedRaw(t *testing.T) {
	_, entries := records.ReadFeed(strings.NewReader(strings.Replace(rss, "<title>One", `<p:x xmlns:p="u">7</p:x><title>One`, 1)), page)
	for e, err := range entries {
		if err != nil || e.XML().XPath("p:x").Text() != "7" || e.JSON() != nil || e.Feed.XML().CSS("title").Text() != "News & more" {
			t.Errorf("entry %v, error %v", e, err)
		}
		break
	}
	_, entries = records.ReadFeed(strings.NewReader(jsonFeed), page)
	for e, err := range entries {
		if err != nil || !json.Valid(e.JSON()) || e.XML().Len() != 0 {
			t.Errorf("entry %v, error %v", e, err)
		}
		break
	}
}

func TestFeedErrors(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"nothing", "", "line 1, byte 0: the document is empty\n"},
		{"a page", "<!DOCTYPE html><html><body>", "line 1, byte 27: <html> is the root of no feed\n"},
		{"text", "News", "line 1, byte 0: it is no feed: neither XML nor a JSON object\n"},
		{"another object", `{"a": 1}`, "line 1, byte 8: it is no feed: the JSON object has neither version nor items\n"},
		{"breaks off", "<rss><channel><title>x</title><item><title>1</title>", "line 1, byte 52: the document breaks off in the element item that begins in line 1\n"},
		{"entities", `<!DOCTYPE rss [<!ENTITY a "b">]><rss/>`, "line 1, byte 30: the document type declares entities\n"},
		{"bytes", "<rss><item><title>\xff</title></item></rss>", "record 1, line 1, byte 5: it is not valid UTF-8: its encoding is not the declared one, or not declared\n"},
		{"a large entry", "<rss><item>" + strings.Repeat("x", 3000) + "</item></rss>", "record 1, line 1, byte 5: more than 1000 bytes in a record\n"},
		{"a large feed", "<rss>" + strings.Repeat("<item/>", 3000), "line 1, byte 4000: more than 4000 bytes\n"},
		{"a deep entry", "<rss><item>" + strings.Repeat("<a>", 500) + "</item></rss>", "more than 1000 bytes in a record\n"},
		{"no feed in deep brackets", strings.Repeat(`{"a":`, 10_000), "more than 4000 bytes\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := feedText(t, tt.body, records.MaxRecord(1000), records.MaxBytes(4000))
			if !strings.Contains(got, tt.want) {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// A date that cannot be read stands in UnreadDate, in each of the formats; one that is missing, or found elsewhere in the entry, does not.
func TestUnreadDates(t *testing.T) {
	for _, tt := range []struct{ name, body, feed, published, unread string }{
		{"RSS", `<rss><channel><lastBuildDate>today</lastBuildDate><item><pubDate>soon</pubDate></item></channel></rss>`, "today", "0001", "soon"},
		{"RSS, another date", `<rss><channel><item><pubDate>soon</pubDate><date xmlns="http://purl.org/dc/elements/1.1/">2017-07-18</date></item></channel></rss>`, "", "2017", "soon"},
		{"RSS, an empty date", `<rss><channel><item><pubDate> </pubDate></item></channel></rss>`, "", "0001", ""},
		{"RSS, dc", `<rss><channel><item><date xmlns="http://purl.org/dc/elements/1.1/">soon</date></item></channel></rss>`, "", "0001", "soon"},
		{"RSS, a comment", `<rss><channel><item><pubDate>Tue, 18 Jul 2017 05:06:07 -0700 (MST)</pubDate></item></channel></rss>`, "", "2017", ""},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"><updated>today</updated><entry><updated>2017-07-18 05:06:07 UTC</updated><published>soon</published></entry></feed>`, "today", "2017", "soon"},
		{"JSON", `{"version": "https://jsonfeed.org/version/1.1", "items": [{"date_published": "soon", "date_modified": "18-Jul-2017"}]}`, "", "0001", "soon"},
		{"JSON, seconds", `{"version": "https://jsonfeed.org/version/1.1", "items": [{"date_published": 1500354367}]}`, "", "2017", ""},
	} {
		feed, entries := records.ReadFeed(strings.NewReader(tt.body), page)
		read := 0
		for e, err := range entries {
			if read++; err != nil || e.Published.Format("2006") != tt.published || e.UnreadDate != tt.unread {
				t.Errorf("%s: %+v, %v", tt.name, e, err)
			}
		}
		if read != 1 || feed.UnreadDate != tt.feed {
			t.Errorf("%s: %d entries, unread of the feed: %q", tt.name, read, feed.UnreadDate)
		}
	}
}

func TestKey(t *testing.T) {
	a, b := records.Entry{Title: "a"}, records.Entry{Title: "b"}
	if a.Key() == b.Key() || a.Key() != (&records.Entry{Title: "a"}).Key() {
		t.Errorf("keys %s and %s", a.Key(), b.Key())
	}
	if got := (&records.Entry{ID: "i", URL: "u"}).Key(); got != "i" {
		t.Errorf("key %s", got)
	}
}

// Whatever the bytes, a feed is read to its end, errors name the page, and no entry is without its Feed.
func FuzzFeed(f *testing.F) {
	for _, s := range []string{rss, rdf, atom, jsonFeed, "<rss><item><item>", "{\"items\":[", "<feed><entry><content type='image/png'>AAAA</content></entry></feed>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		deep.Growth(t, deep.Stretched([]byte(body)), func(body []byte) {
			_, entries := records.ReadFeed(bytes.NewReader(body), page)
			for range entries {
			}
		})
		feed, entries := records.ReadFeed(iotest.HalfReader(strings.NewReader(body)), page, records.MaxRecord(1<<16))
		var all []string
		ended := false
		for e, err := range entries {
			var named *records.Error
			switch {
			case ended:
				t.Fatal("the iteration goes on after its last error")
			case err != nil && (!errors.As(err, &named) || named.URL != page.URL || e != nil):
				t.Fatalf("entry %v, error %v", e, err)
			case err != nil:
				ended = named.Last()
				all = append(all, err.Error())
			case e.Feed != feed || feed.Kind == "":
				t.Fatalf("entry %v of feed %v", e, feed)
			default:
				all = append(all, fmt.Sprint(e.ID, e.URL, e.Title, e.Summary, e.Content, e.Published.Format(time.RFC3339), e.Authors))
			}
		}
		again := 0 // in other pieces, it is the same
		_, entries = records.ReadFeed(strings.NewReader(body), page, records.MaxRecord(1<<16))
		for range entries {
			again++
		}
		if again != len(all) {
			t.Errorf("%d records, and %d when the pieces are larger", len(all), again)
		}
	})
}

// Entries with many bases around them have the innermost one, which depends on all others.
func TestFeedBases(t *testing.T) {
	const levels, entries = 300, 100
	text := `<feed xmlns="http://www.w3.org/2005/Atom">` + strings.Repeat(`<x xml:base="a/">`, levels) + strings.Repeat("<entry><link href='b'/></entry>", entries) +
		"</x><entry><link href='b'/></entry><x xml:base='c/'><entry><link href='b'/></entry>"
	deep := "http://a.test/" + strings.Repeat("a/", levels-1)
	want := append(slices.Repeat([]string{deep + "a/b"}, entries), deep+"b", deep+"c/b")
	_, all := records.ReadFeed(strings.NewReader(text), records.Source{URL: "http://a.test/"})
	var got []string
	for entry, err := range all {
		if err == nil { // the last one says that the document breaks off
			got = append(got, entry.URL)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d entries: %q", len(got), got[max(len(got)-2, 0):])
	}
}
