package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/telemetry"
)

// scraper returns a func that scrapes an engine: the numbers by their series, `tegenaria_items_total{result="scraped"}`.
func scraper(t *testing.T, e *tegenaria.SpiderEngine, o telemetry.Options) func() map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(telemetry.NewMetrics(e, o))
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return func() map[string]float64 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if w.Code != http.StatusOK {
			t.Errorf("a scrape is answered with %d: %s", w.Code, w.Body)
		}
		found := make(map[string]float64)
		for line := range strings.Lines(w.Body.String()) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			at := strings.LastIndexByte(line, ' ')
			value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
			if err != nil {
				t.Errorf("line %q: %v", line, err)
			}
			found[line[:at]] = value
		}
		return found
	}
}

// sum adds the series of a metric.
func sum(found map[string]float64, metric string) (total float64) {
	for series, value := range found {
		if name, _, _ := strings.Cut(series, "{"); name == metric {
			total += value
		}
	}
	return total
}

// book is an item of the site below.
type book struct {
	Title string `css:"h1"`
	Price string `css:".price,omitempty"`
}

// site is a server with pages of many kinds, which counts its answers by status code.
type site struct {
	*httptest.Server
	mu      sync.Mutex // guards the fields below
	answers map[int]int
	bytes   int
	robots  int
	again   int
}

const pages = 40

