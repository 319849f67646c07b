package middleware_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// A crawl with the recommended middlewares: the session cookie that the first page sets goes along with the second.
func ExampleStandard() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		fmt.Println(r.URL.Path, "has the cookies", r.Cookies())
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/second">second</a>`)
	}))
	defer site.Close()

	parser := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.FollowLinks()
	})
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("standard", parser, site.URL+"/")),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithLogger(quiet()),
	)
	if err := engine.Execute("standard"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// / has the cookies []
	// /second has the cookies [session=1]
}

// Jars are filled from what a browser has exported, and written for curl.
func ExampleCookies() {
	exported := "a.example\tFALSE\t/\tTRUE\t0\tsession\t1\n"
	cookies, err := middleware.ReadCookies(strings.NewReader(exported))
	if err != nil {
		fmt.Println(err)
	}
	jars := middleware.NewCookies(middleware.CookieOptions{})
	if err := jars.Add("", cookies...); err != nil {
		fmt.Println(err)
	}
	if err := middleware.WriteCookies(os.Stdout, jars.All("")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # Netscape HTTP Cookie File
	// a.example	FALSE	/	TRUE	0	session	1
}

// What is out of scope is never queued.
func ExampleScope() {
	scope, err := middleware.NewScope(middleware.ScopeOptions{
		Domains:   []string{"example.com"},
		DenyPaths: []string{"/login"},
		DenyGlobs: []string{"**.pdf"},
	})
	if err != nil {
		fmt.Println(err)
	}
	for _, url := range []string{"https://docs.example.com/intro", "https://example.org/", "https://example.com/login?next=/", "https://example.com/book.pdf"} {
		fmt.Println(url, scope.AcceptRequest(nil, tegenaria.NewRequest(url, tegenaria.GET, nil)))
	}
	// Output:
	// https://docs.example.com/intro <nil>
	// https://example.org/ tegenaria: request ignored: offsite
	// https://example.com/login?next=/ tegenaria: request ignored: path
	// https://example.com/book.pdf tegenaria: request ignored: glob
}

// How much of a page's URL its links tell.
func ExampleReferrerPolicy() {
	const page = "https://me:secret@shop.example/cart?item=7#total"
	for _, target := range []string{"https://shop.example/pay", "https://bank.example/", "http://ads.example/"} {
		value, err := middleware.StrictOriginWhenCrossOrigin.Referrer(page, target)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s is told %q\n", target, value)
	}
	// Output:
	// https://shop.example/pay is told "https://shop.example/cart?item=7"
	// https://bank.example/ is told "https://shop.example/"
	// http://ads.example/ is told ""
}

// A set of one's own: middlewares stand where their priorities put them, in whatever order they are registered.
func ownSet() ([]tegenaria.MiddlewaresInterface, error) {
	scope, err := middleware.NewScope(middleware.ScopeOptions{Domains: []string{"example.com"}})
	if err != nil {
		return nil, err
	}
	login, err := middleware.NewBasicAuth(map[string]middleware.Credentials{
		"https://intranet.example.com": {User: "reader", Password: "from your secret store"},
	})
	if err != nil {
		return nil, err
	}
	return append(middleware.Standard(), scope, login,
		middleware.NewDepth(middleware.DepthOptions{Max: 5, Order: middleware.BreadthFirst}),
		middleware.NewHTTPErrors(middleware.HTTPErrorOptions{}),
	), nil
}

func Example() {
	middlewares, err := ownSet()
	if err != nil {
		fmt.Println(err)
	}
	for _, m := range middlewares {
		fmt.Println(m.GetPriority(), m.GetName())
	}
	// Unordered output:
	// 50 scope
	// 70 depth
	// 100 trap guard
	// 300 basic auth
	// 400 default headers
	// 550 retry
	// 590 HTTP errors
	// 650 meta refresh
	// 700 cookies
}

// A request that may be tried ten times, with cookies of its own jar.
func patientRequest(url string) *tegenaria.Request {
	return tegenaria.NewRequest(url, tegenaria.GET, nil, tegenaria.RequestWithRequestMeta(map[string]any{
		middleware.MetaMaxRetryTimes: 10,
		middleware.MetaCookieJar:     "second account",
	}))
}

func Example_perRequest() {
	fmt.Println(patientRequest("https://a.example/").Meta)
	// Output: map[cookiejar:second account max_retry_times:10]
}
