package session

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/cookiejar"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Pool is a middleware that gives each request its session. Make one with [NewPool]; it serves one run at a time. Its methods may be called
// concurrently.
type Pool struct {
	opts     Options
	cookies  Cookies
	unusable error           // what is wrong with the cookies
	gate     *tegenaria.Gate // of the sessions without a name
	run      context.Context // of which the log is
	cluster  bool            // other programs work on the job

	mu       sync.Mutex // guards the fields below, and the sessions
	sessions map[string]*Session
	free     []*Session // those without a name that may be chosen
	nameless int        // how many there are
	last     int        // number of the one that was made last
	using    map[*tegenaria.Context]use
	logins   map[*tegenaria.Context]*Session // that are under way, by the request that needs them
	slow     int                             // those of which the log says that their logins take long
	waits    bool                            // the gate is closed until a request has ended
	broken   int                             // logins in a row that have failed, of sessions without a name
	stats    tegenaria.SessionStats
	reasons  map[string]int64 // for which sessions were retired
	changes  map[string]bool  // names of what has changed since it was stored; nil: nothing is stored
}

// use is a request that is sent in a session.
type use struct {
	*Session
	logins int // how often the session had logged in by then
	jar    string
}

// NewPool makes a pool.
func NewPool(opts Options) *Pool {
	opts.Concurrency = max(opts.Concurrency, 1)
	if opts.LoginTimeout <= 0 {
		opts.LoginTimeout = 2 * time.Minute
	}
	if opts.LoginAttempts <= 0 {
		opts.LoginAttempts = 3
	}
	if opts.Priority == 0 {
		opts.Priority = defaultPriority
	}
	p := &Pool{opts: opts, sessions: make(map[string]*Session), using: make(map[*tegenaria.Context]use),
		logins: make(map[*tegenaria.Context]*Session), reasons: make(map[string]int64)}
	if opts.Size > 0 {
		p.gate = tegenaria.NewGateOf("a session", opts.Size*opts.Concurrency)
	}
	return p
}

// GetName returns "sessions".
func (p *Pool) GetName() string { return "sessions" }

// GetPriority returns that of the options.
func (p *Pool) GetPriority() int { return p.opts.Priority }

// Group finds the cookies, and returns the proxies.
func (p *Pool) Group(registered []tegenaria.MiddlewaresInterface) (more []tegenaria.MiddlewaresInterface) {
	p.cookies, p.unusable = nil, errNoCookies
	for _, one := range registered {
		if cookies, ok := one.(Cookies); ok {
			if p.unusable = nil; p.cookies != nil {
				p.unusable = errTwoCookies
			}
			p.cookies = cookies
		}
	}
	if p.opts.Proxies != nil {
		more = append(more, p.opts.Proxies)
	}
	return more
}

var (
	errNoCookies = errors.New("session: no cookies are registered, of which each session has its own; register " +
		"middleware.Standard(), or middleware.NewCookies")
	errTwoCookies = errors.New("session: two middlewares keep cookies; register one: middleware.Standard() has a middleware.Cookies already")
)

// Open makes room for the cookies of the sessions.
func (p *Pool) Open(ctx context.Context, _ tegenaria.SpiderInterface) error {
	if p.unusable != nil {
		return p.unusable
	}
	p.cookies.MakeRoom(p.opts.Size)
	p.run, p.cluster = ctx, tegenaria.WorkerName(ctx) != ""
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes = nil // unless RestoreState is called
	return nil
}

// GateOf says which session a request has to wait for.
func (p *Pool) GateOf(r *tegenaria.Request) (gate *tegenaria.Gate, apart bool) {
	if _, in := r.SessionOwn().(*Login); in {
		return nil, false
	}
	name := r.Session()
	switch {
	case name == None:
		return nil, false
	case name != "" && name[0] != '#':
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.named(name).gate, true
	}
	return p.gate, p.gate != nil // the requests of accounts, and those of logins, do not wait for it
}

