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

// beats tell the other workers that a session is alive, over a connection of their own, and say until when its downloads may start.
type beats struct {
	member
	pulse pulse
	run   tegenaria.SharedRun
	lost  func(err error) // the session was buried

	cancel  context.CancelFunc
	beating sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	sent   time.Time  // when the newest beat was sent that was acknowledged
	err    error      // of the newest beat, if that failed
	halted *time.Timer
	silent *time.Timer // says in the log that the database does not answer
	said   bool        // it has
	over   bool
}

// startBeats begins to beat for a session whose first beat was sent with it.
func startBeats(ctx context.Context, s store, m member, run tegenaria.SharedRun, sent time.Time, lost func(err error)) *beats {
	b := &beats{member: m, pulse: s.pulse(), run: run, lost: lost, sent: sent}
	ctx, b.cancel = context.WithCancel(ctx)
	b.halted = time.AfterFunc(time.Until(sent.Add(b.ttl)), b.halt)
	b.silent = time.AfterFunc(time.Until(sent.Add(b.ttl/2)), b.miss)
	b.beating.Go(func() { b.beat(ctx) })
	return b
}

// end ends the beating.
func (b *beats) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.over = true
	b.halted.Stop()
	b.silent.Stop()
	b.mu.Unlock()
	b.cancel()
	b.beating.Wait()
}

// beat beats until ctx ends or the session is buried.
func (b *beats) beat(ctx context.Context) {
	defer b.pulse.close()
	tick := time.NewTicker(b.ttl / beatsInTTL)
	defer tick.Stop()
	for {
		sent := time.Now()
		err := b.once(ctx)
		var buried *FencedError
		switch {
		case errors.As(err, &buried):
			b.lost(buried)
			b.run.Lose(buried)
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

// beatsInTTL is how many beats there are in a TTL.
const beatsInTTL = 4

// once sends one beat.
func (b *beats) once(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, b.ttl)
	defer cancel()
	return b.pulse.beat(ctx)
}

// serverPulse is the connection over which a worker beats.
type serverPulse struct {
	server *server // of which only what does not change is used
	config *pgx.ConnConfig
	member
	conn *pgx.Conn
}

func (s *server) pulse() pulse {
	return &serverPulse{server: s, config: s.config.Copy(), member: s.member}
}

// beat sends one beat, after connecting again if that is necessary.
func (p *serverPulse) beat(ctx context.Context) (err error) {
	if p.conn == nil || p.conn.IsClosed() {
		if p.conn, err = p.server.dial(ctx, p.config); err != nil {
			return err
		}
	}
	tag, err := p.conn.Exec(ctx, `UPDATE beat SET number = number + 1, at = now() WHERE session = $1`, p.session)
	if err == nil && tag.RowsAffected() == 0 {
		err = &FencedError{Job: p.job, Worker: p.worker}
	}
	return err
}

// close closes the connection.
func (p *serverPulse) close() {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = p.conn.Close(ctx)
	}
}

// acknowledged notes that the server has stored a beat.
func (b *beats) acknowledged(sent time.Time) {
	b.mu.Lock()
	waited, away := !b.mayStartHeld(), elapsed(b.sent, time.Now())
	b.sent, b.err = sent, nil
	if !b.over {
		b.halted.Reset(time.Until(sent.Add(b.ttl)))
		b.silent.Reset(time.Until(sent.Add(b.ttl / 2)))
	}
	if b.said {
		b.said = false
		b.beating.Go(note(b.run, false, map[string]any{"seconds": away.Seconds()}, "the database answers again, after %s", report.Duration(away)))
	}
	resumes := waited && b.mayStartHeld()
	b.mu.Unlock()
	if resumes {
		b.run.Resume()
	}
}

// miss is called when no beat was acknowledged over half a TTL, in which there are two.
func (b *beats) miss() {
	b.mu.Lock()
	why, away, over := "", elapsed(b.sent, time.Now()), b.over
	if b.err != nil {
		why = " (" + b.err.Error() + ")"
	}
	b.said = !over
	b.mu.Unlock()
	if !over {
		note(b.run, true, map[string]any{"seconds": away.Seconds()}, "the database has not answered for %s%s: the crawl waits for it", report.Duration(away), why)()
	}
}

// halt is called when no beat was acknowledged over a TTL: another worker may begin from now on.
func (b *beats) halt() {
	b.mu.Lock()
	err := b.err
	if err == nil {
		err = errors.New("no beat was acknowledged")
	}
	away, over := elapsed(b.sent, time.Now()), b.over
	b.mu.Unlock()
	if !over {
		b.run.Halt(&Error{Job: b.job, Doing: "keeping", Away: max(away, 1), Err: fmt.Errorf("another worker may take it over: %w", err)})
	}
}

func (b *beats) mayStart() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mayStartHeld()
}

// mayStartHeld is mayStart. Called with mu held.
func (b *beats) mayStartHeld() bool { return elapsed(b.sent, time.Now()) < b.ttl*3/4 }

// elapsed is the time between two instants by the clock that went further: the one that never jumps may have stood while the machine slept.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// Attach is described at [tegenaria.SharedCache].
func (c *Cache) Attach(run tegenaria.SharedRun) { c.run.Store(&run) }

// MayStart is described at [tegenaria.SharedCache].
func (c *Cache) MayStart() bool {
	b := c.beats.Load()
	return b != nil && b.mayStart() && !c.paused.Load()
}
