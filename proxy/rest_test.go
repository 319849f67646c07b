package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/proxy"
)

var refused = &tegenaria.ProxyError{Proxy: "it", Err: errors.New("connection refused")}

// asked is a pool that is asked for proxies without an engine.
type asked struct {
	*proxy.Pool
	t *testing.T
}

func newAsked(t *testing.T, opts proxy.Options, urls ...string) *asked {
	t.Helper()
	pool := proxy.NewPool(proxy.List(urls...), opts)
	if err := pool.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return &asked{pool, t}
}

// next is the proxy that a request goes through now; "" if it has to wait.
func (a *asked) next(url string) string {
	ctx := enginetest.Send(url)
	if a.ProcessRequest(ctx) != nil {
		return ""
	}
	return ctx.Request.Proxy.ProxyUrl
}

// want fails unless the next request goes through that proxy.
func (a *asked) want(by, when string) {
	a.t.Helper()
	if got := a.next("http://a.test/"); got != by {
		a.t.Errorf("%s: it goes through %q, want %q", when, got, by)
	}
}

// fails is a request that fails, and reports whether it goes through another proxy, or later, at no cost.
func (a *asked) fails(url, by string, err error) (again bool) {
	ctx := enginetest.Send(url)
	ctx.Request.Proxy = &tegenaria.Proxy{ProxyUrl: by}
	defer a.Released(ctx)
	if _, blocked := errors.AsType[*tegenaria.BlockedError](err); blocked { // another middleware has found that in an answer
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, []byte("x"))}
		if err := a.ProcessResponse(ctx, nil); err != nil {
			a.t.Error(err)
		}
	}
	return isAgain(a.ProcessError(ctx, err, nil))
}

// answers is a request with an answer of that status, and reports the same.
func (a *asked) answers(url, by string, status int) (again bool, err error) {
	ctx := enginetest.Send(url)
	ctx.Request.Proxy = &tegenaria.Proxy{ProxyUrl: by}
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, status, nil, []byte("x"))}
	err = a.ProcessResponse(ctx, nil)
	a.Released(ctx)
	return isAgain(err), err
}

// isAgain reports whether an error is NotNow: it is none of those that end an attempt.
func isAgain(err error) bool {
	_, failed := errors.AsType[*tegenaria.ProxyError](err)
	_, blocked := errors.AsType[*tegenaria.BlockedError](err)
	return err != nil && !failed && !blocked
}

// A proxy that fails three times in a row rests for ten seconds, with a quarter more or less. Then one request tries it; while that is
// under way no other one does. Each rest that has not helped doubles the next one, up to ten minutes.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t, proxy.Options{}, p1)
		for range 3 {
			a.want(p1, "before it rests")
			a.fails("http://a.test/", p1, refused)
		}
		enginetest.Sleep(7 * time.Second)
		a.want("", "in its rest")
		enginetest.Sleep(6 * time.Second)
		a.want(p1, "after its rest")
		a.want("", "while it is tried")
		enginetest.Sleep(2 * time.Minute)
		a.want(p1, "when the first try has taken too long")
		a.fails("http://a.test/", p1, refused)
		a.fails("http://a.test/", p1, refused) // of a request that was under way: it makes no rest longer
		enginetest.Sleep(14 * time.Second)
		a.want("", "in its second rest")
		enginetest.Sleep(12 * time.Second)
		a.want(p1, "after its second rest")
		for i := range 10 {
			a.fails("http://a.test/", p1, refused)
			enginetest.Sleep(12*time.Minute + 30*time.Second)
			a.want(p1, fmt.Sprint("after the longest rest, time ", i))
		}
		if _, err := a.answers("http://a.test/", p1, 200); err != nil {
			t.Error(err)
		}
		a.fails("http://a.test/", p1, refused)
		a.want(p1, "after one failure since it works again")
	})
}

// Proxies that fail together do not come back together, and one whose rest is over is tried by the next request, whoever's turn it is.
func TestRestsDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		for i := range 30 {
			urls = append(urls, fmt.Sprintf("http://p%d.test:80", i))
		}
		a := newAsked(t, proxy.Options{}, urls...)
		for _, url := range urls {
			for range 3 {
				a.fails("http://a.test/", url, refused)
			}
		}
		enginetest.Sleep(10 * time.Second)
		back := 0
		for a.next("http://a.test/") != "" {
			back++
		}
		if back == 0 || back == len(urls) {
			t.Errorf("after ten seconds %d of %d are back", back, len(urls))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t, proxy.Options{Choose: proxy.InTurn}, p1, p2, p3)
		a.want(p1, "at first")
		for range 3 {
			a.fails("http://a.test/", p1, refused)
		}
		a.want(p2, "then")
		enginetest.Sleep(13 * time.Second)
		a.want(p1, "after the rest of the first one")
		a.want(p3, "while it is tried")
	})
}

