package session

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// How the pool finds out that a login is over. An answer that asks for a login (Options.Expired) may mean that, or that the account may not
// see the page. So the login ends, and its request runs again. When the same page asks for a login once more, or three
// logins in a row have ended without a page between them, the next login asks for that page while all other requests of
// the session wait (check). A page that asks for a login even then is barred, and its request given up, if a page of
// the account's own shows that the login works. If that one asks for a login as well the login has failed.

// probe is a page that is asked for to see whether a session is logged in.
type probe struct {
	URL    string            `json:"url"`
	Head   bool              `json:"head,omitempty"`
	Header map[string]string `json:"header,omitempty"`
}

// probeOf returns a page, to be asked for with the header fields of a request: the site may know the account by them.
func probeOf(r *tegenaria.Request, url string) probe {
	a := probe{URL: url, Head: r.Method == tegenaria.HEAD}
	if urlx.Origin(url) == urlx.Origin(r.Url) {
		a.Header = maps.Clone(r.Header)
		maps.DeleteFunc(a.Header, func(name, _ string) bool {
			return strings.EqualFold(name, "Cookie") || strings.HasPrefix(strings.ToLower(name), "content-")
		})
	}
	return a
}

// firstURL returns the URL of a request before it was redirected.
func firstURL(r *tegenaria.Request) string {
	if len(r.Redirects) > 0 {
		return r.Redirects[0]
	}
	return r.Url
}

// isRead reports whether a request can be sent twice.
func isRead(r *tegenaria.Request) bool {
	return r.Method == tegenaria.GET || r.Method == tegenaria.HEAD
}

// came notes a page of a session with a name.
func (p *Pool) came(s *Session, r *tegenaria.Request) {
	s.row = 0
	delete(s.doubted, firstURL(r))
	if s.gate == nil || s.Private || !isRead(r) || p.opts.Login == nil || p.opts.Expired == nil {
		return
	}
	page := probeOf(r, r.Url)
	if s.Witness == nil {
		s.Witness = &page
		p.changed(s)
	}
	if s.pages = append(s.pages, page); len(s.pages) > mostPages {
		s.pages = slices.Delete(s.pages, 0, 1)
	}
}

// expired is called for an answer to a session with a name that asks for a login, and returns what becomes of the request.
func (p *Pool) expired(ctx *tegenaria.Context, u use) error {
	s, r := u.Session, ctx.Request
	why := &ExpiredError{Session: s.name, URL: firstURL(r)}
	isHop := ctx.IsInline() && len(r.Redirects) > 0
	if u.logins == s.Logins && s.In { // or else it has logged in since
		p.stats.Expired++
		p.end(s)
		if s.row++; s.row >= mostRow {
			p.refuse(s, &LoginError{Session: s.name, Attempts: s.row, Err: why})
		}
		isRepeated := s.doubts(why.URL)
		switch s.suspect = nil; {
		case s.spared: // the check of this login may have used it up
			s.spared = false
		case isRead(r) && (isRepeated || s.row >= inRow || s.Witness == nil):
			page := probeOf(r, why.URL)
			s.suspect = &page
		case isRepeated && !isRead(r) && !isHop:
			return tegenaria.Retry(0, why)
		}
	}
	if isHop {
		return tegenaria.GiveUp(why)
	}
	return tegenaria.NotNow(nil)
}

// doubts notes that a login has ended at a URL, and reports whether one has before.
func (s *Session) doubts(url string) bool {
	if s.doubted[url] || len(s.doubted) >= mostDoubted {
		return true
	}
	if s.doubted == nil {
		s.doubted = make(map[string]bool)
	}
	s.doubted[url] = true
	return false
}

