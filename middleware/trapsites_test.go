package middleware_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/middleware"
)

var trapsUncut = flag.Bool("traps.uncut", false, "crawl the sites with traps without what compares their pages, up to 20,000 pages each")

// trapSite is a site on a server of its own. Its pages are written by answer; a page that calls real shows one of the
// site's real pages, of which all are defined before.
type trapSite struct {
	name   string
	real   int // pages 0 … real−1
	most   int // requests; 0: any number
	answer func(p *trapWriter)
}

// trapWriter writes one answer.
type trapWriter struct {
	bytes.Buffer
	path, query string
	segments    []string
	form        map[string]string
	shown       []int
	json        bool
}

func (p *trapWriter) text(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }
func (p *trapWriter) real(n int)                      { p.shown = append(p.shown, n) }
func (p *trapWriter) link(format string, args ...any) {
	fmt.Fprintf(p, "<a href=\"%s\">%s</a>\n", fmt.Sprintf(format, args...), randomWord())
}

// number is the number of a segment or a value, 0 if it is none.
func asNumber(s string) (n int) {
	fmt.Sscanf(s, "%d", &n)
	return n
}

func (p *trapWriter) segment(i int) string {
	if i < len(p.segments) {
		return p.segments[i]
	}
	return ""
}

var trapWords = strings.Fields("amber bramble cedar dapple ember fennel gorse hazel indigo juniper kestrel lichen meadow nettle osprey plover quartz rowan sorrel thistle umber violet willow yarrow zephyr")

// dice are random numbers that several servers draw.
type dice struct {
	mu     sync.Mutex // guards random
	random func() *rand.Rand
}

// chance is what the sites draw at random: the same numbers in each run, others in each deep check.
var chance = &dice{random: sync.OnceValue(func() *rand.Rand { return rand.New(rand.NewPCG(deep.Seed(), 5)) })}

func (d *dice) IntN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random().IntN(n)
}

func (d *dice) Uint32() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random().Uint32()
}

func (d *dice) Uint64() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random().Uint64()
}

func randomWord() string { return trapWords[chance.IntN(len(trapWords))] }

// wordsOf are words that are a page's own, always the same ones.
func wordsOf(n, count int) string {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	var b strings.Builder
	for range count {
		b.WriteString(trapWords[r.IntN(len(trapWords))])
		b.WriteString(string(rune('a' + r.IntN(26))))
		b.WriteString(string(rune('a' + r.IntN(26))))
		b.WriteByte(' ')
	}
	return b.String()
}

// crawlTrapSite crawls a site with the standard set and returns how often it was asked.
func crawlTrapSite(t *testing.T, site trapSite) {
	var mu sync.Mutex
	shown := make(map[int]int)
	requests := 0
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		p := &trapWriter{path: r.URL.Path, query: r.URL.RawQuery, form: make(map[string]string)}
		p.segments = strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
		for name, values := range r.URL.Query() {
			p.form[name] = values[0]
		}
		site.answer(p)
		mu.Lock()
		requests++
		for _, n := range p.shown {
			shown[n]++
		}
		mu.Unlock()
		if p.json {
			w.Header().Set("Content-Type", "application/json")
		} else {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		w.Write(p.Bytes())
	})
	var log bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&log)
	middlewares := middleware.Standard()
	if *trapsUncut {
		middlewares[0] = middleware.NewTrapGuard(middleware.TrapOptions{Patience: 1 << 40})
	}
	inFlight := 1 // what a guard has seen when it judges depends on the order in which pages come
	if deep.Checks() {
		inFlight = 16
	}
	e := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("test", followAll, server.URL+"/")),
		tegenaria.EngineWithConcurrency(inFlight), tegenaria.EngineWithSchedulerNum(1),
		tegenaria.EngineWithMiddlewares(middlewares...),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 20_000}),
		tegenaria.EngineWithLogger(logger),
		tegenaria.EngineWithEmptyOK()) // its parser sends no items
	err := e.Run(t.Context(), "test")
	var stopped *tegenaria.StoppedError
	if err != nil && !errors.As(err, &stopped) {
		t.Fatalf("Run: %v", err)
	}
	stats := e.Stats()
	t.Logf("%d requests, reasons %v", requests, stats.Reasons)
	if *trapsUncut {
		return
	}
	most := site.most
	if deep.Checks() {
		most += 2048 // pages come in any order, so the sample that shows the trap may be the one after the first
	}
	if site.most > 0 && (requests > most || err != nil) {
		t.Errorf("%d requests, want %d at most (%v)", requests, most, err)
	}
	missing := 0
	for n := range site.real {
		if shown[n] == 0 {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d real pages were not shown", missing, site.real)
	}
	cut := 0
	for reason := range stats.Reasons {
		if strings.HasPrefix(reason, "filtered: trap") {
			cut++
		}
	}
	if warnings := strings.Count(log.String(), "level=warning"); warnings != cut || cut == 0 != (site.most == 0) {
		t.Errorf("%d kinds of traps were cut, the log has %d warnings:\n%s", cut, warnings, log.String())
	}
}

