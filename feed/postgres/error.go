package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tegenaria/tegenaria/feed"
)

// Error is the failure of a database to do what a feed wanted. The same job goes on where it was once the cause is gone.
type Error struct {
	Table string
	Doing string        // "opening" or "writing"
	Away  time.Duration // for which it was tried while the database was away; 0 if the database answered
	Err   error
}

// Error names the table and the remedy.
func (e *Error) Error() string {
	if e.Away > 0 {
		return fmt.Sprintf("postgres: %s table %s: the database was away for %s: %v; nothing is lost: when it is back, "+
			"start the same job again, or set a longer Patience",
			e.Doing, e.Table, e.Away.Round(time.Second/10), e.Err)
	}
	text := fmt.Sprintf("postgres: %s table %s: %v", e.Doing, e.Table, e.Err)
	var p *pgconn.PgError
	if errors.As(e.Err, &p) {
		if remedy := remedies[p.Code[:min(2, len(p.Code))]]; remedy != "" {
			text += "; " + remedy
		}
	}
	return text + "; then start the same job again"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// remedies say what to do about classes of errors: https://www.postgresql.org/docs/15/errcodes-appendix.html
var remedies = map[string]string{
	"28": "look after the user and the password of the pool",
	"3D": "make the database",
	"3F": "make the schema",
	"42": "see that nobody changes the table while the job runs, and that the user may create and write tables",
	"53": "give the database room on its disk, memory or connections",
}

// failed says what could not be done.
func (s *store) failed(doing string, err error) error {
	switch err.(type) {
	case nil:
		return nil
	case *feed.NotEmptyError, *feed.CorruptError, *feed.TableError:
		return err // which says it all
	}
	return &Error{Table: s.label(), Doing: doing, Err: err}
}

// isRefusal reports whether an error means that a row cannot be in the table, whoever refuses it: a type, a limit of the program, a
// constraint, or a trigger.
func isRefusal(err error) (*pgconn.PgError, bool) {
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return nil, false
	}
	if p.Code == "23505" && strings.Contains(p.Detail, "("+rowColumn+")") {
		return p, false // somebody else has given a row the number of one of ours
	}
	return p, slices.Contains([]string{"22", "23", "54", "44"}, p.Code[:min(2, len(p.Code))]) || p.Code == "P0001"
}
