package session

import (
	"fmt"
	"maps"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Session is one identity. Its methods may be called concurrently.
type Session struct {
	name string
	pool *Pool
	gate *tegenaria.Gate // of one with a name

	// The pool's mutex guards the fields below.
	kept
	busy      int             // requests that are being sent
	waits     bool            // the gate is closed until one of them has ended
	index     int             // among those that may be chosen; -1: it is not among them
	gone      bool            // it was thrown away
	errors    int             // in a row
	blocked   int             // answers in a row
	unproxied bool            // its gate is closed because its proxy cannot be used
	suspect   *probe          // at which the site has ended the last login
	barred    map[string]bool // URLs of pages that the account may not see, until their requests come again
	pages     []probe         // the last that came; nil if Witness is private
	unproven  int             // barred pages in a row with no private page to compare them with
	row       int             // logins in a row that the site has ended without a page, or a barred one, between them
	doubted   map[string]bool // URLs at which a login has ended, until their pages come
	spared    bool            // the last check has found that the login works: there is none when that ends
	failed    int             // attempts of logins in a row
	moves     int             // to other proxies, because of logins in a row that were cut off
	login     *Login
	slow      bool  // the log has said that a login of it takes long
	refused   error // why its requests are given up
}

// kept is what a durable job stores of a session.
type kept struct {
	Proxy  string            `json:"proxy,omitempty"` // its ID
	In     bool              `json:"in,omitempty"`    // it is logged in
	Logins int               `json:"logins,omitempty"`
	Ended  int               `json:"ended,omitempty"` // logins
	Uses   int               `json:"uses,omitempty"`
	Born   time.Time         `json:"born,omitzero"` // its first use
	Header int               `json:"header,omitempty"`
	Data   map[string]string `json:"data,omitempty"`

	Witness *probe `json:"witness,omitempty"` // a page that came
	Private bool   `json:"private,omitempty"` // the witness asks for a login unless the session is logged in
}

// Name returns the name of the session. That of a session without one begins with "#".
func (s *Session) Name() string { return s.name }

// HasName reports whether it is a session that requests name.
func (s *Session) HasName() bool { return s.name != "" && s.name[0] != '#' }

// Jar returns the name of the session's cookie jar, for the methods of middleware.Cookies.
func (s *Session) Jar() string {
	if s.pool == nil {
		return s.jar()
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.jar()
}

// jar is Jar for the pool. Each login has a jar of its own: the answer to a request that was sent before must not change its cookies.
func (s *Session) jar() string {
	if s.Ended == 0 {
		return "session/" + s.name
	}
	return fmt.Sprintf("session/#%d/%s", s.Ended, s.name) // no name begins so
}

// Uses returns how many requests were sent in the session. After a crash it may be less.
func (s *Session) Uses() int {
	if s.pool == nil {
		return 0
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.kept.Uses
}

// Age returns how long ago its first request was sent.
func (s *Session) Age() time.Duration {
	if s.pool == nil {
		return 0
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if s.Born.IsZero() {
		return 0
	}
	return time.Since(s.Born)
}

// Get returns a value of the program's own, "" if there is none.
func (s *Session) Get(key string) string {
	if s.pool == nil {
		return ""
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.Data[key]
}

// Set keeps a value of the program's own with the session, such as a token. It is gone when the session is thrown away.
func (s *Session) Set(key, value string) {
	if s.pool == nil {
		return
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.Data = maps.Clone(s.Data)
	if s.Data == nil {
		s.Data = make(map[string]string)
	}
	s.Data[key] = value
	s.pool.changed(s)
}

// Retire ends the session's login, and removes its cookies: a session with a name logs in anew before its next request, one without a name
// is thrown away. The requests of it that are being sent go on. So Retire on every page makes a login for every page. The reason, a few
// words that are alike each time, is counted in SessionStats.Reasons, and stands at the log's end.
func (s *Session) Retire(reason string) {
	if s.pool != nil {
		s.pool.retire(s, reason)
	}
}
