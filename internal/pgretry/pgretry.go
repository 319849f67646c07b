// Package pgretry repeats what a PostgreSQL server could not do because it was away: down, restarting, out of connections, or not to be
// reached.
//
//	Do → attempt, pause, attempt … → done, another error, or patience is over
//
// A short example:
//
//	away, err := pgretry.Do(ctx, time.Minute, pgretry.IsAway, func(ctx context.Context) error {
//		_, err := conn.Exec(ctx, statement)
//		return err
//	})
package pgretry

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	firstPause   = 20 * time.Millisecond // after an attempt that failed; it doubles
	longestPause = 5 * time.Second
)

// Do runs do until it succeeds, fails by an error that isAway does not know, ctx ends, or patience is over. An attempt takes no longer
// than patience. away is above 0 if patience is over: for how long it was tried.
func Do(ctx context.Context, patience time.Duration, isAway func(error) bool, do func(ctx context.Context) error) (away time.Duration, err error) {
	begin, pause := time.Now(), firstPause
	for {
		err := attempt(ctx, patience, do)
		if err == nil || ctx.Err() != nil || !isAway(err) {
			return 0, err
		}
		if away := time.Since(begin); away+pause > patience {
			return max(away, 1), err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, err
		}
		pause = min(2*pause, longestPause)
	}
}

func attempt(ctx context.Context, patience time.Duration, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return do(ctx)
}

// awayCodes are errors that pass: classes, or whole codes: https://www.postgresql.org/docs/15/errcodes-appendix.html
var awayCodes = []string{"08", "40", "53", "57", "58", "55P03", "25006"}

// IsCode reports whether an error is one of a server with one of these codes, or of one of these classes.
func IsCode(err error, codes ...string) bool {
	var p *pgconn.PgError
	return errors.As(err, &p) && slices.ContainsFunc(codes, func(c string) bool { return strings.HasPrefix(p.Code, c) })
}

// IsAway reports whether an error says that the database cannot be used for now.
func IsAway(err error) bool {
	if p := (*pgconn.PgError)(nil); errors.As(err, &p) {
		return IsCode(err, awayCodes...)
	}
	var n net.Error
	var c *pgconn.ConnectError
	return errors.As(err, &n) || errors.As(err, &c) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) || errors.Is(err, ErrConnection) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
}

// ErrConnection marks errors after which the connection was closed.
var ErrConnection = errors.New("the connection broke")
