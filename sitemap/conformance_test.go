package sitemap_test

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/sitemap"
)

// commonsFile is what we expect of a file of crawler-commons.
type commonsFile struct {
	urls  []string
	count int                                    // of entries, if not all are listed
	check func(t *testing.T, es []sitemap.Entry) // more than the URLs
}

var catalog = []string{
	"http://www.example.com/", "http://www.example.com/catalog?item=12&desc=vacation_hawaii",
	"http://www.example.com/catalog?item=73&desc=vacation_new_zealand", "http://www.example.com/catalog?item=74&desc=vacation_newfoundland",
	"http://www.example.com/catalog?item=83&desc=vacation_usa",
}

func lastMods(want ...string) func(*testing.T, []sitemap.Entry) {
	return func(t *testing.T, es []sitemap.Entry) {
		for i, e := range es {
			got := ""
			if !e.LastMod.IsZero() {
				got = e.LastMod.UTC().Format(time.RFC3339)
			}
			if got != want[i] {
				t.Errorf("entry %d: LastMod is %q, want %q", i, got, want[i])
			}
		}
	}
}

// crawlerCommons has the files of crawler-commons. What its parser finds there and ours does not, on purpose:
// PageMaps, the mark of mobile pages, and of videos segments, galleries, prices and TV shows. All of these were
// given up by the search engine that had introduced them. Of an RSS item without a usable date we tell no date.
var crawlerCommons = map[string]commonsFile{
	"sitemaps/atom.xml":             {urls: []string{"http://example.org/2003/12/13/atom03"}, check: lastMods("2003-12-13T18:30:02Z")},
	"sitemaps/sitemap.ns.xml":       {urls: []string{"http://www.example.com/1", "http://www.example.com/2"}},
	"sitemaps/sitemap.badns.xml":    {urls: []string{"http://www.example.com/1", "http://www.example.com/2"}, check: frequencies},
	"sitemaps/sitemap-with-bom.txt": {urls: []string{"http://www.domain.com/page1.html", "http://www.domain.com/page2.html"}},
	"sitemaps/sitemap.txt":          {urls: []string{"http://www.domain.com/page1.html", "http://www.domain.com/page2.html"}},
	"sitemaps/do-not-visit.txt":     {urls: []string{"http://www.example.com/do-not-visit-here"}},
	"sitemaps/xmlSitemap.gz":        {urls: catalog, check: lastMods("2005-01-01T00:00:00Z", "", "2004-12-23T00:00:00Z", "2004-12-23T18:00:15Z", "2004-11-23T00:00:00Z")},
	"sitemaps/sitemap.txt.gz":       {urls: catalog},
	"sitemaps/sitemap.index.xml": {count: 15, check: func(t *testing.T, es []sitemap.Entry) {
		if e := es[14]; !e.Sitemap || e.URL != "https://example.com/sitemap.jss?portalCode=10570&lang=en" {
			t.Errorf("the last sitemap is %+v", e)
		}
	}},
	"sitemaps/extension/sitemap-mobile.xml": {urls: []string{"http://www.example.com/mobile-friendly-1/", "http://www.example.com/mobile-friendly-2/", "http://www.example.com/no-mobile/"}},
	"sitemaps/extension/sitemap-news.xml": {urls: []string{"http://www.example.org/business/article55.html", "http://www.example.org/empty_news_name.html"}, check: func(t *testing.T, es []sitemap.Entry) {
		n := es[0].News
		if n == nil || n.Publication != "The Example Times" || n.Lang != "en" || n.Title != "Companies A, B in Merger Talks" || n.Access != "Subscription" ||
			!slices.Equal(n.Genres, []string{"PressRelease", "Blog"}) || !slices.Equal(n.Keywords, []string{"business", "merger", "acquisition", "A", "B"}) ||
			!slices.Equal(n.Tickers, []string{"NASDAQ:A", "NASDAQ:B"}) || n.Published.Format(time.DateOnly) != "2008-12-23" {
			t.Errorf("news: %+v", n)
		}
		if n := es[1].News; n == nil || n.Publication != "" || n.Title != "Test empty news attributes" {
			t.Errorf("news: %+v", n)
		}
	}},
	"sitemaps/extension/sitemap-videos-tvshow.xml": {urls: []string{"https://example.org/my-tv-show/23/13/"}, check: func(t *testing.T, es []sitemap.Entry) {
		v := es[0].Videos
		if len(v) != 1 || !v[0].Subscription || v[0].Duration != 2459*time.Second || v[0].Thumbnail != "https://example.org/my-tv-show.jpg" || len(v[0].Tags) != 3 {
			t.Errorf("videos: %+v", v)
		}
	}},
	"sitemaps/extension/sitemap-images.xml": {urls: []string{"http://www.example.com/images/some_image_landing_page.html"}, check: func(t *testing.T, es []sitemap.Entry) {
		want := []sitemap.Image{{URL: "http://example.com/image.jpg"}, {URL: "http://example.com/photo.jpg", Caption: "This is the caption.", GeoLocation: "Limerick, Ireland",
			Title: "Example photo shot in Limerick, Ireland", License: "https://creativecommons.org/licenses/by/4.0/legalcode"}}
		if !slices.Equal(es[0].Images, want) {
			t.Errorf("images: %+v", es[0].Images)
		}
	}},
	"sitemaps/extension/pagemaps-sitemap.xml":           {urls: []string{"http://www.example.com/foo", "http://www.example.com/bar"}},
	"sitemaps/extension/shinpaideshou-news-sitemap.xml": {count: 3, check: allNews},
	"sitemaps/extension/sitemap-links.xml":              {urls: []string{"http://www.example.com/english/", "http://www.example.com/deutsch/", "http://www.example.com/schweiz-deutsch/"}, check: threeLanguages},
	"sitemaps/extension/hebdenbridgetimes-articles-sitemap.xml": {count: -1, check: func(t *testing.T, es []sitemap.Entry) {
		images := 0
		for _, e := range es {
			if e.LastMod.IsZero() || e.ChangeFreq != sitemap.Daily {
				t.Errorf("%+v", e)
			}
			images += len(e.Images)
		}
		if v := es[0].Videos; images != 94 || len(v) != 1 || v[0].Title != "VIDEO - Tour de Yorkshire in Calderdale" || !strings.HasSuffix(v[0].Player, "isUI=true&videoID=$VIDEO_ID") {
			t.Errorf("videos: %+v", v)
		}
	}},
	"sitemaps/extension/sitemap-videos.xml": {count: -1, check: func(t *testing.T, es []sitemap.Entry) {
		v := es[0].Videos[0]
		if v.Player != "http://www.example.com/videoplayer.swf?video=123" || v.Views != 12345 || v.Rating != 4.2 || v.Uploader != "GrillyMcGrillerson" ||
			v.UploaderInfo != "http://www.example.com/users/grillymcgrillerson" || !slices.Equal(v.Countries.Names, []string{"IE", "GB", "US", "CA"}) || v.Countries.Deny || v.AdultsOnly || !v.Subscription || v.Live {
			t.Errorf("video: %+v", v)
		}
	}},
	"rss/feed.rss": {urls: []string{"https://www.example.com/blog/post/1", "https://www.example.com/guid.html", "https://www.example.com/foo?q=a&l=en", "https://www.example.com/foo?q=a&l=fr"},
		check: lastMods("2009-09-06T16:20:00Z", "", "", "")},
	"rss/xmlRss_pubDate.xml": {count: 7, check: lastMods("2017-01-05T12:34:51Z", "2017-01-05T12:34:52Z", "2017-01-05T12:34:53Z", "2017-01-05T12:34:54Z", "2017-01-05T13:34:55Z", "", "")},
}

