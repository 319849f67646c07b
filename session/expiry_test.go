package session_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/session"
)

// fickle is a site whose logins last for some answers, and which gives a cookie to whoever is not logged in.
type fickle struct {
	lasts int
	form  string                    // where those are redirected to who are not logged in, with a %s for the path of the page; "": they get status 401
	slow  time.Duration             // that the form takes longer
	takes func(n int) time.Duration // the answer number n

	method  string              // of the requests; "": GET
	logsOut bool                // a page that an account may not see ends its login
	quick   bool                // what is refused takes less time
	public  func(i string) bool // the pages that everybody may see
	bans    int                 // after so many answers accounts see what everybody does; 0: never

	mu     sync.Mutex
	left   map[string]int // answers, by cookie
	given  int
	logins int
	forms  int // how often the form was asked for
	asked  int
}

const pleaseLogIn = "please log in"

func (s *fickle) answer(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	r := ctx.Request
	s.mu.Lock()
	s.asked++
	takes := s.takes(s.asked)
	s.mu.Unlock()
	path := strings.TrimPrefix(r.Url, "http://site.test")
	sid := r.Header["Cookie"]
	form, _, isOpen := strings.Cut(s.form, "%s")
	isForm := path == s.form || isOpen && strings.HasPrefix(path, form)
	s.mu.Lock()
	if isForm {
		s.forms++
		takes += s.slow
	}
	in := s.left[sid] > 0 && (s.bans == 0 || s.asked <= s.bans)
	if path == "/enter" {
		s.logins++
		sid = fmt.Sprint("sid=in", s.logins)
		s.left[sid] = s.lasts
	} else if in {
		s.left[sid]--
	} else {
		s.given++
		sid = fmt.Sprint("sid=out", s.given)
	}
	isClosed := strings.HasPrefix(path, "/closed/")
	if isClosed && s.logsOut {
		s.left[sid] = 0
	}
	if s.quick && (!in || isClosed) {
		takes /= 5
	}
	s.mu.Unlock()
	enginetest.Sleep(takes)
	header := map[string][]string{"Content-Type": {"text/html"}}
	if sid != r.Header["Cookie"] {
		header["Set-Cookie"] = []string{sid + "; Path=/"}
	}
	redirect := func(to string) (*tegenaria.Response, error) {
		header["Location"] = []string{to}
		return tegenaria.NewResponse(r, 302, header, nil), nil
	}
	rest, old := strings.CutPrefix(path, "/old/")
	page, isPage := strings.CutPrefix(path, "/page/")
	in = in && !isClosed || isPage && s.public != nil && s.public(page)
	switch {
	case path == "/enter":
		return tegenaria.NewResponse(r, 200, header, []byte("in")), nil
	case !in && isForm:
		return tegenaria.NewResponse(r, 200, header, []byte(pleaseLogIn)), nil
	case !in && s.form != "":
		return redirect(strings.ReplaceAll(s.form, "%s", path))
	case !in:
		return tegenaria.NewResponse(r, 401, header, []byte("log in")), nil
	case old:
		return redirect("/show?id=" + rest)
	case strings.HasPrefix(path, "/moved/"):
		return redirect("/new")
	}
	return tegenaria.NewResponse(r, 200, header, []byte("page")), nil
}

// The look at where a redirect leads has the header fields of the request: the site may know it by them.
func TestLookHasHeaders(t *testing.T) {
	answer := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		r := ctx.Request
		switch {
		case strings.HasSuffix(r.Url, "/enter"):
			return tegenaria.NewResponse(r, 200, map[string][]string{"Set-Cookie": {"sid=1; Path=/"}}, nil), nil
		case r.Header["X-Key"] != "mine" || !strings.Contains(r.Header["Cookie"], "sid=1"):
			return tegenaria.NewResponse(r, 401, nil, nil), nil
		case strings.HasSuffix(r.Url, "/old"):
			return tegenaria.NewResponse(r, 302, map[string][]string{"Location": {"/new"}}, nil), nil
		}
		return tegenaria.NewResponse(r, 200, nil, []byte("page")), nil
	}
	pool := session.NewPool(session.Options{
		Expired: func(page *tegenaria.Response) bool { return page.Status == 401 },
		Login: func(l *session.Login) error {
			_, err := l.Fetch(tegenaria.NewRequest("http://site.test/enter", tegenaria.GET, nil))
			return err
		}})
	s := newSite(t)
	stats := enginetest.MustRun(t, s.engine(pool, func(send func(*tegenaria.Request)) {
		send(tegenaria.NewRequest("http://site.test/old", tegenaria.GET, nil, session.As("ann"),
			tegenaria.RequestWithRequestHeader(map[string]string{"X-Key": "mine"})))
	}, tegenaria.EngineWithDownloader(answers{answer})))
	if stats.Outcomes[tegenaria.GaveUp] != 0 || stats.Sessions.Expired != 0 || stats.Sessions.Logins != 1 {
		t.Errorf("%v, %v, %+v", stats.Outcomes, stats.Reasons, stats.Sessions)
	}
}

