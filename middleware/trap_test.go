package middleware_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/middleware"
)

// What a URL looks like.
func TestSuspect(t *testing.T) {
	for _, tt := range []struct {
		url  string
		want string // of repeats, dated, session
	}{
		{"http://a.example/", ""},
		{"http://a.example/a/b/a/b/a/b", "repeats"},
		{"http://a.example/x/a/a/a/y", "repeats"},
		{"http://a.example/a/b/c/d/a/b/c/d/a/b/c/d/", "repeats"},
		{"http://a.example/a/b/a/b/", ""},
		{"http://a.example/a/a", ""},
		{"http://a.example/a/b/a/c/a/d", ""},
		{"http://a.example/1/2/3/4/5/1/2/3/4/5/1/2/3/4/5", ""}, // five segments: too long a cycle

		{"http://a.example/cal/2031-05", "dated"},
		{"http://a.example/cal/2031-05-07", "dated"},
		{"http://a.example/cal/2031/05/", "dated"},
		{"http://a.example/cal/2031/05/07/x", "dated"},
		{"http://a.example/cal/20310507", "dated"},
		{"http://a.example/cal/9999-12-31", "dated"},
		{"http://a.example/cal/0000/01", "dated"},
		{"http://a.example/cal?month=5&year=2031", "dated"},
		{"http://a.example/cal?startDate=2031-05-07", "dated"},
		{"http://a.example/cal?q=2031-05-07", "dated"},
		{"http://a.example/thread/2031/5", ""}, // a thread and its fifth page
		{"http://a.example/cal/2031-13", ""},
		{"http://a.example/cal/2031/00", ""},
		{"http://a.example/item/20319907", ""},
		{"http://a.example/item/12345678", ""},
		{"http://a.example/item/2031051", ""},
		{"http://a.example/item/20310507123", ""},
		{"http://a.example/page/4711", ""},
		{"http://a.example/?page=2031", ""},
		{"http://a.example/?holiday=yes", ""},

		{"http://a.example/x?PHPSESSID=0123456789abcdef", "session"},
		{"http://a.example/x;jsessionid=0123456789ABCDEF?a=1", "session"},
		{"http://a.example/(S(lit3py55t21z5v55vlm25s55))/x", "session"},
		{"http://a.example/x?a=1&sid=0123456789abcdef0123", "session"},
		{"http://a.example/x?ASPSESSIONIDQQ=ABCDEFGH", "session"},
		{"http://a.example/x?sid=1234567890123456", "session"},
		{"http://a.example/x?sid=7", ""},
		{"http://a.example/x?s=golang", ""},
		{"http://a.example/x?s=internationalisation", ""},
		{"http://a.example/x;v=1.2", ""},
		{"http://a.example/x(y)", ""},
	} {
		s := middleware.Suspect(tt.url)
		var got []string
		if s.Repeats {
			got = append(got, "repeats")
		}
		if s.Dated {
			got = append(got, "dated")
		}
		if s.Session {
			got = append(got, "session")
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.url, got, tt.want)
		}
	}
}

// What counts as the same, and what does not.
func TestSuspectKeys(t *testing.T) {
	date := func(s middleware.Suspicion) uint64 { return s.Date }
	session := func(s middleware.Suspicion) uint64 { return s.Page }
	pattern := func(s middleware.Suspicion) uint64 { return s.Pattern }
	for _, tt := range []struct {
		key  func(middleware.Suspicion) uint64
		a, b string
		same bool
	}{
		{date, "http://a.example/cal/2031-05", "http://a.example/cal/2032-11", true},
		{date, "http://a.example/cal/2031/05/07", "http://a.example/cal/2032/11/08", true},
		{date, "http://a.example/cal?month=5&year=2031", "http://a.example/cal?month=12&year=1999", true},
		{date, "http://a.example/2031/05/07/one-story", "http://a.example/2031/05/08/another-story", false},
		{date, "http://a.example/cal/2031-05?q=1", "http://a.example/cal/2031-05?q=2", false},
		{session, "http://a.example/x?sid=0123456789abcdef", "http://a.example/x?sid=fedcba9876543210", true},
		{session, "http://a.example/x;jsessionid=0123456789?a=1", "http://a.example/x;jsessionid=9876543210?a=1", true},
		{session, "http://a.example/(S(lit3py55t21z5v55vlm25s55))/x", "http://a.example/(S(aaaaaaaaaaaaaaaaaaaaa255))/x", true},
		{session, "http://a.example/x?sid=0123456789abcdef", "http://a.example/y?sid=0123456789abcdef", false},
		{session, "http://a.example/x?sid=0123456789abcdef&p=1", "http://a.example/x?sid=0123456789abcdef&p=2", false},
		{pattern, "http://a.example/item/1/x22", "http://a.example/item/4711/x3", true},
		{pattern, "http://a.example/item?id=1", "http://a.example/item?id=abc", true},
		{pattern, "http://a.example/item?id=1", "http://a.example/item?no=1", false},
		{pattern, "http://a.example/item/a", "http://a.example/item/b", false},
	} {
		if same := tt.key(middleware.Suspect(tt.a)) == tt.key(middleware.Suspect(tt.b)); same != tt.same {
			t.Errorf("%s and %s: same is %v", tt.a, tt.b, same)
		}
	}
}

