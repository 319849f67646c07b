package session_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/proxy"
	"github.com/tegenaria/tegenaria/session"
)

// site is one that binds its cookies to the proxy and the agent that they were given to. A login ends after some pages; a visitor is
// banned after some.
type site struct {
	t *testing.T

	loginLasts, visitLasts int

	mu     sync.Mutex
	logins map[string]int    // by user
	pages  map[string]int    // answered well, by path and user
	uses   map[string]int    // by cookie
	bound  map[string]string // what a cookie was given to
	now    map[string]int    // requests at present, by cookie
	most   int
	last   int
	wrong  []string
	fails  func(user string) bool // a login
}

func newSite(t *testing.T) *site {
	return &site{t: t, loginLasts: 1 << 30, visitLasts: 1 << 30, logins: map[string]int{}, pages: map[string]int{}, uses: map[string]int{},
		bound: map[string]string{}, now: map[string]int{}}
}

func (s *site) notef(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// identity is what the site sees of who asks.
func identity(r *tegenaria.Request) string {
	by := ""
	if r.Proxy != nil {
		by = r.Proxy.ProxyUrl
	}
	return by + " " + r.Header["User-Agent"]
}

func (s *site) answer(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	r := ctx.Request
	path := strings.TrimPrefix(r.Url, "http://site.test")
	sid := ""
	for _, part := range strings.Split(r.Header["Cookie"], "; ") {
		if value, ok := strings.CutPrefix(part, "sid="); ok {
			sid = value
		}
	}
	s.mu.Lock()
	s.now[sid]++
	if sid != "" {
		s.most = max(s.most, s.now[sid])
		if s.bound[sid] != identity(r) {
			s.notef("%s: the cookie %q of %q was sent by %q", path, sid, s.bound[sid], identity(r))
		}
	}
	s.mu.Unlock()
	enginetest.Sleep(100 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now[sid]--
	give := func(status int, user, text string) (*tegenaria.Response, error) {
		header := map[string][]string{"Content-Type": {"text/html"}}
		if user != "" {
			s.last++
			sid := fmt.Sprintf("%s.%d", user, s.last)
			s.bound[sid] = identity(r)
			header["Set-Cookie"] = []string{"sid=" + sid + "; Path=/"}
		}
		return tegenaria.NewResponse(r, status, header, []byte(text)), nil
	}
	user, _, _ := strings.Cut(sid, ".")
	switch name, isLogin := strings.CutPrefix(path, "/login/"); {
	case isLogin && s.fails != nil && s.fails(name):
		return give(500, "", "no")
	case isLogin:
		s.logins[name]++
		return give(200, name, "in")
	case strings.HasPrefix(path, "/own/"):
		if s.uses[sid]++; user == "" || s.uses[sid] > s.loginLasts {
			return tegenaria.NewResponse(r, 401, nil, []byte("log in")), nil
		}
		if owner := strings.Split(path, "/")[2]; owner != user {
			s.notef("%s was asked for by %q", path, user)
		}
		s.pages[path+" "+user]++
		return give(200, "", "page")
	case sid == "":
		s.pages[path]++
		return give(200, "visitor", "page")
	}
	if s.uses[sid]++; s.uses[sid] > s.visitLasts {
		return tegenaria.NewResponse(r, 403, nil, []byte("banned")), nil
	}
	s.pages[path]++
	return give(200, "", "page")
}

func (s *site) login(l *session.Login) error {
	if !l.Session().HasName() {
		return nil
	}
	page, err := l.Fetch(tegenaria.NewRequest("http://site.test/login/"+l.Session().Name(), tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true)))
	if err == nil && page.String() != "in" {
		err = errors.New("it says " + page.String())
	}
	return err
}

func expired(page *tegenaria.Response) bool { return page.Status == 401 }

var agents = []map[string]string{{"User-Agent": "one"}, {"User-Agent": "two"}, {"User-Agent": "three"}}

func proxies() *proxy.Pool {
	return proxy.NewPool(proxy.List("http://p1.test:80", "http://p2.test:80", "http://p3.test:80"), proxy.Options{})
}

// engine makes one that asks for the pages.
func (s *site) engine(pool *session.Pool, requests func(send func(*tegenaria.Request)), opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	spider := enginetest.NewSpider()
	spider.Start = func(req chan<- *tegenaria.Context) {
		requests(func(r *tegenaria.Request) { req <- tegenaria.NewContext(r) })
	}
	return s.engineOf(spider, pool, opts...)
}

func (s *site) engineOf(spider *enginetest.Spider, pool *session.Pool, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	return enginetest.NewEngine(enginetest.NewWorld(), spider, append([]tegenaria.EngineOption{
		tegenaria.EngineWithDownloader(answers{s.answer}), tegenaria.EngineWithMiddlewares(pool, middleware.NewCookies(middleware.CookieOptions{}), middleware.NewBlocks(middleware.BlockRules{Status: []int{403}})),
		tegenaria.EngineWithConcurrency(32),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 32, IgnoreRobots: true})}, opts...)...)
}