// check is the end of a login after another one has ended at a page: it finds out why. It fails if this login does not work either.
func (p *Pool) check(l *Login, suspect probe) error {
	s := l.session
	denied, err := p.asksForLogin(l, suspect)
	var works, known bool
	if denied {
		works, known = p.works(l)
	}
	if denied && known && !works { // the page may have ended this login, or it was over anyway
		if err = p.opts.Login(l); err != nil {
			return err
		}
		p.mu.Lock()
		p.stats.Logins++
		p.mu.Unlock()
		if works, _ = p.works(l); !works {
			return &ExpiredError{Session: s.name, URL: suspect.URL}
		}
		denied, err = p.asksForLogin(l, suspect)
	}
	if err != nil && l.within.Err() != nil {
		return err
	}
	if !denied {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.suspect, s.spared = nil, true; err == nil {
			p.prove(s, suspect)
		}
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.barred == nil || len(s.barred) >= mostBarred {
		s.barred = make(map[string]bool)
	}
	s.suspect, s.row, s.barred[suspect.URL] = nil, inRow-1, true // the next one in the row is checked at once
	delete(s.doubted, suspect.URL)
	if s.unproven++; known {
		s.unproven = 0
	} else if s.unproven >= p.opts.LoginAttempts {
		p.refuse(s, &LoginError{Session: s.name, Attempts: s.unproven, Err: &ExpiredError{Session: s.name, URL: suspect.URL}})
	}
	return nil
}

// works reports whether a page of the account's own is there in a login; known is false if no such page is known. A
// page that came is one if it asks for a login in nobody's name.
func (p *Pool) works(l *Login) (works, known bool) {
	s := l.session
	p.mu.Lock()
	witness, isPrivate, pages := s.Witness, s.Private, slices.Clone(s.pages)
	p.mu.Unlock()
	if witness == nil {
		return false, false
	}
	if !isPrivate {
		pages = append(pages, *witness)
		nobody := &Login{session: s, ctx: l.ctx, within: l.within, jar: "session/#nobody/" + s.name}
		defer p.cookies.Clear(nobody.jar)
		witness = nil
		for _, page := range pages {
			if denied, err := p.asksForLogin(nobody, page); err == nil && denied {
				witness = &page
				break
			}
		}
		p.mu.Lock()
		if s.Witness, s.pages = nil, nil; witness != nil {
			p.prove(s, *witness)
		}
		p.mu.Unlock()
		if witness == nil {
			return false, false
		}
	}
	denied, err := p.asksForLogin(l, *witness)
	return err != nil || !denied, true
}

// prove notes a page that asks for a login unless the session is logged in.
func (p *Pool) prove(s *Session, page probe) {
	s.Witness, s.Private, s.pages, s.unproven = &page, true, nil, 0
	p.changed(s)
}

// asksForLogin asks for a page, and reports whether it asks for a login.
func (p *Pool) asksForLogin(look *Login, page probe) (bool, error) {
	r := tegenaria.NewRequest(page.URL, tegenaria.GET, nil, tegenaria.RequestWithSameDepth(), tegenaria.RequestWithAllowedStatusCode(refusals))
	if page.Head {
		r.Method = tegenaria.HEAD
	}
	maps.Copy(r.Header, page.Header)
	answer, err := look.Fetch(r)
	if err != nil {
		return false, err
	}
	return p.opts.Expired(answer), nil
}

// leadsToLogin reports whether a redirect leads to the page for logins. It looks there in the session, before the
// engine follows the redirect: many pages may lead to that page, which would be asked for once, and what came from the
// others would be lost. The error has the request run again: it could not be seen where the redirect leads.
func (p *Pool) leadsToLogin(ctx *tegenaria.Context, u use, target string) (leads bool, again error) {
	r := ctx.Request
	if ctx.IsInline() || !r.AllowRedirects || len(r.Redirects) >= r.MaxRedirects {
		return false, nil // no other request comes from it
	}
	look := &Login{session: u.Session, ctx: ctx, within: ctx, jar: u.jar}
	page := probeOf(r, target)
	page.Head = false
	leads, err := p.asksForLogin(look, page)
	if err == nil {
		return leads, nil
	}
	p.mu.Lock()
	cutOff := look.cutOff != ""
	p.mu.Unlock()
	var proxy *tegenaria.ProxyError
	switch {
	case cutOff || ctx.Err() != nil || errors.Is(err, tegenaria.ErrOutputClosed):
		return false, tegenaria.NotNow(nil)
	case isNetwork(err) || errors.As(err, &proxy):
		return false, tegenaria.Retry(0, err)
	}
	return false, nil // robots.txt forbids it, or a filter
}

// refusals are the statuses of answers that have no page.
var refusals = func() (codes []uint64) {
	for code := uint64(400); code < 600; code++ {
		codes = append(codes, code)
	}
	return codes
}()

// targetOf returns the URL that a response redirects to; "" if it does not.
func targetOf(resp *tegenaria.Response) string {
	if resp.Status < 300 || resp.Status >= 400 || resp.Request() == nil {
		return ""
	}
	for name, values := range resp.Header {
		if strings.EqualFold(name, "Location") && len(values) > 0 {
			if target, err := urlx.Resolve(resp.Request().Url, values[0]); err == nil {
				return target
			}
		}
	}
	return ""
}