func newSite(t *testing.T) *site {
	s := &site{answers: make(map[int]int)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := 200, ""
		w.Header().Set("Content-Type", "text/html")
		s.mu.Lock()
		defer s.mu.Unlock()
		switch path := r.URL.Path; path {
		case "/robots.txt":
			s.robots++
			io.WriteString(w, "User-agent: *\nDisallow: /private")
			return
		case "/":
			body = `<a href="/gone">x</a><a href="/private">x</a><a href="/moved">x</a><a href="/again">x</a><a href="http://offsite.example/">x</a>`
			for i := range pages {
				body += fmt.Sprintf(`<a href="/book/%d">x</a>`, i)
			}
		case "/gone":
			status = 404
		case "/moved":
			status = 302
			w.Header().Set("Location", "/book/1")
		case "/again": // never a book
			s.again++
		default:
			body = "<h1>" + path + "</h1>"
			if strings.HasSuffix(path, "0") {
				body += "<p class=price>3</p>"
			}
		}
		s.answers[status]++
		s.bytes += len(body)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

// unwanted is a pipeline that drops some books, and says that it is a feed.
type unwanted struct{}

func (unwanted) FeedStats() tegenaria.FeedStats {
	return tegenaria.FeedStats{Name: "books.csv", Written: 7, Duplicate: 8, Failed: 9}
}

func (unwanted) GetPriority() int { return 0 }

func (unwanted) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	if b, ok := item.Item.(book); ok && strings.HasSuffix(b.Title, "5") {
		return tegenaria.DropItem(errors.New("not wanted"))
	}
	return nil
}

// At the end the metrics are what the server has counted, and what the engine's statistics are. While the crawl runs, the
// numbers of each scrape belong together, and no counter falls.
func TestTruth(t *testing.T) {
	s := newSite(t)
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[book]) error {
		if r.Request().Url == s.URL+"/" {
			return out.FollowLinks()
		}
		if r.Request().Url == s.URL+"/again" {
			return tegenaria.Retry(time.Millisecond, errors.New("no book yet"))
		}
		var b book
		if err := r.Unmarshal(&b); err != nil {
			return err
		}
		return out.Item(b)
	})
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithFieldCounts(true),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", parser, s.URL+"/")), tegenaria.EngineWithPipelines(unwanted{}),
		tegenaria.EngineWithAllowedDomains("127.0.0.1"))
	scrape := scraper(t, e, telemetry.Options{Hosts: 3})
	over := make(chan struct{})
	var scrapers sync.WaitGroup
	for range 4 {
		scrapers.Go(func() {
			before := scrape()
			for {
				now := scrape()
				if discovered := now["tegenaria_requests_discovered_total"]; discovered != sum(now, "tegenaria_requests_total")+sum(now, "tegenaria_requests_open") {
					t.Errorf("%v requests were discovered, %v have ended, %v are open", discovered, sum(now, "tegenaria_requests_total"), sum(now, "tegenaria_requests_open"))
				}
				for series, value := range before {
					name, _, _ := strings.Cut(series, "{")
					if strings.HasSuffix(name, "_total") && now[series] < value {
						t.Errorf("%s falls from %v to %v", series, value, now[series])
					}
				}
				before = now
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	if err := e.Run(t.Context(), "books"); err != nil {
		t.Fatal(err)
	}
	close(over)
	scrapers.Wait()
	s.CloseClientConnections()
	found, stats := scrape(), e.Stats()
	want := map[string]float64{
		`tegenaria_run_info{spider="books"}`:                               1,
		`tegenaria_run_paused`:                                             0,
		`tegenaria_run_start_time_seconds`:                                 float64(stats.StartTime.UnixMilli()) / 1000,
		`tegenaria_concurrency`:                                            float64(e.Concurrency()),
		`tegenaria_requests_discovered_total`:                              float64(stats.Discovered),
		`tegenaria_requests_open{state="pending"}`:                         0,
		`tegenaria_requests_open{state="delayed"}`:                         0,
		`tegenaria_requests_open{state="in_flight"}`:                       0,
		`tegenaria_requests_total{outcome="filtered",reason=""}`:           0,
		`tegenaria_requests_total{outcome="redirected",reason=""}`:         float64(stats.Outcomes[tegenaria.Redirected]),
		`tegenaria_requests_total{outcome="dropped",reason=""}`:            0,
		`tegenaria_requests_total{outcome="gave-up",reason="no book yet"}`: 1,
		`tegenaria_downloads_total`:                                        float64(stats.RequestDownloaded),
		`tegenaria_response_bytes_total`:                                   float64(s.bytes),
		`tegenaria_responses_damaged_total`:                                0,
		`tegenaria_retries_total`:                                          float64(s.again - 1),
		`tegenaria_robots_requests_total`:                                  float64(s.robots),
		`tegenaria_items_total{result="scraped"}`:                          float64(stats.ItemScraped),
		`tegenaria_items_total{result="dropped"}`:                          float64(stats.ItemDropped),
		`tegenaria_items_total{result="failed"}`:                           0,
		`tegenaria_items_lost_total{reason="not wanted",result="dropped"}`: 4, // 5, 15, 25, 35
		`tegenaria_feed_items_total{feed="books.csv",result="written"}`:    7,
		`tegenaria_feed_items_total{feed="books.csv",result="duplicate"}`:  8,
		`tegenaria_feed_items_total{feed="books.csv",result="failed"}`:     9,
		`tegenaria_items_open`:                                             0,
		`tegenaria_errors_total{stage="status"}`:                           float64(s.answers[404]),
		`tegenaria_slots{state="ready"}`:                                   0,
		`tegenaria_callback_errors_total{callback="Parser",stage="parse"}`: 0,
		`tegenaria_field_items_total{field="Title",type="book"}`:           float64(stats.ItemScraped),
		`tegenaria_field_filled_total{field="Price",type="book"}`:          4, // 0, 10, 20, 30
	}
	for code, n := range s.answers {
		want[fmt.Sprintf(`tegenaria_responses_total{code="%d"}`, code)] = float64(n)
	}
	for outcome, n := range stats.Outcomes {
		got := 0.
		for series, value := range found {
			if strings.HasPrefix(series, fmt.Sprintf("tegenaria_requests_total{outcome=%q,", outcome)) {
				got += value
			}
		}
		if got != float64(n) {
			t.Errorf("%v requests have the outcome %s, want %d", got, outcome, n)
		}
	}
	for _, series := range slices.Sorted(maps.Keys(want)) {
		if got, ok := found[series]; !ok || got != want[series] {
			t.Errorf("%s is %v, %v; want %v", series, got, ok, want[series])
		}
	}
	if got := sum(found, "tegenaria_responses_total"); got != float64(stats.Responses) {
		t.Errorf("%v responses, want %d", got, stats.Responses)
	}
	for _, one := range e.Places().Causes {
		if got := found[fmt.Sprintf("tegenaria_place_share{cause=%q}", one.Cause)]; got != one.Share {
			t.Errorf("%s has a share of %v, want %v", one.Cause, got, one.Share)
		}
	}
	if got := sum(found, "tegenaria_place_share"); got < 0.99 || got > 1.01 {
		t.Errorf("the shares add up to %v", got)
	}
	if got := sum(found, "tegenaria_errors_total"); got != float64(stats.ErrorCount) {
		t.Errorf("%v errors, want %d", got, stats.ErrorCount)
	}
	for _, c := range e.Callbacks() {
		labels := fmt.Sprintf("{callback=%q,stage=%q}", c.Name, c.Stage)
		calls, took := found["tegenaria_callback_duration_seconds_count"+labels], found["tegenaria_callback_duration_seconds_sum"+labels]
		if calls != float64(c.Calls) || took != c.Time.Seconds() {
			t.Errorf("%s has %v calls of %v s, want %d of %v", labels, calls, took, c.Calls, c.Time)
		}
		for i, bound := range tegenaria.CallbackBounds() {
			calls -= float64(c.Counts[i])
			series := fmt.Sprintf("tegenaria_callback_duration_seconds_bucket{callback=%q,stage=%q,le=%q}", c.Name, c.Stage, strconv.FormatFloat(bound.Seconds(), 'g', -1, 64))
			if found[series] != float64(c.Calls)-calls {
				t.Errorf("%s is %v, want %v", series, found[series], float64(c.Calls)-calls)
			}
		}
	}
	// every page but those that have no parser: redirects, and what is not found
	if got := found[`tegenaria_callback_duration_seconds_count{callback="Parser",stage="parse"}`]; got != float64(stats.Responses)-float64(s.answers[404]+s.answers[302]) {
		t.Errorf("the parser was called %v times for %d responses", got, stats.Responses)
	}
	if got := found[`tegenaria_download_duration_seconds_count{phase="first_byte"}`]; got != float64(stats.Responses) {
		t.Errorf("%v downloads have a first byte, want %d", got, stats.Responses)
	}
	if t.Failed() {
		for _, series := range slices.Sorted(maps.Keys(found)) {
			if !strings.Contains(series, "_bucket") {
				t.Log(series, found[series])
			}
		}
	}
}

// A run begins at 0, and what the last one has counted stays until the next one begins.
func TestRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/1", enginetest.Text("x"))
		spider := enginetest.NewSpider("http://a.test/1")
		spider.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, spider)
		scrape := scraper(t, e, telemetry.Options{})
		if found := scrape(); found["tegenaria_downloads_total"] != 0 || sum(found, "tegenaria_run_info") != 0 {
			t.Errorf("before the first run: %v", found)
		}
		for range 2 {
			if err := e.Run(t.Context(), spider.GetName()); err != nil {
				t.Fatal(err)
			}
			if found := scrape(); found["tegenaria_downloads_total"] != 1 || found[`tegenaria_run_info{spider="test"}`] != 1 {
				t.Errorf("after a run: %v", found)
			}
		}
	})
}