// answers is a downloader.
type answers struct {
	answer func(ctx *tegenaria.Context) (*tegenaria.Response, error)
}

func (a answers) CheckStatus(code uint64, allowed []uint64) bool {
	return code < 400 || slices.Contains(allowed, code)
}

func (a answers) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	ctx.DownloadResult = &tegenaria.RequestResult{}
	resp, err := a.answer(ctx)
	if ctx.DownloadResult.Response = resp; err != nil {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, err, tegenaria.ErrorWithRequest(ctx.Request))
	}
	result <- ctx
}

func (s *site) check(want map[string]int) {
	s.t.Helper()
	for i, text := range s.wrong {
		if i < 10 {
			s.t.Error(text)
		}
	}
	if !maps.Equal(s.pages, want) {
		for path, n := range want {
			if s.pages[path] != n {
				s.t.Errorf("%s was answered %d times, want %d", path, s.pages[path], n)
			}
		}
		for path := range s.pages {
			if want[path] == 0 {
				s.t.Errorf("%s was answered", path)
			}
		}
	}
}

// Each session with a name logs in when it needs it, and only then; its cookies go by its proxy and its agent, one request at a time; sessions
// do not hold each other up.
func TestNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, pages = 10, 60
		s := newSite(t)
		s.loginLasts = 17
		pool := session.NewPool(session.Options{Login: s.login, Expired: expired, Proxies: proxies(), Headers: agents})
		want := make(map[string]int)
		e := s.engine(pool, func(send func(*tegenaria.Request)) {
			for i := range pages {
				for u := range users {
					user := fmt.Sprint("u", u)
					path := fmt.Sprintf("/own/%s/%d", user, i)
					want[path+" "+user] = 1
					send(tegenaria.NewRequest("http://site.test"+path, tegenaria.GET, nil, session.As(user)))
				}
			}
		})
		began := time.Now()
		stats := enginetest.MustRun(t, e)
		s.check(want)
		needed := (pages + 16) / 17
		for u := range users {
			if n := s.logins[fmt.Sprint("u", u)]; n != needed {
				t.Errorf("u%d has logged in %d times, want %d", u, n, needed)
			}
		}
		if s.most != 1 {
			t.Errorf("%d requests at once with one cookie", s.most)
		}
		// Each page takes 0.1 s, and so do logins and answers that a login is over.
		if took, want := time.Since(began), time.Duration(pages+2*needed)*100*time.Millisecond; took > want*11/10 {
			t.Errorf("it took %s, want about %s", took, want)
		}
		if st := stats.Sessions; st == nil || st.Named != users || st.Logins != int64(users*needed) || st.Expired != int64(users*(needed-1)) || st.Failed != 0 {
			t.Errorf("stats: %+v", st)
		}
		if stats.Retries != 0 {
			t.Errorf("%d retries", stats.Retries)
		}
	})
}

// Sessions without a name are thrown away with their cookies when a site bans them, and others take their places.
func TestNameless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, pages = 50, 3000
		s := newSite(t)
		s.visitLasts = 20
		pool := session.NewPool(session.Options{Size: size, Proxies: proxies(), Headers: agents})
		want := make(map[string]int)
		e := s.engine(pool, func(send func(*tegenaria.Request)) {
			for i := range pages {
				path := fmt.Sprintf("/%d", i)
				want[path] = 1
				send(tegenaria.NewRequest("http://site.test"+path, tegenaria.GET, nil))
			}
		}, tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 10}))
		stats := enginetest.MustRun(t, e)
		s.check(want)
		st := stats.Sessions
		if s.most != 1 || st.Nameless < pages/21 || st.Retired < stats.Blocked || st.Nameless > size+st.Retired {
			t.Errorf("%d at once; %+v; %d blocked", s.most, st, stats.Blocked)
		}
	})
}

