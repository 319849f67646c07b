package e2e_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/spidertest"
)

// A seed below localhost is asked for on this machine, without a look-up, and allows its host and port alone. It fails
// when fetch.Loopback.Allow knows localhost by this one spelling.
func TestSeedBelowLocalhost(t *testing.T) {
	resolver := spidertest.NewHostileResolver(t, []netip.Addr{netip.MustParseAddr("169.254.169.254")})
	system := net.DefaultResolver
	net.DefaultResolver = resolver.Resolver()
	defer func() { net.DefaultResolver = system }()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	at := func(host, to string) string {
		u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/"}
		if to != "" {
			u.RawQuery = url.Values{"to": {to}}.Encode()
		}
		return u.String()
	}
	for _, host := range []string{"localhost", "localhost.", "LOCALHOST", "foo.localhost", "Foo.LocalHost."} {
		for to, allowed := range map[string]bool{"": true, at(host, "") + "there": true, at("bar.localhost", ""): false, at("127.0.0.1", ""): false} {
			r := tegenaria.NewRequest(at(host, to), "GET", nil)
			ends := newWitness(r).crawl(t, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
			e := ends[r.Url]
			if ok := e.outcome == tegenaria.Fetched && e.resp != nil; ok != allowed || !allowed && !enginetest.IsA[*tegenaria.PrivateAddressError](e.err) {
				t.Errorf("%s to %q: %v", host, to, e)
			}
		}
	}
	if n := resolver.Lookups(); n > 0 {
		t.Errorf("%d look-ups", n)
	}
}