// named returns the session of a name.
func (p *Pool) named(name string) *Session {
	s := p.sessions[name]
	if s == nil {
		s = p.newSession(name)
	}
	if s.gate == nil {
		s.gate = tegenaria.NewGateOf("the session "+name, p.opts.Concurrency)
	}
	return s
}

func (p *Pool) newSession(name string) *Session {
	s := &Session{name: name, pool: p, index: -1}
	if n := len(p.opts.Headers); n > 0 {
		h := fnv.New32a()
		h.Write([]byte(name))
		s.Header = int(h.Sum32() % uint32(n))
	}
	p.sessions[name] = s
	if s.HasName() && p.cookies != nil {
		p.cookies.MakeRoom(2) // one for what is asked for in nobody's name
	}
	return s
}

// changed notes that a session is to be stored, or that it is gone.
func (p *Pool) changed(s *Session) {
	if p.changes != nil {
		p.changes[s.name] = true
	}
}

// ProcessRequest gives the request its session.
func (p *Pool) ProcessRequest(ctx *tegenaria.Context) error {
	r := ctx.Request
	if l, in := r.SessionOwn().(*Login); in {
		p.mu.Lock()
		defer p.mu.Unlock()
		if host := hostOf(r); !p.usable(l.session, host) { // another one would be another identity
			l.cutOff = host
			return tegenaria.GiveUp(cutOffError{})
		}
		return p.dress(r, l.session, l)
	}
	name := r.Session()
	switch {
	case name == None:
		return nil
	case name != "" && name[0] != '#':
		if p.cluster {
			return tegenaria.GiveUp(&ClusterError{Session: name})
		}
		p.mu.Lock()
		s := p.named(name)
		p.mu.Unlock()
		return p.enter(ctx, s)
	case p.opts.Size > 0:
		return p.visit(ctx, name)
	}
	return nil
}

// enter lets a request into a session with a name.
func (p *Pool) enter(ctx *tegenaria.Context, s *Session) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case s.refused != nil:
			return tegenaria.GiveUp(s.refused)
		case s.barred[firstURL(ctx.Request)] && isRead(ctx.Request):
			delete(s.barred, firstURL(ctx.Request))
			return tegenaria.GiveUp(&ExpiredError{Session: s.name, URL: firstURL(ctx.Request), Always: true})
		case s.login != nil:
			s.gate.Close() // its end opens the gate
			return tegenaria.NotNow(s.gate)
		case s.busy >= p.opts.Concurrency: // one that has waited in line once more has come before
			s.waits = true
			s.gate.Close()
			return tegenaria.NotNow(s.gate)
		}
		if err := p.address(s, hostOf(ctx.Request)); err != nil {
			return err
		}
		if s.In || p.opts.Login == nil {
			return p.begin(ctx, s)
		}
		if err := p.logIn(ctx, s); err != nil {
			return err
		}
	}
}

// address makes sure that a session has a proxy that can be used. The error puts the request off.
func (p *Pool) address(s *Session, host string) error {
	if p.opts.Proxies == nil {
		return nil
	}
	if s.Proxy != "" {
		url, at := p.opts.Proxies.URL(s.Proxy, host)
		switch {
		case url != "" && at.IsZero():
			return nil
		case url != "" && p.opts.Login == nil && s.HasName(): // nobody could log it in at another address
			s.unproxied = true
			s.gate.Because("its proxy is not used at the moment")
			s.gate.CloseFor(max(time.Until(at), time.Millisecond))
			return tegenaria.NotNow(s.gate)
		}
	}
	id, wait := p.opts.Proxies.Pick(host)
	if wait != nil {
		return tegenaria.NotNow(wait)
	}
	if s.Proxy != "" {
		p.end(s)
	}
	s.Proxy = id
	p.changed(s)
	return nil
}

// end ends the login of a session.
func (p *Pool) end(s *Session) {
	s.In = false
	p.cookies.Clear(s.jar())
	s.Ended++
	p.changed(s)
}