// The busiest hosts have metrics of their own, and a pause is seen.
func TestHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		var seeds []string
		for host := range 5 {
			for page := range host + 2 {
				seeds = append(seeds, fmt.Sprintf("http://h%d.test/%d", host, page))
				w.Page(seeds[len(seeds)-1], enginetest.Text("x"))
			}
		}
		spider := enginetest.NewSpider(seeds...)
		spider.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, spider, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Minute}))
		scrape := scraper(t, e, telemetry.Options{Hosts: 2})
		var watch sync.WaitGroup
		watch.Go(func() {
			enginetest.Sleep(time.Second)
			found := scrape()
			slotStates := maps.Clone(found)
			want := map[string]float64{
				`tegenaria_host_requests{host="h4.test",state="waiting"}`: 5, `tegenaria_host_requests{host="h4.test",state="in_flight"}`: 0,
				`tegenaria_host_requests{host="h3.test",state="waiting"}`: 4, `tegenaria_host_requests{host="h3.test",state="in_flight"}`: 0,
				`tegenaria_host_delay_seconds{host="h4.test"}`: 60, `tegenaria_host_delay_seconds{host="h3.test"}`: 60,
			}
			maps.DeleteFunc(found, func(series string, _ float64) bool { return !strings.Contains(series, "_host_") })
			if !maps.Equal(found, want) {
				t.Errorf("the hosts are %v, want %v", found, want)
			}
			counts := map[string]float64{"ready": 0, "delayed": 5, "at_limit": 0, "robots": 0, "gated": 0, "empty": 0}
			for state, n := range counts {
				if got, ok := slotStates[fmt.Sprintf("tegenaria_slots{state=%q}", state)]; !ok || got != n {
					t.Errorf("%v slots are %s, want %v", got, state, n)
				}
			}
			if err := e.Pause(); err != nil || scrape()["tegenaria_run_paused"] != 1 {
				t.Errorf("a pause is not seen: %v", err)
			}
			if err := e.Resume(); err != nil || scrape()["tegenaria_run_paused"] != 0 {
				t.Errorf("the end of the pause is not seen: %v", err)
			}
		})
		if err := e.Run(t.Context(), spider.GetName()); err != nil {
			t.Fatal(err)
		}
		watch.Wait()
		if found := scrape(); sum(found, "tegenaria_host_requests") != 0 {
			t.Errorf("after the run there are hosts: %v", found)
		}
	})
}