// Pages that an account may not see, for which the site asks it to log in again and again, end by themselves, after few logins; all others are
// parsed once. A session that is refused everything is given up, though.
func TestClosedPages(t *testing.T) {
	closed := func(i int) string { return fmt.Sprint("/closed/", i) }
	page := func(i int) string { return fmt.Sprint("/page/", i) }
	const pages, lasts = 200, 40
	for name, paths := range map[string][]string{
		"one in ten": every(func(i int) string {
			if i%10 == 5 {
				return closed(i)
			}
			return page(i)
		}, pages),
		"the first":    append([]string{closed(0)}, every(page, pages)...),
		"many in line": slices.Concat(every(page, pages/2), every(closed, 30), every(page, pages)[pages/2:]),
		"the last":     append(every(page, pages), every(closed, 30)...),
	} {
		for kind, does := range map[string]func(*fickle){
			"status 401":    func(*fickle) {},
			"redirected":    func(s *fickle) { s.form = "/closed/form" },
			"logs out":      func(s *fickle) { s.logsOut = true },
			"quick":         func(s *fickle) { s.quick = true },
			"HEAD":          func(s *fickle) { s.method = tegenaria.HEAD },
			"others public": func(s *fickle) { s.public = func(i string) bool { return strings.HasSuffix(i, "7") } },
		} {
			for _, concurrency := range []int{1, 4, 16} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, kind, concurrency), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newFickle(lasts, "")
						does(s)
						stats, parsed := s.crawl(t, "ann", concurrency, paths)
						forbidden := 0
						for _, path := range paths {
							if strings.HasPrefix(path, "/closed/") {
								forbidden++
							} else if parsed[path] != 1 {
								t.Errorf("%s was parsed %d times", path, parsed[path])
							}
						}
						if stats.Reasons["gave-up: not for this account"] != int64(forbidden) || len(parsed) != len(paths)-forbidden {
							t.Errorf("%v, %v, %+v", stats.Outcomes, stats.Reasons, stats.Sessions)
						}
						most := s.asked/lasts + 3*forbidden + 5
						if s.logsOut {
							most += 2 * forbidden
						}
						if s.logins > most {
							t.Errorf("%d logins for %d requests, want %d at most", s.logins, s.asked, most)
						}
					})
				})
			}
		}
	}
}

// An account is given up whose logins do not work, or do not work any more, also where other pages are there for everybody.
func TestLostAccount(t *testing.T) {
	const pages, lasts = 1000, 1 << 30
	for name, does := range map[string]func(*fickle){
		"never in":              func(s *fickle) { s.lasts = 0 },
		"never in, some public": func(s *fickle) { s.lasts, s.public = 0, func(i string) bool { return strings.HasSuffix(i, "7") } },
		"banned":                func(s *fickle) { s.bans = 60 },
		"banned, some public": func(s *fickle) {
			s.bans, s.public = 60, func(i string) bool { return strings.HasSuffix(i, "7") }
		},
	} {
		for _, concurrency := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, concurrency), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newFickle(lasts, "")
					does(s)
					stats, parsed := s.crawl(t, "ann", concurrency, every(func(i int) string { return fmt.Sprint("/page/", i) }, pages))
					if stats.Sessions.Rejected != 1 || s.logins > 30 || stats.Reasons["gave-up: login: expired"]+int64(len(parsed)) < pages-3 {
						t.Errorf("%d logins; %d pages; %v, %+v", s.logins, len(parsed), stats.Reasons, stats.Sessions)
					}
					if st := stats.Sessions; st.Logins+st.Failed < int64(s.logins-3) || st.Logins+st.Failed > int64(s.logins) {
						t.Errorf("the site counts %d logins: %+v", s.logins, st)
					}
				})
			})
		}
	}
}

