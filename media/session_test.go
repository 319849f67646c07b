package media_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/media"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/proxy"
	"github.com/tegenaria/tegenaria/session"
)

// club is a site with pages and files for everybody below /open, and others for members below /members, where each member sees another
// picture and another document at the same URL. Who asks it knows by a cookie, which belongs to the proxy that it was given to. A login is
// over after some requests.
type club struct {
	mu      sync.Mutex // guards the fields below
	cookies []*clubCookie
	log     []clubEntry
	wrong   []string
}

type clubCookie struct {
	holder, via string
	uses        int
}

type clubEntry struct{ path, holder, cookie, via string }

const (
	clubPages = 6
	clubLasts = 5 // requests: then a login is over
)

// clubFile is the file at a path, as the holder of a cookie sees it.
func clubFile(path, holder string) []byte {
	if strings.HasSuffix(path, ".pdf") {
		return []byte("%PDF-1.7 " + path + " for " + holder)
	}
	seed := len(path)
	for _, c := range []byte(path + holder) {
		seed = seed*31 + int(c)
	}
	return pngOf(paint(16, 16, seed))
}

func (c *club) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := clubEntry{path: r.URL.Path, holder: "nobody", via: r.Header.Get("Via")}
	over := false
	if e.via == "" {
		c.wrong = append(c.wrong, e.path+" was asked for directly")
	}
	if cookie, err := r.Cookie("sid"); err == nil {
		n, _ := strconv.Atoi(cookie.Value)
		known := c.cookies[n]
		known.uses++
		over = known.holder != "visitor" && known.uses > clubLasts
		if e.cookie, e.holder = cookie.Value, known.holder; known.via != e.via {
			c.wrong = append(c.wrong, fmt.Sprintf("%s: the cookie of %s by %s came through %s", e.path, known.holder, known.via, e.via))
		}
	}
	member, login := strings.CutPrefix(r.URL.Path, "/login/")
	switch {
	case login:
		e.holder = member
	case e.cookie == "":
		e.holder = "visitor"
	}
	if login || e.cookie == "" && r.URL.Path != "/robots.txt" {
		e.cookie = strconv.Itoa(len(c.cookies))
		c.cookies = append(c.cookies, &clubCookie{holder: e.holder, via: e.via})
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: e.cookie, Path: "/"})
	}
	if over && !login {
		e.holder += ", logged out,"
	}
	c.log = append(c.log, e)
	switch {
	case r.URL.Path == "/robots.txt":
		http.NotFound(w, r)
	case strings.HasPrefix(r.URL.Path, "/members/") && (over || e.holder == "visitor"):
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasSuffix(r.URL.Path, ".png"), strings.HasSuffix(r.URL.Path, ".pdf"):
		_, _ = w.Write(clubFile(r.URL.Path, e.holder))
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><title>a page</title>")
	}
}

// forwardLog is a proxy that logs what it is asked for.
type forwardLog struct {
	url   string
	mu    sync.Mutex // guards paths
	paths []string
}

func newForwardLog(t *testing.T, name string) *forwardLog {
	f := new(forwardLog)
	transport := new(http.Transport)
	server := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.paths = append(f.paths, r.In.URL.Path)
		r.Out.Header.Set("Via", name)
	}})
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	f.url = server.URL
	return f
}

