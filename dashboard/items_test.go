package dashboard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// Book is an item.
type Book struct {
	Title string `json:"title"`
	Price int    `json:"price"`
}

// panics is an item that no encoder can write.
type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no \u202e JSON") }

// crawlItems runs a crawl of one page that sends these items; those of which drop returns an error are dropped.
func crawlItems(t *testing.T, logger *logrus.Logger, drop func(item any) error, all ...any) *dashboard.Board {
	t.Helper()
	const page = "http://me:s3cret@a.test/"
	w := enginetest.NewWorld().Page(page, enginetest.Text("x"))
	spider := enginetest.NewSpider(page)
	spider.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		for _, v := range all {
			item <- tegenaria.NewItem(ctx, v)
		}
		return nil
	}
	e := enginetest.NewEngine(w, spider, tegenaria.EngineWithItemConcurrency(1), tegenaria.EngineWithFieldCounts(true), tegenaria.EngineWithLogger(logger),
		tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(meta *tegenaria.ItemMeta) error {
			if reason := drop(meta.Item); reason != nil {
				return tegenaria.DropItem(reason)
			}
			return nil
		}}))
	board := dashboard.New(e, dashboard.Options{Logger: logger})
	t.Cleanup(board.Close)
	enginetest.MustRun(t, e)
	return board
}

func quiet() *logrus.Logger {
	logger := logrus.New()
	logger.SetOutput(new(strings.Builder))
	return logger
}

// The last items are shown with their page, the dropped ones by reason, and the fields with how often they are filled.
func TestItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []any
		for i := range 120 {
			all = append(all, Book{fmt.Sprint("book ", i), i % 2})
		}
		drop := func(item any) error {
			switch i, _ := item.(Book); {
			case i.Title < "book 2" && i.Title >= "book 10": // 10 to 19 and 100 to 119
				return errors.New("too cheap: " + i.Title)
			}
			return nil
		}
		board := crawlItems(t, quiet(), drop, all...)
		var got dashboard.Items
		asker{t, board}.ask("GET", "/api/v1/items", "", 200, &got)
		if n := len(got.Newest); n != 50 || got.Newest[0].Text != "{\n  \"title\": \"book 99\",\n  \"price\": 1\n}" || got.Newest[49].Type != "dashboard_test.Book" ||
			!strings.Contains(got.Newest[49].Text, `"book 50"`) || !strings.HasSuffix(got.Newest[0].URL, "@a.test/") {
			t.Errorf("%d items: %+v", n, got.Newest)
		}
		if d := got.Dropped; len(d) != 1 || d[0].Reason != "too cheap: book #" || d[0].Count != 30 || len(d[0].Samples) != 5 || d[0].Samples[4].Message != "too cheap: book 14" ||
			!strings.Contains(d[0].Samples[4].Text, `"book 14"`) {
			t.Errorf("dropped: %+v", d)
		}
		if f := got.Fields; len(f) != 2 || f[0].Name != "Book.price" || f[0].FilledShare() != 0.5 || f[1].Filled != f[1].Items {
			t.Errorf("the fields are %+v", f)
		}
	})
}

// Items are shown as text, whatever they are, and cut.
func TestHostileItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const evil = "\u202e</pre><script>x</script><img src=x onerror=alert(1)>"
		drop := func(item any) error {
			if s, ok := item.(string); ok {
				return errors.New(s)
			}
			return nil
		}
		all := []any{panics{}, func() {}, Book{Title: evil + strings.Repeat("long ", 1<<18)}, evil + strings.Repeat("long ", 1<<18)}
		for i := range 300 {
			all = append(all, fmt.Sprintf("%s %c", evil, rune('Ā'+i)))
		}
		board := crawlItems(t, quiet(), drop, all...)
		page := get(t, board, "/items", board.ViewToken())
		checkPage(t, "/items", page, false)
		if n := strings.Count(page, "<details"); n != 201 || len(page) > 4<<20 {
			t.Errorf("%d reasons in %d bytes, want 200 and the others", n, len(page))
		}
		for _, want := range []string{`its MarshalJSON has panicked: no \u202e JSON`, "it cannot be written as JSON: json: unsupported type: func()"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
	})
}

// Where encoding items takes long, some are left out: it takes a hundredth of the time.
func TestSlowItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []any
		for range 300 {
			all = append(all, slow{})
		}
		began := time.Now()
		board := crawlItems(t, quiet(), func(any) error { enginetest.Sleep(100 * time.Millisecond); return nil }, all...)
		var got dashboard.Items
		asker{t, board}.ask("GET", "/api/v1/items", "", 200, &got)
		if took := time.Since(began); len(got.Newest) < 2 || len(got.Newest) > int(took/(10*time.Second))+1 {
			t.Errorf("%d items were encoded, which took 100 ms each, in %v", len(got.Newest), took)
		}
	})
}

// slow is an item that takes its time.
type slow struct{}

func (slow) MarshalJSON() ([]byte, error) {
	enginetest.Sleep(100 * time.Millisecond)
	return []byte("1"), nil
}

