package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/proxy"
)

// used are the proxies that requests went through, in virtual time.
type used struct {
	mu    sync.Mutex
	began time.Time
	by    map[string][]time.Duration // when each was used; "" is no proxy
	down  map[string]bool            // proxies that do not answer
	fails func(ctx *tegenaria.Context, proxy string) error
}

func newUsed() *used {
	return &used{began: time.Now(), by: make(map[string][]time.Duration), down: make(map[string]bool)}
}

// answer is that of all pages: an error if the proxy is down.
func (u *used) answer(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	by := ""
	if p := ctx.Request.Proxy; p != nil {
		by = p.ProxyUrl
	}
	u.by[by] = append(u.by[by], time.Since(u.began))
	if u.down[by] {
		return nil, &tegenaria.ProxyError{Proxy: by, Err: errors.New("connection refused")}
	}
	if u.fails != nil {
		if err := u.fails(ctx, by); err != nil {
			return nil, err
		}
	}
	return tegenaria.NewResponse(ctx.Request, 200, nil, []byte("x")), nil
}

func (u *used) set(down bool, proxies ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range proxies {
		u.down[p] = down
	}
}

func (u *used) requests() (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, list := range u.by {
		n += len(list)
	}
	return n
}

const (
	p1 = "http://p1.test:80"
	p2 = "http://user:secret@p2.test:80"
	p3 = "socks5://p3.test:1080"
)

// engine makes one that asks for so many pages of a host, one each second.
func (u *used) engine(pages int, pool *proxy.Pool, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	w := enginetest.NewWorld()
	s := enginetest.NewSpider()
	url := func(i int) string { return fmt.Sprintf("http://a.test/%d", i) }
	for i := range pages {
		w.Page(url(i), u.answer)
	}
	s.Start = func(req chan<- *tegenaria.Context) {
		for i := range pages {
			req <- enginetest.Send(url(i))
		}
	}
	return enginetest.NewEngine(w, s, append([]tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(pool),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second, IgnoreRobots: true})}, opts...)...)
}

// While all proxies are down requests wait, and none goes directly. When they are back they are used within two rests, and no request has
// lost an attempt.
func TestRevival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 2000
		u := newUsed()
		pool := proxy.NewPool(proxy.List(p1, p2, p3), proxy.Options{})
		e := u.engine(pages, pool, tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 1}))
		done := make(chan error)
		go func() { done <- e.Run(t.Context(), "test") }()
		enginetest.Sleep(50 * time.Second)
		u.set(true, p1, p2, p3)
		enginetest.Sleep(10 * time.Minute)
		before := u.requests()
		if st := e.Stats(); st.InFlight != 0 || st.Pending == 0 {
			t.Errorf("while all proxies are down: %+v", st)
		}
		if tried := before - 50; tried > 60 {
			t.Errorf("%d requests have tried proxies that are down", tried)
		}
		back := time.Since(u.began)
		u.set(false, p1, p2)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: pages})
		if st := e.Stats(); st.Retries != 0 {
			t.Errorf("%d retries", st.Retries)
		}
		for _, p := range []string{p1, p2} {
			i := slices.IndexFunc(u.by[p], func(at time.Duration) bool { return at >= back })
			if i < 0 || u.by[p][i]-back > 2*10*time.Minute*5/4 {
				t.Errorf("%s is back and was used at %v", p, u.by[p][max(i, 0):])
			}
		}
		if n := len(u.by[""]); n > 0 {
			t.Errorf("%d requests went directly", n)
		}
	})
}