// A visitor keeps its header fields when a job goes on.
func TestKeptHeaders(t *testing.T) {
	const visitors = 9 // the name of the last one has another hash than its number
	state := make(map[string][]byte)
	for i := range visitors {
		state[fmt.Sprint("#", i+1)] = []byte("{}")
	}
	s := newSite(t)
	pool := session.NewPool(session.Options{Size: visitors, Headers: agents})
	if err := pool.RestoreState(state); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]string)
	var mu sync.Mutex
	enginetest.MustRun(t, s.engine(pool, func(send func(*tegenaria.Request)) {
		for i := range 50 {
			send(tegenaria.NewRequest(fmt.Sprint("http://site.test/", i), tegenaria.GET, nil))
		}
	}, tegenaria.EngineWithEvents(tegenaria.Events{Downloaded: func(r *tegenaria.Request, _ *tegenaria.Response) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Session()] = r.Header["User-Agent"]
	}})))
	for name, agent := range seen {
		if agent != agents[0]["User-Agent"] {
			t.Errorf("%s is %q", name, agent)
		}
	}
	if len(seen) != visitors {
		t.Errorf("%v", seen)
	}
}

func every(path func(int) string, n int) (paths []string) {
	for i := range n {
		paths = append(paths, path(i))
	}
	return paths
}

// crawl asks for the pages in the session of an account, or of two visitors, and returns how often each was parsed.
func (s *fickle) crawl(t *testing.T, account string, concurrency int, paths []string) (tegenaria.Stats, map[string]int) {
	spider := enginetest.NewSpider()
	spider.Start = func(req chan<- *tegenaria.Context) {
		for _, path := range paths {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://site.test"+path, cmp.Or(s.method, tegenaria.GET), nil, session.As(account)))
		}
	}
	var mu sync.Mutex
	parsed := make(map[string]int)
	spider.Parse = parser(func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if parsed[strings.TrimPrefix(ctx.Request.Url, "http://site.test")]++; ctx.Response().String() != "page" {
			t.Errorf("%s: %q is parsed", ctx.Request.Url, ctx.Response().String())
		}
		return nil
	})
	opts := session.Options{Concurrency: concurrency,
		Expired: func(page *tegenaria.Response) bool { return page.Status == 401 || page.String() == pleaseLogIn },
		Login: func(l *session.Login) error {
			_, err := l.Fetch(tegenaria.NewRequest("http://site.test/enter", tegenaria.GET, nil))
			return err
		}}
	if account == "" {
		opts.Size = 2
	}
	stats := enginetest.MustRun(t, newSite(t).engineOf(spider, session.NewPool(opts), tegenaria.EngineWithDownloader(answers{s.answer}),
		tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 20})))
	for path, n := range parsed {
		if n != 1 {
			t.Errorf("%s was parsed %d times", path, n)
		}
	}
	return stats, parsed
}

func newFickle(lasts int, form string) *fickle {
	return &fickle{lasts: lasts, form: form, left: make(map[string]int),
		takes: func(int) time.Duration { return 100 * time.Millisecond }}
}

// Every page is parsed once, however a site says that a login is over: also where the page for logins is one that was a page before, or the
// target of a redirect is where it ends. A late answer to a request of an earlier login does not end the new one. Each redirect costs one
// request more, by which the pool sees where it leads.
func TestExpiry(t *testing.T) {
	for name, tt := range map[string]struct {
		form string
		late bool // answers take between 0.1 and 2 s
		slow time.Duration
	}{
		"status 401":           {"", false, 0},
		"late answers":         {"", true, 0},
		"front page":           {"/", false, 0},
		"query":                {"/show?do=login", false, 0},
		"front page, and late": {"/", true, 0},
		"slow form":            {"/form", false, 5 * time.Second},
		"a form for each page": {"/form?to=%s", false, time.Second},
		"another host":         {"http://login.test/", false, time.Second},
	} {
		for _, account := range []string{"ann", ""} {
			for _, concurrency := range []int{1, 4} {
				t.Run(fmt.Sprintf("%s/%q/%d", name, account, concurrency), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						const pages, lasts, moved = 100, 23, 10
						s := newFickle(lasts, tt.form)
						s.slow = tt.slow
						if tt.late {
							s.takes = func(n int) time.Duration { return time.Duration(100+n*7919%1900) * time.Millisecond }
						}
						paths := []string{"/"}
						for i := range pages {
							paths = append(paths, fmt.Sprint("/page/", i), fmt.Sprint("/old/", i))
						}
						for i := range moved {
							paths = append(paths, fmt.Sprint("/moved/", i))
						}
						stats, parsed := s.crawl(t, account, concurrency, paths)
						if len(parsed) != 2*pages+2 || stats.Outcomes[tegenaria.Duplicate] != moved-1 {
							t.Errorf("%d pages were parsed: %v, %v, %+v", len(parsed), stats.Outcomes, stats.Reasons, stats.Sessions)
						}
						answers := 2 + 4*pages + 2*moved // those of pages, redirects, and the looks at where these lead
						if most := answers/lasts + 5; s.logins > most || s.forms > s.logins*concurrency || s.asked > answers+s.logins*(3+2*concurrency) {
							t.Errorf("%d logins, want %d at most; %d requests, %d of the form", s.logins, most, s.asked, s.forms)
						}
					})
				})
			}
		}
	}
}

