package dashboard_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// asker asks a board without a network.
type asker struct {
	t     *testing.T
	board *dashboard.Board
}

func (a asker) ask(method, path, body string, want int, to any) {
	a.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+a.board.ControlToken())
	w := httptest.NewRecorder()
	a.board.ServeHTTP(w, r)
	if w.Code != want {
		a.t.Errorf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, want)
	} else if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
		a.t.Errorf("%s %s: %v in %s", method, path, err, w.Body)
	}
}

// A crawl is shown as it is, and does what it is told to, by the log of the downloads.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, latency = 40, 500 * time.Millisecond
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i := range n {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
			w.Page(seeds[i], enginetest.After(latency, enginetest.Text("x")))
		}
		w.Page("http://b.test/", enginetest.Text("x"))
		spider := enginetest.NewSpider(seeds...)
		spider.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, spider, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: 10 * time.Second}))
		var changes []string
		board := dashboard.New(e, dashboard.Options{Changed: func(what string) { changes = append(changes, what) }})
		defer board.Close()
		a := asker{t, board}
		began := time.Now()
		var control sync.WaitGroup
		control.Go(func() {
			enginetest.Sleep(25 * time.Second) // downloads at 0, 10, 20
			var run dashboard.Run
			a.ask("GET", "/api/v1/run", "", 200, &run)
			if run.Stats.Responses != 3 || run.Stats.Pending != n-3 || run.Concurrency != 16 || run.Status != "started" || run.Rates.Pages != 0.1 {
				t.Errorf("the run is %+v", run)
			}
			const slow = " % of the time all downloads waited for a.test: a delay of 10 s of the crawl's own settings"
			places := run.Places
			if top := places.Causes[0]; top.Cause != tegenaria.PlaceDelay || top.Of != "a.test" || top.Delay != "10s" || places.Seconds != 16*25 ||
				fmt.Sprintf("%.0f", 100*top.Share)+slow != places.Sentence {
				t.Errorf("the places are %+v", places)
			}
			page := httptest.NewRecorder()
			request := httptest.NewRequest("GET", "/", nil)
			request.Header.Set("Authorization", "Bearer "+board.ViewToken())
			board.ServeHTTP(page, request)
			if shown := html.UnescapeString(page.Body.String()); !strings.Contains(shown, "<p>"+places.Sentence+"</p>") ||
				!strings.Contains(shown, "<td>delay (10s)</td><td>a.test</td>") {
				t.Errorf("the page does not show %q: %s", places.Sentence, shown)
			}
			var hosts []dashboard.Host
			a.ask("GET", "/api/v1/hosts?n=5", "", 200, &hosts)
			if len(hosts) != 1 || hosts[0].Name != "a.test" || hosts[0].Pending != n-3 || hosts[0].Delay != "10s" || hosts[0].DelayCause != "settings" {
				t.Errorf("the hosts are %+v", hosts)
			}
			if p95, err := time.ParseDuration(hosts[0].LatencyP95); hosts[0].Latency != latency.String() || err != nil || (p95-latency).Abs() > latency/16 {
				t.Errorf("the latency is %s, of 95 %% %s (%v), want %v", hosts[0].Latency, hosts[0].LatencyP95, err, latency)
			}
			var done dashboard.Done
			a.ask("POST", "/api/v1/pause", "", 200, &done)
			var refusal dashboard.Refusal
			a.ask("POST", "/api/v1/pause", "", 409, &refusal)
			enginetest.Sleep(time.Minute) // none until 85
			a.ask("PATCH", "/api/v1/hosts/a.test", `{"delay": "1m"}`, 200, &done)
			a.ask("PATCH", "/api/v1/hosts/a.test", `{"per_slot": 3}`, 200, &done)
			if p, _ := e.SlotPolicy("a.test"); p != (tegenaria.SlotPolicy{Delay: time.Minute, PerSlot: 3}) {
				t.Errorf("the policy is %+v", p)
			}
			a.ask("POST", "/api/v1/resume", "", 200, &done) // downloads at 85, 145
			enginetest.Sleep(90 * time.Second)
			a.ask("GET", "/api/v1/hosts", "", 200, &hosts)
			if len(hosts) != 1 || hosts[0].DelayCause != "changed" || !hosts[0].Changed || hosts[0].PerSlot != 3 {
				t.Errorf("the hosts are %+v", hosts)
			}
			a.ask("DELETE", "/api/v1/hosts/a.test", "", 200, &done) // 175 at once, 185, 195
			enginetest.Sleep(25 * time.Second)
			var added []dashboard.Added
			a.ask("POST", "/api/v1/requests", `{"urls": ["http://b.test/", "http://a.test/0", "http://me:secret@a.test:x/"], "parser": ""}`, 200, &added)
			if len(added) != 3 || !added[0].New || added[1].New || added[1].Error != "" || added[2].Error == "" || strings.Contains(fmt.Sprint(added), "secret") {
				t.Errorf("added: %+v", added)
			}
			a.ask("POST", "/api/v1/requests", `{"urls": ["http://c.test/"], "parser": "none"}`, 200, &added)
			if len(added) != 1 || !strings.Contains(added[0].Error, "none") {
				t.Errorf("added for a parser that is not there: %+v", added)
			}
			synctest.Wait()
			a.ask("PATCH", "/api/v1/settings", `{"concurrency": 5}`, 200, &done)
			a.ask("PATCH", "/api/v1/settings", `{"concurrency": 0}`, 409, &refusal)
			a.ask("POST", "/api/v1/stop", "", 200, &done)
		})
		if err := e.Run(t.Context(), spider.GetName()); err == nil {
			t.Error("the crawl was not stopped")
		}
		control.Wait()
		var starts []string
		for _, at := range w.StartsOf("a.test", began) {
			starts = append(starts, fmt.Sprint(at.Seconds()))
		}
		if got, want := strings.Join(starts, " "), "0 10 20 85 145 175 185 195"; got != want {
			t.Errorf("downloads began at %s, want %s", got, want)
		}
		if len(changes) != 8 {
			t.Errorf("changes: %q", changes)
		}
		var run dashboard.Run
		a.ask("GET", "/api/v1/run", "", 200, &run)
		if run.Status != "stopped" || run.Stats.Responses != 9 || run.Rates != (dashboard.Rates{}) {
			t.Errorf("after the end the run is %+v", run)
		}
	})
}

// The stream has the run once a second, and ends with the board.
func TestStream(t *testing.T) {
	board := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{})
	server := httptest.NewServer(board)
	defer server.Close()
	resp, err := http.Get(server.URL + "/api/v1/events?token=" + board.ViewToken())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"event: run", "data: {", "", "event: run"} {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Fatalf("a line is %q, want %q", lines.Text(), want)
		}
	}
	board.Close()
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
}