func hash(s string) int {
	h := fnv.New32a()
	h.Write([]byte(s))
	return int(h.Sum32())
}

func hexID() string { return fmt.Sprintf("%08x", chance.Uint32()) }

// sessionID is three letters and three digits.
func sessionID() string {
	return fmt.Sprintf("%c%c%c%03d", 'a'+chance.IntN(26), 'a'+chance.IntN(26), 'a'+chance.IntN(26), chance.IntN(1000))
}

// fifty is the site of the issue: pages that link to ten others, with an id made anew for each link.
func fifty(p *trapWriter, n int, link func(n int) string) {
	p.real(n)
	p.text("<title>Page %d</title><h1>Page %d</h1><p>%s</p><p>It is 12:%02d:%02d, you are visitor %d.</p>", n, n, wordsOf(n, 5), chance.IntN(60), chance.IntN(60), chance.IntN(1e6))
	for i := range 10 {
		p.link("%s", link((n+i*i+1)%50))
	}
}

// The traps of the bar: each is endless, and ends within 3,000 requests with all its real pages shown.
//
// They fail if ProcessRequest in trap.go does not ask study.refuse.
func TestTrapSites(t *testing.T) {
	months := strings.Fields("January February March April May June July August September October November December")
	calendar := func(p *trapWriter, year, month int, link func(year, month int) string) {
		p.text("<title>%s %d</title><h1>%s %d</h1><table><tr><th>Mon<th>Tue<th>Wed<th>Thu<th>Fri<th>Sat<th>Sun</tr><tr>", months[(month+11)%12], year, months[(month+11)%12], year)
		for day := range 28 + month%4 {
			p.text("<td>%d", day+1)
		}
		p.text("</table>")
		next := year*12 + month - 1
		p.link("%s", link((next+1)/12, (next+1)%12+1))
		p.link("%s", link((next-1)/12, (next-1)%12+1))
		if year == 2026 {
			for i := range 5 {
				p.link("/event/%d", month*5+i-5)
			}
		}
	}
	event := func(p *trapWriter) bool {
		if p.segment(0) != "event" {
			return false
		}
		n := asNumber(p.segment(1))
		p.real(n)
		p.text("<h1>An event</h1><p>%s</p>", wordsOf(n, 30))
		p.link("/")
		return true
	}
	ofQuery := func(path, y, m string) func(p *trapWriter) {
		return func(p *trapWriter) {
			if event(p) {
				return
			}
			year, month := 2026, 1
			if p.query != "" {
				year, month = asNumber(p.form[y]), asNumber(p.form[m])
			}
			calendar(p, year, month, func(year, month int) string { return fmt.Sprintf("%s?%s=%d&%s=%d", path, y, year, m, month) })
		}
	}
	soft404 := func(links int, numbers bool) func(p *trapWriter) {
		return func(p *trapWriter) {
			n := asNumber(p.segment(1))
			switch {
			case p.path == "/" || p.segment(0) == "guide" && n < 40:
				p.real(n)
				p.text("<title>Guide</title><h1>Chapter %d</h1><p>%s</p>", n, wordsOf(n, 40))
				p.link("/guide/%d", n+1)
				p.link("/guide/%d", n*2)
			default:
				first, second := randomWord(), randomWord()
				if numbers {
					first, second = "this", "that"
				}
				p.text("<title>Sorry</title><h1>Not here</h1><p>There is no such page, but perhaps %s or %s helps. Today is %d May %d, 12:%02d.</p><p>Ask us by mail or telephone.</p>",
					first, second, 1+chance.IntN(28), 2000+chance.IntN(30), chance.IntN(60))
				p.link("/")
			}
			for range links {
				if numbers {
					p.link("/%d/%d", chance.IntN(1e6), chance.IntN(1e6))
				} else {
					p.link("/%s-%s/%s%s", randomWord(), randomWord(), randomWord(), hexID()[:chance.IntN(7)])
				}
			}
		}
	}
	for _, site := range []trapSite{
		{"session id in the query", 50, 3000, func(p *trapWriter) {
			fifty(p, asNumber(p.segment(1)), func(n int) string { return fmt.Sprintf("/page/%d?sid=%s&utm_source=mini", n, hexID()) })
		}},
		{"session id of digits", 50, 3000, func(p *trapWriter) {
			fifty(p, asNumber(p.form["n"]), func(n int) string { return fmt.Sprintf("/page?n=%d&amp;s=%d", n, chance.IntN(1e9)) })
		}},
		{"session id in the path", 50, 3000, func(p *trapWriter) {
			fifty(p, asNumber(p.segment(3)), func(n int) string { return fmt.Sprintf("/s/%s/page/%d", sessionID(), n) })
		}},
		{"jsessionid", 50, 3000, func(p *trapWriter) {
			name, _, _ := strings.Cut(p.segment(1), ";")
			fifty(p, asNumber(name), func(n int) string { return fmt.Sprintf("/page/%d;jsessionid=%s", n, hexID()) })
		}},
		{"session of ASP.NET", 50, 3000, func(p *trapWriter) {
			fifty(p, asNumber(p.segment(2)), func(n int) string { return fmt.Sprintf("/(S(%s%s%s))/page/%d", hexID(), hexID(), hexID(), n) })
		}},
		{"calendar", 60, 3000, func(p *trapWriter) {
			if event(p) {
				return
			}
			year, month := 2026, 1
			fmt.Sscanf(p.path, "/cal/%d-%d", &year, &month)
			calendar(p, year, month, func(y, m int) string { return fmt.Sprintf("/cal/%04d-%02d", y, m) })
		}},
		{"calendar of a query", 60, 3000, ofQuery("/events", "year", "month")},
		{"calendar with short names", 60, 3000, ofQuery("/c", "y", "m")},
		{"calendar of days", 60, 3000, func(p *trapWriter) {
			if event(p) {
				return
			}
			year, month, day := 2026, 1, 1
			fmt.Sscanf(p.path, "/cal/%d/%d/%d", &year, &month, &day)
			calendar(p, year, month, func(y, m int) string { return fmt.Sprintf("/cal/%04d/%02d/01", y, m) })
			for range 7 {
				p.link("/cal/%04d/%02d/%02d", year, month, 1+chance.IntN(28))
			}
		}},
		{"facets", 40, 3000, func(p *trapWriter) {
			if p.segment(0) == "product" {
				n := asNumber(p.segment(1))
				p.real(n)
				p.text("<h1>Product</h1><p>%s</p>", wordsOf(n, 20))
				p.link("/shop")
				return
			}
			names, values := strings.Fields("color size brand price stock shape"), strings.Fields("red blue tiny huge acme")
			found := 0
			for n := range 40 {
				ok := true
				for _, name := range names {
					if v := p.form[name]; v != "" && hash(fmt.Sprint(name, n))%5 != slices.Index(values, v) {
						ok = false
					}
				}
				if ok {
					found++
					p.link("/product/%d", n)
				}
			}
			p.text("<title>Shop</title><h1>Our products</h1><p>%d found</p>", found)
			for _, name := range names {
				p.text("<p>%s: %s</p>", name, p.form[name])
				for _, v := range values {
					query := ""
					for _, other := range names {
						value := p.form[other]
						if other == name {
							value = v
						}
						if value != "" {
							query += "&amp;" + other + "=" + value
						}
					}
					p.link("/shop?%s", strings.TrimPrefix(query, "&amp;"))
				}
			}
		}},
		{"sorted table", 200, 4000, func(p *trapWriter) {
			if p.segment(0) == "item" {
				n := asNumber(p.segment(1))
				p.real(n)
				p.text("<h1>Item</h1><p>%s</p>", wordsOf(n, 20))
				return
			}
			number := max(asNumber(p.form["page"]), 1)
			p.text("<title>Items</title><h1>All items, page %d</h1>", number)
			order := rand.New(rand.NewPCG(uint64(hash(p.form["sort"]+p.form["dir"])), 1)).Perm(200)
			for i := (number - 1) * 20; i < min(number*20, 200); i++ {
				p.text("<tr><td>%s<td>%d.%02d", wordsOf(order[i], 2), order[i]*3, order[i]%100)
				p.link("/item/%d", order[i])
			}
			for _, sort := range strings.Fields("name price date stock") {
				for _, dir := range []string{"asc", "desc"} {
					p.link("/list?sort=%s&dir=%s&page=%d", sort, dir, number)
				}
			}
			p.link("/list?sort=%s&dir=%s&page=%d", p.form["sort"], p.form["dir"], number+1)
		}},
		{"growing path", 20, 3000, func(p *trapWriter) {
			if p.segment(0) == "real" || p.path == "/" {
				n := asNumber(p.segment(1))
				p.real(n)
				p.text("<h1>Chapter</h1><p>%s</p>", wordsOf(n, 20))
				p.link("/real/%d", (n+1)%20)
				p.link("/a/")
				return
			}
			p.text("<h1>A page</h1><p>This is what there is, nothing else.</p>")
			p.link("b/")
			p.link("a/")
		}},
		{"growing path of two", 1, 3000, func(p *trapWriter) {
			p.real(0)
			p.text("<h1>A page</h1><p>This is what there is, nothing else.</p>")
			p.link("a/b/")
		}},
		{"growing path of random words", 1, 3000, func(p *trapWriter) {
			p.real(0)
			p.text("<h1>A page</h1><p>This is what there is, nothing else.</p>")
			for range 3 {
				p.link("%s/", randomWord())
			}
		}},
		{"soft 404, two links", 40, 3000, soft404(2, false)},
		{"soft 404, ten links", 40, 3000, soft404(10, false)},
		{"soft 404, numbers", 40, 3000, soft404(3, true)},
		{"soft 404, two numbers", 40, 3000, soft404(2, true)},
		{"soft 404, numbers and a page of all", 1, 3000, func(p *trapWriter) {
			p.real(0)
			p.text("<title>Sorry</title><h1>Not here</h1><p>Ask us by mail.</p>")
			p.link("/item/1")
			for range 3 {
				p.link("/item/%d", chance.IntN(1e9))
			}
		}},
		{"soft 404, UUIDs", 1, 3000, func(p *trapWriter) {
			p.real(0)
			p.text("<title>Sorry</title><h1>Not here</h1><p>%s perhaps?</p><img src=/logo.png>", randomWord())
			for range 3 {
				p.link("/item/%s-%s", hexID(), hexID())
			}
		}},
	} {
		t.Run(site.name, func(t *testing.T) { crawlTrapSite(t, site) })
	}
}

