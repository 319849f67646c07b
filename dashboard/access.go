package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// role is what somebody may do.
type role int

const (
	nobody role = iota
	viewer
	controller
)

// access knows the two tokens of a [Board].
type access struct{ control, view string }

// newAccess makes the tokens of a board. The one to view is made of the one to control, so that a file need keep that alone.
func newAccess(control string) access {
	if control == "" {
		control = NewToken()
	}
	mac := hmac.New(sha256.New, []byte(control))
	mac.Write([]byte("view"))
	return access{control: control, view: encoded(mac.Sum(nil))}
}

// NewToken makes a token of 256 random bits: 43 letters, digits, - and _.
func NewToken() string {
	var bits [32]byte
	rand.Read(bits[:]) // never fails
	return encoded(bits[:])
}

func encoded(bits []byte) string { return base64.RawURLEncoding.EncodeToString(bits) }

// roleOf returns what a token allows.
func (a access) roleOf(token string) role {
	switch {
	case token == "":
		return nobody
	case isSame(token, a.control):
		return controller
	case isSame(token, a.view):
		return viewer
	}
	return nobody
}

// isSame compares texts in a time that does not depend on what they are.
func isSame(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// of returns what a request may do: by its field Authorization, its parameter token, or its cookie.
func (a access) of(r *http.Request) role {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return a.roleOf(bearer)
	}
	if token := tokenIn(r.URL); token != "" {
		return a.roleOf(token)
	}
	if cookie, err := r.Cookie(cookieName(r)); err == nil {
		return a.roleOf(cookie.Value)
	}
	return nobody
}

// tokenIn returns the parameter token of a URL.
func tokenIn(u *url.URL) string { return u.Query().Get("token") }

// cookieName has the port in it: a browser sends the cookies of one port to all others of a host.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "tegenaria_" + port
}

// require answers requests that may not do what they ask for, and hands the others on.
func (a access) require(least role, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch is := a.of(r); {
		case is == nobody:
			w.Header().Set("WWW-Authenticate", `Bearer realm="tegenaria"`)
			refuse(w, http.StatusUnauthorized, "this needs the token of the address that the crawl has printed; a client that "+
				"keeps no cookies sends it as Authorization: Bearer TOKEN")
		case is < least:
			refuse(w, http.StatusForbidden, "this token is for viewing; changes need the token of the address that the crawl has printed")
		default:
			next(w, r)
		}
	}
}

// signIn keeps the token of an address as a cookie, so that it is in no address from there on. It returns true if it has answered.
func (a access) signIn(w http.ResponseWriter, r *http.Request) bool {
	token := tokenIn(r.URL)
	if token == "" || a.roleOf(token) == nobody {
		return false
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	query := r.URL.Query()
	query.Del("token")
	to := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true
}
