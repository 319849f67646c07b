package tegenaria_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// offline answers every request from memory, so that the examples need no network.
type offline struct{}

func (offline) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	body := "<title>" + ctx.Request.Url + "</title>"
	if strings.HasSuffix(ctx.Request.Url, "/") {
		body += `<a href="one">1</a> <a href="two#top">2</a> <a href="one#again">1</a>`
	}
	header := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, header, []byte(body))}
	result <- ctx
}

func (offline) CheckStatus(code uint64, allowed []uint64) bool { return code < 400 }

func Example() {
	type page struct{ Title string }
	parse := func(ctx context.Context, r *tegenaria.Response, out *tegenaria.Output[page]) error {
		if err := out.Item(page{r.CSS("title").Text()}); err != nil {
			return err
		}
		return out.FollowLinks()
	}
	spider := tegenaria.NewSpider("site", tegenaria.Handle(parse), "http://example.com/")
	for p, err := range tegenaria.Crawl[page](context.Background(), spider,
		tegenaria.EngineWithDownloader(offline{}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})) {
		fmt.Println(p.Title, err)
	}
	// Unordered output:
	// http://example.com/ <nil>
	// http://example.com/one <nil>
	// http://example.com/two <nil>
}

func ExampleSpiderEngine_Run() {
	spider := tegenaria.NewSpider("failing", func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		if resp.Request.Url == "http://example.com/one" {
			return errors.New("nothing to see here")
		}
		return nil
	}, "http://example.com/one", "http://example.com/two")
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithDownloader(offline{}),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			fmt.Println(err.Stage, err.Err)
		}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
	)
	engine.RegisterSpiders(spider)
	fmt.Println(engine.Run(context.Background(), "failing"))
	fmt.Println(engine.Stats().Outcomes[tegenaria.Failed])
	// Output:
	// parse nothing to see here
	// <nil>
	// 1
}

func ExamplePoliteness() {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			UserAgent: "mybot/1.0 (+https://example.com/bot)",
		}),
	)
	fmt.Println(engine.Status())
	// Output: uninitialized
}

func ExamplePoliteness_ignoreRobots() {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
	)
	fmt.Println(engine.Status())
	// Output: uninitialized
}

// A parser needs no run to be tested: give it a Context with a response, and channels with room for what it sends.
func ExampleNewResponse() {
	type book struct{ Title string }
	parser := tegenaria.Handle(func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
		if err := out.Item(book{page.CSS("h1").Text()}); err != nil {
			return err
		}
		return out.Follow(page.CSS("a.next").Attr("href"))
	})

	request := tegenaria.NewRequest("https://books.example/1", tegenaria.GET, nil)
	header := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
	body := `<h1>Moby-Dick</h1> <a class="next" href="2">next</a>`
	ctx := tegenaria.NewContext(request)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(request, 200, header, []byte(body))}
	items, requests := make(chan *tegenaria.ItemMeta, 10), make(chan *tegenaria.Context, 10)
	fmt.Println(parser(ctx, items, requests))
	fmt.Println((<-items).Item.(book).Title, len(items))
	fmt.Println((<-requests).Request.Url, len(requests))
	// Output:
	// <nil>
	// Moby-Dick 0
	// https://books.example/2 0
}

func ExamplePipelineFunc() {
	type price struct{ Cents int }
	positive := tegenaria.PipelineFunc(100, func(ctx context.Context, p price) (price, error) {
		if p.Cents <= 0 {
			return p, tegenaria.DropItem(errors.New("no price"))
		}
		return p, nil
	})
	item := &tegenaria.ItemMeta{Item: price{Cents: 0}}
	fmt.Println(positive.ProcessItem(nil, item))
	// Output: tegenaria: item dropped: no price
}

func ExampleRetry() {
	fmt.Println(tegenaria.Retry(0, errors.New("the page is empty")))
	// Output: tegenaria: retry after 0s: the page is empty
}

// The code of docs/guides/politeness.md.

func ExamplePoliteness_jitter() {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			UserAgent: "mybot/1.0 (+https://example.com/bot)",
			Delay:     time.Second, // between the starts of two downloads of a host
			Jitter:    0.5,         // each delay is between 0.5 and 1.5 of that, as in Scrapy
			PerSlot:   2,           // downloads of a host in flight
		}),
	)
	engine.RegisterSpiders(tegenaria.NewSpider("nothing", enginetest.Nothing))
	fmt.Println(engine.Run(context.Background(), "nothing"))
	// Output: tegenaria: spider "nothing" got no page: it sent no request; give it URLs, or send requests in StartRequest
}

