//go:build linux

package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// The database crashes and comes back, stands still, or another server takes its place, while three workers crawl. They
// wait, and go on: every page is asked for once more at most, has one outcome and one item, and nobody is taken for
// dead.
func TestDatabaseFails(t *testing.T) {
	const pages, hosts, delay, ttl = 300, 12, 20 * time.Millisecond, 8 * time.Second
	second := (*pgtest.Server)(nil)
	for _, c := range []struct {
		name string
		fail func(server *pgtest.Server) error
	}{
		{"crash", func(server *pgtest.Server) error {
			return errors.Join(server.Crash(), server.Start())
		}},
		{"stands still", func(server *pgtest.Server) error {
			err := server.Signal(syscall.SIGSTOP)
			<-time.After(ttl / 4)
			return errors.Join(err, server.Signal(syscall.SIGCONT))
		}},
		{"another server takes its place", func(server *pgtest.Server) error {
			return errors.Join(server.Crash(), second.Promote())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dsn, job := database(t), newJob()
			server := pgtest.Get(t)
			if strings.HasPrefix(c.name, "another") {
				var err error
				if second, err = server.StandBy(t); err != nil {
					t.Fatal(err)
				}
				admin := connect(t, dsn)
				defer func() { // the server is that of other tests too
					admin := connect(t, pgtest.Get(t).DSN("postgres"))
					run(t, admin, "ALTER SYSTEM RESET synchronous_standby_names")
					run(t, admin, "SELECT pg_reload_conf()")
				}()
				run(t, admin, "ALTER SYSTEM SET synchronous_standby_names = '*'")
				run(t, admin, "SELECT pg_reload_conf()")
				for read(t, connect(t, dsn), "SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'sync'") != "1" {
				}
				dsn = strings.Replace(dsn, server.Host(), server.Host()+","+second.Host(), 1) + " target_session_attrs=read-write"
			}
			web := newWeb(t, hosts, pages)
			workers := newWorkers(t, dsn, job, 3, ttl)
			failed := make(chan error, 1)
			web.left, web.do = pages/3, func() { go func() { failed <- c.fail(server) }() }
			var crawling sync.WaitGroup
			for _, w := range workers {
				crawling.Go(func() { w.crawl(t.Context(), web, delay) })
			}
			began := time.Now()
			crawling.Wait()
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
			var items []string
			for _, w := range workers {
				if w.err != nil {
					t.Errorf("%s: %v", w.name, w.err)
				}
				items = append(items, w.items...)
				closed(t, w.cache)
			}
			slices.Sort(items)
			if unique := len(slices.Compact(slices.Clone(items))); len(items) != pages || unique != pages {
				t.Errorf("%d items, %d different ones, want %d", len(items), unique, pages)
			}
			extra := web.missed(t)
			got := read(t, connect(t, dsn), fmt.Sprintf(`SELECT count(*) || ' ' || count(DISTINCT key) FROM %q.outcome WHERE outcome = 'fetched'`, job))
			if want := fmt.Sprint(pages, " ", pages); got != want || extra > 0 {
				t.Errorf("outcomes and keys %s, want %s; %d requests too many", got, want, extra)
			}
			t.Logf("%v in all", time.Since(began).Round(time.Millisecond))
		})
	}
}
