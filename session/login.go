package session

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
)

// Login is one attempt to log a session in. Only the func of [Options].Login that it is given to may use it, in as many goroutines as it
// likes.
type Login struct {
	session *Session
	ctx     *tegenaria.Context // of the request that needs the login
	within  context.Context
	asked   atomic.Bool // it has fetched something
	jar     string      // that it asks with; "": that of the session

	// a host that the session's proxy cannot be used for at present; "": it can. The pool's mutex guards it.
	cutOff string
}

// Session returns the session.
func (l *Login) Session() *Session { return l.session }

// Context ends when the time for the login is over, or the crawl gives up what is in hand: like a parser, a login that
// is under way when the crawl is stopped may end within its grace.
func (l *Login) Context() context.Context { return l.within }

// Fetch asks for a page in the session, with its cookies, proxy and header fields, as Context.Fetch does: politely, and by robots.txt.
func (l *Login) Fetch(r *tegenaria.Request) (*tegenaria.Response, error) {
	l.asked.Store(true)
	if r != nil {
		r.SetSession(l.session.name, l)
	}
	caller := *l.ctx
	caller.Ctx = l.within
	return caller.Fetch(r)
}

// IsRepeated is true: the same pages are asked for with each login, which is no crawler trap.
func (l *Login) IsRepeated() bool { return true }

// run calls the func in a goroutine of its own: one that does not return in time is left behind, and what it fetches fails.
func (l *Login) run(login func(*Login) error, limit time.Duration) error {
	var cancel context.CancelFunc
	l.within, cancel = context.WithTimeoutCause(l.ctx, limit, fmt.Errorf("it has taken longer than %s", limit))
	defer cancel()
	var err error
	defer time.AfterFunc(slowLogin, l.slow).Stop()
	code := guard.Go(func() { err = guard.Protect(func() error { return login(l) }) })
	select {
	case <-code.Done():
		if !code.Returned() {
			return errGivenUp
		}
		if err != nil && context.Cause(l.within) != nil && l.ctx.Err() == nil {
			return context.Cause(l.within)
		}
		return err
	case <-l.within.Done():
		return context.Cause(l.within)
	}
}

// slow has the log say that the login takes long, once for each session, and for so many of them.
func (l *Login) slow() {
	s, p := l.session, l.session.pool
	p.mu.Lock()
	tell := !s.slow && p.slow < mostSlow
	if tell {
		s.slow = true
		p.slow++
	}
	p.mu.Unlock()
	if tell {
		report.Warn(p.run, fmt.Sprintf("the login of the session %s has taken %s so far", s.name, slowLogin))
	}
}

var (
	errGivenUp = errors.New("its code was given up")
	errBroken  = errors.New("the logins before have all failed")
)

// cutOffError is what a login gets whose proxy cannot be used any more.
type cutOffError struct{}

func (cutOffError) Error() string { return "its proxy cannot be used at present" }

// Reason is the text, for the counts of what fails.
func (e cutOffError) Reason() string { return e.Error() }

// LoginError says that a login has failed as often as it may. Requests of the session give up with it.
type LoginError struct {
	Session  string // its name
	Attempts int    // that have failed
	Err      error  // of the last one
}

// Error names session, attempts and the last error.
func (e *LoginError) Error() string {
	return fmt.Sprintf("session: the login of %s has failed, attempt %d: %v", e.Session, e.Attempts, e.Err)
}

// Unwrap returns Err.
func (e *LoginError) Unwrap() error { return e.Err }

// Reason is what such requests are counted as: "login: " and what the last attempt has failed for, without numbers that differ.
func (e *LoginError) Reason() string {
	var short interface{ Reason() string }
	if errors.As(e.Err, &short) {
		return "login: " + short.Reason()
	}
	return "login: " + e.Err.Error()
}

// ExpiredError says that a site has ended a login, as [Options].Expired has found.
type ExpiredError struct {
	Session, URL string
	Always       bool // also right after a login that works: the account may not see this page
}

// Error names the session.
func (e *ExpiredError) Error() string {
	if e.Always {
		return fmt.Sprintf("session: the site wants %s to log in for this page right after a login; the account may not see it", e.Session)
	}
	return fmt.Sprintf("session: %s is not logged in any more", e.Session)
}

// Reason is "expired", or "not for this account".
func (e *ExpiredError) Reason() string {
	if e.Always {
		return "not for this account"
	}
	return "expired"
}

// ClusterError is the failure of a request that names a session, in a job of several programs: each would log in by itself.
type ClusterError struct{ Session string }

// Error names session and remedy.
func (e *ClusterError) Error() string {
	return fmt.Sprintf("session: %s cannot be used by several workers, each would log in by itself; run the requests of "+
		"sessions with names in a job of one program", e.Session)
}

// Reason is "session in a cluster".
func (e *ClusterError) Reason() string { return "session in a cluster" }