// logIn logs a session in, without the mutex. The error is what becomes of the request.
func (p *Pool) logIn(ctx *tegenaria.Context, s *Session) error {
	l := &Login{session: s, ctx: ctx}
	s.login = l
	p.logins[ctx] = s
	if s.gate != nil {
		s.gate.Because("it is logging in")
		s.gate.Close()
	}
	suspect := s.suspect
	p.mu.Unlock()
	err := l.run(p.opts.Login, p.opts.LoginTimeout)
	if err == nil && suspect != nil {
		err = l.run(func(l *Login) error { return p.check(l, *suspect) }, checkTimeouts*p.opts.LoginTimeout)
	}
	if err == nil {
		p.mu.Lock()
		in := s.login == l
		if in {
			s.In, s.Logins = true, s.Logins+1
			p.changed(s)
		}
		p.mu.Unlock()
		if in && l.asked.Load() {
			err = ctx.KeepState()
		}
	}
	p.mu.Lock()
	if s.login != l { // it was given up meanwhile
		return tegenaria.NotNow(s.gate)
	}
	s.login = nil
	delete(p.logins, ctx)
	if err == nil {
		s.failed, s.moves, p.broken = 0, 0, 0
		if l.asked.Load() { // a visitor may need no login
			p.stats.Logins++
		}
		p.open(s)
		return nil
	}
	s.In = false
	if ctx.Err() != nil { // the crawl ends
		p.open(s)
		return err
	}
	switch {
	case l.cutOff == "":
	case s.gate == nil: // another one is made
		_, wait := p.opts.Proxies.Pick(l.cutOff)
		return tegenaria.NotNow(wait)
	case s.moves < mostMoves:
		return p.move(s, l.cutOff)
	}
	return p.loginFailed(s, err)
}

// move gives a session with a name another proxy, after its own has failed in the middle of a login: that costs no
// attempt. The request runs again.
func (p *Pool) move(s *Session, host string) error {
	s.moves++
	p.end(s)
	id, wait := p.opts.Proxies.Pick(host)
	if wait == nil {
		s.Proxy = id
	}
	p.open(s)
	return tegenaria.NotNow(wait)
}

// open opens the gate of a session.
func (p *Pool) open(s *Session) {
	if s.gate != nil {
		s.waits, s.unproxied = false, false
		s.gate.Open()
	}
}

// loginFailed counts an attempt, and returns what becomes of the request.
func (p *Pool) loginFailed(s *Session, err error) error {
	p.stats.Failed++
	s.failed++
	p.cookies.Clear(s.jar())
	failure := &LoginError{Session: s.name, Attempts: s.failed, Err: err}
	switch {
	case s.gate == nil:
		p.broken++
		return failure
	case s.failed >= p.opts.LoginAttempts:
		p.refuse(s, failure)
		return tegenaria.GiveUp(failure)
	}
	s.gate.Because(fmt.Sprintf("attempt %d of its login has failed: %v", s.failed, err))
	s.waits, s.unproxied = false, false
	s.gate.CloseFor(firstPause << (s.failed - 1))
	return tegenaria.NotNow(s.gate)
}

// refuse gives up a session with a name.
func (p *Pool) refuse(s *Session, why error) {
	s.refused = why
	p.stats.Rejected++
	p.open(s)
}

// visit gives a request a session without a name: the one that it names, or any.
func (p *Pool) visit(ctx *tegenaria.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	host := hostOf(ctx.Request)
	for attempt := 1; ; attempt++ {
		s := p.sessions[name]
		switch {
		case s != nil && (s.login != nil || s.busy >= p.opts.Concurrency):
			return p.full()
		case s == nil || !p.usable(s, host):
			var err error
			if s, err = p.choose(host); err != nil {
				return err
			}
		}
		if s.In || p.opts.Login == nil {
			return p.begin(ctx, s)
		}
		if p.broken >= brokenLogins {
			p.discard(s)
			return tegenaria.GiveUp(&LoginError{Session: s.name, Attempts: p.broken, Err: errBroken})
		}
		p.unlist(s) // until it is logged in
		err := p.logIn(ctx, s)
		if err == nil {
			p.list(s)
			p.reopen()
			return p.begin(ctx, s)
		}
		p.discard(s)
		var failed *LoginError
		switch {
		case !errors.As(err, &failed):
			return err
		case attempt >= p.opts.LoginAttempts:
			failed.Attempts = attempt
			return tegenaria.GiveUp(failed)
		}
		name = ""
	}
}

