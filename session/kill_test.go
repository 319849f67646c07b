package session_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/proxy"
	"github.com/tegenaria/tegenaria/session"
)

// shopPlan says which shop is crawled, and how.
type shopPlan struct {
	Site    string
	Proxies []string
	Folder  string // of the job of the program that TestKills kills
	Start   int    // how often that program was started before
}

// killed is the program that TestKills kills: it reads the pages of some accounts, and others as visitors.
var killed = killtest.NewProgram("killed", func(p shopPlan) (err error) {
	cache, err := disk.Open(filepath.Join(p.Folder, "job"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	return shopCrawl(p, tegenaria.EngineWithCache(cache)).Execute("shop")
})

func TestMain(m *testing.M) { killtest.Main(m) }

const (
	shopUsers, ownPages, visitorPages = 4, 15, 60
	loginLasts                        = 9  // pages
	visitLasts                        = 12 // pages
)

// shopCrawl makes an engine that reads all pages of a shop.
func shopCrawl(p shopPlan, more ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	pool := session.NewPool(session.Options{
		Size:    5,
		Proxies: proxy.NewPool(proxy.List(p.Proxies...), proxy.Options{}),
		Headers: agents,
		Expired: func(page *tegenaria.Response) bool { return page.Status == 401 },
		Login: func(l *session.Login) error {
			if !l.Session().HasName() {
				return nil
			}
			_, err := l.Fetch(tegenaria.NewRequest(fmt.Sprintf("%s/login/%s?start=%d", p.Site, l.Session().Name(), p.Start), tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true)))
			return err
		},
	})
	var requests []*tegenaria.Request
	for i := range ownPages {
		for u := range shopUsers {
			requests = append(requests, tegenaria.NewRequest(fmt.Sprintf("%s/own/u%d/%d", p.Site, u, i), tegenaria.GET, nil, session.As(fmt.Sprint("u", u))))
		}
	}
	for i := range visitorPages {
		requests = append(requests, tegenaria.NewRequest(fmt.Sprintf("%s/visit/%d", p.Site, i), tegenaria.GET, nil))
	}
	spider := tegenaria.NewSpiderOf("shop", func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return nil }, requests...)
	return tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{
		tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 10}), tegenaria.EngineWithConcurrency(8),
		tegenaria.EngineWithMiddlewares(pool, middleware.NewCookies(middleware.CookieOptions{}),
			middleware.NewBlocks(middleware.BlockRules{Status: []int{403}})),
	}, more...)...)
}

// shop binds its cookies to the proxy and the agent that have asked for them. A login ends after some pages, a visitor is banned after some.
type shop struct {
	mu     sync.Mutex
	last   int
	bound  map[string]string // cookie: who it was given to
	uses   map[string]int    // by cookie
	logins map[string]int    // by user
	pages  map[string]int    // by path
	fresh  map[string]string // users whose last login no page was asked for with, and the start of the program that logged in
	cut    map[string]int    // by user, logins that a kill has cut off
	wrong  []string
	asked  func(n int) // with the number of pages, under the lock
}

