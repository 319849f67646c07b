package tegenaria_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
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
		cookies[c.Name] = c.Value
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
