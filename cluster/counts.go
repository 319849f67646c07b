package cluster

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
)

// JobCounts is described at [tegenaria.JobCounter]. They are as the workers of all servers have stored them.
func (c *Cache) JobCounts(ctx context.Context) (all tegenaria.JobCounts, err error) {
	c.mu.Lock()
	err = c.usable()
	c.mu.Unlock()
	if err != nil {
		return all, err
	}
	if all, err = withStore(ctx, c, func() (tegenaria.JobCounts, error) { return c.store.counts(ctx) }); err != nil {
		return all, c.failed(err)
	}
	for server, a := range c.remotes {
		if server == c.ownServer {
			continue
		}
		there, err := a.counts(ctx)
		if err != nil {
			return all, err
		}
		all.Programs, all.Waiting = all.Programs+there.Programs, all.Waiting+there.Waiting
		for name, n := range there.Counters {
			all.Counters[name] += n
		}
	}
	return all, nil
}

func (s *server) counts(ctx context.Context) (n tegenaria.JobCounts, err error) {
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error { return readCounts(ctx, conn, &n) })
	return n, err
}

func (p *peer) counts(ctx context.Context) (n tegenaria.JobCounts, err error) {
	err = p.with(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error { return readCounts(ctx, conn, &n) })
	return n, err
}

// readCounts reads the counts of a server.
func readCounts(ctx context.Context, conn *pgx.Conn, n *tegenaria.JobCounts) error {
	*n = tegenaria.JobCounts{Counters: make(map[string]int64)}
	var batch pgx.Batch
	batch.Queue(`SELECT (SELECT count(*) FROM worker WHERE NOT expired),
		(SELECT coalesce(sum(queued + delayed + messages), 0)::bigint FROM worker) +
		(SELECT coalesce(sum(messages), 0)::bigint FROM peer)`).QueryRow(func(row pgx.Row) error { return row.Scan(&n.Programs, &n.Waiting) })
	batch.Queue(`SELECT name, sum(value)::bigint FROM counter GROUP BY name`).Query(func(rows pgx.Rows) error {
		var name string
		var value int64
		_, err := pgx.ForEachRow(rows, []any{&name, &value}, func() error {
			n.Counters[name] = value
			return nil
		})
		return err
	})
	return conn.SendBatch(ctx, &batch).Close()
}
