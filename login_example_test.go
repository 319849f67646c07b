package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
)

// session is a middleware that keeps cookies as a browser does: each goes to the site that set it.
type session struct{ *cookiejar.Jar }

func (s session) GetName() string  { return "session" }
func (s session) GetPriority() int { return 900 } // next to the downloader

func (s session) ProcessRequest(ctx *tegenaria.Context) error {
	u, err := url.Parse(ctx.Request.Url)
	if err != nil {
		return err
	}
	cookies := make(map[string]string)
	for _, c := range s.Cookies(u) {
		if cookies[c.Name] = c.Value; c.Quoted { // the quotes are part of the value for most servers
			cookies[c.Name] = `"` + c.Value + `"`
		}
	}
	ctx.Request.Cookies = cookies
	return nil
}

func (s session) ProcessResponse(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
	u, err := url.Parse(ctx.Response().URL)
	if err != nil {
		return err
	}
	answer := http.Response{Header: ctx.Response().Header}
	s.SetCookies(u, answer.Cookies())
	return nil
}

// members reads pages that are for members only.
type members struct{ user, password string }

// login is the parser of the login page: it sends the form, waits for the response, and follows the first page for members.
func (m members) login(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	form, err := page.Form("form")
	if err != nil {
		return err
	}
	form.Set("user", m.user)
	form.Set("password", m.password)
	r, err := form.Request() // with the hidden fields; the error is also that of a wrong name above
	if err != nil {
		return err
	}
	answer, err := out.Fetch(r) // its redirects are followed
	if err != nil {
		return err
	}
	if answer.CSS("input[name=password]").Len() > 0 {
		return tegenaria.CloseSpider("the login was refused")
	}
	return out.Follow("/members/", tegenaria.RequestWithParser(tegenaria.Handle(m.read)))
}

func (m members) read(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	return out.Item(page.CSS("h1").Text())
}

// A login: the form is the only seed, everything else is followed once its answer is there. See
// docs/guides/login.md.
func Example_login() {
	site := httptest.NewServer(http.HandlerFunc(membersOnly))
	defer site.Close()
	jar, _ := cookiejar.New(nil)
	m := members{user: "ada", password: "secret"}
	spider := tegenaria.NewSpider("members", tegenaria.Handle(m.login), site.URL+"/login")
	for title, err := range tegenaria.Crawl[string](context.Background(), spider, tegenaria.EngineWithMiddlewares(session{jar})) {
		fmt.Println(title, err)
	}
	// Output: Hello, ada <nil>
}

// The jar of the guide keeps the quotes of a value.
func TestSessionKeepsQuotes(t *testing.T) {
	jar, _ := cookiejar.New(nil)
	s := session{jar}
	ctx := tegenaria.NewContext(tegenaria.NewRequest("https://a.example/", tegenaria.GET, nil))
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, map[string][]string{"Set-Cookie": {`quoted="a b"; Path=/`, `plain=c; Path=/`}}, nil)}
	if err := errors.Join(s.ProcessResponse(ctx, nil), s.ProcessRequest(ctx)); err != nil {
		t.Fatal(err)
	}
	if got := ctx.Request.Cookies; got["quoted"] != `"a b"` || got["plain"] != "c" || len(got) != 2 {
		t.Errorf("cookies %q", got)
	}
}

// A refused login ends the crawl with an error, although no request is left: a program that looks at it ends with exit code 1.
func TestRefusedLogin(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(membersOnly))
	defer site.Close()
	jar, _ := cookiejar.New(nil)
	m := members{user: "ada", password: "wrong"}
	spider := tegenaria.NewSpider("members", tegenaria.Handle(m.login), site.URL+"/login")
	var got []error
	for _, err := range tegenaria.Crawl[string](t.Context(), spider, tegenaria.EngineWithMiddlewares(session{jar})) {
		got = append(got, err)
	}
	if len(got) != 1 {
		t.Fatalf("the loop got %v", got)
	}
	enginetest.WantStopped(t, got[0], "the login was refused")
}

// account logs in whenever the site sends a page to its login form, so that a session that ends is no end of the crawl.
type account struct {
	form           string // the URL of the login page
	user, password string

	mu   sync.Mutex // held by the page that logs in
	over string     // the Cookie header that was out of date last
}

func (a *account) GetName() string  { return "account" }
func (a *account) GetPriority() int { return 710 } // behind middleware.Cookies, so that it sees what was sent

func (a *account) ProcessRequest(*tegenaria.Context) error { return nil }

func (a *account) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	to := ctx.Response().Header["Location"]
	if len(to) == 0 || !strings.Contains(to[0], "/login") || ctx.Request.Method != tegenaria.GET {
		return nil // the page is there, or this is the answer to the form
	}
	if !a.mu.TryLock() {
		return tegenaria.Retry(time.Second, errLoggedOut) // another page logs in meanwhile
	}
	defer a.mu.Unlock()
	if sent := "sent " + ctx.Request.Header["Cookie"]; sent != a.over { // or else another page has logged in meanwhile
		if err := a.login(ctx); err != nil {
			return err
		}
		a.over = sent
	}
	return tegenaria.Retry(0, errLoggedOut) // the page is requested again, with the new cookies
}

var errLoggedOut = errors.New("the session is over")