// With fewer sessions than workers requests wait for one, without being asked for again and again.
func TestFewSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 200
		s := newSite(t)
		calls := 0
		var mu sync.Mutex
		first := tegenaria.MiddlewareFuncs{Name: "first", Request: func(*tegenaria.Context) error {
			mu.Lock()
			defer mu.Unlock()
			calls++
			return nil
		}}
		began := time.Now()
		e := s.engine(session.NewPool(session.Options{Size: 2}), func(send func(*tegenaria.Request)) {
			for i := range pages {
				send(tegenaria.NewRequest(fmt.Sprintf("http://site.test/%d", i), tegenaria.GET, nil))
			}
		}, tegenaria.EngineWithMiddlewares(first))
		enginetest.MustRun(t, e)
		if took := time.Since(began); took != pages/2*100*time.Millisecond || calls > pages+pages/10 || s.most != 1 {
			t.Errorf("it took %s; %d calls, %d at once", took, calls, s.most)
		}
	})
}

// Logins that fail, panic, never return, or that the site ends at once, end: the requests of their session give up, others do not.
func TestBadLogins(t *testing.T) {
	for _, tt := range []struct {
		name   string
		login  func(l *session.Login) error
		tries  int32
		reason string
	}{
		{"fails", func(*session.Login) error { return errors.New("wrong password") }, 3, "login: wrong password"},
		{"panics", func(*session.Login) error { panic("oh") }, 3, "login: panic: oh"},
		{"never returns", func(l *session.Login) error { <-l.Context().Done(); enginetest.Sleep(time.Hour); return nil }, 3, "login: it has taken longer than 2m0s"},
		{"is ended at once", func(*session.Login) error { return nil }, 4, "login: expired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				var tries atomic.Int32
				pool := session.NewPool(session.Options{Expired: expired, Login: func(l *session.Login) error {
					if l.Session().Name() == "good" {
						return s.login(l)
					}
					tries.Add(1)
					return tt.login(l)
				}})
				stats := enginetest.MustRun(t, s.engine(pool, func(send func(*tegenaria.Request)) {
					for i := range 20 {
						for _, user := range []string{"good", "bad"} {
							send(tegenaria.NewRequest(fmt.Sprintf("http://site.test/own/%s/%d", user, i), tegenaria.GET, nil, session.As(user)))
						}
					}
				}))
				if stats.Outcomes[tegenaria.GaveUp] != 20 || stats.Reasons["gave-up: "+tt.reason] != 20 || tries.Load() != tt.tries {
					t.Errorf("%d tries; outcomes %v, %v", tries.Load(), stats.Outcomes, stats.Reasons)
				}
				if stats.Sessions.Rejected != 1 || len(s.pages) != 20 {
					t.Errorf("stats: %+v; %d pages of the good one", stats.Sessions, len(s.pages))
				}
				enginetest.Sleep(3 * time.Hour) // what was left behind comes to its end
			})
		})
	}
}

// A proxy that breaks down during a login does not hold up its session: it logs in through another one, at no cost to the attempts. Where no
// proxy reaches the host of the logins, they fail.
func TestCutOffLogins(t *testing.T) {
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprint(all), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				var mu sync.Mutex
				down := make(map[string]bool)
				asked := 0 // how often a login was asked for through a proxy that is down
				pool := session.NewPool(session.Options{Proxies: proxies(), Login: func(l *session.Login) error {
					if _, err := l.Fetch(tegenaria.NewRequest("http://login.test/form", tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true))); err != nil {
						return err
					}
					return s.login(l)
				}})
				want := make(map[string]int)
				e := s.engine(pool, func(send func(*tegenaria.Request)) {
					for i := range 5 {
						path := fmt.Sprint("/own/u/", i)
						want[path+" u"] = 1
						send(tegenaria.NewRequest("http://site.test"+path, tegenaria.GET, nil, session.As("u")))
					}
				}, tegenaria.EngineWithDownloader(answers{func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					r := ctx.Request
					mu.Lock()
					isForm, isDown := strings.HasPrefix(r.Url, "http://login.test/"), down[r.Proxy.ProxyUrl]
					if isForm && !all && len(down) == 0 {
						down[r.Proxy.ProxyUrl] = true // after this answer
					}
					if isDown || isForm && all {
						asked++
					}
					mu.Unlock()
					switch {
					case isForm && all: // a proxy that does not connect to that host, and works otherwise
						return nil, &tegenaria.ProxyError{Proxy: r.Proxy.ProxyUrl, Status: 502, Err: errors.New("bad gateway")}
					case isDown:
						return nil, &tegenaria.ProxyError{Proxy: r.Proxy.ProxyUrl, Err: errors.New("connection refused")}
					case isForm:
						return tegenaria.NewResponse(r, 200, nil, []byte("form")), nil
					}
					return s.answer(ctx)
				}}))
				began := time.Now()
				stats := enginetest.MustRun(t, e)
				if took := time.Since(began); took > 10*time.Minute {
					t.Errorf("it took %s", took)
				}
				if all {
					if pages := stats.Reasons["gave-up: login: its proxy cannot be used at present"]; pages != 5 || stats.Sessions.Rejected != 1 || asked > 60 {
						t.Errorf("%v; %+v; asked %d times", stats.Reasons, stats.Sessions, asked)
					}
					return
				}
				s.check(want)
				if took := time.Since(began); took > 5*time.Second || asked != 3 || stats.Sessions.Failed != 0 || stats.Sessions.Logins != 1 || s.logins["u"] != 1 || stats.Retries != 0 {
					t.Errorf("it took %s; asked %d times; %+v; %d retries", took, asked, stats.Sessions, stats.Retries)
				}
			})
		})
	}
}