// Files are asked for in the session of the page whose item they belong to, and through its proxy, by the logs of the site and the proxies.
// A URL that two members have is asked for as each of them, and each item gets the file of its member, even if the login is over just then.
func TestSessions(t *testing.T) {
	c := new(club)
	site := httptest.NewServer(c)
	defer site.Close()
	forwards := map[string]*forwardLog{"p1": newForwardLog(t, "p1"), "p2": newForwardLog(t, "p2"), "p3": newForwardLog(t, "p3")}
	var urls []string
	for _, f := range forwards {
		urls = append(urls, f.url)
	}
	pool := session.NewPool(session.Options{
		Size:    3,
		Expired: func(page *tegenaria.Response) bool { return page.Status == http.StatusUnauthorized },
		Proxies: proxy.NewPool(proxy.List(urls...), proxy.Options{Choose: proxy.InTurn}),
		Login: func(l *session.Login) error {
			if !l.Session().HasName() {
				return nil
			}
			_, err := l.Fetch(tegenaria.NewRequest(site.URL+"/login/"+l.Session().Name(), tegenaria.GET, nil))
			return err
		},
	})
	members := []string{"ann", "bob"}
	var requests []*tegenaria.Request
	for i := range clubPages {
		for _, member := range members {
			requests = append(requests, tegenaria.NewRequest(fmt.Sprintf("%s/members/%d", site.URL, i), tegenaria.GET, nil, session.As(member)))
		}
		requests = append(requests, tegenaria.NewRequest(fmt.Sprintf("%s/open/%d", site.URL, i), tegenaria.GET, nil))
	}
	parse := func(ctx *tegenaria.Context, out chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		path := strings.TrimPrefix(ctx.Request.Url, site.URL)
		folder := path[:strings.LastIndexByte(path, '/')]
		out <- tegenaria.NewItem(ctx, product{Name: session.Of(ctx.Response()).Name(), Image: path + ".png", File: folder + "/rules.pdf"})
		return nil
	}
	dir := t.TempDir()
	collect := &collector{}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpiderOf("club", parse, requests...)), tegenaria.EngineWithLogger(enginetest.Quiet()),
		tegenaria.EngineWithMiddlewares(append(middleware.Standard(), pool)...),
		tegenaria.EngineWithPipelines(media.New(media.Options{Dir: dir, Images: true}), collect), tegenaria.EngineWithItemConcurrency(8),
	)
	if err := engine.Run(t.Context(), "club"); err != nil {
		t.Fatal(err)
	}

	for _, wrong := range c.wrong {
		t.Error(wrong)
	}
	if want := clubPages * (len(members) + 1); len(collect.items) != want {
		t.Errorf("%d items, want %d", len(collect.items), want)
	}
	for _, item := range collect.items {
		p := item.(product)
		holder := p.Name
		if !slices.Contains(members, holder) {
			holder = "visitor"
		}
		for path, result := range map[string]media.Result{p.Image: p.Picture, p.File: p.Document} {
			if result.Status == media.Failed {
				t.Errorf("%s of %s: %s", path, holder, result.Error)
			} else if !bytes.Equal(stored(t, dir, result), clubFile(path, holder)) {
				t.Errorf("the item of %s has a file %s of somebody else", holder, path)
			}
		}
	}
	// A visitor's picture comes with the cookie of its page, and so through its proxy; a member may have logged in again between them.
	asked := make(map[string]int)    // by holder and path
	pages := make(map[string]string) // of visitors: cookies by path
	for _, e := range c.log {
		asked[e.holder+" "+e.path]++
		page, isPicture := strings.CutSuffix(e.path, ".png")
		switch {
		case e.holder != "visitor":
		case isPicture && pages[page] != e.cookie:
			t.Errorf("a visitor asked for %s with the cookie %s, and for its page with %q", e.path, e.cookie, pages[page])
		default:
			pages[e.path] = e.cookie
		}
	}
	for _, holder := range []string{"ann", "bob", "visitor"} {
		folder := "/members/"
		if holder == "visitor" {
			folder = "/open/"
		}
		paths := []string{folder + "rules.pdf"}
		for i := range clubPages {
			paths = append(paths, fmt.Sprint(folder, i), fmt.Sprint(folder, i, ".png"))
		}
		for _, path := range paths {
			if n := asked[holder+" "+path]; n != 1 {
				t.Errorf("%s was asked for %d times by %s", path, n, holder)
			}
		}
	}
	for name, f := range forwards {
		var seen []string
		for _, e := range c.log {
			if e.via == name {
				seen = append(seen, e.path)
			}
		}
		slices.Sort(seen)
		slices.Sort(f.paths)
		if !slices.Equal(seen, f.paths) {
			t.Errorf("through %s the site was asked for %q, and the proxy for %q", name, seen, f.paths)
		}
	}
}

// Files are asked for in the session that Options.Requests names, whatever that of their page is.
func TestRequestsSession(t *testing.T) {
	var mu sync.Mutex
	asked := make(map[string]string) // with which cookie, by path
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path] = r.Header.Get("Cookie")
		switch {
		case strings.HasPrefix(r.URL.Path, "/login/"):
			http.SetCookie(w, &http.Cookie{Name: "user", Value: strings.TrimPrefix(r.URL.Path, "/login/"), Path: "/"})
		case strings.HasSuffix(r.URL.Path, ".pdf"):
			_, _ = w.Write(clubFile(r.URL.Path, r.Header.Get("Cookie")))
		}
	}))
	defer site.Close()
	pool := session.NewPool(session.Options{Size: 1, Login: func(l *session.Login) error {
		if !l.Session().HasName() {
			return nil
		}
		_, err := l.Fetch(tegenaria.NewRequest(site.URL+"/login/"+l.Session().Name(), tegenaria.GET, nil))
		return err
	}})
	pages := map[string]string{"/open": "", "/bobs": "bob", "/anns": "ann"}
	var requests []*tegenaria.Request
	for path, name := range pages {
		requests = append(requests, tegenaria.NewRequest(site.URL+path, tegenaria.GET, nil, session.As(name)))
	}
	parse := func(ctx *tegenaria.Context, out chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		out <- tegenaria.NewItem(ctx, product{File: ctx.Request.Url + ".pdf"})
		return nil
	}
	collect := &collector{}
	err := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpiderOf("club", parse, requests...)), tegenaria.EngineWithLogger(enginetest.Quiet()),
		tegenaria.EngineWithMiddlewares(append(middleware.Standard(), pool)...),
		tegenaria.EngineWithPipelines(media.New(media.Options{Dir: t.TempDir(), Requests: []tegenaria.RequestOption{session.As("ann")}}), collect),
	).Run(t.Context(), "club")
	if err != nil || len(collect.items) != len(pages) {
		t.Errorf("%v; %d items", err, len(collect.items))
	}
	for path, name := range pages {
		want := ""
		if name != "" {
			want = "user=" + name
		}
		if asked[path] != want || asked[path+".pdf"] != "user=ann" {
			t.Errorf("%s was asked for with the cookie %q, its file with %q", path, asked[path], asked[path+".pdf"])
		}
	}
	for _, item := range collect.items {
		if result := item.(product).Document; result.Status == media.Failed {
			t.Errorf("%s: %s", result.URL, result.Error)
		}
	}
}
