package pgretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tegenaria/tegenaria/internal/pgretry"
)

func TestIsAway(t *testing.T) {
	for _, c := range []struct {
		err  error
		away bool
	}{
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: "55P03"}, true},
		{&pgconn.PgError{Code: "23505"}, false},
		{fmt.Errorf("%w: %w", pgretry.ErrConnection, &pgconn.PgError{Code: "42P01"}), false}, // the server has answered
		{fmt.Errorf("%w: %w", pgretry.ErrConnection, errors.New("reset")), true},
		{io.ErrUnexpectedEOF, true},
		{context.DeadlineExceeded, true},
		{errors.New("another one"), false},
	} {
		if got := pgretry.IsAway(c.err); got != c.away {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}

func TestDo(t *testing.T) {
	other := errors.New("another one")
	for name, c := range map[string]struct {
		fails    int // attempts that find the database away
		then     error
		attempts int
		want     error
		away     bool
		ends     time.Duration // of the context; 0: never
	}{
		"at once":         {attempts: 1},
		"it comes back":   {fails: 3, attempts: 4},
		"another error":   {fails: 1, then: other, attempts: 2, want: other},
		"patience ends":   {fails: 100, attempts: 6, want: io.EOF, away: true}, // after 20, 40, … 320 ms
		"the run is over": {fails: 100, attempts: 2, want: io.EOF, ends: 30 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.ends > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.ends)
					defer cancel()
				}
				n := 0
				away, err := pgretry.Do(ctx, time.Second, pgretry.IsAway, func(context.Context) error {
					if n++; n <= c.fails {
						return io.EOF
					}
					return c.then
				})
				if n != c.attempts || !errors.Is(err, c.want) || (away > 0) != c.away {
					t.Errorf("%d attempts, %v, away for %s", n, err, away)
				}
			})
		})
	}
}