// Visitors whose login takes several steps are not held up by those who wait for one of them, nor are accounts of the same host.
func TestFewVisitorsWithLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		pool := session.NewPool(session.Options{Size: 1, Login: func(l *session.Login) error {
			for _, path := range []string{"/form/1", "/form/2"} {
				if _, err := l.Fetch(tegenaria.NewRequest("http://site.test"+path, tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true))); err != nil {
					return err
				}
			}
			return s.login(l)
		}})
		began := time.Now()
		var account time.Duration
		e := s.engine(pool, func(send func(*tegenaria.Request)) {
			for i := range 30 {
				send(tegenaria.NewRequest(fmt.Sprint("http://site.test/", i), tegenaria.GET, nil))
			}
			for i := range 5 {
				send(tegenaria.NewRequest(fmt.Sprint("http://site.test/own/u/", i), tegenaria.GET, nil, session.As("u")))
			}
		}, tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 8, IgnoreRobots: true}),
			tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(r *tegenaria.Request, _ tegenaria.Outcome, _ string) {
				if strings.Contains(r.Url, "/own/") {
					account = time.Since(began)
				}
			}}))
		stats := enginetest.MustRun(t, e)
		if took := time.Since(began); took > 35*100*time.Millisecond || account > 10*100*time.Millisecond || stats.Outcomes[tegenaria.GaveUp] > 0 || stats.Sessions.Failed > 0 {
			t.Errorf("it took %s, the account %s; %v, %+v", took, account, stats.Outcomes, stats.Sessions)
		}
	})
}

// A site that blocks a proxy blocks its logins too: the session logs in through another one.
func TestBlockedLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var mu sync.Mutex
		blocked := 0
		bad := ""
		pool := session.NewPool(session.Options{Proxies: proxies(), Login: s.login})
		e := s.engine(pool, func(send func(*tegenaria.Request)) {
			for i := range 20 {
				send(tegenaria.NewRequest(fmt.Sprint("http://site.test/own/u/", i), tegenaria.GET, nil, session.As("u")))
			}
		}, tegenaria.EngineWithDownloader(answers{func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			mu.Lock()
			by := ctx.Request.Proxy.ProxyUrl
			if bad == "" || strings.HasSuffix(ctx.Request.Url, "/10") && blocked == 1 { // the first one, and later the one in use
				bad = by
			}
			isBlocked := by == bad
			if isBlocked {
				blocked++
			}
			mu.Unlock()
			if isBlocked {
				return tegenaria.NewResponse(ctx.Request, 403, nil, []byte("no robots")), nil
			}
			return s.answer(ctx)
		}}))
		stats := enginetest.MustRun(t, e)
		if len(s.pages) != 20 || blocked > 6 || s.logins["u"] != 2 || stats.Outcomes[tegenaria.GaveUp] > 1 {
			t.Errorf("%d pages, %d blocked, %d logins; %v %v", len(s.pages), blocked, s.logins["u"], stats.Outcomes, stats.Reasons)
		}
	})
}

