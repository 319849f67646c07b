package robots_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/robots"
)

// googleDeviations are the cases of Google's parser that Agent answers otherwise, each with the reason.
// The list may only get shorter. GoogleAgent answers all.
var googleDeviations = []struct{ robotsEnd, agent, url, reason string }{
	{"Allow: /foo/bar/ツ\n", "FooBot", "http://foo.bar/foo/bar/ツ",
		"Google wants its caller to encode URLs; RFC 9309 §2.2.2 has both sides encoded"},
	{"Allow: /foo/bar/%E3%83%84\n", "FooBot", "http://foo.bar/foo/bar/ツ",
		"Google wants its caller to encode URLs; RFC 9309 §2.2.2 has both sides encoded"},
	{"Allow: /foo/bar/%62%61%7A\n", "FooBot", "http://foo.bar/foo/bar/baz",
		"RFC 9309 §2.2.2, last row of its table: needless escapes are decoded"},
	{"User-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n", "Foo Bar", "http://foo.bar/x/y",
		"Google wants bare product tokens, which this is not; we take whole User-Agent headers and what they start with"},
}

func TestGoogleCases(t *testing.T) {
	var cases []struct {
		Test, Robots, Agent, URL string
		Allowed                  bool
	}
	if err := json.Unmarshal(conformance.Read(t, "google-robots-cases.json"), &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 142 {
		t.Errorf("%d cases, want 142", len(cases))
	}
	passed, seen := 0, 0
	for _, c := range cases {
		rules := robots.Parse([]byte(c.Robots))
		if got := rules.GoogleAgent(c.Agent).Allowed(c.URL); got != c.Allowed {
			t.Errorf("%s: %q as %q: Allowed(%q) = %v to Google, want %v", c.Test, c.Robots, c.Agent, c.URL, got, c.Allowed)
		}
		got := rules.Agent(c.Agent).Allowed(c.URL)
		reason := ""
		for _, d := range googleDeviations {
			if strings.HasSuffix(c.Robots, d.robotsEnd) && c.Agent == d.agent && c.URL == d.url {
				reason = d.reason
			}
		}
		switch {
		case got == c.Allowed && reason != "":
			t.Errorf("%s: %q as %q: Allowed(%q) holds now; take it off the list of deviations", c.Test, c.Robots, c.Agent, c.URL)
		case got == c.Allowed:
			passed++
		case reason != "":
			seen++
			t.Logf("deviation: %s: %q as %q: Allowed(%q) = %v: %s", c.Test, c.Robots, c.Agent, c.URL, got, reason)
		default:
			t.Errorf("%s: %q as %q: Allowed(%q) = %v, want %v", c.Test, c.Robots, c.Agent, c.URL, got, c.Allowed)
		}
	}
	if seen != len(googleDeviations) {
		t.Errorf("%d of the %d accepted deviations occurred", seen, len(googleDeviations))
	}
	t.Logf("all %d cases hold with GoogleAgent, %d of them with Agent, %d accepted deviations", len(cases), passed, seen)
}

// fileCase is what we expect of a file of crawler-commons.
type fileCase struct {
	agent           string
	allowed, denied []string
	delay, rate     time.Duration
	sitemaps        []string
}

var newsweek = []fileCase{
	{agent: "foobot", allowed: []string{"/", "/a/output/"}, denied: []string{"/profile", "/a/output/print"}, sitemaps: []string{"http://www.newsweek.com/sitemap_index.xml"}},
	{agent: "Googlebot", allowed: []string{"/"}, denied: []string{"/profile", "/search.aspx?q=1"}},
}

var crawlerCommons = map[string][]fileCase{
	"astore.amazon.com-robots.txt": {{agent: "foobot", allowed: []string{"/"}, delay: 5 * time.Second, rate: 5 * time.Second}},
	"crawl-delay-group-merging.txt": {
		// The file's remark that the second group of yourbot is mybot's too is wrong: the rule of
		// the group before it ends their common run.
		{agent: "mybot", allowed: []string{"/", "/login/"}, denied: []string{"/private/"}, delay: 10 * time.Second},
		{agent: "yourbot", allowed: []string{"/"}, denied: []string{"/private/", "/login/"}},
		{agent: "otherbot", allowed: []string{"/", "/private/", "/login/"}, delay: 30 * time.Second},
	},
	"directive-typos-robots.txt": {
		{agent: "bot1", allowed: []string{"/useragent/"}, denied: []string{"/desallow/", "/dissalow/"}},
		{agent: "bot2", allowed: []string{"/desallow/"}, denied: []string{"/useragent/"}},
		{agent: "bot3", allowed: []string{"/useragent/"}, denied: []string{"/useg-agent/"}},
		{agent: "bot4", allowed: []string{"/useg-agent/"}, denied: []string{"/useragent-no-colon/"}},
	},
	"dos-line-endings.txt": {{agent: "bot1", allowed: []string{"/"}, delay: time.Second}},
	"extended-standard-robots.txt": {
		{agent: "bot1", allowed: []string{"/"}, rate: 2 * time.Second},
		{agent: "bot2", allowed: []string{"/"}, rate: 15 * time.Second},
		{agent: "bot3", allowed: []string{"/"}, rate: 12 * time.Second},
		{agent: "bot4", allowed: []string{"/"}, rate: time.Second / 8},
		{agent: "foobot", allowed: []string{"/"}},
	},
	"extension-robots.txt": {
		{agent: "foobot", allowed: []string{"/private/", "/admin/"}, sitemaps: []string{"/sitemap.xml"}},
		{agent: "mybot", allowed: []string{"/secret/", "/admin/"}, denied: []string{"/private/"}, rate: 6 * time.Second},
		{agent: "otherbot", allowed: []string{"/private/"}, denied: []string{"/admin/"}, rate: 12 * time.Second},
	},
	"extensions-group-merging.txt": {
		{agent: "mybot", allowed: []string{"/"}, denied: []string{"/private/", "/login/"}, rate: 6 * time.Second},
		{agent: "yourbot", allowed: []string{"/"}, denied: []string{"/private/", "/login/"}},
		{agent: "foobot", allowed: []string{"/llms.txt"}, denied: []string{"/"}, rate: 2 * time.Second},
	},
	"format-errors-robots.txt": {
		{agent: "bot1", allowed: []string{"/"}, denied: []string{"/whitespace-before-colon/", "/no-colon/"}, sitemaps: []string{"/sitemap.xml"}},
		{agent: "bot2", allowed: []string{"/no-colon/"}, denied: []string{"/no-colon-useragent/"}},
		{agent: "bot3", allowed: []string{"/whitespace-before-colon/"}, denied: []string{"/"}},
	},
	"malformed-path.txt": {{agent: "bot1", allowed: []string{"/wiki/"}, denied: []string{"/wiki/Wikipedia_talk:Mediation_Committee/", "/wiki/Wikipedia_talk%3Mediation_Committee/"}}},
	"many-user-agents.txt": {
		{agent: "wget", denied: []string{"/"}},
		{agent: "Wget/1.8.2", denied: []string{"/"}},
		{agent: "GetRight/4.2b", denied: []string{"/"}},
		{agent: "mysuperlongbotnamethatmatchesnothing", allowed: []string{"/"}, denied: []string{"/bot-trap/", "/lang/zh-CN/icons/x.png"}},
	},
	"merge-rules.txt": {
		{agent: "testy", denied: []string{"/"}},
		{agent: "curl", denied: []string{"/foo/bar"}},
		{agent: "wget", allowed: []string{"/", "/foo/bar", "/foo/bar/x", "/ckh/bar"}, denied: []string{"/tmp/bar"}},
		{agent: "mybot", allowed: []string{"/", "/ckh/bar"}, denied: []string{"/foo/bar", "/tmp/bar/x"}},
	},
	"precedence-of-rules.txt": {
		{agent: "testy", allowed: []string{"/", "/foo/bar", "/foo/bar/x"}, denied: []string{"/foo", "/foo/", "/foo/baz", "/foobar"}},
		{agent: "wget", allowed: []string{"/foo", "/index.html", "/foo/b"}, denied: []string{"/tmp", "/bar"}},
		{agent: "mybot", allowed: []string{"/foo/baz"}},
	},
	"relative-sitemap-robots.txt": {{agent: "bot1", allowed: []string{"/"}, denied: []string{"/cache/x", "/files/"}, sitemaps: []string{"/sitemap.xml"}}},
	"rfc9309-example-longest-match-robots.txt": {{agent: "foobot",
		allowed: []string{"/example/page/", "/example/page/allowed.gif"}, denied: []string{"/example/page/disallowed.gif"}}},
	"rfc9309-example-rule-group-merging.txt": {
		{agent: "ExampleBot", allowed: []string{"/", "/ba"}, denied: []string{"/foo", "/bar", "/baz"}},
		{agent: "BazBot", allowed: []string{"/foo", "/bar"}, denied: []string{"/baz"}},
		{agent: "otherbot", allowed: []string{"/baz"}, denied: []string{"/foo", "/bar"}},
	},
	"rfc9309-example-simple-robots.txt": {
		{agent: "anybot", allowed: []string{"/", "/publications/", "/a.gif?x"}, denied: []string{"/a.gif", "/example/", "/x/y.gif"}},
		{agent: "foobot", allowed: []string{"/example/page.html", "/example/allowed.gif"}, denied: []string{"/", "/example/", "/publications/"}},
		{agent: "barbot", allowed: []string{"/", "/a.gif"}, denied: []string{"/example/page.html"}},
		{agent: "bazbot", allowed: []string{"/", "/a.gif"}, denied: []string{"/example/page.html"}},
		{agent: "quxbot", allowed: []string{"/", "/a.gif", "/example/page.html"}},
	},
	"robots-with-utf16be-bom.txt": newsweek,
	"robots-with-utf16le-bom.txt": newsweek,
	"robots-with-utf8-bom.txt":    newsweek,
	"sitemap-robots-dedup.txt":    {{agent: "bot1", allowed: []string{"/"}, sitemaps: []string{"http://example.org/sitemap.xml"}}},
	"sitemap-robots.txt": {{agent: "bot1", allowed: []string{"/"}, sitemaps: []string{
		"http://domain.com/sitemap.xml", "http://domain.com/dir/my-sitemap.xml", "http://domain.com/dir/MixedCased-sitemap.xml"}}},
	"twitter.com-robots.txt": {
		{agent: "Googlebot", allowed: []string{"/", "/user"}, denied: []string{"/user?x=1", "/user/with_friends"}},
		{agent: "Slurp", allowed: []string{"/"}, denied: []string{"/?x"}, delay: time.Second},
		{agent: "msnbot", allowed: []string{"/"}, denied: []string{"/?x"}, delay: 10 * time.Second},
		{agent: "foobot", allowed: []string{"/"}, denied: []string{"/?x", "/a/b/with_friends"}},
	},
	"wildcards.txt": {
		{agent: "Any-darn-crawler", allowed: []string{"/wishlist/universal/page", "/gp/registry/"},
			denied: []string{"/wishlist/bogus", "/anydirectoryhere/gcrnsts", "/gp/registry/wishlist/a/b/reserve"},
			sitemaps: []string{
				"http://www.amazon.com/sitemap-manual-index.xml", "http://www.amazon.com/sitemap_vendor_videos_us.xml",
				"http://www.amazon.com/sitemap_vod_index.xml", "http://www.amazon.com/sitemaps.f3053414d236e84.SitemapIndex_0.xml.gz",
				"http://www.amazon.com/sitemaps.1946f6b8171de60.SitemapIndex_0.xml.gz", "http://www.amazon.com/sitemaps.bbb7d657c7e29fa.SitemapIndex_0.xml.gz",
				"http://www.amazon.com/sitemaps.11aafed315ee654.SitemapIndex_0.xml.gz", "http://www.amazon.com/sitemaps.c21f969b5f03d33.SitemapIndex_0.xml.gz",
			}},
		{agent: "Googlebot", allowed: []string{"/gp/wishlist/ipad-install"}, denied: []string{"/rss/people/x/reviews", "/gp/wishlist/x"}},
	},
	"www.flot.com-robots.txt": {{agent: "foobot", allowed: []string{"/"}, denied: []string{"/img/"}, sitemaps: []string{"http://flot.com/sitemap_index.xml"}}},
}

func TestCrawlerCommonsFiles(t *testing.T) {
	files, err := os.ReadDir(conformance.Path(t, "crawler-commons", "robots"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(crawlerCommons) {
		t.Errorf("%d files, but expectations for %d", len(files), len(crawlerCommons))
	}
	for _, file := range files {
		t.Run(file.Name(), func(t *testing.T) {
			cases := crawlerCommons[file.Name()]
			if len(cases) == 0 {
				t.Fatal("nothing is expected of this file")
			}
			rules := robots.Parse(conformance.Read(t, filepath.Join("crawler-commons", "robots", file.Name())))
			if got := rules.Sitemaps(); !slices.Equal(got, cases[0].sitemaps) {
				t.Errorf("Sitemaps() = %q, want %q", got, cases[0].sitemaps)
			}
			for _, c := range cases {
				checkFileCase(t, rules.Agent(c.agent), c)
			}
		})
	}
}

func checkFileCase(t *testing.T, g *robots.Group, c fileCase) {
	t.Helper()
	for _, target := range c.allowed {
		if !g.Allowed(target) {
			t.Errorf("as %s: %s is not allowed", c.agent, target)
		}
	}
	for _, target := range c.denied {
		if g.Allowed(target) {
			t.Errorf("as %s: %s is allowed", c.agent, target)
		}
	}
	if d, ok := g.CrawlDelay(); d != c.delay || ok != (c.delay != 0) {
		t.Errorf("as %s: CrawlDelay() = %v, %v, want %v", c.agent, d, ok, c.delay)
	}
	if d, ok := g.RequestRate(); d != c.rate || ok != (c.rate != 0) {
		t.Errorf("as %s: RequestRate() = %v, %v, want %v", c.agent, d, ok, c.rate)
	}
}