// Sites that look like traps and are none: each page is fetched, and nothing is cut.
//
// They fail if study.judge forgets what a page repeats of its URL, or where it leads.
func TestHonestSites(t *testing.T) {
	related := func(p *trapWriter, n, of int, format string) {
		for i := range 4 {
			p.link(format, (n*7+i*i*13+1)%of)
		}
	}
	listed := func(each, of int, format string, answer func(p *trapWriter)) func(p *trapWriter) {
		return func(p *trapWriter) {
			if p.path != "/" {
				answer(p)
				return
			}
			from := asNumber(p.form["list"]) * each
			for i := range min(each, of-from) {
				p.link(format, from+i)
			}
			if from+each < of {
				p.link("/?list=%d", from/each+1)
			}
		}
	}
	for _, site := range []trapSite{
		{"shop with little text", 5000, 0, listed(50, 5000, "/shop?product_id=%d", func(p *trapWriter) {
			n := asNumber(p.form["product_id"])
			p.real(n)
			p.text("<title>Product %d - Shop</title><h1>Product %d</h1><p>Price: %d.99 In stock</p>", n, n, n%50)
			related(p, n, 5000, "/shop?product_id=%d")
		})},
		{"shop without numbers in the text", 5000, 0, listed(50, 5000, "/shop?product_id=%d", func(p *trapWriter) {
			n := asNumber(p.form["product_id"])
			p.real(n)
			p.text("<title>Shop</title><h1>%s</h1><p>In stock</p>", wordsOf(n, 2))
			related(p, n, 5000, "/shop?product_id=%d")
		})},
		{"shop with names in the path", 5000, 0, listed(50, 5000, "/product/%d", func(p *trapWriter) {
			n := asNumber(p.segment(1))
			if name := wordsOf(n, 3); p.segment(0) == "product" {
				p.text("<a href=\"/%s\">more</a>", strings.Join(strings.Fields(name), "-"))
				p.text("<p>Product %d</p>", n)
				p.real(n)
			} else {
				words := strings.Split(p.segment(0), "-")
				p.text("<title>Shop</title><h1>%s</h1><p>In stock</p>", strings.Join(words, " "))
				p.link("/")
			}
		})},
		{"forum", 4000, 0, listed(100, 400, "/viewtopic.php?t=%d&amp;p=0", func(p *trapWriter) {
			thread, number := asNumber(p.form["t"]), asNumber(p.form["p"])
			p.real(thread*10 + number)
			p.text("<title>Thread</title><p>Posted by %s</p><p>%s</p>", randomWord(), wordsOf(thread*10+number, 25))
			if number < 9 {
				p.link("/viewtopic.php?t=%d&amp;p=%d", thread, number+1)
			}
		})},
		{"wiki with old versions", 4000, 0, listed(100, 400, "/w?title=Article_%d&amp;oldid=0", func(p *trapWriter) {
			article, version := 0, asNumber(p.form["oldid"])
			fmt.Sscanf(p.form["title"], "Article_%d", &article)
			p.real(article*10 + version%10)
			p.text("<title>Article</title><p>%s %s</p>", wordsOf(article, 30), wordsOf(version, 3))
			if version%10 < 9 {
				p.link("/w?title=Article_%d&amp;oldid=%d", article, version+1)
			}
		})},
		{"pages of links alone", 2000, 0, func(p *trapWriter) {
			n := max(asNumber(p.form["page"]), 1)
			p.real(n - 1)
			if n < 2000 {
				p.link("/list?page=%d", n+1)
			}
			p.link("/list?page=%d", max(n-1, 1))
		}},
		{"pages of links to articles", 4000, 0, func(p *trapWriter) {
			if p.segment(0) == "article" {
				n := asNumber(p.segment(1))
				p.real(n)
				p.text("<title>Article</title><p>%s</p>", wordsOf(n, 30))
				return
			}
			n := asNumber(p.form["page"])
			p.real(3000 + n)
			for i := range 3 {
				p.link("/article/%d", n*3+i)
			}
			if n < 999 {
				p.link("/list?page=%d", n+1)
			}
		}},
		{"tags", 4000, 0, listed(400, 4000, "/go/%d", func(p *trapWriter) {
			n := asNumber(p.segment(1))
			switch p.segment(0) {
			case "go":
				p.text("<p>Number %d</p>", n)
				p.link("/tag/%s", strings.Join(strings.Fields(wordsOf(n, 2)), "_"))
				p.real(n)
			case "tag":
				p.text("<title>Posts about %s</title>", strings.ReplaceAll(p.segment(1), "_", " "))
				p.link("/")
			}
		})},
		{"pages of JSON", 4000, 0, listed(100, 4000, "/api/items?offset=%d", func(p *trapWriter) {
			p.json = true
			p.real(asNumber(p.form["offset"]))
			p.text(`{"items":[],"next":null}`)
		})},
	} {
		t.Run(site.name, func(t *testing.T) { crawlTrapSite(t, site) })
	}
}