func ExampleSlotPolicy() {
	p :=
		tegenaria.Politeness{
			Delay: time.Second,
			Overrides: map[string]tegenaria.SlotPolicy{
				"api.example.com": {Delay: 5 * time.Second, PerSlot: 1},
				"*.example.com":   {Delay: 2 * time.Second, Jitter: 0.3}, // all below it, itself not
				"big.example.org": {PerSlot: 4, MaxPages: 10_000},
			},
		}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithPoliteness(p), tegenaria.EngineWithEmptyOK())
	engine.RegisterSpiders(tegenaria.NewSpider("nothing", enginetest.Nothing))
	fmt.Println(engine.Run(context.Background(), "nothing"))
	// Output: <nil>
}

func ExampleAutoThrottle() {
	p :=
		tegenaria.Politeness{AutoThrottle: &tegenaria.AutoThrottle{Target: 2}}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithPoliteness(p), tegenaria.EngineWithEmptyOK())
	engine.RegisterSpiders(tegenaria.NewSpider("nothing", enginetest.Nothing))
	fmt.Println(engine.Run(context.Background(), "nothing"))
	// Output: <nil>
}

func ExampleSpiderEngine_SetSlot() {
	var engine *tegenaria.SpiderEngine
	look := func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
		err := engine.SetSlot("www.example.com", tegenaria.SlotPolicy{Delay: 10 * time.Second, PerSlot: 1})
		for _, s := range engine.Slots() {
			fmt.Println(s.Name, s.Pending, s.InFlight, s.Delay)
		}
		return err
	}
	engine = tegenaria.NewSpiderEngine(
		tegenaria.EngineWithDownloader(enginetest.NewWorld().Page("http://www.example.com/", enginetest.Text("a page"))),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Hour, IgnoreRobots: true}),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("one page", look, "http://www.example.com/")),
	)
	fmt.Println(engine.Run(context.Background(), "one page"))
	// Output:
	// www.example.com 0 0 10s
	// <nil>
}

// A site behind an authority of one's own, which asks for a client's certificate.
func ExampleEngineWithTLSConfig() {
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.Organization[0])
	}))
	site.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	site.StartTLS()
	defer site.Close()
	ours := site.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client := site.TLS.Certificates[0]

	spider := tegenaria.NewSpider("site", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(r.String())
	}), site.URL)
	for item, err := range tegenaria.Crawl[string](context.Background(), spider,
		tegenaria.EngineWithTLSConfig(&tls.Config{RootCAs: ours, Certificates: []tls.Certificate{client}}),
	) {
		fmt.Println(item, err)
	}
	// Output: Acme Co <nil>
}

// User and password of a proxy stand in its URL.
func ExampleRequestWithRequestProxy() {
	through := tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://user:password@proxy.example:3128"})
	r := tegenaria.NewRequest("https://example.com/", "GET", nil, through)
	fmt.Println(r.Proxy.ProxyUrl)
	// Output: http://user:password@proxy.example:3128
}

func TestIsPublicAddr(t *testing.T) {
	for addr, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1:248:1893:25c8:1946": true, "64:ff9b::5db8:d822": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false, "0.0.0.0": false,
		"::": false, "::1": false, "fc00::1": false, "fe80::1": false, "fe80::1%eth0": false, "ff02::1": false, "2001:db8::1": false,
		"::ffff:10.1.2.3": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
	} {
		if got := tegenaria.IsPublicAddr(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
	if tegenaria.IsPublicAddr(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// A dialer that refuses private addresses, whatever name they have, when it dials them.
func ExampleIsPublicAddr() {
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		addr, err := netip.ParseAddrPort(address)
		if err == nil && !tegenaria.IsPublicAddr(addr.Addr()) {
			err = &tegenaria.PrivateAddressError{Host: addr.Addr().String(), Addr: addr.Addr()}
		}
		return err
	}}
	_, err := dialer.Dial("tcp", "127.0.0.1:80")
	fmt.Println(err)
	// Output: dial tcp 127.0.0.1:80: 127.0.0.1 is not a public address; to allow it, add 127.0.0.1/32 to Politeness.AllowPrivate
}

// One host with a delay leaves most places for downloads free.
func ExampleSpiderEngine_Places() {
	spider := tegenaria.NewSpider("shop", enginetest.Nothing, "http://shop.example/1", "http://shop.example/2", "http://shop.example/3")
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithDownloader(offline{}), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: 100 * time.Millisecond, IgnoreRobots: true}), tegenaria.EngineWithLogger(enginetest.Quiet()))
	if err := engine.Run(context.Background(), "shop"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(engine.Places()) // the sentence; Places().Causes has the shares
	// A crawl that was slowed down says: 99 % of the time all downloads waited for shop.example: a delay of 100ms of the crawl's own settings
}