// A crawl that waits for proxies ends when it is stopped; with Direct it does not wait.
func TestAllDown(t *testing.T) {
	for _, direct := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			u := newUsed()
			u.set(true, p1, p2)
			var said bytes.Buffer
			logger := logrus.New()
			logger.SetOutput(&said)
			e := u.engine(20, proxy.NewPool(proxy.List(p1, p2), proxy.Options{Direct: direct}), tegenaria.EngineWithLogger(logger))
			done := make(chan error, 1)
			go func() { done <- e.Run(t.Context(), "test") }()
			enginetest.Sleep(time.Hour)
			if direct {
				if err := <-done; err != nil || len(u.by[""]) < 20-2*3 {
					t.Errorf("%v; %v", err, u.by)
				}
				return
			}
			if err := e.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			enginetest.WantStopped(t, <-done, "stopped")
			if !strings.Contains(said.String(), "requests wait for a proxy: none can be used at the moment; the last failure is that of http://") ||
				strings.Contains(said.String(), "secret") {
				t.Errorf("the log does not say why they wait, or tells a password: %s", &said)
			}
			if st := e.Stats(); st.Outcomes[tegenaria.Failed]+st.Outcomes[tegenaria.GaveUp] > 0 || len(u.by[""]) > 0 {
				t.Errorf("%v; %v", st.Outcomes, u.by)
			}
		})
	}
}

// A site that no proxy can reach fails after some free tries of each request, and the failure names the proxy without its password.
// Others are not held up.
func TestUnreachableSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUsed()
		tries := 0
		u.fails = func(ctx *tegenaria.Context, by string) error {
			if !strings.HasSuffix(ctx.Request.Url, "/0") {
				return nil
			}
			tries++
			return &tegenaria.ProxyError{Proxy: "http://user@p2.test:80", Status: 502, Err: errors.New("status 502")}
		}
		var failed error
		w := enginetest.NewWorld().Page("http://b.test/0", u.answer).Page("http://a.test/1", u.answer)
		s := enginetest.NewSpider("http://b.test/0", "http://a.test/1")
		s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) { failed = err }
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(proxy.NewPool(proxy.List(p2), proxy.Options{})))
		stats := enginetest.MustRun(t, e)
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 1})
		if tries != 11 || failed == nil || strings.Contains(failed.Error(), "secret") {
			t.Errorf("%d tries; %v", tries, failed)
		}
		for _, p := range stats.Proxies {
			if strings.Contains(p.Name, "secret") || !strings.Contains(p.Name, "user") {
				t.Errorf("name %q", p.Name)
			}
		}
	})
}

// A list that is read again takes the place of the one before; one that cannot be used does not. The target of a redirect whose proxy
// is not listed any more gets another one.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUsed()
		lists := [][]string{{p1}, {}, {"ftp://x"}, {p3}}
		reads := 0
		var told []string
		pool := proxy.NewPool(proxy.Func(func(context.Context) ([]string, error) {
			reads++
			return lists[min(reads, len(lists))-1], nil
		}), proxy.Options{Reload: 10 * time.Second, Reloaded: func(n int, err error) { told = append(told, fmt.Sprint(n, " ", err != nil)) }})
		stats := enginetest.MustRun(t, u.engine(60, pool))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 60})
		if last := u.by[p1][len(u.by[p1])-1]; last > 31*time.Second || len(u.by[p3]) < 28 || len(u.by) != 2 {
			t.Errorf("the first list was used until %s; %v", last, u.by)
		}
		if !slices.Equal(told[:3], []string{"1 true", "1 true", "1 false"}) {
			t.Errorf("told: %q", told)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		u := newUsed()
		w := enginetest.NewWorld().Page("http://a.test/", u.answer)
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/", tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://gone.test:80"}))
		}
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(proxy.NewPool(proxy.List(p1), proxy.Options{}))))
		if len(u.by[p1]) != 1 {
			t.Errorf("used: %v", u.by)
		}
	})
}

// What a cache has answered says nothing of the proxy; a site that takes too long is no failure of the proxy.
func TestNoVerdict(t *testing.T) {
	pool := proxy.NewPool(proxy.List(p1), proxy.Options{})
	if err := pool.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ctx := enginetest.Send("http://a.test/")
	ask := func() error {
		ctx.Request.Proxy = nil
		return pool.ProcessRequest(ctx)
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	late := &tegenaria.TimeoutError{URL: ctx.Request.Url, Phase: tegenaria.PhaseFirstByte, Limit: time.Minute}
	if err := pool.ProcessError(ctx, late, nil); err != error(late) {
		t.Errorf("a late site: %v", err)
	}
	for range 3 {
		if err := pool.ProcessError(ctx, &tegenaria.ProxyError{Proxy: p1, Err: errors.New("refused")}, nil); err == nil {
			t.Error("a dead proxy is no failure")
		}
	}
	stored := tegenaria.NewResponse(ctx.Request, 200, nil, []byte("x"))
	stored.SetCached(tegenaria.CacheStatus{State: tegenaria.CacheHit}, nil)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: stored}
	if err := pool.ProcessResponse(ctx, nil); err != nil {
		t.Error(err)
	}
	if err := ask(); err == nil {
		t.Error("a page of a cache has brought a dead proxy back")
	}
}

