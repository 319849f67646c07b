package robots_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/robots"
)

// star makes the robots.txt that gives everybody these rules.
func star(rules ...string) string { return "User-agent: *\n" + strings.Join(rules, "\n") + "\n" }

func TestAllowed(t *testing.T) {
	tests := []struct {
		name            string
		body            string
		allowed, denied []string
	}{
		{"no file", "", []string{"/", "/a", ""}, nil},
		{"no rule", star("Disallow:"), []string{"/", "/a"}, nil},
		{"everything", star("Disallow: /"), []string{"/robots.txt", "http://a.example/robots.txt", "/%72obots.txt"},
			[]string{"/", "", "/a", "/robots.txt2", "/robots.txt?a", "http://a.example", "http://a.example?q", "http://a.example#f"}},

		// RFC 9309 §2.2.2
		{"prefix", star("Disallow: /fish"), []string{"/", "/fis", "/Fish", "/a/fish", "/?id=fish"}, []string{"/fish", "/fish.html", "/fish/a", "/fishheads", "/fish?id=a"}},
		{"longest wins, Disallow first", star("Disallow: /a", "Allow: /a/b"), []string{"/a/b", "/a/bc"}, []string{"/a", "/a/"}},
		{"longest wins, Allow first", star("Allow: /a", "Disallow: /a/b"), []string{"/a", "/a/"}, []string{"/a/b", "/a/bc"}},
		{"Allow wins a tie", star("Disallow: /a", "Allow: /a"), []string{"/a", "/ab"}, nil},
		{"Allow wins a tie of different patterns", star("Disallow: /*b", "Allow: /ab", "Disallow: /a*", "Allow: /c*"), []string{"/ab"}, []string{"/a", "/xb"}},
		{"length counts the special characters", star("Allow: /page", "Disallow: /*.htm"), []string{"/page"}, []string{"/page.htm"}},
		{"a query is part of the target", star("Disallow: /s?q=", "Disallow: /*&page="), []string{"/s", "/s?p=1"}, []string{"/s?q=1", "/t?a=1&page=2"}},
		{"table: plain query", star("Disallow: /foo/bar?baz=quz"), nil, []string{"/foo/bar?baz=quz"}},
		{"table: URL in a query", star("Disallow: /foo/bar?baz=https://foo.bar"), []string{"/foo/bar?baz=https"},
			[]string{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https%3a%2f/foo.bar"}},
		{"table: escaped URL in a query", star("Disallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar"), nil,
			[]string{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"}},
		{"table: raw octets", star("Disallow: /foo/bar/ツ"), nil, []string{"/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"}},
		{"table: escaped octets", star("Disallow: /foo/bar/%E3%83%84"), nil, []string{"/foo/bar/ツ", "/foo/bar/%E3%83%84"}},
		{"table: needless escapes", star("Disallow: /foo/bar/%62%61%7A"), nil, []string{"/foo/bar/baz", "/foo/bar/%62%61%7a", "/foo/bar/b%61z"}},

		// RFC 9309 §2.2.3
		{"end", star("Disallow: /this/path/exactly$"), []string{"/this/path/exactly/", "/this/path/exactly?"}, []string{"/this/path/exactly", "/this/path/exactly#f"}},
		{"wildcard", star("Disallow: /this/*/exactly"), []string{"/this/exactly"}, []string{"/this//exactly", "/this/a/b/exactly/c"}},
		{"escaped star", star("Disallow: /path/file-with-a-%2A.html"), []string{"/path/file-with-a-b.html"}, []string{"/path/file-with-a-*.html", "/path/file-with-a-%2a.html"}},
		{"escaped dollar", star("Disallow: /path/foo-%24"), []string{"/path/foo-"}, []string{"/path/foo-$", "/path/foo-%24", "/path/foo-$bar"}},
		{"dollar inside", star("Disallow: /a$b"), []string{"/a"}, []string{"/a$b", "/a%24bc"}},
		{"star at the start", star("Disallow: *.gif$"), []string{"/a.gif?"}, []string{"/a.gif", "/b/.gif"}},
		{"star at the end", star("Disallow: /fish*"), []string{"/fis"}, []string{"/fish", "/fish/a"}},
		{"only a star", star("Disallow: *"), nil, []string{"/", "/a"}},
		{"star and end", star("Disallow: /a*$"), []string{"/b"}, []string{"/a", "/abc"}},
		{"front page only", star("Allow: /$", "Disallow: /"), []string{"/", ""}, []string{"/a", "/?q"}},
		{"the last piece may come again", star("Disallow: /*ab$", "Disallow: /x*yy$"), []string{"/xy", "/xyyz"}, []string{"/abab", "/ab", "/xyyy", "/xyy"}},
		{"pieces do not overlap", star("Disallow: /*aba*aba$", "Disallow: /b*b$"), []string{"/ababa", "/b"}, []string{"/abaaba", "/bb"}},
		{"many stars", star("Disallow: /**a***b**"), []string{"/ba"}, []string{"/ab", "/xaxbx"}},

		// Percent-encoding and other octets
		{"an escaped slash is no slash", star("Disallow: /a%2fb", "Disallow: /c/d"), []string{"/a/b", "/c%2Fd"}, []string{"/a%2Fb", "/a%2fb/c"}},
		{"tilde", star("Disallow: /%7ejoe/", "Disallow: /~mak/"), nil, []string{"/~joe/a", "/%7Ejoe/", "/%7emak/"}},
		{"spaces", star("Disallow: /a b/"), []string{"/a"}, []string{"/a b/", "/a%20b/"}},
		{"lone percent", star("Disallow: /a%", "Disallow: /b%3x/", "Disallow: /c%4"), []string{"/a"}, []string{"/a%", "/a%zz", "/b%3x/", "/c%4"}},
		{"invalid UTF-8", star("Disallow: /\xff\xc3/"), nil, []string{"/\xff\xc3/", "/%FF%C3/"}},
		{"escapes in the query", star("Disallow: /*q=%5Ba%5D", "Disallow: /p?x[]="), []string{"/p%3Fx[]="}, []string{"/s?q=%5ba%5d", "/p?x%5B%5D=1", "/p?x[]=1"}},
		{"delimiters of the query differ from their escapes", star("Disallow: /s?a%26b", "Disallow: /s?c%3Dd"), []string{"/s?a&b", "/s?c=d"}, []string{"/s?a%26b"}},
		{"star over the query", star("Disallow: *://"), []string{"/a%3A%2F%2F"}, []string{"/a?u=http://x", "/a?u=http%3A%2F%2Fx"}},
		{"the longest of both spellings decides", star("Disallow: /*%2F", "Allow: /s?x=/y", "Disallow: /*/z"), []string{"/s?x=%2Fy", "/s?x=/y"}, []string{"/s?x=%2F", "/t?%2Fz"}},

		// Paths that are none
		{"no slash", star("Disallow: a", "Disallow: $", "Disallow: http://a.example/a", "Disallow: %2Fa"), []string{"/", "/a", "a"}, nil},

		// Targets
		{"absolute URLs", star("Disallow: /a", "Disallow: /?q", "Disallow: //d"),
			[]string{"http://a.example/b", "http://a.example/b#/a", "https://a.example//a", "http://a.example", "/http://a.example/a"},
			[]string{"http://a.example/a", "HTTPS://u:p@a.example:8080/a?b#c", "http://a.example?q", "//d", "a", "http://a.example//d"}},
		{"a URL in a path or query is none", star("Disallow: /a"), []string{"/x?u=http://a.example/a", "x?u=http://a.example/a"}, []string{"/a?u=http://b/c"}},

		// Leniency
		{"index.html is its directory", star("Allow: /d/index.html", "Allow: /e/index.htm", "Disallow: /"), []string{"/d/", "/d/index.html", "/e/"}, []string{"/d", "/d/x", "/d/?q", "/e/x"}},
		{"but not for Disallow", star("Disallow: /d/index.html"), []string{"/d/"}, []string{"/d/index.html"}},
		{"misspelt", "Useragent: *\nDisalow: /a\nDissallow: /b\nDISALLOW : /c\n  disallow:/d\nDisallow /e\nDisallow /f g\nNoindex: /h\n",
			[]string{"/f", "/f%20g", "/h"}, []string{"/a", "/b", "/c", "/d", "/e"}},
		{"comments", "User-agent: * # all\n#Disallow: /a\nDisallow: /b#c\nDisallow: #/d\nDisallow: /e # f\n", []string{"/a", "/", "/d"}, []string{"/b", "/b%23c", "/e"}},
		{"rules before a group", "Disallow: /a\n" + star("Disallow: /b"), []string{"/a"}, []string{"/b"}},
		{"garbage", "\x00\xff\xfe<html>\r\n:::\n: /\n:\n/\nallow\ndisallow\nuser-agent\n\x1b[0m", []string{"/", "/a"}, nil},
		{"markup", "<!DOCTYPE html><html><title>Disallow: /</title></html>", []string{"/"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, tt.body, "mybot", tt.allowed, tt.denied)
		})
	}
}

func check(t *testing.T, body, agent string, allowed, denied []string) {
	t.Helper()
	g := robots.Parse([]byte(body)).Agent(agent)
	for _, target := range allowed {
		if !g.Allowed(target) {
			t.Errorf("as %q: %q is not allowed", agent, target)
		}
	}
	for _, target := range denied {
		if g.Allowed(target) {
			t.Errorf("as %q: %q is allowed", agent, target)
		}
	}
}

func TestLinesAndEncodings(t *testing.T) {
	const text = "User-agent: *\nDisallow: /a\n\nAllow: /a/é\n"
	utf16 := func(bom string, high, low int) string {
		b := []byte(bom)
		for _, r := range text {
			unit := [2]byte{}
			unit[high], unit[low] = byte(r>>8), byte(r)
			b = append(b, unit[:]...)
		}
		return string(b)
	}
	tests := []struct{ name, body string }{
		{"LF", text},
		{"CRLF", strings.ReplaceAll(text, "\n", "\r\n")},
		{"CR", strings.ReplaceAll(text, "\n", "\r")},
		{"mixed", "User-agent: *\rDisallow: /a\r\n\n\rAllow: /a/é"},
		{"no end of line", strings.TrimSuffix(text, "\n")},
		{"UTF-8 BOM", "\uFEFF" + text},
		{"part of a BOM", "\xEF\xBB" + text},
		{"glued files", "\uFEFF# a\n\uFEFF" + text},
		{"UTF-16, little", utf16("\xFF\xFE", 1, 0)},
		{"UTF-16, big", utf16("\xFE\xFF", 0, 1)},
		{"odd UTF-16", utf16("\xFF\xFE", 1, 0) + "x"},
		{"NUL", strings.ReplaceAll(text, "a", "\x00a\x00")},
		{"no-break spaces", "\u00A0User-agent:\u00A0*\nDisallow:\u00A0/a\u00A0\nAllow: /a/é\t\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, tt.body, "mybot", []string{"/", "/a/é", "/a/%C3%A9"}, []string{"/a", "/a/e"})
		})
	}
}

func TestMaxBytes(t *testing.T) {
	head := "User-agent: *\nDisallow: /"
	fill := func(n int) string { return "#" + strings.Repeat("x", n-2) + "\n" }
	tests := []struct {
		name            string
		body            string
		allowed, denied []string
	}{
		{"exact", fill(robots.MaxBytes-len(head)-1) + head + "a", []string{"/b"}, []string{"/a"}},
		{"the last line ends at the limit", fill(robots.MaxBytes-len(head)-1) + head + "a\n", nil, []string{"/a"}},
		{"a line over the limit is no rule", fill(robots.MaxBytes-len(head)-1) + head + "ab\nDisallow: /c\n", []string{"/a", "/ab", "/c"}, nil},
		{"a single line", strings.Repeat("x", 2*robots.MaxBytes), []string{"/"}, nil},
		{"rules before are kept", head + "a\n" + fill(robots.MaxBytes) + "Disallow: /b\n", []string{"/b"}, []string{"/a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.body, "mybot", tt.allowed, tt.denied) })
	}
}

func TestParseKeepsNoBody(t *testing.T) {
	body := []byte(star("Disallow: /a", "Sitemap: http://a.example/s"))
	rules := robots.Parse(body)
	clear(body)
	if rules.Agent("mybot").Allowed("/a") || !slices.Equal(rules.Sitemaps(), []string{"http://a.example/s"}) {
		t.Error("rules changed with the body they were parsed from")
	}
}

func TestAgent(t *testing.T) {
	const groups = "User-agent: FooBot\nDisallow: /foo\n\n" +
		"User-agent: BarBot\nUser-agent: BazBot\nDisallow: /bar\n\n" +
		"User-agent: *\nDisallow: /all\n\n" +
		"user-agent: foobot/2.1\nDisallow: /more\n\n" +
		"User-agent: Foo_Bot-News\nDisallow: /news\n\n" +
		"User-agent: bot2\nDisallow: /two\n\nUser-agent: bot3\nDisallow: /three\n\n" +
		"User-agent: 360Spider\nDisallow: /360\n\n" +
		"User-agent: Empty\nDisallow:\n\nUser-agent: UnicödeBöt\nDisallow: /unic\n\n" +
		"User-agent: * and all\nDisallow: /rest\n\n" +
		"User-agent: *bot\nDisallow: /starbot\n"
	every := []string{"/foo", "/bar", "/all", "/more", "/news", "/two", "/three", "/360", "/unic", "/rest", "/starbot"}
	tests := []struct {
		name   string
		denied []string
	}{
		{"FooBot", []string{"/foo", "/more"}},
		{"foobot", []string{"/foo", "/more"}},
		{"FOOBOT/1.0 (+http://a.example)", []string{"/foo", "/more"}},
		{" FooBot", []string{"/foo", "/more"}},
		{"FooBot News", []string{"/foo", "/more"}},
		{"BarBot", []string{"/bar"}},
		{"BazBot", []string{"/bar"}},
		{"Foo_Bot-News", []string{"/news"}},
		{"Foo", []string{"/all", "/rest"}},
		{"FooBotNews", []string{"/all", "/rest"}},
		{"MyFooBot", []string{"/all", "/rest"}},
		{"otherbot", []string{"/all", "/rest"}},
		{"*", []string{"/all", "/rest"}},
		{"", []string{"/all", "/rest"}},
		{"/", []string{"/all", "/rest"}},
		{"bot2/1.0", []string{"/two"}},
		{"bot3", []string{"/three"}},
		{"bot4", []string{"/all", "/rest"}},
		{"bot", []string{"/two", "/three"}},
		{"FooBot2", []string{"/foo", "/more"}},
		{"360spider/1", []string{"/360"}},
		{"008", []string{"/all", "/rest"}},
		{"Empty", nil},
		{"UnicödeBöt", []string{"/unic"}},
		{"Mozilla/5.0 (compatible; FooBot/0.1; https://a.example/bot)", []string{"/foo", "/more"}}, // that of RFC 9309 §2.2.1
		{"Mozilla/5.0 (compatible; BarBot/0.1; +https://a.example)", []string{"/bar"}},
		{"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; Compatible;  bot2/2.1; +https://a.example) Chrome/1", []string{"/two"}},
		{"Mozilla/4.0 (compatible; Foo 6.0; Windows NT 5.1)", []string{"/all", "/rest"}},
		{"Mozilla/5.0 (X11; Linux x86_64) FooBot/1.0", []string{"/all", "/rest"}},
		{"BazBot/1.0 (compatible; FooBot/1.0)", []string{"/bar"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			allowed := slices.DeleteFunc(slices.Clone(every), func(s string) bool { return slices.Contains(tt.denied, s) })
			check(t, groups, tt.name, append(allowed, "/"), tt.denied)
		})
	}
}

func TestNoGroupForUs(t *testing.T) {
	check(t, "User-agent: a\nDisallow: /\n", "b", []string{"/", "/a"}, nil)
}

func TestGroupsEndWithRulesOnly(t *testing.T) {
	const body = "User-agent: a\nSitemap: http://a.example/s\n\nFoo: bar\nUser-agent: b\nCrawl-delay: 2\nUser-agent: c\n\nDisallow: /x\nUser-agent: d\nDisallow:\nUser-agent: e\nDisallow: /y\n"
	for _, agent := range []string{"a", "b", "c"} {
		check(t, body, agent, []string{"/y"}, []string{"/x"})
	}
	check(t, body, "d", []string{"/x", "/y"}, nil)
	check(t, body, "e", []string{"/x"}, []string{"/y"})
}

func TestPace(t *testing.T) {
	const unset = -1
	tests := []struct {
		name, body  string
		delay, rate time.Duration
	}{
		{"none", star("Disallow: /"), unset, unset},
		{"delay", star("Crawl-delay: 10"), 10 * time.Second, unset},
		{"fraction", star("crawl-delay: 0.5"), 500 * time.Millisecond, unset},
		{"zero", star("Crawl-delay: 0"), 0, unset},
		{"something behind", star("Crawl-delay: 10s", "Crawl-delay: 3<BR>"), 10 * time.Second, unset},
		{"the longest counts", star("Crawl-delay: 1", "Disallow: /", "Crawl-delay: 3", "Crawl-delay: 2"), 3 * time.Second, unset},
		{"merged", star("Crawl-delay: 1", "Disallow: /") + star("Crawl-delay: 3"), 3 * time.Second, unset},
		{"no numbers", star("Crawl-delay: x", "Crawl-delay:", "Crawl-delay: -1", "Crawl-delay: .", "Crawl-delay: 1.2.3", "Crawl-delay: NaN"), unset, unset},
		{"huge", star("Crawl-delay: "+strings.Repeat("9", 400), "Request-rate: "+strings.Repeat("9", 400)+"/"+strings.Repeat("9", 400)), 24 * time.Hour, 24 * time.Hour},
		{"no exponents", star("Crawl-delay: 1e9"), time.Second, unset},
		{"more than a day", star("Crawl-delay: 99999999999999999999", "Request-rate: 1/1000h"), 24 * time.Hour, 24 * time.Hour},
		{"for agents named before", "User-agent: mybot\nUser-agent: a\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 2\nDisallow: /\nUser-agent: c\nCrawl-delay: 3\n", time.Second, unset},
		{"not from another group", "User-agent: mybot\nDisallow:\n" + star("Crawl-delay: 1"), unset, unset},
		{"before any group", "Crawl-delay: 1\n" + star(""), unset, unset},
		{"rate", star("Request-rate: 1/5"), unset, 5 * time.Second},
		{"rate with a unit", star("Request-rate: 30/1m"), unset, 2 * time.Second},
		{"rates by the time of day", star("Request-rate: 20 / 1M 2300-0159", "Request-rate: 5/60s 0200-2259", "Request-rate: 300/1h"), unset, 12 * time.Second},
		{"broken rates", star("Request-rate: 5", "Request-rate: 0/1", "Request-rate: /1", "Request-rate: 1/", "Request-rate: 1/x"), unset, unset},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := robots.Parse([]byte(tt.body)).Agent("mybot")
			if d, ok := g.CrawlDelay(); ok != (tt.delay != unset) || ok && d != tt.delay {
				t.Errorf("CrawlDelay() = %v, %v, want %v", d, ok, tt.delay)
			}
			if d, ok := g.RequestRate(); ok != (tt.rate != unset) || ok && d != tt.rate {
				t.Errorf("RequestRate() = %v, %v, want %v", d, ok, tt.rate)
			}
		})
	}
}

func TestSitemaps(t *testing.T) {
	rules := robots.Parse([]byte("SITEMAP: http://a.example/A.xml\nUser-agent: a\nSite-map: /rel.xml # b\nSitemap http://a.example/c.xml\n" +
		"Sitemap:\nsitemap:http://a.example/A.xml\nhttps://a.example/my-sitemap.xml\nhttps://a.example/other\nDisallow: /\n"))
	want := []string{"http://a.example/A.xml", "/rel.xml", "http://a.example/c.xml", "https://a.example/my-sitemap.xml"}
	got := rules.Sitemaps()
	if !slices.Equal(got, want) {
		t.Errorf("Sitemaps() = %q, want %q", got, want)
	}
	got[0] = "changed"
	if rules.Sitemaps()[0] != want[0] {
		t.Error("the slice is shared")
	}
	if rules.Agent("a").Allowed("/") {
		t.Error("a sitemap ended the group")
	}
}

// A file of nothing but sitemaps has each of them once, in its order.
func TestManySitemaps(t *testing.T) {
	var body strings.Builder
	var want []string
	for i := 0; body.Len() < robots.MaxBytes-100; i++ {
		url := fmt.Sprintf("http://a.example/%d", i%9000)
		if i < 9000 {
			want = append(want, url)
		}
		fmt.Fprintf(&body, "Sitemap: %s\n", url)
	}
	if got := robots.Parse([]byte(body.String())).Sitemaps(); !slices.Equal(got, want) {
		t.Errorf("%d sitemaps, want %d", len(got), len(want))
	}
}

// Of a path that is longer than any request's, the beginning decides.
func TestLongPaths(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	for _, tt := range []struct {
		rule, path string
		want       bool
	}{
		{"Disallow: /aaa", "/" + long, false},
		{"Disallow: /*a*a*a", "/" + long, false},
		{"Disallow: /a*z", "/" + long + "z", true},
		{"Disallow: /*a$", "/" + long, true},
		{"Disallow: /*z$", "/" + long[:16<<10-2] + "z" + long, true},
		{"Disallow: /*z", "/" + long[:16<<10-2] + "z" + long, false},
		{"Disallow: /*a$", "/" + long[:16<<10-1], false},
	} {
		if got := robots.Parse([]byte(star(tt.rule))).Agent("mybot").Allowed(tt.path); got != tt.want {
			t.Errorf("%s: a path of %d bytes is allowed: %t", tt.rule, len(tt.path), got)
		}
	}
}

// The no-break space of a file in Latin-1 is white space wherever a value begins or ends, and a part of a letter in UTF-8 is none.
func TestNoBreakSpaces(t *testing.T) {
	for _, file := range []string{"User-agent: *\xa0\nDisallow: /x", "User-agent:\xa0*\nDisallow: /x\xa0", "User-agent\xa0: * \xa0 \nDisallow\xa0:\xa0 /x \xa0", "User-agent: *\xa0all\nDisallow: /x", "User-agent: *\u00a0\nDisallow: /x\u00a0"} {
		check(t, file, "mybot", []string{"/"}, []string{"/x", "/xy"})
	}
	check(t, "User-agent: *\nDisallow: /voil\u00e0", "mybot", []string{"/voil", "/voil\xc3"}, []string{"/voil\u00e0"})
}

func TestAllowAllDisallowAll(t *testing.T) {
	for _, rules := range []*robots.Rules{robots.AllowAll(), {}, robots.Parse(nil)} {
		if g := rules.Agent("mybot"); !g.Allowed("/") || !g.Allowed("/a?b") || !g.Allowed("/robots.txt") {
			t.Error("AllowAll forbids")
		}
	}
	if g := robots.DisallowAll().Agent("mybot"); g.Allowed("/") || g.Allowed("/a?b") || g.Allowed("") || !g.Allowed("/robots.txt") {
		t.Error("DisallowAll allows, or forbids /robots.txt")
	}
	if !new(robots.Group).Allowed("/") {
		t.Error("the zero Group forbids")
	}
	if robots.AllowAll().Agent("a") != robots.Parse([]byte(star("Disallow:"))).Agent("b") {
		t.Error("groups without rules are not shared")
	}
}

// The cases of Scrapy's parser interface.
func TestScrapyInterface(t *testing.T) {
	check(t, star("Disallow: /disallowed/*/end$", "Disallow: /disallowed/*/end$", "Allow: /*allowed"), "mybot",
		[]string{"/allowed", "/is_still_allowed", "/is_allowed_too", "/disallowed/xyz"}, nil)
	check(t, star("Disallow: /", "Allow: /page"), "mybot", []string{"/page", "/page/1"}, []string{"/", "/pag"})
	check(t, star("Disallow: /*/end$", "Allow: /is_allowed"), "mybot", []string{"/is_allowed", "/x/end/"}, []string{"/x/end", "/x/y/end"})
	const wiki = "User-Agent: *\nDisallow: /admin/\nDisallow: /wiki/K%C3%A4ytt%C3%A4j%C3%A4:\nDisallow: /wiki/Käyttäjä:\n\nUser-Agent: UnicödeBöt\nDisallow: /some/randome/page.html\n"
	check(t, wiki, "*", []string{"/", "/some/randome/page.html"}, []string{"/admin/", "/wiki/K%C3%A4ytt%C3%A4j%C3%A4:", "/wiki/Käyttäjä:"})
	check(t, wiki, "UnicödeBöt", []string{"/admin/"}, []string{"/some/randome/page.html"})
}