// full has a request wait until another one has ended.
func (p *Pool) full() error {
	p.waits = true
	p.gate.Close()
	return tegenaria.NotNow(p.gate)
}

// choose returns a session without a name that can be used for a host: a new one while there may be more, or else the better of two.
func (p *Pool) choose(host string) (*Session, error) {
	if p.nameless < p.opts.Size {
		return p.make(host)
	}
	for range 4 {
		if len(p.free) == 0 {
			return nil, p.full()
		}
		s, other := p.free[rand.IntN(len(p.free))], p.free[rand.IntN(len(p.free))]
		if other.errors < s.errors || other.errors == s.errors && other.kept.Uses < s.kept.Uses {
			s = other
		}
		if p.opts.MaxAge > 0 && !s.Born.IsZero() && time.Since(s.Born) > p.opts.MaxAge {
			p.drop(s, "old")
			return p.make(host)
		}
		if p.usable(s, host) {
			return s, nil
		}
	}
	for _, s := range p.free {
		if p.usable(s, host) {
			return s, nil
		}
	}
	id, wait := p.opts.Proxies.Pick(host)
	if wait != nil {
		return nil, tegenaria.NotNow(wait)
	}
	p.drop(p.free[0], "proxy not used") // it makes room for one with a proxy that can be used
	return p.made(id), nil
}

// usable reports whether a session without a name can ask the host for a page at present.
func (p *Pool) usable(s *Session, host string) bool {
	if p.opts.Proxies == nil {
		return true
	}
	url, at := p.opts.Proxies.URL(s.Proxy, host)
	return url != "" && at.IsZero()
}

// make makes a session without a name.
func (p *Pool) make(host string) (*Session, error) {
	if p.opts.Proxies == nil {
		return p.made(""), nil
	}
	id, wait := p.opts.Proxies.Pick(host)
	if wait != nil {
		return nil, tegenaria.NotNow(wait)
	}
	return p.made(id), nil
}

func (p *Pool) made(proxy string) *Session {
	p.last++
	s := p.newSession("#" + strconv.Itoa(p.last))
	if n := len(p.opts.Headers); n > 0 {
		s.Header = p.last % n
	}
	s.Proxy = proxy
	p.nameless++
	p.stats.Nameless++
	p.list(s)
	p.changed(s)
	return s
}

// list lets a session be chosen if it has room for a request.
func (p *Pool) list(s *Session) {
	if s.index < 0 && !s.gone && s.login == nil && s.busy < p.opts.Concurrency {
		s.index = len(p.free)
		p.free = append(p.free, s)
	}
}

func (p *Pool) unlist(s *Session) {
	if s.index < 0 {
		return
	}
	end := len(p.free) - 1
	p.free[s.index] = p.free[end]
	p.free[s.index].index = s.index
	p.free[end] = nil
	p.free, s.index = p.free[:end], -1
}

// drop throws a session without a name away.
func (p *Pool) drop(s *Session, reason string) {
	if s.gone {
		return
	}
	p.retired(reason)
	p.discard(s)
}

// retired counts a session that is thrown away, or is to log in anew.
func (p *Pool) retired(reason string) {
	p.stats.Retired++
	if _, known := p.reasons[reason]; !known && len(p.reasons) >= mostReasons {
		reason = "other"
	}
	p.reasons[reason]++
}

