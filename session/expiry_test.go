package session_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/session"
)

// fickle is a site whose logins last for some answers, and which gives a cookie to whoever is not logged in.
type fickle struct {
	lasts int
	form  string // where those are redirected to who are not logged in; "": they get status 401

	mu     sync.Mutex
	left   map[string]int // answers, by cookie
	given  int
	logins int
	served map[string]int
	takes  func(n int) time.Duration // the answer number n
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
	s.mu.Lock()
	in := s.left[sid] > 0
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
	in = in && !strings.HasPrefix(path, "/closed/")
	switch {
	case path == "/enter":
		return tegenaria.NewResponse(r, 200, header, []byte("in")), nil
	case !in && (path == s.form || strings.HasPrefix(path, s.form+"&") && s.form != ""):
		return tegenaria.NewResponse(r, 200, header, []byte(pleaseLogIn)), nil
	case !in && s.form != "":
		return redirect(s.form)
	case !in:
		return tegenaria.NewResponse(r, 401, header, []byte("log in")), nil
	case old:
		return redirect("/show?id=" + rest)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[path]++
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
		for _, form := range []string{"", "/closed/form"} {
			for _, concurrency := range []int{1, 4} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, form, concurrency), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newFickle(lasts, form)
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
						if most := s.asked/lasts + 2*forbidden + 5; s.logins > most {
							t.Errorf("%d logins for %d requests, want %d at most", s.logins, s.asked, most)
						}
					})
				})
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newFickle(lasts, "")
		stats, _ := s.crawl(t, "ann", 1, every(closed, pages))
		if stats.Sessions.Rejected != 1 || s.logins != 3 || stats.Reasons["gave-up: login: expired"] < pages-3 {
			t.Errorf("%d logins; %v, %+v", s.logins, stats.Reasons, stats.Sessions)
		}
	})
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
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://site.test"+path, tegenaria.GET, nil, session.As(account)))
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
	return &fickle{lasts: lasts, form: form, left: make(map[string]int), served: make(map[string]int),
		takes: func(int) time.Duration { return 100 * time.Millisecond }}
}

// Every page is parsed once, however a site says that a login is over: also where the page for logins is one that was a page before, or the
// target of a redirect is where it ends. A late answer to a request of an earlier login does not end the new one.
func TestExpiry(t *testing.T) {
	for name, tt := range map[string]struct {
		form string
		late bool // answers take between 0.1 and 2 s
	}{
		"status 401":           {"", false},
		"late answers":         {"", true},
		"front page":           {"/", false},
		"query":                {"/show?do=login", false},
		"front page, and late": {"/", true},
	} {
		for _, account := range []string{"ann", ""} {
			for _, concurrency := range []int{1, 4} {
				t.Run(fmt.Sprintf("%s/%q/%d", name, account, concurrency), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						const pages, lasts = 100, 23
						s := newFickle(lasts, tt.form)
						if tt.late {
							s.takes = func(n int) time.Duration { return time.Duration(100+n*7919%1900) * time.Millisecond }
						}
						paths := []string{"/"}
						for i := range pages {
							paths = append(paths, fmt.Sprint("/page/", i), fmt.Sprint("/old/", i))
						}
						stats, parsed := s.crawl(t, account, concurrency, paths)
						if len(parsed) != 2*pages+1 {
							t.Errorf("%d pages were parsed: %v, %v, %+v", len(parsed), stats.Outcomes, stats.Reasons, stats.Sessions)
						}
						answers := 2 + 4*pages // those of pages, redirects, and the looks at where these lead
						if most := s.asked/lasts + 15; s.logins > most || s.asked > 2*answers*(1+concurrency/4) {
							t.Errorf("%d logins for %d requests, want %d at most", s.logins, s.asked, most)
						}
					})
				})
			}
		}
	}
}
