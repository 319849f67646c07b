package middleware_test

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/middleware"
)

// jobOf opens the job of a folder, and closes it when the test is over or close is called.
func jobOf(t *testing.T, folder string) (opt tegenaria.EngineOption, close func()) {
	t.Helper()
	cache, err := disk.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	close = sync.OnceFunc(func() {
		if err := cache.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(close)
	return tegenaria.EngineWithCache(cache), close
}

// closing closes the spider before /page is sent.
type closing struct{}

func (closing) GetName() string  { return "closing" }
func (closing) GetPriority() int { return 10 }

func (closing) ProcessRequest(ctx *tegenaria.Context) error {
	if strings.HasSuffix(ctx.Request.Url, "/page") {
		return tegenaria.CloseSpider("for now")
	}
	return nil
}

func (closing) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }

// What a job has stored is there when it goes on, session cookies and all jars, those of two middlewares as well. A middleware that
// has served another job before stores all it has, and what a program puts into a jar before the run.
func TestDurableCookies(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/", HttpOnly: true})
		}
	})
	login := func(jar string) *tegenaria.Request {
		return tegenaria.NewRequest(s.URL+"/login", "GET", nil, tegenaria.RequestWithDoNotFilter(true),
			tegenaria.RequestWithRequestMeta(map[string]any{middleware.MetaCookieJar: jar}))
	}
	stops := func(folder string, middlewares ...tegenaria.MiddlewaresInterface) {
		t.Helper()
		job, end := jobOf(t, folder)
		defer end()
		e := tegenaria.NewSpiderEngine(job, tegenaria.EngineWithMiddlewares(append(middlewares, closing{})...), tegenaria.EngineWithLogger(quiet()),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithConcurrency(1),
			tegenaria.EngineWithSpiders(start(nothing, login(""), login("two"), tegenaria.NewRequest(s.URL+"/page", "GET", nil, tegenaria.RequestWithPriority(-1)))))
		if err := e.Run(t.Context(), "test"); err == nil || !strings.Contains(err.Error(), "for now") {
			t.Fatalf("Run: %v", err)
		}
	}
	goesOn := func(folder string, middlewares ...tegenaria.MiddlewaresInterface) (sent string) {
		t.Helper()
		job, end := jobOf(t, folder)
		defer end()
		crawlWith(t, start(nothing), middlewares, job)
		visits := s.visits()
		if last := visits[len(visits)-1]; last.Path == "/page" {
			return last.Header.Get("Cookie")
		}
		t.Fatal("the job did not go on")
		return ""
	}
	first := middleware.NewCookies(middleware.CookieOptions{})
	for _, job := range []string{"first", "second"} { // the second one finds the jars as the first has left them
		folder := filepath.Join(t.TempDir(), job)
		stops(folder, first)
		again := middleware.NewDurableCookies(middleware.CookieOptions{})
		if got := goesOn(folder, again); got != "session=1" {
			t.Errorf("the %s job goes on with %q", job, got)
		}
		if got := again.Jars(); !slices.Equal(got, []string{"", "two"}) {
			t.Errorf("jars %q", got)
		}
	}
	added, other := middleware.NewCookies(middleware.CookieOptions{}), middleware.NewCookies(middleware.CookieOptions{Priority: 710})
	if err := other.Add("", middleware.Cookie{Name: "added", Value: "2", Domain: "127.0.0.1", HostOnly: true}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "job")
	stops(folder, added, other)
	again := []*middleware.Cookies{middleware.NewCookies(middleware.CookieOptions{}), middleware.NewCookies(middleware.CookieOptions{Priority: 710})}
	goesOn(folder, again[0], again[1])
	for i, want := range []string{"[session]", "[added session]"} {
		var names []string
		for _, c := range again[i].All("") {
			names = append(names, c.Name)
		}
		if slices.Sort(names); fmt.Sprint(names) != want {
			t.Errorf("middleware %d has %v, want %s", i, names, want)
		}
	}
}

// Only what has changed is stored: of a thousand hosts those that have set a cookie since. What was removed is removed from the job too.
func TestCookiesStoreWhatHasChanged(t *testing.T) {
	m := middleware.NewCookies(middleware.CookieOptions{})
	job := make(map[string][]byte)
	version := uint64(0)
	stored := func() (n int) {
		t.Helper()
		state, now, err := m.ChangedState(version)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(job, state)
		version = now
		return len(state)
	}
	sets := func(host, cookie string) {
		roundTrip(t, m, "https://"+host+"/", "https://"+host+"/", "Set-Cookie", cookie)
	}
	if n := stored(); n != 0 {
		t.Errorf("of nothing %d parts are stored", n)
	}
	for i := range 1000 {
		sets(fmt.Sprintf("h%d.example", i), "a=1; secure; samesite=strict")
	}
	if n := stored(); n < 500 {
		t.Errorf("%d parts of the cookies of 1,000 hosts are stored", n)
	}
	sets("h7.example", "a=1; secure; samesite=strict")
	if n := stored(); n != 0 {
		t.Errorf("%d parts are stored of a cookie that is the same", n)
	}
	for _, change := range []func(){
		func() { sets("h7.example", "a=2; secure") },
		func() { sets("h7.example", "a=; max-age=0") },
		func() { _ = m.Add("named", middleware.Cookie{Name: "b", Value: "1", Domain: "h8.example"}) },
		func() { m.Clear("named") },
	} {
		change()
		if n := stored(); n != 1 {
			t.Errorf("%d parts are stored of a cookie that has changed", n)
		}
	}
	again := middleware.NewCookies(middleware.CookieOptions{})
	if err := again.RestoreState(job); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.All(""), m.All("")) || len(again.All("named")) != 0 {
		t.Errorf("%d cookies were stored, want %d", len(again.All("")), len(m.All("")))
	}
	if err := again.RestoreState(map[string][]byte{"7": []byte("nonsense")}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("of nonsense: %v", err)
	}
}
