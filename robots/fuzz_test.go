package robots_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/robots"
)

func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a\nAllow: /a/*b$\n"), "mybot/1.0", "/a/b")
	f.Add([]byte("User-agent: a\r\rCrawl-delay: 0.5\r\nRequest-rate: 1/5m\nSitemap: /s\nuser-agent b\ndisallow /%7e%2f*é"), "B", "http://a.example/~%2fx?y#z")
	f.Add([]byte("\xff\xfeU\x00s\x00"), "", "")
	f.Add([]byte("\xef\xbb\xbfUser-agent:*\nDisallow:*%\nAllow:/?%2F%3a\nAllow: /index.html"), "*", "?%2F")
	f.Add([]byte("User-agent: *\nDisallow: /*a*a*a*a*a*a*a*a*a*a*a*b\n"), "x", "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Add([]byte("User-agent: *\nDisallow: /$$\nDisallow: $\nAllow: /*$*$\nDisallow:/%24"), "x", "/$$?*")
	f.Fuzz(func(t *testing.T, body []byte, agent, target string) {
		rules := robots.Parse(body)
		g := rules.Agent(agent)
		allowed := g.Allowed(target)
		if again := robots.Parse(body).Agent(agent).Allowed(target); again != allowed || g.Allowed(target) != allowed {
			t.Errorf("Allowed(%q) is now %v, now %v", target, allowed, !allowed)
		}
		google := rules.GoogleAgent(agent)
		google.Allowed(target)
		if !g.Allowed("/robots.txt") || !google.Allowed("/robots.txt") {
			t.Error("/robots.txt is forbidden")
		}
		if rules.Agent(strings.ToUpper(agent)).Allowed(target) != allowed && isASCII(agent) {
			t.Errorf("the case of %q matters", agent)
		}
		if path, _, cut := strings.Cut(target, "#"); cut && strings.HasPrefix(target, "/") && g.Allowed(path) != allowed {
			t.Errorf("the fragment of %q matters", target)
		}
		if strings.HasPrefix(target, "/") && g.Allowed("http://a.example"+target) != allowed {
			t.Errorf("%q is treated otherwise as an absolute URL", target)
		}
		if d, ok := g.CrawlDelay(); d < 0 || !ok && d != 0 {
			t.Errorf("CrawlDelay() = %v, %v", d, ok)
		}
		if d, ok := g.RequestRate(); d < 0 || !ok && d != 0 {
			t.Errorf("RequestRate() = %v, %v", d, ok)
		}
		for _, s := range rules.Sitemaps() {
			if s == "" || strings.ContainsAny(s, "\r\n#") {
				t.Errorf("sitemap %q", s)
			}
		}
		// A matcher that goes back would not come through this in the fuzzer's time.
		long := strings.Repeat(string(body[:min(len(body), 64)])+target+"a", 20)
		g.Allowed("/" + long)
		robots.Parse([]byte("User-agent: *\nDisallow: /" + strings.ReplaceAll(long, "a", "*a") + "$")).Agent("").Allowed("/" + long + "b")
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0
}
