//go:build unix

package main

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/tegenaria/tegenaria/bench/contestant"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// entrant is a contestant of the crash race, and where it puts its items.
type entrant struct {
	*contestant.Contestant
	items string   // the name of its file; "postgres:" is a database
	needs []string // programs without which it cannot be tried

	parts    bool // all parts are switched on together: the site is for members
	database bool // it needs one, whether for its items or for its queue
	workers  int  // of a cluster, the first of which the faults befall; 0: it is one program
}

// entrants are all. Those that are not durable keep nothing, and begin anew.
func entrants() []*entrant {
	ours := func(name string) *contestant.Contestant {
		return &contestant.Contestant{Name: name, Module: ".", Pkg: "./crash/ours", Durable: true, Groups: []string{"ours"}}
	}
	memory := &contestant.Contestant{Name: "ours-memory", Module: ".", Pkg: "./ours/simplest", Groups: []string{"ours"}}
	workers := ours("ours-cluster")
	workers.Pkg = "./crash/cluster"
	everything := ours("ours-everything")
	everything.Pkg = "./crash/everything"
	list := []*entrant{
		{Contestant: ours("ours-jsonl"), items: "items.jsonl"},
		{Contestant: ours("ours-csv"), items: "items.csv"},
		{Contestant: ours("ours-sqlite"), items: "items.db", needs: []string{"sqlite3"}},
		{Contestant: ours("ours-postgres"), items: "postgres:", needs: []string{"psql"}, database: true},
		{Contestant: workers, items: "items.jsonl", needs: []string{"psql"}, database: true, workers: 2},
		{Contestant: everything, items: "items.jsonl", needs: []string{"chromium"}, parts: true},
		{Contestant: memory, items: "items.jsonl"},
	}
	for _, c := range contestant.All {
		e := &entrant{Contestant: &c, items: "items.jsonl"}
		switch c.Name {
		case contestant.Scrapy: // with a JOBDIR
			c.Durable = true
		case contestant.Crawlee: // with its storage, whose items are exported when it has come to its end
			c.Durable, e.items = true, "items.json"
		case contestant.CollyQueue, contestant.Katana:
		default:
			continue
		}
		list = append(list, e)
	}
	return list
}

// missing says why an entrant cannot be tried here; nil: it can.
func (e *entrant) missing(server *pgtest.Server) error {
	if e.Version != nil {
		if _, err := e.Version(); err != nil {
			return err
		}
	}
	for _, name := range e.needs {
		if _, err := exec.LookPath(name); err != nil {
			return err
		}
	}
	if e.database && server == nil {
		return fmt.Errorf("needs PostgreSQL: -postgres DIR")
	}
	return nil
}

// plan is the site that it crawls: one host, or several where several workers are to have something to do. A page takes so long that
// there is something in flight at each moment.
func (e *entrant) plan() site.Plan {
	p := site.Plan{Pages: pages, Bytes: 4_000, Links: 13, Latency: latency}
	if e.workers > 0 {
		p.Hosts = 8
	}
	return p
}

// createDatabase makes a database for one crawl.
func createDatabase(ctx context.Context, server *pgtest.Server, name string) error {
	cmd := exec.CommandContext(ctx, "psql", "-qc", "CREATE DATABASE "+name, server.DSN("postgres"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("psql: %w\n%s", err, out)
	}
	return nil
}