// A login that fails for a while is tried again, and costs the requests nothing.
func TestLoginComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		tries := 0
		s.fails = func(string) bool { tries++; return tries < 3 }
		pool := session.NewPool(session.Options{Login: s.login})
		stats := enginetest.MustRun(t, s.engine(pool, func(send func(*tegenaria.Request)) {
			for i := range 5 {
				send(tegenaria.NewRequest(fmt.Sprintf("http://site.test/own/u/%d", i), tegenaria.GET, nil, session.As("u")))
			}
		}))
		if stats.Outcomes[tegenaria.Fetched]-int64(tries) != 5-2 || stats.Retries != 0 || stats.Sessions.Logins != 1 || stats.Sessions.Failed != 2 {
			t.Errorf("%d tries; %+v; %+v", tries, stats.Outcomes, stats.Sessions)
		}
	})
}

// The log says of a login that takes long whose it is, once.
func TestSlowLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.loginLasts = 1
		pool := session.NewPool(session.Options{Expired: expired, Login: func(l *session.Login) error {
			if l.Session().Name() == "ann" {
				enginetest.Sleep(11 * time.Second)
			}
			return s.login(l)
		}})
		var text strings.Builder
		e := s.engine(pool, func(send func(*tegenaria.Request)) {
			for i := range 6 {
				user := []string{"ann", "bob"}[i%2]
				send(tegenaria.NewRequest(fmt.Sprintf("http://site.test/own/%s/%d", user, i), tegenaria.GET, nil, session.As(user)))
			}
		}, tegenaria.EngineWithLogger(nil), tegenaria.EngineWithSlog(slog.New(slog.NewTextHandler(&text, nil))))
		enginetest.MustRun(t, e)
		if log := text.String(); s.logins["ann"] < 3 || strings.Count(log, "the login of the session ann has taken 10s so far") != 1 ||
			strings.Contains(log, "login of the session bob") {
			t.Errorf("%d logins; %s", s.logins["ann"], log)
		}
	})
}

// A login that is under way when the crawl is stopped may end within the grace, and the page is still asked for. One that is cut off then costs
// its request no attempt.
func TestStoppedLogin(t *testing.T) {
	for _, takes := range []time.Duration{5 * time.Second, time.Minute} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				var e *tegenaria.SpiderEngine
				began, ended := time.Now(), atomic.Int64{}
				pool := session.NewPool(session.Options{Login: func(l *session.Login) error {
					time.AfterFunc(time.Second, func() { _ = e.Stop(t.Context()) })
					select {
					case <-l.Context().Done():
					case <-time.After(takes):
					}
					ended.Store(int64(time.Since(began)))
					return l.Context().Err()
				}})
				e = s.engine(pool, func(send func(*tegenaria.Request)) {
					send(tegenaria.NewRequest("http://site.test/1", tegenaria.GET, nil, session.As("ann")))
				}, tegenaria.EngineWithGrace(10*time.Second))
				_ = e.Run(t.Context(), "test")
				stats := e.Stats()
				enginetest.Sleep(time.Second) // a login that was cut off comes to its end
				took := time.Duration(ended.Load())
				isCut := takes > 10*time.Second
				if isCut && (took < 9*time.Second || took > 11*time.Second || stats.Pending != 1 || stats.Sessions.Failed != 0) ||
					!isCut && (took != takes || stats.Outcomes[tegenaria.Fetched] != 1) {
					t.Errorf("the login took %s; %+v, %+v", took, stats, stats.Sessions)
				}
			})
		})
	}
}

