package cluster

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Bounds of how many pages of Limits.Pages a worker reserves at a time.
const (
	fewestPages = 16
	mostPages   = 1000
)

// reservePages reserves more pages of the limit of the job when the run has begun almost all that it had, and returns
// those that it has no use for. When all are reserved, and no worker has one left that it has not finished, the limit
// has stopped the job. What a dead worker had reserved is lost. The caller holds the store.
func (m *membership) reservePages(ctx context.Context, v *view, idle bool, tell *[]func()) error {
	c, limit := m.cache, m.cache.pagesOfServer(m.run.Pages)
	if m.run.Pages == 0 {
		return nil
	}
	left, busy := m.run.Budget(0)
	block := max(fewestPages, min(limit/int64(8*len(v.sessions)), mostPages))
	total := c.reserved
	switch {
	case idle && left > 0:
		rest, _ := m.run.Budget(-left)
		if rest < 0 { // some have begun meanwhile
			m.run.Budget(-rest)
		}
		total -= left + min(rest, 0)
		left = 0
	case !idle && left < (block+1)/2:
		total += block - left
	}
	reserved, over, err := c.store.reservePages(ctx, limit, c.reserved, total, left > 0 || busy)
	if err != nil {
		return err
	}
	if more := reserved - c.reserved; more > 0 {
		m.run.Budget(more)
	}
	c.reserved = reserved
	if over && c.servers == 1 { // otherwise the other servers may have pages left
		*tell = append(*tell, func() { m.run.Stop(pagesReached) })
	}
	return nil
}

// pagesOfServer is the part that the server of the worker has of Limits.Pages.
func (p location) pagesOfServer(limit int64) int64 {
	n := int64(p.servers)
	return (limit + n - 1 - int64(p.ownServer)) / n
}

// returnPages returns the pages that a run had reserved and not begun when it ended.
func (c *Cache) returnPages(ctx context.Context) error {
	run := c.sharedRun()
	if run.Pages == 0 || c.session == 0 {
		return nil
	}
	left, _ := run.Budget(0)
	_, _, err := c.store.reservePages(ctx, c.pagesOfServer(run.Pages), c.reserved, c.reserved-max(left, 0), false)
	return err
}

func (s *server) reservePages(ctx context.Context, limit, had, total int64, holds bool) (reserved int64, over bool, err error) {
	err = s.patiently(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT FROM job FOR UPDATE`); err != nil { // one worker at a time
				return err
			}
			err := tx.QueryRow(ctx, `WITH others AS (SELECT coalesce(sum(reserved_pages), 0)::bigint AS reserved,
				coalesce(bool_or(holds_pages AND NOT expired), false) AS hold FROM worker WHERE name <> $1)
				UPDATE worker SET reserved_pages = greatest(least($3, $4 - others.reserved), 0), holds_pages = $5
					OR least($3, $4 - others.reserved) > $6 FROM others
				WHERE name = $1 AND session = $2 AND NOT expired
				RETURNING reserved_pages, others.reserved + reserved_pages >= $4 AND NOT holds_pages
					AND NOT others.hold`, s.worker, s.session, total, limit, holds, had).Scan(&reserved, &over)
			if errors.Is(err, pgx.ErrNoRows) {
				return &FencedError{Job: s.job, Worker: s.worker}
			}
			if err == nil && over && s.servers > 1 {
				_, err = tx.Exec(ctx, `UPDATE job SET reached = true`)
			}
			return err
		})
	})
	return reserved, over, err
}
