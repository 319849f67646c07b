package cluster

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Bounds of how many pages of Limits.Pages a worker draws at a time.
const (
	fewestPages = 16
	mostPages   = 1000
)

// draw draws pages of the limit of the job when the run is about to have begun all that it has, and gives back what it has no use for. When all are
// drawn, and nobody has one that is not over, the limit has stopped the job. What a dead worker has drawn is lost. The caller has the turn.
func (h *share) draw(ctx context.Context, v *view, idle bool, tell *[]func()) error {
	c, limit := h.cache, h.cache.pagesHere(h.run.Pages)
	if h.run.Pages == 0 {
		return nil
	}
	left, busy := h.run.Budget(0)
	block := max(fewestPages, min(limit/int64(8*len(v.sessions)), mostPages))
	total := c.drawn
	switch {
	case idle && left > 0:
		rest, _ := h.run.Budget(-left)
		if rest < 0 { // some have begun meanwhile
			h.run.Budget(-rest)
		}
		total -= left + min(rest, 0)
		left = 0
	case !idle && left < (block+1)/2:
		total += block - left
	}
	drawn, over, err := c.store.draw(ctx, limit, c.drawn, total, left > 0 || busy)
	if err != nil {
		return err
	}
	if more := drawn - c.drawn; more > 0 {
		h.run.Budget(more)
	}
	c.drawn = drawn
	if over && c.servers == 1 { // otherwise the other servers may have pages left
		*tell = append(*tell, func() { h.run.Stop(pagesReached) })
	}
	return nil
}

// pagesHere is the part that the server of the worker has of Limits.Pages.
func (p place) pagesHere(limit int64) int64 {
	n := int64(p.servers)
	return (limit + n - 1 - int64(p.home)) / n
}

// giveBack gives the pages back that a run has not begun which is over.
func (c *Cache) giveBack(ctx context.Context) error {
	run := c.sharedRun()
	if run.Pages == 0 || c.session == 0 {
		return nil
	}
	left, _ := run.Budget(0)
	_, _, err := c.store.draw(ctx, c.pagesHere(run.Pages), c.drawn, c.drawn-max(left, 0), false)
	return err
}

func (s *server) draw(ctx context.Context, limit, had, total int64, holds bool) (drawn int64, over bool, err error) {
	err = s.patiently(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT FROM job FOR UPDATE`); err != nil { // one worker at a time
				return err
			}
			err := tx.QueryRow(ctx, `WITH others AS (SELECT coalesce(sum(pages), 0)::bigint AS drawn, coalesce(bool_or(holds AND NOT buried), false) AS hold FROM worker WHERE name <> $1)
				UPDATE worker SET pages = greatest(least($3, $4 - others.drawn), 0), holds = $5 OR least($3, $4 - others.drawn) > $6 FROM others
				WHERE name = $1 AND session = $2 AND NOT buried
				RETURNING pages, others.drawn + pages >= $4 AND NOT holds AND NOT others.hold`, s.worker, s.session, total, limit, holds, had).Scan(&drawn, &over)
			if errors.Is(err, pgx.ErrNoRows) {
				return &FencedError{Job: s.job, Worker: s.worker}
			}
			if err == nil && over && s.servers > 1 {
				_, err = tx.Exec(ctx, `UPDATE job SET reached = true`)
			}
			return err
		})
	})
	return drawn, over, err
}
