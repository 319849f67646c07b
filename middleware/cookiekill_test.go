package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/middleware"
)

// memberPlan is a crawl of a program that TestLoginSurvivesAKill kills.
type memberPlan struct {
	Folder, Site string
	Jar          string // of its requests
}

func TestMain(m *testing.M) { killtest.Main(m) }

// killed logs in by the form that is its seed, and reads all pages that are for members.
var killed = killtest.NewProgram("killed", func(p memberPlan) (err error) {
	cache, err := disk.Open(filepath.Join(p.Folder, "job"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	jar := tegenaria.RequestWithRequestMeta(map[string]any{middleware.MetaCookieJar: p.Jar})
	login := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		if _, err := out.Fetch(tegenaria.NewRequest(p.Site+"/session", "POST", nil, jar)); err != nil {
			return err
		}
		for i := range memberPages {
			if err := out.Follow(fmt.Sprintf("/members/%d", i), jar, tegenaria.RequestWithParserName("read")); err != nil {
				return err
			}
		}
		return nil
	})
	spider := tegenaria.NewSpiderOf("test", login, tegenaria.NewRequest(p.Site+"/login", "GET", nil, jar)).On("read", nothing)
	return tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithCache(cache), tegenaria.EngineWithLogger(quiet()),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(r *tegenaria.Request, _ tegenaria.Outcome, _ string) {
			if strings.HasSuffix(r.Url, "/login") {
				if resp, err := http.Get(p.Site + "/stored"); err == nil {
					resp.Body.Close()
				}
			}
		}})).Execute("test")
})

const memberPages = 59

// membersSite redirects to its login page whoever has no session. It kills the program twice, when it has been told that the login
// is stored: till then the members' pages wait.
type membersSite struct {
	session string // what it sets
	cookie  string // what it wants to be sent

	stored chan struct{} // closed when the login is
	once   sync.Once

	loop killtest.Loop

	mu     sync.Mutex // guards the fields below
	kills  int
	logins int
	read   map[string]bool
}

func (s *membersSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/stored":
		s.once.Do(func() { close(s.stored) })
		return
	case strings.HasPrefix(r.URL.Path, "/members/"):
		select {
		case <-s.stored:
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == "/login":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<form></form>")
	case r.URL.Path == "/session":
		s.logins++
		w.Header().Add("Set-Cookie", s.session)
		w.Header().Add("Set-Cookie", "theme=dark; Path=/login")
	case !strings.HasPrefix(r.URL.Path, "/members/"):
		http.NotFound(w, r)
	case r.Header.Get("Cookie") != s.cookie:
		http.Redirect(w, r, "/login", http.StatusFound)
	default:
		s.read[r.URL.Path] = true
		if n := len(s.read); s.kills < 2 && n >= 15*(s.kills+1) {
			s.kills++
			s.loop.Signal(syscall.SIGKILL)
		}
	}
}

// A program that has logged in, by the standard middlewares and with a durable job, is still logged in after kill -9: it reads all pages.
// Without the stored jar the pages that wait are redirected to a page that is known, and nobody learns of it.
func TestLoginSurvivesAKill(t *testing.T) {
	for _, tt := range []struct{ name, jar, session, cookie string }{
		{"a session cookie", "", "session=1; Path=/; HttpOnly", "session=1"},
		{"a named jar", "second account", "session=1; Path=/; Max-Age=3600", "session=1"},
		{"bytes that are no UTF-8", "", "session=\"a\xe9\xff b\"; Path=/", "session=\"a\xe9\xff b\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site := &membersSite{session: tt.session, cookie: tt.cookie, read: make(map[string]bool), stored: make(chan struct{})}
			server := serve(t, site.ServeHTTP)
			plan := memberPlan{t.TempDir(), server.URL, tt.jar}
			site.loop.Starts = 5
			site.loop.Next = func(int, *rand.Rand) (*exec.Cmd, []killtest.Fault) {
				return killed.Command(plan), nil
			}
			if _, err := site.loop.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if site.kills != 2 || len(site.read) != memberPages {
				t.Errorf("after %d kills and %d logins %d of %d pages were read", site.kills, site.logins, len(site.read), memberPages)
			}
			if site.logins != 1 {
				t.Errorf("it has logged in %d times: the jar was not stored", site.logins)
			}
		})
	}
}
