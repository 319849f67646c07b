package session

import (
	"time"

	"github.com/tegenaria/tegenaria"
)

// Options configures a [Pool].
type Options struct {
	// Size is how many sessions without a name there are at most. 0 means that only requests that name a session have one.
	Size int

	// Concurrency is how many requests of one session are sent at once; 0 means 1.
	Concurrency int

	// MaxUses and MaxAge say after how many requests, and how long after its first one, a session without a name is thrown away; 0 means
	// never.
	MaxUses int
	MaxAge  time.Duration

	// Login logs a session in, before its first request and whenever its login is over. It runs when the first request needs it, and the
	// other requests of the session wait. It asks the site by [Login.Fetch]. An error means that the login has failed: it is tried
	// again, LoginAttempts times in all (0: 3), each for LoginTimeout at most (0: 2 minutes). After that the requests of a session with a name
	// give up as "login: …", and a session without one is replaced. If you have sessions of both kinds, see [Session.Name].
	Login         func(l *Login) error
	LoginTimeout  time.Duration
	LoginAttempts int

	// Expired reports whether a response says that the session is not logged in any more: it has status 401, is a redirect to the page for
	// logins, or is that page. Then the request runs again after a new login. Where it is false for a redirect, the pool looks at the page
	// that the redirect leads to, which costs a request. Where logins end again and again, the pool asks once more for such a page, and for
	// pages that came, by GET or HEAD as they were asked for: is it the login, or may the account not see that page? Nil: only [Session.Retire] ends a login.
	Expired func(page *tegenaria.Response) bool

	// Proxies gives each session its proxy; the engine registers it too. Nil: the sessions have none of their own.
	Proxies Proxies

	// Headers are sets of header fields, such as User-Agent with Accept-Language: each session sends one of them, with all its requests
	// that do not set these fields themselves. None: the sessions do not differ in that.
	Headers []map[string]string

	// Priority is that of the middleware; 0 means 350, which is before other middlewares choose header fields.
	Priority int
}

const (
	defaultPriority = 350
	mostReasons     = 50      // that are counted apart
	mostMoves       = 10      // of a session with a name, to other proxies, without a login that works
	mostErrors      = 3       // in a row: then a session without a name is thrown away
	mostBlocked     = 3       // in a row: then one with a name logs in again
	brokenLogins    = 10      // in a row, of sessions without a name: then no more are tried
	mostBarred      = 10_000  // URLs of a session with a name
	mostPages       = 5       // that may show that a login works
	mostDoubted     = 100_000 // URLs of a session with a name
	inRow           = 3       // logins that end without a page: then the next one is checked
	mostRow         = 100     // logins in a row that end without a page
	checkTimeouts   = 10      // in LoginTimeout
	slowLogin       = 10 * time.Second
	mostSlow        = 20          // sessions whose slow logins are logged
	firstPause      = time.Second // before a login is tried again, doubled each time
)

// Proxies chooses proxies for sessions. A [proxy.Pool] does.
//
// [proxy.Pool]: https://pkg.go.dev/github.com/tegenaria/tegenaria/proxy#Pool
type Proxies interface {
	tegenaria.MiddlewaresInterface
	// Pick chooses a proxy for a session that begins with a request of the host, and returns an ID. Without one it returns the gate that
	// opens when there may be one again.
	Pick(host string) (id string, wait *tegenaria.Gate)
	// URL returns the URL of the proxy with an ID that Pick has returned, maybe in an earlier run, "" if there is none any more. at is the
	// zero time if a request of the host can use it now, or else when it may be tried again.
	URL(id, host string) (url string, at time.Time)
	// Rest has the proxy with an ID not be used for a host for a while, which has blocked it.
	Rest(id, host string)
}

// Cookies keeps cookies in jars by name. A [middleware.Cookies] does; a program that has registered none cannot have sessions.
//
// [middleware.Cookies]: https://pkg.go.dev/github.com/tegenaria/tegenaria/middleware#Cookies
type Cookies interface {
	tegenaria.MiddlewaresInterface
	// Clear removes a jar.
	Clear(jar string)
	// MakeRoom lets there be so many jars more.
	MakeRoom(jars int)
}

// None is a name for [As]: that of no session.
const None = "-"

// As has a request sent in the session of that name, which must not begin with "#", nor be longer than 256 bytes. With
// [None] it is sent without one. The name "" is none: the request gets a session without a name, if the pool has any.
func As(name string) tegenaria.RequestOption { return tegenaria.RequestWithSession(name) }

// Of returns the session of a page. A page without one has a session without a name that nothing is known of.
func Of(page *tegenaria.Response) *Session {
	if page != nil && page.Request() != nil {
		if s, ok := page.Request().SessionOwn().(*Session); ok {
			return s
		}
	}
	return new(Session)
}