// A list that is a new one each time takes no more memory with each, and the counts of the proxies that are gone stay.
func TestManyLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 3000
		u := newUsed()
		reads := 0
		pool := proxy.NewPool(proxy.Func(func(context.Context) ([]string, error) {
			reads++
			return []string{fmt.Sprintf("http://p%d.test:80", reads)}, nil
		}), proxy.Options{Reload: time.Second})
		stats := enginetest.MustRun(t, u.engine(pages, pool))
		sum := int64(0)
		for _, p := range stats.Proxies {
			sum += p.Requests
		}
		if n := len(stats.Proxies); n > 1002 || reads < pages-1 || sum != pages {
			t.Errorf("%d lists, %d proxies with %d requests in all", reads, n, sum)
		}
	})
}

func TestLists(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proxies.txt")
	for _, tt := range []struct{ text, want string }{
		{"# mine\n\nhttp://a.test:80\r\n192.0.2.7:3128\nsocks5h://u:p@b.test:1080/\nhttp://a.test:80\n", ""},
		{"http://a.test:80\nftp://b.test:21\n", "line 2: unknown scheme \"ftp\"; use http, https, socks5 or socks5h"},
		{"http://user:se cret@b.test:80\n", "line 1: no URL; write http://user:password@host:port, with %40 for an @ within the password"},
		{"http://user:secret@b.test:80/path\n", "line 1: http://user@b.test:80: no proxy; write http://host:port"},
		{"http://\n", "line 1: http://: no proxy; write http://host:port"},
		{"http://user:secret@b.test:99999\n", "line 1: http://user@b.test:99999: no port 99999; ports are 1 to 65535"},
		{"proxies.txt\n", "line 1: proxies.txt: no port; write host:port, or http://host for port 80"},
		{"http://b.test:0\n", "line 1: http://b.test:0: no port 0; ports are 1 to 65535"},
		{"# none\n", "the list is empty: name at least one proxy"},
	} {
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		pool := proxy.NewPool(proxy.File(file), proxy.Options{})
		err := pool.Open(t.Context(), nil)
		var list *proxy.ListError
		switch {
		case tt.want == "" && (err != nil || pool.Len() != 3):
			t.Errorf("%q: %v, %d proxies", tt.text, err, pool.Len())
		case tt.want != "" && (!errors.As(err, &list) || !strings.HasSuffix(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
	if err := proxy.NewPool(proxy.File(file+"x"), proxy.Options{}).Open(t.Context(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := proxy.NewPool(proxy.List("http://a.test:80", "x://y"), proxy.Options{}).Open(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "entry 2") {
		t.Error(err)
	}
}

// BenchmarkChoose is the choice of a proxy among a thousand.
func BenchmarkChoose(b *testing.B) {
	var urls []string
	for i := range 1000 {
		urls = append(urls, fmt.Sprintf("http://p%d.test:80", i))
	}
	for name, choose := range map[string]proxy.Choice{
		"fastest": proxy.Fastest, "in turn": proxy.InTurn, "least used": proxy.LeastUsed, "sticky": proxy.StickyHost,
	} {
		b.Run(name, func(b *testing.B) {
			pool := proxy.NewPool(proxy.List(urls...), proxy.Options{Choose: choose})
			if err := pool.Open(b.Context(), nil); err != nil {
				b.Fatal(err)
			}
			ctx := enginetest.Send("http://a.test/")
			for b.Loop() {
				ctx.Request.Proxy = nil
				if err := pool.ProcessRequest(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