func frequencies(t *testing.T, es []sitemap.Entry) {
	for _, e := range es {
		if e.ChangeFreq != sitemap.Daily {
			t.Errorf("%+v", e)
		}
	}
}

func allNews(t *testing.T, es []sitemap.Entry) {
	for _, e := range es {
		if e.News == nil || e.News.Title == "" || e.News.Published.IsZero() || len(e.News.Keywords) < 4 {
			t.Errorf("%+v", e)
		}
	}
}

func threeLanguages(t *testing.T, es []sitemap.Entry) {
	for _, e := range es {
		if a := e.Alternates; len(a) != 3 || a[1] != (sitemap.Alternate{URL: "http://www.example.com/schweiz-deutsch/", Lang: "de-ch"}) {
			t.Errorf("%+v", e)
		}
	}
}

func TestCrawlerCommonsFiles(t *testing.T) {
	seen := 0
	root := conformance.Path(t, "crawler-commons")
	for _, folder := range []string{"sitemaps", "rss"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			seen++
			t.Run(name, func(t *testing.T) {
				want, known := crawlerCommons[filepath.ToSlash(name)]
				if !known {
					t.Fatal("nothing is expected of this file")
				}
				checkFile(t, conformance.Read(t, "crawler-commons", name), want)
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen != len(crawlerCommons) {
		t.Errorf("%d files, but expectations for %d", seen, len(crawlerCommons))
	}
}

func checkFile(t *testing.T, body []byte, want commonsFile) {
	entries, bad, err := readFrom(bytes.NewReader(body))
	if err != nil || len(bad) > 0 {
		t.Errorf("unusable URLs %q, error %v", bad, err)
	}
	switch got := urls(entries); {
	case want.urls != nil && !slices.Equal(got, want.urls):
		t.Fatalf("URLs:\n got %q\nwant %q", got, want.urls)
	case want.urls == nil && want.count < 0:
		want.count = bytes.Count(body, []byte("</url>")) // of the long ones
		fallthrough
	case want.urls == nil && len(got) != want.count:
		if len(got) != want.count {
			t.Fatalf("%d URLs, want %d", len(got), want.count)
		}
	}
	if want.check != nil {
		want.check(t, entries)
	}
}

// The bomb is refused as what it is, and as what a sitemap would be.
func TestBillionLaughs(t *testing.T) {
	bomb := string(conformance.Read(t, "billion_laughs.xml"))
	for _, body := range []string{bomb, strings.NewReplacer("<lolz>", "<urlset><url><loc>/", "</lolz>", "</loc></url></urlset>").Replace(bomb)} {
		entries, _, err := read(body)
		var refused *sitemap.FormatError
		if !errors.As(err, &refused) || len(entries) > 0 {
			t.Errorf("%d entries, error %v, want a *FormatError", len(entries), err)
		}
	}
}
