package dashboard_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// Earlier runs are read every ten seconds at most, and shown with what is wrong with them.
func TestRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs []dashboard.PastRun
		for i := range 300 {
			runs = append(runs, dashboard.PastRun{ID: fmt.Sprint("run ", i), Spider: "<script>\u202ex</script>", Reason: "limit: pages", Code: 3, Pages: 7, Elapsed: time.Minute})
		}
		reads := 0
		board := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{Runs: func() ([]dashboard.PastRun, error) {
			reads++
			return runs, errors.New("<img src=x> cannot be read")
		}})
		defer board.Close()
		a := asker{t, board}
		var got dashboard.PastRuns
		for range 3 {
			a.ask("GET", "/api/v1/runs", "", 200, &got)
			checkPage(t, "/runs", get(t, board, "/runs", board.ViewToken()), false)
		}
		if len(got.Runs) != 200 || got.Runs[0] != runs[0] || got.Error != "<img src=x> cannot be read" || reads != 1 {
			t.Errorf("%d runs from %+v, %q, read %d times", len(got.Runs), got.Runs[0], got.Error, reads)
		}
		enginetest.Sleep(10 * time.Second)
		if a.ask("GET", "/api/v1/runs", "", 200, &got); reads != 2 {
			t.Errorf("after ten seconds they were read %d times", reads)
		}
		none := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{})
		defer none.Close()
		if (asker{t, none}).ask("GET", "/api/v1/runs", "", 200, &got); len(got.Runs) != 0 || got.Error == "" {
			t.Errorf("a program without past runs: %+v", got)
		}
	})
}