func newShop() *shop {
	return &shop{bound: map[string]string{}, uses: map[string]int{}, logins: map[string]int{}, pages: map[string]int{}, fresh: map[string]string{}, cut: map[string]int{}}
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("X-Via") == "" {
		s.wrong = append(s.wrong, r.URL.Path+" was asked for directly")
	}
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	who := r.Header.Get("X-Via") + " " + r.Header.Get("User-Agent")
	sid := ""
	if cookie, err := r.Cookie("sid"); err == nil {
		if sid = cookie.Value; s.bound[sid] != who {
			s.wrong = append(s.wrong, fmt.Sprintf("%s: the cookie %q of %q was sent by %q", r.URL.Path, sid, s.bound[sid], who))
		}
	}
	give := func(user string) {
		s.last++
		sid = user + "." + strconv.Itoa(s.last)
		s.bound[sid] = who
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: sid, Path: "/"})
	}
	user, _, _ := strings.Cut(sid, ".")
	s.uses[sid]++
	switch parts := strings.Split(r.URL.Path, "/"); {
	case parts[1] == "login":
		s.logins[parts[2]]++
		start := r.URL.Query().Get("start")
		if before := s.fresh[parts[2]]; before != "" && before != start {
			s.cut[parts[2]]++
		}
		s.fresh[parts[2]] = start
		give(parts[2])
		if s.asked != nil {
			s.asked(len(s.pages))
		}
		return
	case parts[1] == "own" && (sid == "" || s.uses[sid] > loginLasts):
		w.WriteHeader(http.StatusUnauthorized)
		return
	case parts[1] == "own" && parts[2] != user:
		s.wrong = append(s.wrong, r.URL.Path+" was asked for by "+user)
	case parts[1] == "own":
		delete(s.fresh, user)
	case sid == "":
		give("visitor")
	case parts[1] == "visit" && s.uses[sid] > visitLasts:
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.pages[r.URL.Path]++
	if s.asked != nil {
		s.asked(len(s.pages))
	}
}

// forward starts a proxy that says its name.
func forward(t *testing.T, name string) string {
	transport := &http.Transport{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.RequestURI = ""
		out.Header.Set("X-Via", name)
		resp, err := transport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for key, values := range resp.Header {
			w.Header()[key] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}

// check compares what the shop has seen with what was to be asked for.
func (s *shop) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, text := range s.wrong {
		if i < 5 {
			t.Error(text)
		}
	}
	if want := shopUsers*ownPages + visitorPages; len(s.pages) != want {
		t.Errorf("%d pages were answered, want %d", len(s.pages), want)
	}
	// A login that no page was asked for with may not have been stored when a kill came.
	for user, logins := range s.logins {
		answers := 0
		for path, n := range s.pages {
			if strings.HasPrefix(path, "/own/"+user+"/") {
				answers += n
			}
		}
		if needed := (answers + loginLasts - 1) / loginLasts; logins < needed || logins > needed+s.cut[user] {
			t.Errorf("%s: %d logins for %d pages, %d are needed; kills have cut off %d", user, logins, answers, needed, s.cut[user])
		}
	}
}

// By the site's log no cookie is sent by another proxy or agent than it was given to, none directly, and there are no more logins than needed.
func TestShop(t *testing.T) {
	s := newShop()
	site := httptest.NewServer(s)
	defer site.Close()
	e := shopCrawl(shopPlan{Site: site.URL, Proxies: []string{forward(t, "p1"), forward(t, "p2"), forward(t, "p3")}})
	if err := e.Execute("shop"); err != nil {
		t.Fatal(err)
	}
	s.check(t)
	if st := e.Stats(); st.Outcomes[tegenaria.GaveUp]+st.Outcomes[tegenaria.Failed] > 0 {
		t.Errorf("%+v", st)
	}
}

// The same holds for a program that is killed again and again: it is still logged in when it goes on.
func TestKills(t *testing.T) {
	for range deep.Rounds(1, 10) {
		s := newShop()
		site := httptest.NewServer(s)
		plan := shopPlan{Site: site.URL, Proxies: []string{forward(t, "p1"), forward(t, "p2")}, Folder: t.TempDir()}
		kills := 0
		var loop killtest.Loop
		next := 1 + rand.IntN(50)
		loop.Starts = 5
		loop.Next = func(start int, _ *rand.Rand) (*exec.Cmd, []killtest.Fault) {
			plan.Start = start
			return killed.Command(plan), nil
		}
		s.mu.Lock()
		s.asked = func(n int) {
			if kills < 2 && n >= next {
				kills++
				next = n + 1 + rand.IntN(50)
				loop.Signal(syscall.SIGKILL)
			}
		}
		s.mu.Unlock()
		if _, err := loop.Run(t.Context()); err != nil {
			t.Error(err)
		}
		site.Close()
		s.check(t)
	}
}