// Pages that differ by what they repeat of their URL are one page.
func TestBodyKey(t *testing.T) {
	body := func(path string) string {
		return "<title>Not found</title><p>" + path + " is not here. <a href=" + path + "/more>more</a>"
	}
	if middleware.BodyKey(body("/one/two"), "/one/two") != middleware.BodyKey(body("/three"), "/three") {
		t.Error("a page that repeats its URL differs")
	}
	if middleware.BodyKey("<p>one", "/one/x") == middleware.BodyKey("<p>two", "/two/x") {
		t.Error("two pages are one")
	}
	if middleware.BodyKey("<p>one", "/") == middleware.BodyKey("<p>two", "/") {
		t.Error("two pages at / are one")
	}
}

// A count is never too high, and what comes often is not lost among what comes seldom.
func TestHeavy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h middleware.Heavy
	exact := map[uint64]int{}
	best := 0
	const rounds = 20_000
	for range rounds {
		key := uint64(7)
		if r.IntN(4) > 0 { // three of four are something else
			key = r.Uint64N(5000) + 100
		}
		exact[key]++
		n := h.Add(key)
		if n > exact[key] {
			t.Fatalf("counted %d of %d", n, exact[key])
		}
		if key == 7 {
			best = n
		}
	}
	if missing := exact[7] - best; missing > rounds/9 {
		t.Errorf("%d of %d are missing, want %d at most", missing, exact[7], rounds/9)
	}
}

// The traps of a bad web, each endless, and the reason that ends it.
func TestTrapsAreBounded(t *testing.T) {
	html := map[string][]string{"Content-Type": {"text/html"}}
	respond := func(r *tegenaria.Request, text string, links ...string) *tegenaria.Response {
		var b strings.Builder
		b.WriteString(text)
		for _, link := range links {
			fmt.Fprintf(&b, "<a href=%q>x</a>", link)
		}
		return tegenaria.NewResponse(r, 200, html, []byte(b.String()))
	}
	number := func(url string) (n int) {
		fmt.Sscanf(url[strings.LastIndexByte(url, '/')+1:], "%d", &n)
		return n
	}
	const budget = 200
	for _, tt := range []struct {
		name   string
		seed   string
		answer func(r *tegenaria.Request) *tegenaria.Response
		reason string
		most   int // downloads
	}{
		{"endless calendar", "http://a.example/cal/2026-01", func(r *tegenaria.Request) *tegenaria.Response {
			var year, month int
			fmt.Sscanf(r.Url, "http://a.example/cal/%d-%d", &year, &month)
			next := year*12 + month // of the month after
			return respond(r, r.Url, fmt.Sprintf("/cal/%04d-%02d", next/12, next%12+1), fmt.Sprintf("/cal/%04d-%02d", (next-2)/12, (next-2)%12+1))
		}, "filtered: trap: calendar", budget},
		{"calendar of queries", "http://a.example/events?year=2026&month=1", func(r *tegenaria.Request) *tegenaria.Response {
			var year, month int
			fmt.Sscanf(r.Url, "http://a.example/events?year=%d&month=%d", &year, &month)
			return respond(r, r.Url, fmt.Sprintf("?year=%d&month=%d", year+month/12, month%12+1))
		}, "filtered: trap: calendar", budget},
		{"session ids in every link", "http://a.example/p/0", func(r *tegenaria.Request) *tegenaria.Response {
			var links []string
			for i := range 10 { // ten pages, a new id at each visit
				links = append(links, fmt.Sprintf("/p/%d?sid=%016x%08d", i, chance.Uint64(), i))
			}
			return respond(r, r.Url, links...)
		}, "filtered: trap: session id", 1 + budget/4 + 1 + 10 + budget},
		{"a relative link that leads deeper", "http://a.example/a/", func(r *tegenaria.Request) *tegenaria.Response {
			return respond(r, fmt.Sprint(len(r.Url)), "a/")
		}, "filtered: trap: repeating path", 2 + budget},
		{"soft 404s", "http://a.example/x/1", func(r *tegenaria.Request) *tegenaria.Response {
			path := strings.TrimPrefix(r.Url, "http://a.example")
			return respond(r, "<title>Sorry</title><p>"+path+" was not found, try ", path+"/1", path+"/2")
		}, "filtered: trap: soft 404", 3*budget + 10},
		{"one pattern", "http://a.example/item/1", func(r *tegenaria.Request) *tegenaria.Response {
			return respond(r, r.Url, fmt.Sprintf("/item/%d", number(r.Url)+1))
		}, "filtered: trap: pattern", budget},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := &memory{answer: func(r *tegenaria.Request) (*tegenaria.Response, error) { return tt.answer(r), nil }}
			o := middleware.TrapOptions{Budget: budget}
			if tt.name == "one pattern" {
				o.Pattern = budget
			}
			stats := crawlWith(t, tegenaria.NewSpider("test", followAll, tt.seed), set(middleware.NewTrapGuard(o)),
				tegenaria.EngineWithDownloader(web), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 20 * budget}))
			if stats.Reasons[tt.reason] == 0 {
				t.Errorf("reasons %v, want %q", stats.Reasons, tt.reason)
			}
			if n := len(web.asked()); n < budget || n > tt.most {
				t.Errorf("asked %d times, want %d to %d", n, budget, tt.most)
			}
		})
	}
}

