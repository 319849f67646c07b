package mistakes_test

import (
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
)

// requests are requests that cannot be sent, or not as they were meant.
func requests() []mistake {
	get := func(path string, opts ...tegenaria.RequestOption) func(w *world) error {
		return func(w *world) error {
			return crawl(sending(tegenaria.NewRequest(w.site+path, tegenaria.GET, nil, opts...)))
		}
	}
	header := func(name, value string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestHeader(map[string]string{name: value})
	}
	cookie := func(name, value string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestCookies(map[string]string{name: value})
	}
	proxied := func(proxy string) func(w *world) error {
		return func(w *world) error {
			return get("/", tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: strings.ReplaceAll(proxy, "{nobody}", w.nobody)}))(w)
		}
	}
	return []mistake{
		{"a method of two words", func(w *world) error { return crawl(sending(tegenaria.NewRequest(w.site, "GET IT", nil))) }, "GET IT"},
		{"a method with a line end", func(w *world) error { return crawl(sending(tegenaria.NewRequest(w.site, "GET\r\nX: y", nil))) }, `GET\r\nX: y`},
		{"a nil request", func(w *world) error {
			return crawl(starter{sending(), func(req chan<- *tegenaria.Context) error { req <- tegenaria.NewContext(nil); return nil }})
		}, "NewRequest"},
		{"a nil context", func(w *world) error {
			return crawl(starter{sending(), func(req chan<- *tegenaria.Context) error { req <- nil; return nil }})
		}, "NewRequest"},
		{"a nil option of a request", get("/", nil), "RequestOption 1"},
		{"spaces in a header's name", get("/", header("My Key", "x")), "My Key"},
		{"a line end in a header's value", get("/", header("X-Key", token+"\r\nX: y")), "X-Key"},
		{"an empty header name", get("/", header("", "x")), "Header"},
		{"a semicolon in a cookie", get("/", cookie("session", token+"; admin=1")), "session"},
		{"a line break in a cookie's name", get("/", cookie("my\nsession", token)), "session"},
		{"a body that JSON cannot hold", get("/", tegenaria.RequestWithJSON(make(chan int))), "chan int"},
		{"an unknown parser", get("/", tegenaria.RequestWithParserName("detial")), "detial"},
		{"an unknown downloader", get("/", tegenaria.RequestWithDownloader("browser")), "browser"},
		{"a redirect in a circle", get("/circle"), "/circle"},
		{"a redirect off the site", func(w *world) error {
			return crawl(shop(w.site+"/away"), tegenaria.EngineWithAllowedDomains("127.0.0.1"))
		}, "EngineWithAllowedDomains"},
		{"a body above the limit", func(w *world) error {
			return crawl(shop(w.site+"/large"), tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000}))
		}, "Limits.Body"},
		{"a proxy without a scheme", proxied("{nobody}"), "Proxy"},
		{"a proxy of an unknown scheme", proxied("ftp://me:" + password + "@proxy.example:21"), "Proxy"},
		{"a proxy with a bad port", proxied("http://me:" + password + "@proxy.example:port"), "Proxy"},
		{"a dead proxy with a password", proxied("http://me:" + password + "@{nobody}"), "proxy"},
		{"a dead SOCKS proxy with a password", proxied("socks5://me:" + password + "@{nobody}"), "proxy"},
		{"a timeout that is too short", get("/hang", tegenaria.RequestWithTimeout(50*time.Millisecond)), "RequestWithTimeout"},
	}
}