// manyReasons is a pipeline that drops each item for a reason of its own.
type manyReasons struct{}

func (manyReasons) GetPriority() int { return 0 }

func (manyReasons) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	return tegenaria.DropItem(errors.New(item.Item.(string)))
}

// The first hundred reasons have a label of their own, and keep it. A label is UTF-8 whatever the reason is.
func TestLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := "http://a.test/"
		w := enginetest.NewWorld().Page(seed, enginetest.Text("x"))
		spider := enginetest.NewSpider(seed)
		reasons := []string{"\xff", "\xfe", "\"}\n tegenaria_items_open 7", "see http://u:secret@a.test/"}
		for i := range 200 {
			reasons = append(reasons, strings.Repeat("a", i+1))
		}
		spider.Parse = tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
			for _, reason := range reasons {
				if err := out.Item(reason); err != nil {
					return err
				}
			}
			return nil
		})
		e := enginetest.NewEngine(w, spider, tegenaria.EngineWithPipelines(manyReasons{}))
		scrape := scraper(t, e, telemetry.Options{})
		if err := e.Run(t.Context(), spider.GetName()); err != nil {
			t.Fatal(err)
		}
		found := scrape()
		series := 0
		for one := range found {
			if strings.HasPrefix(one, "tegenaria_items_lost_total") {
				series++
			}
			if strings.Contains(one, "secret") {
				t.Errorf("a label has a URL: %s", one)
			}
		}
		rest := found[`tegenaria_items_lost_total{reason="other",result="dropped"}`]
		if total := sum(found, "tegenaria_items_lost_total"); total != float64(len(reasons)) || series != 101 || rest < 100 || found["tegenaria_items_open"] != 0 {
			t.Errorf("%v items of %d were dropped, %v of them for other reasons; %d series", total, len(reasons), rest, series)
		}
		if again := scrape(); !maps.Equal(again, found) {
			t.Errorf("the next scrape is another one: %v, before %v", again, found)
		}
	})
}