// A site that redirects to its page for logins, which has one URL for all: the pages that were redirected are asked for again, and each is
// parsed once, also after the job was stopped.
func TestRedirectedToLogin(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const pages, lasts = 60, 7
	var mu sync.Mutex
	served, logins, left, parsed := make(map[string]int), make(map[string]int), make(map[string]int), make(map[string]int)
	run, fresh, cut := 0, make(map[string]int), make(map[string]int) // fresh: the run of a login that no page was asked for with; cut: such that a stop has cut off
	answer := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		r := ctx.Request
		path := strings.TrimPrefix(r.Url, "http://site.test")
		user, _ := strings.CutPrefix(r.Header["Cookie"], "sid=")
		switch name, in := strings.CutPrefix(path, "/enter/"); {
		case in:
			if before, ok := fresh[name]; ok && before != run {
				cut[name]++
			}
			fresh[name] = run
			logins[name]++
			left[name] = lasts
			return tegenaria.NewResponse(r, 200, map[string][]string{"Set-Cookie": {"sid=" + name + "; Path=/"}}, []byte("in")), nil
		case strings.HasPrefix(path, "/login"):
			return tegenaria.NewResponse(r, 200, nil, []byte("please log in")), nil
		case left[user] == 0:
			return tegenaria.NewResponse(r, 302, map[string][]string{"Location": {"/login?to=" + path}}, nil), nil
		}
		delete(fresh, user)
		left[user]--
		served[path]++
		return tegenaria.NewResponse(r, 200, nil, []byte("page")), nil
	}
	for run = range 3 {
		pool := session.NewPool(session.Options{
			Expired: func(page *tegenaria.Response) bool { return page.String() == "please log in" },
			Login: func(l *session.Login) error {
				_, err := l.Fetch(tegenaria.NewRequest("http://site.test/enter/"+l.Session().Name(), tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true)))
				return err
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		spider := enginetest.NewSpider()
		spider.Start = func(req chan<- *tegenaria.Context) {
			for i := range pages {
				for _, user := range []string{"ann", "bob"} {
					req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprintf("http://site.test/%s/%d", user, i), tegenaria.GET, nil, session.As(user)))
				}
			}
		}
		spider.Parse = parser(func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if parsed[strings.TrimPrefix(ctx.Request.Url, "http://site.test")]++; len(parsed) > (run+1)*40 && run < 2 {
				stop()
			}
			return nil
		})
		s := newSite(t)
		e := s.engineOf(spider, pool, tegenaria.EngineWithDownloader(answers{answer}), tegenaria.EngineWithCache(store))
		if err := e.Run(ctx, "test"); run == 2 && err != nil {
			t.Fatal(err)
		}
		stop()
	}
	if len(parsed) != 2*pages {
		t.Errorf("%d pages were parsed", len(parsed))
	}
	for path, n := range parsed {
		if !strings.HasPrefix(path, "/ann/") && !strings.HasPrefix(path, "/bob/") {
			t.Errorf("%s was parsed %d times", path, n)
		}
	}
	for _, user := range []string{"ann", "bob"} {
		answers := 0
		for path, n := range served {
			if strings.HasPrefix(path, "/"+user+"/") {
				answers += n
			}
		}
		if needed := (answers + lasts - 1) / lasts; logins[user] < needed || logins[user] > needed+cut[user] {
			t.Errorf("%s has logged in %d times for %d pages, want %d; %d were cut off", user, logins[user], answers, needed, cut[user])
		}
	}
}