// login sends the form, and waits for the answer.
func (a *account) login(ctx *tegenaria.Context) error {
	page, err := ctx.Fetch(tegenaria.NewRequest(a.form, tegenaria.GET, nil))
	if err != nil {
		return err
	}
	form, err := page.Form("form")
	if err != nil {
		return err
	}
	form.Set("user", a.user)
	form.Set("password", a.password)
	r, err := form.Request()
	if err != nil {
		return err
	}
	answer, err := ctx.Fetch(r)
	if err != nil {
		return err
	}
	if answer.CSS("input[name=password]").Len() > 0 {
		return tegenaria.CloseSpider("the login was refused")
	}
	return nil
}

// A site that logs out after 20 pages is read to its end: the session is renewed, and each page is there once. If the site refuses
// the login, the crawl ends with that reason.
func TestSessionExpiry(t *testing.T) {
	const pages = 60
	for _, tt := range []struct {
		name, password string
		perSlot        int
		want           string // the reason of the end
	}{{"one after the other", "secret", 1, ""}, {"eight at once", "secret", 8, ""}, {"a wrong password", "wrong", 8, "the login was refused"}} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex // guards both
			left, logins := 0, 0
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if c, err := r.Cookie("session"); strings.HasPrefix(r.URL.Path, "/members/") {
					if err != nil || c.Value != fmt.Sprint("ada", logins) || left == 0 {
						http.Redirect(w, r, "/login", http.StatusFound)
						return
					}
					left--
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					fmt.Fprintf(w, "<h1>%s</h1>", r.URL.Path)
					return
				}
				if r.URL.Path == "/session" && r.FormValue("password") == "secret" {
					logins++
					left = 20
					http.SetCookie(w, &http.Cookie{Name: "session", Value: fmt.Sprint("ada", logins), Path: "/"})
					http.Redirect(w, r, "/welcome", http.StatusSeeOther)
					return
				}
				membersOnly(w, r)
			}))
			defer site.Close()
			var seeds []string
			for i := range pages {
				seeds = append(seeds, fmt.Sprintf("%s/members/%d", site.URL, i))
			}
			got := make(map[string]int)
			spider := tegenaria.NewSpider("members", tegenaria.Handle(members{}.read), seeds...)
			var ended error
			for title, err := range tegenaria.Crawl[string](t.Context(), spider, tegenaria.EngineWithQuiet(),
				tegenaria.EngineWithAllowStatusCode([]uint64{http.StatusNotFound}), // of /welcome
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: tt.perSlot}),
				tegenaria.EngineWithMiddlewares(append(middleware.Standard(), &account{form: site.URL + "/login", user: "ada", password: tt.password})...)) {
				if err != nil {
					ended = err
					continue
				}
				got[title]++
			}
			if tt.want != "" {
				enginetest.WantStopped(t, ended, tt.want)
				return
			}
			if ended != nil || len(got) != pages || logins < 3 {
				t.Errorf("%d of %d items, %d logins: %v", len(got), pages, logins, ended)
			}
			for title, n := range got {
				if n != 1 {
					t.Errorf("%s came %d times", title, n)
				}
			}
		})
	}
}

// Redirects to a page that is known are counted by themselves, and shown: their parsers see nothing.
func TestRedirectsToAKnownPageAreCounted(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/login", enginetest.Text("x")).Page("http://a.test/", enginetest.Page("/login", "/1", "/2", "/2", "/3", "/4", "/5"))
	for i, status := range []int{301, 302, 303, 307} {
		w.Page(fmt.Sprintf("http://a.test/%d", i+1), enginetest.Redirect(status, "/login"))
	}
	w.Page("http://a.test/5", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, 200, map[string][]string{"Content-Type": {"text/html"}}, []byte(`<meta http-equiv=refresh content="0;url=/login">`)), nil
	})
	s := enginetest.NewSpider("http://a.test/login", "http://a.test/")
	var log strings.Builder
	logger := logrus.New()
	logger.SetOutput(&log)
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithLogger(logger), tegenaria.EngineWithMiddlewares(middleware.NewMetaRefresh(middleware.MetaRefreshOptions{})))
	enginetest.MustRun(t, e)
	stats := e.Stats()
	if stats.Outcomes[tegenaria.Duplicate] != 7 || stats.Reasons["duplicate: redirect"] != 5 {
		t.Errorf("outcomes %v, reasons %v: want 7 duplicates, 5 of them redirects", stats.Outcomes, stats.Reasons)
	}
	if !strings.Contains(log.String(), "7 duplicate (5 redirect)") {
		t.Errorf("the log does not show them:\n%s", log.String())
	}
}

// membersOnly is a site whose login form hides a token that belongs to a cookie.
func membersOnly(w http.ResponseWriter, r *http.Request) {
	cookie := func(name string) string {
		c, err := r.Cookie(name)
		if err != nil {
			return ""
		}
		return c.Value
	}
	form := func() {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		http.SetCookie(w, &http.Cookie{Name: "visit", Value: "7"})
		io.WriteString(w, `<form action="/session" method="post"><input type="hidden" name="token" value="t7"><input name="user"><input name="password"></form>`)
	}
	switch {
	case r.URL.Path == "/login":
		form()
	case r.URL.Path == "/session" && r.Method == http.MethodPost:
		if r.FormValue("password") != "secret" || r.FormValue("token") != "t"+cookie("visit") {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: r.FormValue("user"), Path: "/"})
		http.Redirect(w, r, "/members/", http.StatusSeeOther)
	case strings.HasPrefix(r.URL.Path, "/members/") && cookie("session") != "":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<h1>Hello, %s</h1>", cookie("session"))
	default:
		http.NotFound(w, r)
	}
}