// Redirects, Fetch and forms stay in their session; links do not, and None leaves it.
func TestStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var mu sync.Mutex
		seen := make(map[string]string) // session by path
		pool := session.NewPool(session.Options{Size: 5, Login: s.login})
		spider := enginetest.NewSpider()
		spider.Start = func(req chan<- *tegenaria.Context) {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://site.test/a", tegenaria.GET, nil, session.As("ann")))
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://site.test/b", tegenaria.GET, nil))
		}
		spider.Parse = parser(func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
			path := strings.TrimPrefix(ctx.Request.Url, "http://site.test")
			if len(path) != len("/a/target") {
				return nil
			}
			from := path[:2]
			page, err := ctx.Fetch(tegenaria.NewRequest("http://site.test"+from+"/fetched", tegenaria.GET, nil))
			if err != nil {
				return err
			}
			if session.Of(page).Name() != session.Of(ctx.DownloadResult.Response).Name() {
				t.Errorf("Fetch was sent in %q", session.Of(page).Name())
			}
			form, err := ctx.DownloadResult.Response.Form("form")
			if err != nil {
				return err
			}
			sent, err := form.Request()
			if err != nil {
				return err
			}
			req <- tegenaria.NewContext(sent)
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://site.test"+from+"/none", tegenaria.GET, nil, session.As(session.None)))
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://site.test"+from+"/link", tegenaria.GET, nil))
			return nil
		})
		e := s.engineOf(spider, pool, tegenaria.EngineWithDownloader(answers{func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			r := ctx.Request
			path := strings.TrimPrefix(r.Url, "http://site.test")
			mu.Lock()
			seen[path] = r.Session()
			mu.Unlock()
			switch {
			case path == "/a" || path == "/b":
				return tegenaria.NewResponse(r, 302, map[string][]string{"Location": {path + "/target"}}, nil), nil
			case strings.HasPrefix(path, "/login"):
				return tegenaria.NewResponse(r, 200, nil, []byte("in")), nil
			}
			return tegenaria.NewResponse(r, 200, map[string][]string{"Content-Type": {"text/html"}}, []byte(`<form action="form"><input name=x value=y></form>`)), nil
		}}))
		stats := enginetest.MustRun(t, e)
		if stats.Outcomes[tegenaria.Failed] > 0 {
			t.Errorf("%+v", stats)
		}
		for path, want := range map[string]string{"/a": "ann", "/a/target": "ann", "/a/fetched": "ann", "/a/form?x=y": "ann", "/a/none": session.None,
			"/b/target": seen["/b"], "/b/fetched": seen["/b"], "/b/form?x=y": seen["/b"], "/login/ann": "ann"} {
			if seen[path] != want || want == "" {
				t.Errorf("%s was sent in %q, want %q", path, seen[path], want)
			}
		}
		if link := seen["/a/link"]; !strings.HasPrefix(link, "#") {
			t.Errorf("the link was sent in %q", link)
		}
	})
}

func parser(parse func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error) tegenaria.Parser {
	return func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		return parse(ctx, req)
	}
}

// One URL in two sessions is two requests; whether it is sent in any of the sessions or in none makes no difference.
func TestOneURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		n := 0
		e := s.engine(session.NewPool(session.Options{Size: 2}), func(send func(*tegenaria.Request)) {
			for _, user := range []string{"ann", "bob", "ann", "", session.None} {
				r := tegenaria.NewRequest("http://site.test/me", tegenaria.GET, nil)
				if user != "" {
					session.As(user)(r)
				}
				send(r)
			}
		}, tegenaria.EngineWithEvents(tegenaria.Events{RequestStarted: func(*tegenaria.Request) { n++ }}))
		stats := enginetest.MustRun(t, e)
		if stats.Outcomes[tegenaria.Fetched] != 3 || stats.Outcomes[tegenaria.Duplicate] != 2 {
			t.Errorf("%v", stats.Outcomes)
		}
	})
}

// A request cannot name a session that has no name, nor by a name without end; "" is no name.
func TestBadName(t *testing.T) {
	for _, tt := range []struct {
		name string
		ok   bool
	}{{"#1", false}, {strings.Repeat("x", 257), false}, {strings.Repeat("x", 256), true}, {"", true}} {
		t.Run(fmt.Sprint(len(tt.name)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				var failed error
				e := s.engine(session.NewPool(session.Options{Size: 2}), func(send func(*tegenaria.Request)) {
					send(tegenaria.NewRequest("http://site.test/me", tegenaria.GET, nil, session.As(tt.name)))
				}, tegenaria.EngineWithEvents(tegenaria.Events{Error: func(err *tegenaria.HandleError) { failed = err }}))
				stats := enginetest.MustRun(t, e)
				var bad *tegenaria.RequestError
				switch isBad := errors.As(failed, &bad) && bad.Field == "Session"; {
				case !tt.ok && (stats.Outcomes[tegenaria.Failed] != 1 || !isBad || len(failed.Error()) > 300):
					t.Errorf("%v; %v", stats.Outcomes, failed)
				case tt.ok && (stats.Outcomes[tegenaria.Fetched] != 1 || (stats.Sessions.Nameless == 1) != (tt.name == "")):
					t.Errorf("%v; %v; %+v", stats.Outcomes, failed, stats.Sessions)
				}
			})
		})
	}
}