// repeated is what belongs to requests that are sent again and again on purpose.
type repeated bool

func (r repeated) IsRepeated() bool { return bool(r) }

// The pages of logins, which are the same each time, are no trap, nor is a page that many accounts have; those of other requests are.
func TestSessionsAreNoTrap(t *testing.T) {
	for _, tt := range []struct {
		isLogin, cut bool
		accounts     int
	}{
		{isLogin: true, accounts: 1},
		{accounts: 1, cut: true},
		{accounts: 10, cut: true},
		{accounts: 2000},
	} {
		m := middleware.NewTrapGuard(middleware.TrapOptions{Budget: 100})
		if err := m.Open(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		cut := 0
		for i := range 2000 {
			ctx := tegenaria.NewContext(tegenaria.NewRequest("http://a.test/login", tegenaria.GET, nil))
			ctx.Request.SetSession(fmt.Sprint("user ", i%tt.accounts), repeated(tt.isLogin))
			ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200,
				map[string][]string{"Content-Type": {"text/html"}}, []byte("<h1>welcome</h1>"))}
			if m.ProcessRequest(ctx) != nil || m.ProcessResponse(ctx, nil) != nil {
				cut++
			}
		}
		if tt.cut != (cut > 0) {
			t.Errorf("%+v: %d of 2000 were cut off", tt, cut)
		}
	}
}

// What the standard set must not cut: large honest sites, within 5,000 URLs of a kind and far above.
func TestStandardCutsNothingHonest(t *testing.T) {
	var guard tegenaria.MiddlewaresInterface
	for _, m := range middleware.Standard() {
		if m.GetName() == "trap guard" {
			guard = m
		}
	}
	check := func(t *testing.T, url string, body string) {
		t.Helper()
		ctx := answered(url, 200, body, "Content-Type", "text/html")
		if err := guard.ProcessRequest(ctx); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if err := guard.ProcessResponse(ctx, nil); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
	}
	for i := range 20_000 {
		year, month, day := 2000+i/400%25, i%12+1, i%28+1
		check(t, fmt.Sprintf("http://shop.example/product/%d", i), fmt.Sprint("<p>product ", i))
		check(t, fmt.Sprintf("http://shop.example/list?page=%d", i), fmt.Sprint("<p>list ", i))
		check(t, fmt.Sprintf("http://blog.example/%d/%02d/%02d/story-%d", year, month, day, i), fmt.Sprint("<p>story ", i))
		check(t, fmt.Sprintf("http://forum.example/thread/%d/%d", 1000+i/12, i%12+1), fmt.Sprint("<p>thread ", i))
		check(t, fmt.Sprintf("http://login.example/page/%d?sid=0123456789abcdef", i), fmt.Sprint("<p>page ", i))
	}
	for i := range 5_000 {
		check(t, fmt.Sprintf("http://cal.example/%d-%02d-%02d", 2000+i/336, i/28%12+1, i%28+1), fmt.Sprint("<p>day ", i))
		check(t, "http://deep.example"+strings.Repeat("/a", i%50+3)+fmt.Sprint("/", i), fmt.Sprint("<p>deep ", i))
		check(t, fmt.Sprintf("http://same.example/%d", i), "<p>the same")
	}
	over := answered("http://cal.example/2999-01-01", 200, "")
	if err := guard.ProcessRequest(over); err == nil || !strings.Contains(err.Error(), "trap: calendar") {
		t.Errorf("the day after: %v", err)
	}
	for i := range 5_000 / 4 { // which came before pages were compared
		check(t, fmt.Sprintf("http://same.example/more/%d", i), "<p>the same")
	}
	same := answered("http://same.example/over", 200, "<p>the same", "Content-Type", "text/html")
	var cut error
	for range 8 { // one page of eight is counted
		cut = guard.ProcessResponse(same, nil)
	}
	if cut == nil || !strings.Contains(cut.Error(), "trap: soft 404") {
		t.Errorf("the same page eight times more: %v", cut)
	}
	again := asked("http://cal.example/2999-01-02")
	again.Request.Attempt = 1
	if err := guard.ProcessRequest(again); err != nil {
		t.Errorf("a retry is cut: %v", err)
	}
	if err := guard.(tegenaria.Opener).Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := guard.ProcessRequest(over); err != nil {
		t.Errorf("a new run: %v", err)
	}
}