var documentationDir = flag.String("documentation", "", "crawl the tree of HTML files in this folder and compare with a walk of it")

// No page of a real documentation tree is refused as a trap: what links and files make reachable is fetched. It runs
// in the step documentation of .ci/deep, once for each tree.
//
// It fails, on a tree of more than 2,500 pages, if study.refuse does not look at how many pages said nothing new.
func TestDocumentationIsNoTrap(t *testing.T) {
	if *documentationDir == "" {
		t.Skip("no -documentation given")
	}
	server := serve(t, http.FileServer(http.Dir(*documentationDir)).ServeHTTP)
	var seeds []string
	err := filepath.WalkDir(*documentationDir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".html") {
			rel, _ := filepath.Rel(*documentationDir, path)
			seeds = append(seeds, server.URL+"/"+filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil || len(seeds) < 100 {
		t.Fatalf("%d files, %v", len(seeds), err)
	}
	for _, start := range [][]string{{server.URL + "/", server.URL + "/index.html"}, append([]string{server.URL + "/"}, seeds...)} {
		e := tegenaria.NewSpiderEngine(
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("test", followAll, start...)),
			tegenaria.EngineWithMiddlewares(middleware.Standard()...),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			tegenaria.EngineWithAllowedDomains("127.0.0.1"),
			tegenaria.EngineWithLogger(quiet()))
		if err := e.Run(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		stats := e.Stats()
		t.Logf("%d seeds: %v, %v", len(start), stats.Outcomes, stats.Reasons)
		for reason, n := range stats.Reasons {
			if strings.Contains(reason, "trap") {
				t.Errorf("%s: %d", reason, n)
			}
		}
		if len(start) > 2 && stats.Outcomes[tegenaria.Fetched]+stats.Outcomes[tegenaria.Redirected] < int64(len(seeds)) {
			t.Errorf("%d pages for %d files: %v", stats.Outcomes[tegenaria.Fetched], len(seeds), stats.Outcomes)
		}
	}
}
