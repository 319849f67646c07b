// Package webguard protects the pages of a program against other sites that its user's browser shows: the headers of each answer, the
// names under which the program may be asked, and where requests that change something may come from.
//
//	http.Serve(listener, webguard.Handler(mux, webguard.StyleOnly))
package webguard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// What pages may load, for Handler. All of it comes from the server of the page itself.
const (
	StyleOnly      = "style-src 'self'; form-action 'self'"
	StyleAndScript = "style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'"
)

// Handler protects a handler.
//
//   - Content-Security-Policy allows what loads says, and nothing else. Nobody can put a page into a frame.
//   - Requests that another site makes a browser send are refused (http.CrossOriginProtection).
//   - On a loopback address every request under another name than that address or localhost is refused: so a site that points its own
//     name at 127.0.0.1 cannot read the pages (DNS rebinding). Where names are given, these alone are allowed beside them, and on other
//     addresses too.
func Handler(next http.Handler, loads string, names ...string) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	policy := "default-src 'none'; " + loads + "; base-uri 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer a form would have the origin "null"
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !isOwn(r, names) {
			http.Error(w, "this server has another name", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwn reports whether a request asks for a name that the server has.
func isOwn(r *http.Request, names []string) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || local.Network() == "unix" {
		return true
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return len(names) == 0
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