// The guard forgets hosts rather than grow.
func TestTrapGuardMemory(t *testing.T) {
	guard := middleware.NewTrapGuard(middleware.TrapOptions{Budget: 4, Hosts: 1000})
	visit := func(from, to int) {
		for i := from; i < to; i++ {
			for j := range 3 { // enough for a filter of pages
				ctx := answered(fmt.Sprintf("http://h%d.example/%d?sid=0123456789abcdef%d", i, j, j), 200, "x", "Content-Type", "text/html")
				if guard.ProcessRequest(ctx) != nil || guard.ProcessResponse(ctx, nil) != nil {
					t.Fatal("cut within the budget")
				}
			}
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	visit(0, 2_000)
	full := heap() - before
	visit(2_000, 10_000)
	if now := heap() - before; deep.Checks() && now > full+full/4+1<<20 {
		t.Errorf("%d KiB after 2,000 hosts, %d KiB after 10,000", full>>10, now>>10)
	}
	if limit := uint64(512*32<<10 + 1000*1<<10 + 1<<20); deep.Checks() && full > limit {
		t.Errorf("%d KiB for 1,000 hosts, want %d at most", full>>10, limit>>10)
	}
	runtime.KeepAlive(guard)
}

// Many large hosts that take turns do not take each other's room with every page.
//
// It fails if TrapGuard.idle returns a host that was asked a moment ago.
func TestTrapHostsShareTheRoom(t *testing.T) {
	const hosts, pages = 300, 120
	guard := middleware.NewTrapGuard(middleware.TrapOptions{Patience: 20})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for page := range pages {
		for host := range hosts {
			ctx := answered(fmt.Sprintf("http://h%d.example/%d", host, page), 200, fmt.Sprint("<p>page ", page), "Content-Type", "text/html")
			if guard.ProcessRequest(ctx) != nil || guard.ProcessResponse(ctx, nil) != nil {
				t.Fatal("an honest page is filtered")
			}
		}
	}
	runtime.ReadMemStats(&after)
	if most, got := uint64(128*170<<10+hosts*pages*1800), after.TotalAlloc-before.TotalAlloc; deep.Checks() && got > most {
		t.Errorf("%d MiB allocated for %d pages, want %d at most", got>>20, hosts*pages, most>>20)
	}
}

// The study of a host that is over makes room for another one: a trap that comes after 128 large hosts ends as soon as
// the first would.
//
// It fails if TrapGuard.idle never returns a host.
func TestTrapLaterHostsGetRoom(t *testing.T) {
	guard := middleware.NewTrapGuard(middleware.TrapOptions{Patience: 1000})
	visit := func(host string, page int) error {
		ctx := answered(fmt.Sprintf("http://%s/word/%d", host, page), 200, fmt.Sprintf("<p>Sorry<a href=/word/%d>a</a><a href=/word/%d>b</a>", chance.Uint32(), chance.Uint32()), "Content-Type", "text/html")
		if err := guard.ProcessRequest(ctx); err != nil {
			return err
		}
		return guard.ProcessResponse(ctx, nil)
	}
	for host := range 200 {
		page := 0
		for page < 2000 && visit(fmt.Sprintf("h%d.example", host), page) == nil {
			page++
		}
		if page == 2000 {
			t.Fatalf("host %d: nothing was filtered", host)
		}
	}
}