// The log is shown from the newest line on, by level, with its fields; 500 lines of it are kept.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := quiet()
		board := crawlItems(t, logger, func(any) error { return nil }, 1)
		var got []dashboard.Line
		a := asker{t, board}
		a.ask("GET", "/api/v1/log", "", 200, &got)
		if len(got) < 3 || got[0].Level != "info" || !strings.HasPrefix(got[len(got)-1].Message, "crawl begins") || !strings.Contains(got[0].Fields, "spider=") {
			t.Errorf("the lines are %+v", got)
		}
		logger.WithFields(logrus.Fields{"b": "two words", "a": 1, "c": strings.Repeat("x", 1<<20)}).Error("<script>\u202e" + strings.Repeat("y", 1<<20))
		logger.Debug("below the level of the logger")
		logger.Warn("careful")
		a.ask("GET", "/api/v1/log?level=warning", "", 200, &got)
		if len(got) != 2 || got[0].Message != "careful" || !strings.HasPrefix(got[1].Fields, `a=1 b="two words" c=xxx`) || len(got[1].Fields) > 1000 || len(got[1].Message) > 2010 {
			t.Errorf("the warnings and errors are %+v", got)
		}
		a.ask("GET", "/api/v1/log?level=error", "", 200, &got)
		if len(got) != 1 || got[0].Level != "error" {
			t.Errorf("the errors are %+v", got)
		}
		page := get(t, board, "/log?level=error", board.ViewToken())
		if checkPage(t, "/log", page, false); !strings.Contains(page, `&lt;script&gt;\u202eyyy`) || strings.Contains(page, "careful") {
			t.Errorf("the page of errors is %s", page)
		}
		for i := range 1200 {
			logger.Info("line ", i)
		}
		a.ask("GET", "/api/v1/log", "", 200, &got)
		if len(got) != 500 || got[0].Message != "line 1199" || got[499].Message != "line 700" {
			t.Errorf("%d lines, from %+v to %+v", len(got), got[0], got[len(got)-1])
		}
	})
}

// The settings are those that the run has begun with; what was changed is beside them, and secrets are hidden.
func TestSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.After(time.Minute, enginetest.Text("x")))
		spider := enginetest.NewSpider("http://a.test/")
		spider.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, spider, tegenaria.EngineWithConcurrency(7), tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, UserAgent: "hidden", Overrides: map[string]tegenaria.SlotPolicy{"<b>.test": {Delay: time.Second}}}))
		board := dashboard.New(e, dashboard.Options{Secret: func(name string) bool { return name == "politeness.user_agent" }})
		defer board.Close()
		a := asker{t, board}
		done := make(chan struct{})
		go func() {
			defer close(done)
			enginetest.Sleep(time.Second)
			a.ask("PATCH", "/api/v1/settings", `{"concurrency": 5}`, 200, new(dashboard.Done))
			a.ask("PATCH", "/api/v1/hosts/%3Cc%3E.test", `{"delay": "2s"}`, 200, new(dashboard.Done))
			var now dashboard.Settings
			a.ask("GET", "/api/v1/settings", "", 200, &now)
			if c := now.Changed; c.Concurrency != 5 || len(c.Hosts) != 1 || c.Hosts[0] != (dashboard.ChangedHost{Name: "<c>.test", Delay: "2s", PerSlot: 8}) {
				t.Errorf("in force: %+v", c)
			}
			page := get(t, board, "/settings", board.ViewToken())
			if checkPage(t, "/settings", page, false); strings.Count(page, ">changed<") != 1 || !strings.Contains(page, "&lt;c&gt;.test</th><td>2s</td>") {
				t.Errorf("the page is %s", page)
			}
			page = get(t, board, "/settings", board.ControlToken())
			if checkPage(t, "/settings", page, true); strings.Count(page, "back to the settings") != 1 {
				t.Errorf("the page is %s", page)
			}
			for i := range 120 {
				a.ask("PATCH", fmt.Sprintf("/api/v1/hosts/h%d.test", i), `{"per_slot": 3}`, 200, new(dashboard.Done))
			}
			a.ask("GET", "/api/v1/settings", "", 200, &now)
			if c := now.Changed; len(c.Hosts) != 100 || c.MoreHosts != 21 {
				t.Errorf("%d hosts and %d more", len(c.Hosts), c.MoreHosts)
			}
			a.ask("DELETE", "/api/v1/hosts/%3Cc%3E.test", "", 200, new(dashboard.Done))
			a.ask("DELETE", "/api/v1/settings/concurrency", "", 200, new(dashboard.Done))
			now = dashboard.Settings{}
			if a.ask("GET", "/api/v1/settings", "", 200, &now); now.Changed.Concurrency != 0 || now.Concurrency != 7 || now.Changed.MoreHosts != 20 {
				t.Errorf("undone: %d downloads at once, %+v", now.Concurrency, now.Changed)
			}
		}()
		enginetest.MustRun(t, e)
		<-done
		tegenaria.EngineWithConcurrency(99)(e) // of the next run
		var got dashboard.Settings
		a.ask("GET", "/api/v1/settings", "", 200, &got)
		byName := make(map[string]dashboard.Setting)
		for _, s := range got.Settings {
			byName[s.Name] = s
		}
		for _, want := range []dashboard.Setting{
			{Name: "concurrency", Value: "7", Default: "16", Set: true},
			{Name: "politeness.user_agent", Value: "••••••", Default: byName["politeness.user_agent"].Default, Set: true},
			{Name: "politeness.overrides.<b>.test.delay", Value: "1s", Set: true},
			{Name: "limits.depth", Value: "0", Default: "0"},
		} {
			if byName[want.Name] != want {
				t.Errorf("%+v, want %+v", byName[want.Name], want)
			}
		}
		if len(got.Changes) != 50 || got.Changes[0].What != "7 downloads may run at once, as in the settings" {
			t.Errorf("the changes are %+v", got.Changes)
		}
		page := get(t, board, "/settings", board.ViewToken())
		if checkPage(t, "/settings", page, false); strings.Contains(page, "hidden") || !strings.Contains(page, "overrides.&lt;b&gt;.test") {
			t.Errorf("the page is %s", page)
		}
	})
}
