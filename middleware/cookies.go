package middleware

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/cookiejar"
	"github.com/tegenaria/tegenaria/internal/httpx"
)

// MetaCookieJar is a key of Request.Meta. Its value, a string, names the jar of the request: the jar's cookies are sent
// with it, and the response's cookies are stored in it. The default is the jar "". A redirect keeps the jar.
const MetaCookieJar = cookiejar.MetaJar

// NoCookieJar is the name of a jar that neither stores nor sends cookies: only the request's own Cookies or Cookie
// header are sent.
const NoCookieJar = cookiejar.NoJar

// Cookie is a cookie as a jar keeps it, to be put in and taken out by [Cookies.Add] and [Cookies.All]. Its fields are Name
// and Value; Domain, a host name in lower case and ASCII without a leading dot; Path, where "" stands for "/" in Add;
// Expires, zero for a session cookie; Secure, only for https; HTTPOnly, not for scripts; HostOnly, not for hosts below
// Domain; and SameSite: "Strict", "Lax", "None" or "". HTTPOnly and SameSite are kept for export alone.
//
// Its JSON is that of browser automation tools: name, value, domain (with a leading dot unless the cookie is for
// that host alone), path, expires (seconds since 1970, -1 for a session cookie), httpOnly, secure, sameSite. What
// browser extensions write, hostOnly and expirationDate, is read too. For cookies.txt see [ReadCookies].
type Cookie = cookiejar.Cookie

// ReadCookies reads a cookies.txt, the Netscape format that curl, wget and browser extensions write: one line for each
// cookie, with seven fields separated by tabs. The error names the line.
func ReadCookies(r io.Reader) ([]Cookie, error) {
	cookies, err := cookiejar.Read(r)
	if err != nil {
		return nil, fmt.Errorf("middleware: %w", err)
	}
	return cookies, nil
}

// WriteCookies writes a cookies.txt. This format has no field for SameSite.
func WriteCookies(w io.Writer, cookies []Cookie) error {
	if err := cookiejar.Write(w, cookies); err != nil {
		return fmt.Errorf("middleware: %w", err)
	}
	return nil
}

// CookieOptions bound the number and memory of the cookies that [Cookies] stores.
type CookieOptions struct {
	Priority  int // 0: the place in the package comment's table
	PerDomain int // cookies of a registrable domain in a jar, 0: 180
	Total     int // cookies in a jar, 0: 50,000
	Jars      int // named jars, 0: 1,000
	Bytes     int // memory of all jars together, 0: 16 MiB
}

// domainBytes bounds the cookies of a registrable domain, and with it the header that they make.
const domainBytes = 32 << 10

// Cookies keeps cookies as a browser does, by RFC 6265 and, where they differ, RFC 6265bis: public suffixes are refused,
// the prefixes __Host- and __Secure- are enforced, an insecure connection cannot set or replace secure
// cookies, and no cookie lives longer than 400 days. A cookie without a name is ignored, as in RFC 6265. A
// full jar removes the least recently used domain; when all jars together take too much memory, the least recently used
// domain of all jars is removed.
//
// A request's own cookies (Request.Cookies, or a Cookie header) are sent together with those of the jar, and replace those
// of the same name; they are not stored in the jar: see [Cookies.Add]. All are sent as they are, byte for byte: nothing is quoted,
// and a Cookie header keeps its order. The methods may be called concurrently, before and during a crawl. Jars live as long as the
// middleware, and with a durable job they are stored: a job that is resumed after a crash is still logged in, session cookies and
// all jars included. Each batch of settled pages writes the cookies of those domains that have changed.
type Cookies struct {
	part
	store *cookiejar.Store

	mu      sync.RWMutex // guards the fields below
	most    int
	jars    map[string]*cookiejar.Jar
	changes atomic.Uint64 // 0: there never was a cookie
}

var (
	_ tegenaria.MiddlewaresInterface = (*Cookies)(nil)
	_ tegenaria.ErrorMiddleware      = (*Cookies)(nil)
)

// NewCookies makes empty jars.
func NewCookies(o CookieOptions) *Cookies {
	return &Cookies{
		part: newPart("cookies", o.Priority, priorityCookies),
		store: cookiejar.NewStore(cookiejar.Limits{
			PerDomain: max(orDefault(o.PerDomain, 180), 1), DomainBytes: domainBytes,
			Total: max(orDefault(o.Total, 50_000), 1), Bytes: max(orDefault(o.Bytes, 16<<20), 1),
		}),
		most: max(orDefault(o.Jars, 1_000), 1),
		jars: make(map[string]*cookiejar.Jar),
	}
}

// TooManyCookieJarsError is the failure of a request whose jar would be one too many.
type TooManyCookieJarsError struct {
	Jar   string
	Limit int
}

// Error names jar, limit and remedy.
func (e *TooManyCookieJarsError) Error() string {
	return fmt.Sprintf("middleware: cookie jar %q is above CookieOptions.Jars = %d; raise the limit or Clear jars that "+
		"are not needed any more", e.Jar, e.Limit)
}