// Sessions need one middleware for cookies: with none, or with two, the crawl does not start.
func TestOneCookies(t *testing.T) {
	cookies := func() tegenaria.MiddlewaresInterface { return middleware.NewCookies(middleware.CookieOptions{}) }
	for want, more := range map[string][]tegenaria.MiddlewaresInterface{
		"no cookies are registered":    nil,
		"two middlewares keep cookies": append(middleware.Standard(), cookies()),
	} {
		pool := session.NewPool(session.Options{Size: 2})
		e := enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider(), tegenaria.EngineWithMiddlewares(append(more, pool)...))
		if err := enginetest.Run(t, e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// worker is a cache that other programs work with as well.
type worker struct{ tegenaria.CacheInterface }

func (worker) WorkerName() string { return "w1" }

// Where several programs work on a job requests with a named session fail; visitors are used.
func TestCluster(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := newSite(t)
	var failed *session.ClusterError
	e := s.engine(session.NewPool(session.Options{Size: 2}), func(send func(*tegenaria.Request)) {
		send(tegenaria.NewRequest("http://site.test/1", tegenaria.GET, nil, session.As("ann")))
		send(tegenaria.NewRequest("http://site.test/2", tegenaria.GET, nil))
	}, tegenaria.EngineWithCache(worker{store}), tegenaria.EngineWithEvents(tegenaria.Events{Error: func(err *tegenaria.HandleError) { errors.As(err, &failed) }}))
	stats := enginetest.MustRun(t, e)
	if failed == nil || failed.Session != "ann" || stats.Outcomes[tegenaria.Fetched] != 1 || stats.Reasons["gave-up: session in a cluster"] != 1 {
		t.Errorf("%v; %v %v", failed, stats.Outcomes, stats.Reasons)
	}
}

// A crawl that stores nothing keeps no list of the sessions that are gone; why they went is counted, under so many names at most.
func TestReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 300
		s := newSite(t)
		pool := session.NewPool(session.Options{Size: 2, MaxUses: 3})
		spider := enginetest.NewSpider()
		spider.Start = func(req chan<- *tegenaria.Context) {
			for i := range pages {
				req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprint("http://site.test/", i), tegenaria.GET, nil))
			}
		}
		parsed := 0
		var mu sync.Mutex
		spider.Parse = parser(func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if parsed++; parsed > 200 {
				session.Of(ctx.DownloadResult.Response).Retire(fmt.Sprint("reason ", parsed))
			}
			return nil
		})
		st := enginetest.MustRun(t, s.engineOf(spider, pool)).Sessions
		sum := int64(0)
		for _, n := range st.Reasons {
			sum += n
		}
		if st.Reasons["used up"] < 50 || st.Reasons["reason 201"] != 1 || st.Reasons["other"] < 20 || len(st.Reasons) != 51 || sum != st.Retired {
			t.Errorf("%d reasons, sum %d: %+v", len(st.Reasons), sum, st)
		}
		if state, _, err := pool.ChangedState(0); len(state) > 0 || err != nil {
			t.Errorf("%d sessions are to be stored, %v", len(state), err)
		}
	})
}

// A job that is stopped and goes on is still logged in, by the same proxies.
func TestKept(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const users, pages = 4, 10
	s := newSite(t)
	want := make(map[string]int)
	for run := range 4 {
		options := session.Options{Login: s.login, Expired: expired, Proxies: proxies(), Headers: agents, Size: 3}
		pool := session.NewPool(options)
		var e *tegenaria.SpiderEngine
		stop := sync.OnceFunc(func() { go e.Stop(t.Context()) })
		fetched := 0
		var mu sync.Mutex
		e = s.engine(pool, func(send func(*tegenaria.Request)) {
			for i := range pages {
				for u := range users {
					user := fmt.Sprint("u", u)
					path := fmt.Sprintf("/own/%s/%d", user, i)
					want[path+" "+user] = 1
					send(tegenaria.NewRequest("http://site.test"+path, tegenaria.GET, nil, session.As(user)))
				}
				want[fmt.Sprint("/", i)] = 1
				send(tegenaria.NewRequest(fmt.Sprint("http://site.test/", i), tegenaria.GET, nil))
			}
		}, tegenaria.EngineWithCache(store), tegenaria.EngineWithEvents(tegenaria.Events{Downloaded: func(*tegenaria.Request, *tegenaria.Response) {
			mu.Lock()
			defer mu.Unlock()
			if fetched++; fetched > 12 && run < 3 {
				stop()
			}
		}}))
		err := e.Run(t.Context(), "test")
		if run == 3 && err != nil {
			t.Fatal(err)
		}
		if stats := e.Stats(); stats.RequestDownloaded > 0 && (stats.Sessions.Named != users || stats.Sessions.Nameless != 3) {
			t.Errorf("run %d: %+v", run, stats.Sessions)
		}
	}
	s.check(want)
	for u := range users {
		if n := s.logins[fmt.Sprint("u", u)]; n != 1 {
			t.Errorf("u%d has logged in %d times", u, n)
		}
	}
}