// A form that is redirected to the page for logins is sent again as it was, also by a job that was stopped between the two.
func TestFormRedirectedToLogin(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var mu sync.Mutex
	in, sent, metas := false, []string(nil), []map[string]any(nil)
	form := func() *tegenaria.Request {
		return tegenaria.NewRequest("http://site.test/form", tegenaria.POST, nil, session.As("ann"),
			tegenaria.RequestWithBody([]byte("q=\xff")), tegenaria.RequestWithRequestParams(map[string]string{"p": "1"}),
			tegenaria.RequestWithRequestHeader(map[string]string{"Content-Type": "text/x", "Authorization": "key"}), tegenaria.RequestWithPriority(3))
	}
	for run := range 2 {
		var e *tegenaria.SpiderEngine
		stop := sync.OnceFunc(func() { go e.Stop(t.Context()) })
		answer := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			r := ctx.Request
			redirect := func(to string) (*tegenaria.Response, error) {
				return tegenaria.NewResponse(r, 303, map[string][]string{"Location": {to}}, nil), nil
			}
			switch path := strings.TrimPrefix(r.Url, "http://site.test"); {
			case path == "/enter":
				in = true
				return tegenaria.NewResponse(r, 200, nil, []byte("in")), nil
			case r.Url == "http://login.test/":
				return tegenaria.NewResponse(r, 200, nil, []byte("please log in")), nil
			case path == "/done":
				return tegenaria.NewResponse(r, 200, nil, []byte("done")), nil
			case !in:
				if run == 0 { // before the target of the redirect is asked for, as a rule
					stop()
				}
				return redirect("http://login.test/")
			}
			sent = append(sent, fmt.Sprintf("%s %q %v %s %s %d", r.Method, r.Body, r.Params, r.Header["Content-Type"], r.Header["Authorization"], r.Priority))
			return redirect("/done")
		}
		pool := session.NewPool(session.Options{
			Expired: func(page *tegenaria.Response) bool { return page.String() == "please log in" },
			Login: func(l *session.Login) error {
				if l.Session().Uses() == 0 {
					return nil // it is over already
				}
				_, err := l.Fetch(tegenaria.NewRequest("http://site.test/enter", tegenaria.GET, nil))
				return err
			},
		})
		spider := enginetest.NewSpider()
		spider.Start = func(req chan<- *tegenaria.Context) { req <- tegenaria.NewContext(form()) }
		spider.Parse = parser(func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			metas = append(metas, ctx.Request.Meta)
			return nil
		})
		s := newSite(t)
		e = s.engineOf(spider, pool, tegenaria.EngineWithDownloader(answers{answer}), tegenaria.EngineWithCache(store))
		if err := e.Run(t.Context(), "test"); run == 1 && err != nil {
			t.Fatal(err)
		}
	}
	if want := `POST "q=\xff" map[p:1] text/x key 3`; len(sent) != 1 || sent[0] != want {
		t.Errorf("sent %q, want %q", sent, want)
	}
	if len(metas) != 1 || len(metas[0]) != 1 { // the jar
		t.Errorf("Meta: %v", metas)
	}
}

// A Fetch that is redirected to the page for logins fails once: it is repeated by its caller, and its page goes to no parser.
func TestFetchRedirectedToLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		in, logins := false, 0
		answer := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			r := ctx.Request
			switch path := strings.TrimPrefix(r.Url, "http://site.test"); {
			case path == "/enter":
				in = true
				logins++
				return tegenaria.NewResponse(r, 200, nil, []byte("in")), nil
			case path == "/login":
				return tegenaria.NewResponse(r, 200, nil, []byte("please log in")), nil
			case !in:
				return tegenaria.NewResponse(r, 302, map[string][]string{"Location": {"/login"}}, nil), nil
			}
			return tegenaria.NewResponse(r, 200, nil, []byte("page")), nil
		}
		pool := session.NewPool(session.Options{
			Concurrency: 2, // the page's own request, and what it fetches
			Expired:     func(page *tegenaria.Response) bool { return page.String() == "please log in" },
			Login: func(l *session.Login) error {
				_, err := l.Fetch(tegenaria.NewRequest("http://site.test/enter", tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true)))
				return err
			},
		})
		var parsed []string
		var failed error
		fetched := ""
		spider := enginetest.NewSpider()
		spider.Start = func(req chan<- *tegenaria.Context) {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://site.test/a", tegenaria.GET, nil, session.As("ann")))
		}
		spider.Parse = parser(func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			parsed = append(parsed, ctx.Request.Url)
			mu.Lock()
			in = false // the site ends the login
			mu.Unlock()
			for range 2 {
				page, err := ctx.Fetch(tegenaria.NewRequest("http://site.test/inline", tegenaria.GET, nil))
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				fetched = page.String()
			}
			return nil
		})
		s := newSite(t)
		enginetest.MustRun(t, s.engineOf(spider, pool, tegenaria.EngineWithDownloader(answers{answer})))
		var expired *session.ExpiredError
		if !errors.As(failed, &expired) || expired.Session != "ann" || !strings.HasSuffix(expired.URL, "/inline") {
			t.Errorf("Fetch: %v", failed)
		}
		if len(parsed) != 1 || fetched != "page" || logins != 2 {
			t.Errorf("parsed %q, fetched %q, %d logins", parsed, fetched, logins)
		}
	})
}
