package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/report"
)

// heartbeats tell the other workers that a session is alive, over a connection of their own, and say until when its
// downloads may start.
type heartbeats struct {
	member
	sender heartbeatSender
	run    tegenaria.SharedRun
	lost   func(err error) // the session was expired

	cancel     context.CancelFunc
	goroutines sync.WaitGroup

	mu            sync.Mutex // guards the fields below
	sent          time.Time  // when the newest acknowledged heartbeat was sent
	err           error      // of the newest heartbeat, if that failed
	haltTimer     *time.Timer
	silenceTimer  *time.Timer // logs that the database does not answer
	silenceLogged bool        // it was logged
	ended         bool
}

// startHeartbeats begins the heartbeats of a session, the first of which was sent when it began.
func startHeartbeats(ctx context.Context, s store, m member, run tegenaria.SharedRun, sent time.Time, lost func(err error)) *heartbeats {
	b := &heartbeats{member: m, sender: s.heartbeatSender(), run: run, lost: lost, sent: sent}
	ctx, b.cancel = context.WithCancel(ctx)
	b.haltTimer = time.AfterFunc(time.Until(sent.Add(b.ttl)), b.halt)
	b.silenceTimer = time.AfterFunc(time.Until(sent.Add(b.ttl/2)), b.logSilence)
	b.goroutines.Go(func() { b.sendLoop(ctx) })
	return b
}

// end ends the heartbeats.
func (b *heartbeats) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.ended = true
	b.haltTimer.Stop()
	b.silenceTimer.Stop()
	b.mu.Unlock()
	b.cancel()
	b.goroutines.Wait()
}

// sendLoop sends heartbeats until ctx ends or the session is expired.
func (b *heartbeats) sendLoop(ctx context.Context) {
	defer b.sender.close()
	tick := time.NewTicker(b.ttl / heartbeatsInTTL)
	defer tick.Stop()
	for {
		sent := time.Now()
		err := b.sendOnce(ctx)
		var expired *FencedError
		switch {
		case errors.As(err, &expired):
			b.lost(expired)
			b.run.Lose(expired)
			return
		case ctx.Err() != nil:
			return
		case err != nil:
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
		default:
			b.acknowledged(sent)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// heartbeatsInTTL is how many heartbeats there are in a TTL.
const heartbeatsInTTL = 4

// sendOnce sends one heartbeat.
func (b *heartbeats) sendOnce(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, b.ttl)
	defer cancel()
	return b.sender.send(ctx)
}

// serverHeartbeats is the connection over which a worker sends its heartbeats.
type serverHeartbeats struct {
	server *server // of which only what does not change is used
	config *pgx.ConnConfig
	member
	conn *pgx.Conn
}

func (s *server) heartbeatSender() heartbeatSender {
	return &serverHeartbeats{server: s, config: s.config.Copy(), member: s.member}
}

// send sends one heartbeat, after connecting again if that is necessary.
func (p *serverHeartbeats) send(ctx context.Context) (err error) {
	if p.conn == nil || p.conn.IsClosed() {
		if p.conn, err = p.server.dial(ctx, p.config); err != nil {
			return err
		}
	}
	tag, err := p.conn.Exec(ctx, `UPDATE heartbeat SET number = number + 1, at = now() WHERE session = $1`, p.session)
	if err == nil && tag.RowsAffected() == 0 {
		err = &FencedError{Job: p.job, Worker: p.worker}
	}
	return err
}

// close closes the connection.
func (p *serverHeartbeats) close() {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = p.conn.Close(ctx)
	}
}

// acknowledged notes that the server has stored a heartbeat.
func (b *heartbeats) acknowledged(sent time.Time) {
	b.mu.Lock()
	waited, away := !b.mayStartHeld(), elapsed(b.sent, time.Now())
	b.sent, b.err = sent, nil
	if !b.ended {
		b.haltTimer.Reset(time.Until(sent.Add(b.ttl)))
		b.silenceTimer.Reset(time.Until(sent.Add(b.ttl / 2)))
	}
	if b.silenceLogged {
		b.silenceLogged = false
		b.goroutines.Go(note(b.run, false, map[string]any{"seconds": away.Seconds()}, "the database answers again, after %s", report.Duration(away)))
	}
	resumes := waited && b.mayStartHeld()
	b.mu.Unlock()
	if resumes {
		b.run.Resume()
	}
}

// logSilence is called when no heartbeat was acknowledged over half a TTL, in which there are two.
func (b *heartbeats) logSilence() {
	b.mu.Lock()
	why, away, over := "", elapsed(b.sent, time.Now()), b.ended
	if b.err != nil {
		why = " (" + b.err.Error() + ")"
	}
	b.silenceLogged = !over
	b.mu.Unlock()
	if !over {
		note(b.run, true, map[string]any{"seconds": away.Seconds()}, "the database has not answered for %s%s: the crawl "+
			"waits for it", report.Duration(away), why)()
	}
}

// halt is called when no heartbeat was acknowledged over a TTL: another worker may begin from now on.
func (b *heartbeats) halt() {
	b.mu.Lock()
	err := b.err
	if err == nil {
		err = errors.New("no heartbeat was acknowledged")
	}
	away, over := elapsed(b.sent, time.Now()), b.ended
	b.mu.Unlock()
	if !over {
		b.run.Halt(&Error{Job: b.job, Doing: "keeping", Away: max(away, 1), Err: fmt.Errorf("another worker may take it over: %w", err)})
	}
}

func (b *heartbeats) mayStart() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mayStartHeld()
}

// mayStartHeld is mayStart. Called with mu held.
func (b *heartbeats) mayStartHeld() bool { return elapsed(b.sent, time.Now()) < b.ttl*3/4 }

// elapsed is the time between two instants by the clock that went further: the one that never jumps may have stood
// while the machine slept.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// Attach is described at [tegenaria.SharedCache].
func (c *Cache) Attach(run tegenaria.SharedRun) { c.run.Store(&run) }

// MayStart is described at [tegenaria.SharedCache].
func (c *Cache) MayStart() bool {
	b := c.heartbeats.Load()
	return b != nil && b.mayStart() && !c.paused.Load()
}