// discard is drop for one that is not counted.
func (p *Pool) discard(s *Session) {
	if s.gone {
		return
	}
	s.gone = true
	p.unlist(s)
	p.nameless--
	delete(p.sessions, s.name)
	p.changed(s)
	if s.busy == 0 {
		p.cookies.Clear(s.jar())
	}
	p.reopen()
}

// reopen lets requests come again that wait for a session without a name.
func (p *Pool) reopen() {
	if p.waits {
		p.waits = false
		p.gate.Open()
	}
}

// begin notes that a request is sent in a session.
func (p *Pool) begin(ctx *tegenaria.Context, s *Session) error {
	if err := p.dress(ctx.Request, s, s); err != nil {
		return err
	}
	if s.Born.IsZero() {
		s.Born = time.Now()
		p.changed(s)
		if s.gate != nil {
			p.stats.Named++
		}
	}
	s.kept.Uses++
	s.busy++
	p.using[ctx] = use{s, s.Logins, s.jar()}
	if s.gate == nil && s.busy >= p.opts.Concurrency {
		p.unlist(s)
	}
	return nil
}

// dress gives a request what belongs to a session. own is for SessionOwn.
func (p *Pool) dress(r *tegenaria.Request, s *Session, own any) error {
	r.SetSession(s.name, own)
	if r.Meta == nil {
		r.Meta = make(map[string]any)
	}
	r.Meta[cookiejar.MetaJar] = s.jar()
	if l, in := own.(*Login); in && l.jar != "" {
		r.Meta[cookiejar.MetaJar] = l.jar
	}
	if s.Proxy != "" {
		url, _ := p.opts.Proxies.URL(s.Proxy, hostOf(r))
		if url == "" {
			return tegenaria.NotNow(nil)
		}
		r.Proxy = &tegenaria.Proxy{ProxyUrl: url}
	}
	if len(p.opts.Headers) > 0 {
		if len(r.Redirects) > 0 {
			p.undress(r)
		}
		setDefaults(r, p.opts.Headers[s.Header%len(p.opts.Headers)])
	}
	return nil
}

// setDefaults sets header fields that a request does not have.
func setDefaults(r *tegenaria.Request, fields map[string]string) {
	if r.Header == nil {
		r.Header = make(map[string]string)
	}
fields:
	for name, value := range fields {
		for known := range r.Header {
			if strings.EqualFold(known, name) {
				continue fields
			}
		}
		r.Header[name] = value
	}
}

// undress removes the header fields of the session that a request has been sent in before, which it has by a redirect.
func (p *Pool) undress(r *tegenaria.Request) {
	for _, fields := range p.opts.Headers {
		for name, value := range fields {
			if r.Header[name] == value {
				delete(r.Header, name)
			}
		}
	}
}

