// Package cookiejar keeps cookies by RFC 6265 and, where they differ, RFC 6265bis, with bounds on the number and the memory of
// what is kept. It knows nothing of requests: it is given header values, origins and the time.
//
//	Set-Cookie → ParseSetCookie → Jar.Set → Jar.Header → Cookie
//
// A short example:
//
//	store := cookiejar.NewStore(cookiejar.Limits{PerDomain: 180, DomainBytes: 32 << 10, Total: 50_000, Bytes: 16 << 20})
//	jar := store.NewJar("")
//	from, _ := cookiejar.OriginOf("https://a.example/login")
//	if c, ok := cookiejar.ParseSetCookie("session=1; Path=/", from, now); ok {
//		jar.Set(c, from.Secure, now)
//	}
//	header := jar.Header(from, nil, now) // session=1
package cookiejar

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Cookie is a cookie as a jar keeps it, to be put in and taken out by Cookies.Add and Cookies.All of package middleware.
//
// Its JSON is that of browser automation tools: name, value, domain (with a leading dot unless the cookie is for
// that host alone), path, expires (seconds since 1970, -1 for a session cookie), httpOnly, secure, sameSite. The
// fields of browser extensions, hostOnly and expirationDate, are read too. For cookies.txt see [Read].
type Cookie struct {
	Name, Value string
	Domain      string // host name in lower case and ASCII, without a leading dot
	Path        string // "" stands for "/" in Add
	Expires     time.Time
	Secure      bool   // only for https
	HTTPOnly    bool   // not for scripts; kept for export
	HostOnly    bool   // not for hosts below Domain
	SameSite    string // "Strict", "Lax", "None" or ""; kept for export: a crawler's requests come from no other site
}

// expired reports whether the cookie's time is over. A zero Expires never is: a session cookie.
func (c *Cookie) expired(now time.Time) bool { return !c.Expires.IsZero() && !c.Expires.After(now) }

// same reports whether one cookie replaces the other (RFC 6265bis §5.7 step 23).
func (c *Cookie) same(other *Cookie) bool {
	return c.Name == other.Name && c.Domain == other.Domain && c.HostOnly == other.HostOnly && c.Path == other.Path
}

// goesTo reports whether the cookie is sent to an origin.
func (c *Cookie) goesTo(to Origin) bool {
	if c.Secure && !to.Secure || !pathMatches(to.Path, c.Path) {
		return false
	}
	return c.Domain == to.Host || !c.HostOnly && domainMatches(to.Host, c.Domain)
}

// Complete fills in the fields that a cookie from another source than a server leaves out. The error names the fault of a cookie
// that no server could have set.
func Complete(c *Cookie) error {
	c.Domain = strings.ToLower(c.Domain)
	if c.Path == "" {
		c.Path = "/"
	}
	bad := func(r rune) bool { return isControl(r) || r == ';' }
	switch {
	case c.Name == "" || strings.ContainsFunc(c.Name, bad) || strings.Contains(c.Name, "="):
		return fmt.Errorf("%q is no name of a cookie", c.Name)
	case strings.ContainsFunc(c.Value, bad):
		return fmt.Errorf("the value of cookie %q has control characters or a semicolon", c.Name)
	case len(c.Name)+len(c.Value) > maxCookieBytes:
		return fmt.Errorf("cookie %q is larger than %d bytes", c.Name, maxCookieBytes)
	case !isHost(c.Domain):
		return fmt.Errorf("cookie %q has the domain %q, which is no host", c.Name, c.Domain)
	case !c.HostOnly && isPublicSuffix(c.Domain):
		return fmt.Errorf("cookie %q is for the public suffix %q", c.Name, c.Domain)
	case c.Path[0] != '/' || strings.ContainsFunc(c.Path, isControl): // a semicolon may come from a page's own path
		return fmt.Errorf("cookie %q has the path %q, which does not begin with a slash or has control characters", c.Name, c.Path)
	case !c.prefixHolds(c.Path):
		return fmt.Errorf("cookie %q lacks what its prefix promises: Secure, and for __Host- one host and the path /", c.Name)
	}
	return nil
}

// isHost reports whether a name is a host as URLs write it.
func isHost(name string) bool {
	literal := name
	if strings.Contains(name, ":") {
		literal = "[" + name + "]"
	}
	o, ok := OriginOf("http://" + literal + "/")
	return ok && o.Host == name
}

// cookieJSON is how a cookie is written.
type cookieJSON struct {
	Name           string   `json:"name"`
	Value          string   `json:"value"`
	Domain         string   `json:"domain"`
	Path           string   `json:"path"`
	Expires        *float64 `json:"expires,omitempty"`
	ExpirationDate *float64 `json:"expirationDate,omitempty"`
	HTTPOnly       bool     `json:"httpOnly"`
	Secure         bool     `json:"secure"`
	HostOnly       *bool    `json:"hostOnly,omitempty"`
	SameSite       string   `json:"sameSite,omitempty"`
}