// jarOf returns the name of a request's jar.
func jarOf(r *tegenaria.Request) (string, error) {
	value, ok := r.Meta[MetaCookieJar]
	if !ok {
		return "", nil
	}
	name, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("middleware: Meta[%q] is a %T; it must be a string", MetaCookieJar, value)
	}
	return name, nil
}

// jar returns a jar. Nil: there is none of this name, and it shall not be made.
func (m *Cookies) jar(name string, create bool) (*cookiejar.Jar, error) {
	m.mu.RLock()
	j := m.jars[name]
	m.mu.RUnlock()
	if j != nil || !create {
		return j, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if j = m.jars[name]; j != nil {
		return j, nil
	}
	if len(m.jars) >= m.most {
		return nil, &TooManyCookieJarsError{Jar: name, Limit: m.most}
	}
	j = m.store.NewJar(name)
	m.jars[name] = j
	return j, nil
}

// ProcessRequest adds the cookies of the request's jar.
func (m *Cookies) ProcessRequest(ctx *tegenaria.Context) error {
	r := ctx.Request
	name, err := jarOf(r)
	if err != nil || name == NoCookieJar {
		return err
	}
	header, hasOwn := field(r.Header, "Cookie")
	keepOwn := func() {
		if r.Meta == nil {
			r.Meta = make(map[string]any)
		}
		r.Meta[cookiejar.MetaOwn] = header
	}
	if hasOwn {
		keepOwn()
	}
	if m.changes.Load() == 0 {
		return nil
	}
	j, _ := m.jar(name, false)
	to, ok := cookiejar.OriginOf(r.Url)
	if j == nil || !ok {
		return nil
	}
	own := r.Cookies
	if hasOwn {
		own = maps.Clone(own)
		if own == nil {
			own = make(map[string]string)
		}
		for name := range httpx.CookieNames(header) {
			own[name] = ""
		}
	}
	if cookies := j.Header(to, own, time.Now()); cookies != "" {
		remove(r.Header, "Cookie")
		if hasOwn {
			cookies += "; " + header
		} else {
			keepOwn()
		}
		r.Header["Cookie"] = cookies
	}
	return nil
}

// takeBack leaves a request its own Cookie header alone: neither a redirect nor a retry inherits what was the jar's.
func (m *Cookies) takeBack(r *tegenaria.Request) {
	header, known := r.Meta[cookiejar.MetaOwn].(string)
	if !known {
		return
	}
	delete(r.Meta, cookiejar.MetaOwn)
	remove(r.Header, "Cookie")
	if header != "" {
		r.Header["Cookie"] = header
	}
}

// ProcessResponse keeps the cookies that the response sets.
func (m *Cookies) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	r, resp := ctx.Request, ctx.Response()
	name, err := jarOf(r)
	if err != nil || name == NoCookieJar {
		return err
	}
	m.takeBack(r)
	headers, _ := field(resp.Header, "Set-Cookie")
	if len(headers) == 0 {
		return nil
	}
	from, ok := cookiejar.OriginOf(resp.URL)
	if !ok {
		return nil
	}
	j, err := m.jar(name, true)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, header := range headers {
		if c, ok := cookiejar.ParseSetCookie(header, from, now); ok {
			j.Set(c, from.Secure, now)
			m.changes.Add(1)
		}
	}
	return nil
}

// ProcessError removes the jar's cookies from a request that failed, so that a retry does not send old ones.
func (m *Cookies) ProcessError(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
	var failure *tegenaria.HandleError
	_, hasOwn := ctx.Request.Meta[cookiejar.MetaOwn]
	if name, _ := jarOf(ctx.Request); name != NoCookieJar && errors.As(err, &failure) && (hasOwn || failure.Stage == tegenaria.StageDownload) {
		m.takeBack(ctx.Request)
	}
	return err
}

// Add puts cookies into a jar. Cookies that no server could set are refused: the error joins the reasons; the other
// cookies are stored. An expired cookie deletes the one that it replaces.
func (m *Cookies) Add(jar string, cookies ...Cookie) error {
	j, err := m.jar(jar, true)
	if err != nil {
		return err
	}
	var errs []error
	now := time.Now()
	for _, c := range cookies {
		if err := cookiejar.Complete(&c); err != nil {
			errs = append(errs, fmt.Errorf("middleware: %w", err))
			continue
		}
		j.Set(c, true, now)
		m.changes.Add(1)
	}
	return errors.Join(errs...)
}

// All returns the cookies of a jar that have not expired, by domain, each domain's in order of creation.
func (m *Cookies) All(jar string) []Cookie {
	j, _ := m.jar(jar, false)
	if j == nil {
		return nil
	}
	return j.All(time.Now())
}

// roomPerJar is the memory that MakeRoom counts for a jar: more than most logins take.
const roomPerJar = 32 << 10

// MakeRoom raises the limits so that there may be so many jars more, as package session needs for its sessions.
func (m *Cookies) MakeRoom(jars int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most += jars
	m.store.MakeRoom(m.most * roomPerJar)
}

// Clear removes a jar with its cookies.
func (m *Cookies) Clear(jar string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j := m.jars[jar]; j != nil {
		j.Clear()
	}
	delete(m.jars, jar)
	m.changes.Add(1)
}

// Jars returns the names of the jars, sorted.
func (m *Cookies) Jars() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.jars))
}