// The target of a redirect whose visitor is gone is asked for by another one, with the header fields of that one.
func TestRedirectChangesVisitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 60
		var mu sync.Mutex
		var wrong []string
		agentOf := make(map[string]string) // by cookie
		given := 0
		answer := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			r := ctx.Request
			enginetest.Sleep(100 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			header := map[string][]string{"Content-Type": {"text/html"}}
			agent, sid := r.Header["User-Agent"], r.Header["Cookie"]
			switch {
			case sid == "":
				given++
				sid = fmt.Sprint("sid=", given)
				agentOf[sid] = agent
				header["Set-Cookie"] = []string{sid + "; Path=/"}
			case agentOf[sid] != agent:
				wrong = append(wrong, fmt.Sprintf("%s: %s of %q is sent by %q", r.Url, sid, agentOf[sid], agent))
			}
			if rest, moved := strings.CutPrefix(r.Url, "http://site.test/old/"); moved {
				header["Location"] = []string{"http://site.test/new/" + rest}
				return tegenaria.NewResponse(r, 302, header, nil), nil
			}
			return tegenaria.NewResponse(r, 200, header, []byte("page")), nil
		}
		spider := enginetest.NewSpider()
		spider.Start = func(req chan<- *tegenaria.Context) {
			for i := range pages {
				req <- enginetest.Send(fmt.Sprint("http://site.test/old/", i))
			}
		}
		stats := enginetest.MustRun(t, enginetest.NewEngine(enginetest.NewWorld(), spider, tegenaria.EngineWithDownloader(answers{answer}),
			tegenaria.EngineWithMiddlewares(session.NewPool(session.Options{Size: 5, MaxUses: 3, Headers: agents}), middleware.NewCookies(middleware.CookieOptions{})),
			tegenaria.EngineWithConcurrency(5), tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 5, IgnoreRobots: true})))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: pages, tegenaria.Redirected: pages})
		if len(wrong) > 0 || given < pages*2/3 {
			t.Errorf("%d visitors; %q", given, wrong)
		}
	})
}

// Retire ends a session; what the program keeps with it is stored.
func TestRetire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		pool := session.NewPool(session.Options{Size: 1, Login: s.login})
		spider := enginetest.NewSpider()
		spider.Start = func(req chan<- *tegenaria.Context) {
			for i := range 6 {
				req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprint("http://site.test/", i), tegenaria.GET, nil))
				req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprint("http://site.test/own/u/", i), tegenaria.GET, nil, session.As("u")))
			}
		}
		var mu sync.Mutex
		names := make(map[string]int)
		spider.Parse = parser(func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			mu.Lock()
			defer mu.Unlock()
			one := session.Of(ctx.DownloadResult.Response)
			if names[one.Name()]++; names[one.Name()]%3 == 0 {
				if one.Get("n") != fmt.Sprint(names[one.Name()]-1) || one.Uses() < 3 || one.Age() <= 0 {
					t.Errorf("%s: n = %q, %d uses, %s", one.Name(), one.Get("n"), one.Uses(), one.Age())
				}
				one.Retire("three are enough")
			}
			one.Set("n", fmt.Sprint(names[one.Name()]))
			return nil
		})
		// With the delay a page is parsed before the next one is sent.
		stats := enginetest.MustRun(t, s.engineOf(spider, pool,
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second, IgnoreRobots: true})))
		if len(names) < 3 || names["u"] != 6 || s.logins["u"] != 2 || stats.Sessions.Retired != 4 || stats.Sessions.Reasons["three are enough"] != 4 {
			t.Errorf("%v; %v; %+v", names, s.logins, stats.Sessions)
		}
		if len(s.wrong) > 0 {
			t.Error(s.wrong)
		}
	})
	session.Of(nil).Retire("nothing")
}
