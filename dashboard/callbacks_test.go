package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// cellsOf returns the rows of the tables of a page.
func cellsOf(t *testing.T, page string) (rows [][]string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Data == "tr" && n.Parent.Data == "tbody" {
			var row []string
			for cell := range n.ChildNodes() {
				row = append(row, cell.FirstChild.Data)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// The page and the API show the callbacks of the engine, with the same numbers, whatever their names are.
func TestCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const evil = "</td><script>x</script>\u202e"
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i := range 20 {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
			w.Page(seeds[i], enginetest.Text("x"))
		}
		parse := func(_ context.Context, r *tegenaria.Response, _ *tegenaria.Output[any]) error {
			enginetest.Sleep(300 * time.Millisecond)
			if r.URL == seeds[3] {
				return errors.New("broken")
			}
			return nil
		}
		spider := enginetest.NewSpider(seeds...)
		spider.Parse = tegenaria.Handle(parse)
		e := enginetest.NewEngine(w, spider, tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{
			Name: evil, Request: func(*tegenaria.Context) error { enginetest.Sleep(100 * time.Millisecond); return nil }}))
		board := dashboard.New(e, dashboard.Options{})
		defer board.Close()
		asks := asker{t, board}
		var got []dashboard.Callback
		if asks.ask("GET", "/api/v1/callbacks", "", 200, &got); got == nil || len(got) != 0 {
			t.Errorf("before the run: %+v", got)
		}
		enginetest.MustRun(t, e)
		asks.ask("GET", "/api/v1/callbacks", "", 200, &got)
		page := get(t, board, "/callbacks", board.ViewToken())
		checkPage(t, "/callbacks", page, false)
		rows, share := cellsOf(t, page), 0.0
		for i, c := range e.Callbacks() {
			share += got[i].Share
			if got[i].Name != c.Name || got[i].Stage != c.Stage || got[i].Calls != c.Calls || got[i].Errors != c.Errors || got[i].Seconds != c.Time.Seconds() {
				t.Errorf("the API has %+v, the engine %+v", got[i], c)
			}
			name := strings.ReplaceAll(got[i].Name, "\u202e", `\u202e`)
			want := []string{name, string(got[i].Stage), fmt.Sprint(got[i].Calls), fmt.Sprint(got[i].Errors), got[i].Mean, got[i].P95, fmt.Sprintf("%.1f %%", 100*got[i].Share)}
			if strings.Join(rows[i], "|") != strings.Join(want, "|") {
				t.Errorf("the page has %q, the API %q", rows[i], want)
			}
		}
		if len(rows) != len(got) || math.Abs(share-1) > 1e-9 {
			t.Errorf("%d rows of %d, whose shares add up to %v", len(rows), len(got), share)
		}
		want := dashboard.Callback{Stage: tegenaria.StageParse, Name: "Parser", Calls: 20, Errors: 1, Mean: "300ms", P95: "499ms", Seconds: 6, Share: 0.75}
		if got[0] != want {
			t.Errorf("%+v, want %+v", got[0], want)
		}
		if got[1].Name != evil || got[1].Mean != "100ms" || got[1].Share != 0.25 {
			t.Errorf("the middleware: %+v", got[1])
		}
	})
}
