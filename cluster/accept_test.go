package cluster_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
)

// lookUps counts the statements that ask for keys.
type lookUps struct{ atomic.Int64 }

func (l *lookUps) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "JOIN request AS r ON r.key = k.key") {
		l.Add(1)
	}
	return ctx
}

func (l *lookUps) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Calls of Accept that come together are one statement, and what memory knows is none. A caller that gives up meanwhile
// has stored nothing.
func TestAcceptTogether(t *testing.T) {
	c, _ := begin(t, database(t), newJob(), cluster.Options{})
	defer closed(t, c)
	var asked lookUps
	c.Trace(&asked)
	const callers = 8
	give := c.Lock()
	var calls sync.WaitGroup
	for i := range callers {
		calls.Go(func() {
			name := fmt.Sprint("page", i)
			verdicts, err := c.Accept(t.Context(), []tegenaria.Record{record(name), record("common"), record(name)})
			if err != nil || verdicts[0] != tegenaria.VerdictNew || verdicts[2] != tegenaria.VerdictKnown {
				t.Errorf("%v, %v", verdicts, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls.Go(func() {
		if _, err := c.Accept(ctx, []tegenaria.Record{record("given up")}); err == nil {
			t.Error("no error of a call whose context has ended")
		}
	})
	for c.Waiting() < callers+1 {
		runtime.Gosched()
	}
	cancel()
	for c.Waiting() > callers {
		runtime.Gosched()
	}
	give()
	calls.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("%d statements, want 1", n)
	}
	accept(t, c, tegenaria.VerdictKnown, "common", "page0")
	if n := asked.Load(); n != 1 {
		t.Errorf("%d statements for keys that memory knows, want none", n-1)
	}
	accept(t, c, tegenaria.VerdictNew, "given up")
}
