package demosite_test

import (
	"image/png"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

// The account opens for those who send the whole form with the cookie of its page, and for nobody else.
func TestLogin(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	for _, c := range []struct {
		name     string
		change   func(form url.Values)
		noCookie bool
		want     string
	}{
		{name: "right", want: "/account/"},
		{name: "wrong password", change: func(f url.Values) { f.Set("password", "sesame") }, want: "/login/"},
		{name: "without the token", change: func(f url.Values) { f.Del("token") }, want: "/login/"},
		{name: "without the cookie of the form", noCookie: true, want: "/login/"},
	} {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Jar: jar}
		page := fetch(t, func() (*http.Response, error) { return client.Get(site.URL() + "/login/") })
		wantClean(t, "/login/", page.text)
		token := regexp.MustCompile(`name="token" value="(.+?)"`).FindStringSubmatch(page.text)
		if token == nil {
			t.Fatal("the form has no token")
		}
		form := url.Values{"user": {demosite.User}, "password": {demosite.Password}, "token": {token[1]}}
		if c.change != nil {
			c.change(form)
		}
		if c.noCookie {
			if client.Jar, err = cookiejar.New(nil); err != nil {
				t.Fatal(err)
			}
		}
		got := fetch(t, func() (*http.Response, error) { return client.PostForm(site.URL()+"/login/", form) })
		if got.path != c.want {
			t.Errorf("%s: leads to %s, want %s", c.name, got.path, c.want)
		}
		if again := fetch(t, func() (*http.Response, error) { return client.Get(site.URL() + "/account/") }); again.path != c.want {
			t.Errorf("%s: the account afterwards is %s, want %s", c.name, again.path, c.want)
		}
	}
}

type answer struct{ path, text string }

func fetch(t *testing.T, ask func() (*http.Response, error)) answer {
	t.Helper()
	r, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	return answer{r.Request.URL.Path, body(t, r)}
}

func TestSearch(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	ask := func(question string) (int, string) {
		r, err := http.Post(site.URL()+"/api/search", "application/json", strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, body(t, r)
	}
	for _, c := range []struct {
		question string
		status   int
		has      string
	}{
		{`{"text": ""}`, 200, `"page":1,"has_next":true`},
		{`{"text": "", "page": 10}`, 200, `"page":10,"has_next":false`},
		{`{"text": "CALL ME"}`, 200, `Call me`},
		{`{"text": "nobody has said this"}`, 200, `"quotes":null`},
		{`{"text": "", "page": 11}`, 404, ""},
		{`{"text": "", "page": -1}`, 400, "love"},
		{`text=love`, 400, "love"},
	} {
		if status, text := ask(c.question); status != c.status || !strings.Contains(text, c.has) {
			t.Errorf("%s: status %d, want %d with %q in\n%s", c.question, status, c.status, c.has, text)
		}
	}
}

func TestCoversAndSitemap(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	get := func(address string) *http.Response {
		r, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	locs := regexp.MustCompile(`<loc>(.+?)</loc>`).FindAllStringSubmatch(body(t, get(site.URL()+"/sitemap.xml")), -1)
	if len(locs) != 48 {
		t.Errorf("the sitemap has %d pages, want 48", len(locs))
	}
	for _, loc := range locs {
		src := regexp.MustCompile(`<img class="cover" src="(.+?)"`).FindStringSubmatch(body(t, get(loc[1])))
		if src == nil {
			t.Fatalf("%s has no cover", loc[1])
		}
		r := get(site.URL() + src[1])
		if _, err := png.Decode(r.Body); err != nil || r.StatusCode != 200 {
			t.Errorf("%s: status %d, %v", src[1], r.StatusCode, err)
		}
		if err := r.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if r := get(site.URL() + "/covers/nothing.png"); r.StatusCode != 404 {
		t.Errorf("a cover that is not there: status %d", r.StatusCode)
	}
}