// A proxy that wants other credentials rests at once, also when it then fails otherwise. Its request goes through
// another one if there is one.
func TestOtherCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t, proxy.Options{}, p1, p3)
		if again, err := a.answers("http://a.test/", p1, 407); !again {
			t.Errorf("with another proxy: %v", err)
		}
		if again, err := a.answers("http://a.test/", p3, 407); again {
			t.Errorf("without another proxy: %v", err)
		}
		a.want("", "both rest")
		enginetest.Sleep(13 * time.Second)
		a.fails("http://a.test/", p1, refused)
		a.fails("http://a.test/", p3, refused)
		a.want("", "the try of both has failed")
	})
}

// A blocked robots.txt is asked for through up to three other proxies, if there are any. Nothing else is asked for again at once.
func TestRobotsTries(t *testing.T) {
	block := &tegenaria.BlockedError{Rule: "status 403"}
	for _, tt := range []struct {
		url     string
		proxies int
		tries   int
	}{
		{"http://a.test/robots.txt", 6, 3},
		{"http://a.test/robots.txt", 3, 2},
		{"http://a.test/robots.txt", 1, 0},
		{"http://a.test/", 6, 0},
		{"http://a.test/robots.txt/", 6, 0},
		{"http://a.test/dir/robots.txt", 6, 0},
	} {
		var urls []string
		for i := range tt.proxies {
			urls = append(urls, fmt.Sprintf("http://p%d.test:80", i))
		}
		a := newAsked(t, proxy.Options{}, urls...)
		tries := 0
		for a.fails(tt.url, a.next(tt.url), block) {
			tries++
		}
		if tries != tt.tries {
			t.Errorf("%s, %d proxies: %d further tries, want %d", tt.url, tt.proxies, tries, tt.tries)
		}
		blocked := int64(0)
		for _, p := range a.ProxyStats() {
			blocked += p.Blocked
		}
		if blocked != int64(tries)+1 {
			t.Errorf("%s: %d blocked answers are counted", tt.url, blocked)
		}
	}
}

// A site that blocks a proxy again and again has it rest longer each time, though each block is an answer. A page ends that.
func TestBans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t, proxy.Options{}, p1)
		block := &tegenaria.BlockedError{Rule: "status 403"}
		for range 2 {
			for rest := 10 * time.Second; rest <= 40*time.Second; rest *= 2 {
				a.want(p1, "before the block")
				a.fails("http://a.test/", p1, block)
				enginetest.Sleep(rest * 7 / 10)
				a.want("", fmt.Sprint("in the rest of ", rest))
				enginetest.Sleep(rest * 6 / 10)
			}
			if _, err := a.answers("http://a.test/", p1, 200); err != nil {
				t.Error(err)
			}
		}
	})
}

// login is what the request of a login has of its session.
type login struct{}

func (login) IsRepeated() bool { return true }

// A login that a site lets through a proxy which it blocks for pages does not end the rest of that, and leaves the try to a page.
func TestLoginInRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t, proxy.Options{}, p1)
		block := &tegenaria.BlockedError{Rule: "status 403"}
		a.want(p1, "before the block")
		a.fails("http://a.test/", p1, block)
		enginetest.Sleep(13 * time.Second)
		ctx := enginetest.Send("http://a.test/login")
		ctx.Request.SetSession("ann", login{})
		if err := a.ProcessRequest(ctx); err != nil {
			t.Fatal(err)
		}
		a.want("", "while the login tries it")
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, []byte("in"))}
		if err := a.ProcessResponse(ctx, nil); err != nil {
			t.Error(err)
		}
		a.Released(ctx)
		a.want(p1, "after the login")
		a.want("", "while a page tries it")
		a.fails("http://a.test/", p1, block)
		enginetest.Sleep(14 * time.Second)
		a.want("", "in the second rest, which is longer")
	})
}