// MarshalJSON writes the cookie as described above.
func (c Cookie) MarshalJSON() ([]byte, error) {
	j := cookieJSON{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: c.SameSite}
	if !c.HostOnly {
		j.Domain = "." + c.Domain
	}
	expires := -1.0
	if !c.Expires.IsZero() {
		expires = float64(c.Expires.Unix())
	}
	j.Expires = &expires
	return json.Marshal(j)
}

// UnmarshalJSON reads a cookie as described above.
func (c *Cookie) UnmarshalJSON(data []byte) error {
	var j cookieJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("reading a cookie: %w", err)
	}
	*c = Cookie{Name: j.Name, Value: j.Value, Path: j.Path, HTTPOnly: j.HTTPOnly, Secure: j.Secure, SameSite: sameSite(j.SameSite)}
	domain, dotted := strings.CutPrefix(j.Domain, ".")
	c.Domain, c.HostOnly = domain, !dotted
	if j.HostOnly != nil {
		c.HostOnly = *j.HostOnly
	}
	for _, seconds := range []*float64{j.Expires, j.ExpirationDate} {
		if seconds != nil && *seconds > 0 && *seconds < 1<<53 {
			c.Expires = time.Unix(int64(*seconds), 0).UTC()
		}
	}
	return nil
}

// httpOnlyPrefix marks lines of cookies.txt that are not comments.
const httpOnlyPrefix = "#HttpOnly_"

// Read reads a cookies.txt, the format of Netscape that curl, wget and browser extensions write: a line a cookie,
// of seven fields separated by tabs. The error names the line.
func Read(r io.Reader) ([]Cookie, error) {
	var cookies []Cookie
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<10)
	n := 0
	for lines.Scan() {
		n++
		line, httpOnly := strings.CutPrefix(strings.TrimRight(lines.Text(), "\r"), httpOnlyPrefix)
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		c, err := parseCookieLine(line)
		if err != nil {
			return nil, fmt.Errorf("cookies.txt: line %d: %w", n, err)
		}
		c.HTTPOnly = httpOnly
		cookies = append(cookies, c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cookies.txt: line %d: %w", n+1, err)
	}
	return cookies, nil
}

// parseCookieLine reads domain, with sub-domains, path, secure, expires, name and value.
func parseCookieLine(line string) (c Cookie, err error) {
	fields := strings.Split(line, "\t")
	if len(fields) == 6 { // an empty value whose tab was cut off
		fields = append(fields, "")
	}
	if len(fields) != 7 {
		return c, fmt.Errorf("%d fields, want 7 separated by tabs", len(fields))
	}
	below, err1 := parseFlag(fields[1])
	secure, err2 := parseFlag(fields[3])
	expires, err3 := strconv.ParseInt(fields[4], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return c, err
	}
	c = Cookie{Name: fields[5], Value: fields[6], Domain: strings.TrimPrefix(fields[0], "."), Path: fields[2], Secure: secure, HostOnly: !below}
	if expires > 0 {
		c.Expires = time.Unix(expires, 0).UTC()
	}
	return c, nil
}

func parseFlag(s string) (bool, error) {
	switch {
	case strings.EqualFold(s, "TRUE"):
		return true, nil
	case strings.EqualFold(s, "FALSE"):
		return false, nil
	}
	return false, fmt.Errorf("%q is neither TRUE nor FALSE", s)
}

// Write writes a cookies.txt. SameSite has no place in it.
func Write(w io.Writer, cookies []Cookie) error {
	b := bufio.NewWriter(w)
	b.WriteString("# Netscape HTTP Cookie File\n")
	for _, c := range cookies {
		if c.HTTPOnly {
			b.WriteString(httpOnlyPrefix)
		}
		expires := int64(0)
		if !c.Expires.IsZero() {
			expires = c.Expires.Unix()
		}
		dot := "."
		if c.HostOnly {
			dot = ""
		}
		if strings.Contains(c.Value, "\t") {
			return fmt.Errorf("cookies.txt cannot hold the tab in the value of cookie %q; write JSON", c.Name)
		}
		fmt.Fprintf(b, "%s%s\t%s\t%s\t%s\t%d\t%s\t%s\n", dot, c.Domain, flag(!c.HostOnly), c.Path, flag(c.Secure), expires, c.Name, c.Value)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("cookies.txt: %w", err)
	}
	return nil
}

func flag(b bool) string { return strings.ToUpper(strconv.FormatBool(b)) }