// ProcessResponse looks whether the session is still logged in. If not, the request runs again; behind a redirect a
// Fetch fails instead, which its caller may repeat.
func (p *Pool) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	resp, r := ctx.Response(), ctx.Request
	if state := resp.Cached().State; state == tegenaria.CacheHit || state == tegenaria.CacheStale {
		return nil
	}
	p.mu.Lock()
	u, known := p.using[ctx]
	isLate := known && u.jar != u.Session.jar()
	p.mu.Unlock()
	if !known {
		return nil
	}
	target, expired := targetOf(resp), false
	if target != "" && isLate && !ctx.IsInline() { // it may be an answer to a login that is over
		return tegenaria.NotNow(nil)
	}
	if p.opts.Login != nil && p.opts.Expired != nil {
		if expired = p.opts.Expired(resp); !expired && target != "" {
			var again error
			if expired, again = p.leadsToLogin(ctx, u, target); again != nil {
				return again
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := u.Session
	switch {
	case !expired:
		s.errors, s.blocked = 0, 0
		if target == "" || !ctx.IsInline() { // a Fetch may yet be led to the page for logins
			p.came(s, r)
		}
		return nil
	case s.gate == nil:
		if !s.gone {
			p.stats.Expired++
			p.discard(s)
		}
		return tegenaria.Retry(0, &ExpiredError{Session: s.name, URL: resp.URL})
	}
	return p.expired(ctx, u)
}

// ProcessError notes failures of a session.
func (p *Pool) ProcessError(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
	if errors.Is(err, tegenaria.ErrIgnoreRequest) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, in := ctx.Request.SessionOwn().(*Login); in {
		var blocked *tegenaria.BlockedError
		if errors.As(err, &blocked) && l.session.Proxy != "" { // the same proxy would be blocked again
			l.cutOff = hostOf(ctx.Request)
			p.opts.Proxies.Rest(l.session.Proxy, l.cutOff)
			return tegenaria.GiveUp(blocked)
		}
		return err
	}
	u, known := p.using[ctx]
	if !known {
		return err
	}
	s := u.Session
	var blocked *tegenaria.BlockedError
	var proxy *tegenaria.ProxyError
	if errors.As(err, &blocked) && blocked.HostLost { // what waits for a proxy ends without one
		for _, s := range p.sessions {
			if s.unproxied {
				p.open(s)
			}
		}
	}
	switch {
	case errors.As(err, &blocked) && s.gate == nil:
		p.drop(s, blocked.Reason())
	case errors.As(err, &blocked):
		if s.blocked++; s.blocked >= mostBlocked && p.opts.Login != nil {
			s.blocked = 0
			p.retired(blocked.Reason())
			p.end(s)
			if s.Proxy != "" {
				p.opts.Proxies.Rest(s.Proxy, hostOf(ctx.Request))
			}
		}
	case errors.As(err, &proxy): // the pool of the proxies knows
	case isNetwork(err) && s.gate == nil:
		if s.errors++; s.errors >= mostErrors {
			p.drop(s, "network errors")
		}
	}
	return err
}

func isNetwork(err error) bool {
	var network net.Error
	return errors.As(err, &network)
}

// Released notes that a request of a session has ended.
func (p *Pool) Released(ctx *tegenaria.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u, known := p.using[ctx]; known {
		delete(p.using, ctx)
		if u.jar != u.Session.jar() {
			p.cookies.Clear(u.jar)
		}
		p.release(u.Session)
		return
	}
	if s := p.logins[ctx]; s != nil { // that was given up together with the request
		delete(p.logins, ctx)
		s.login = nil
		p.stopped(s)
	}
}

func (p *Pool) release(s *Session) {
	s.busy--
	switch {
	case s.gate != nil:
		if s.waits && s.login == nil {
			p.open(s)
		}
	case s.gone:
		if s.busy == 0 {
			p.cookies.Clear(s.jar())
		}
	case p.opts.MaxUses > 0 && s.kept.Uses >= p.opts.MaxUses:
		p.drop(s, "used up")
	default:
		p.list(s)
		p.reopen()
	}
}

// stopped counts a login that was given up.
func (p *Pool) stopped(s *Session) {
	if s.gate == nil {
		p.stats.Failed++
		p.discard(s)
		return
	}
	_ = p.loginFailed(s, errGivenUp)
}

// retire is that of a session.
func (p *Pool) retire(s *Session, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case s.gone:
	case s.gate == nil:
		p.drop(s, reason)
	default:
		p.retired(reason)
		p.end(s)
	}
}

// Sessions returns the names of those with a name that were used.
func (p *Pool) Sessions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name, s := range p.sessions {
		if s.gate != nil && !s.Born.IsZero() {
			names = append(names, name)
		}
	}
	return names
}

// SessionStats returns the counters of this run, in which the sessions that the job has kept are counted too.
func (p *Pool) SessionStats() tegenaria.SessionStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.stats
	st.Reasons = maps.Clone(p.reasons)
	for _, s := range p.sessions {
		if s.gate != nil && s.gate.IsClosed() {
			st.Waiting++
		}
	}
	return st
}

// hostOf returns the host of a request.
func hostOf(r *tegenaria.Request) string { return urlx.Hostname(r.Url) }