// The target of a redirect goes through the proxy of its request, and the password of that is not in what a job stores.
func TestRedirectTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t, proxy.Options{Choose: proxy.InTurn}, p2, p3, "http://user:other@p4.test:80")
		for _, by := range []string{p2, p3} {
			a.want(by, "the request")
			target := enginetest.Send("http://b.test/")
			target.Request.Proxy = &tegenaria.Proxy{ProxyUrl: by}
			if err := a.AcceptRequest(nil, target.Request); err != nil {
				t.Fatal(err)
			}
			if got := target.Request.Proxy.ProxyUrl; got != "http://user@p2.test:80" && got != p3 {
				t.Errorf("stored: %s", got)
			}
			if err := a.ProcessRequest(target); err != nil || target.Request.Proxy.ProxyUrl != by {
				t.Errorf("%v, through %s, want %s", err, target.Request.Proxy.ProxyUrl, by)
			}
		}
	})
}

// Requests wait until a proxy may be tried again: those of one host if the others can go on. They go on at once when a proxy works again
// or a new list has come.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t, proxy.Options{}, p1)
		a.next("http://a.test/")
		a.fails("http://a.test/", p1, &tegenaria.BlockedError{Rule: "status 403"})
		a.want("", "where the proxy is banned")
		if got := a.next("http://b.test/"); got != p1 {
			t.Errorf("another host: %q", got)
		}
		gate := a.Wait("a.test")
		if gate == nil || gate.Name() != "a proxy for a.test" {
			t.Fatalf("gate: %+v", gate)
		}
		enginetest.Sleep(7 * time.Second)
		if !gate.IsClosed() {
			t.Error("it is open within the rest")
		}
		enginetest.Sleep(6 * time.Second)
		if gate.IsClosed() {
			t.Error("it is closed after the rest")
		}
		for range 3 {
			a.fails("http://b.test/", p1, refused)
		}
		a.want("", "while all rest")
		if gate = a.Wait(""); gate == nil || gate.Name() != "a proxy" || !gate.IsClosed() {
			t.Fatalf("gate: %+v", gate)
		}
		if _, err := a.answers("http://a.test/", p1, 200); err != nil || gate.IsClosed() {
			t.Errorf("when it works again: %v, closed: %v", err, gate.IsClosed())
		}
		a.want(p1, "when it works again")
		a.want(p1, "and a further request")
	})
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		pool := proxy.NewPool(proxy.Func(func(context.Context) ([]string, error) {
			reads++
			return []string{[]string{p1, p3}[min(reads, 2)-1]}, nil
		}), proxy.Options{Reload: 5 * time.Second})
		if err := pool.Open(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		a := &asked{pool, t}
		a.want(p1, "at first")
		for range 3 {
			a.fails("http://a.test/", p1, refused)
		}
		a.want("", "while it rests")
		gate := pool.Wait("")
		enginetest.Sleep(6 * time.Second)
		if gate.IsClosed() {
			t.Error("it is closed though there is a new list")
		}
		a.want(p3, "with the new list")
		if err := pool.Close(t.Context(), ""); err != nil {
			t.Error(err)
		}
	})
}

// A request has ten free tries; each success, and each of its attempts, begins to count anew.
func TestFreeTries(t *testing.T) {
	a := newAsked(t, proxy.Options{}, p1)
	refuses := &tegenaria.ProxyError{Proxy: p1, Status: 502, Err: errors.New("status 502")}
	for i := range 3 {
		for n := range 11 {
			if again := a.fails("http://a.test/", p1, refuses); again != (n < 10) {
				t.Errorf("attempt %d: failure %d: again: %v", i, n, again)
			}
		}
	}
	a.fails("http://a.test/", p1, refuses)
	if _, err := a.answers("http://a.test/", p1, 200); err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		if !a.fails("http://a.test/", p1, refuses) {
			t.Errorf("failure %d after a success is one of the attempt", n)
		}
	}
}

// With Direct a request goes without the proxy that it had, and with Robots a 403 for a robots.txt is an answer. Other credentials are
// counted as one error.
func TestPoolOptions(t *testing.T) {
	a := newAsked(t, proxy.Options{Direct: true, Robots: true}, p1)
	a.want(p1, "at first")
	if _, err := a.answers("http://a.test/robots.txt", p1, 403); err != nil {
		t.Error(err)
	}
	_, err := a.answers("http://a.test/", p1, 407)
	if err == nil {
		t.Fatal("a 407 is an answer")
	}
	a.fails("http://a.test/", p1, err)
	target := enginetest.Send("http://a.test/")
	target.Request.Proxy = &tegenaria.Proxy{ProxyUrl: p1}
	if err := a.ProcessRequest(target); err != nil || target.Request.Proxy != nil {
		t.Errorf("%v, through %v", err, target.Request.Proxy)
	}
	if st := a.ProxyStats(); len(st) != 1 || st[0].Errors != 1 || st[0].Responses != 1 {
		t.Errorf("%+v", st)
	}
}
