package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func TestDialGuardTable(t *testing.T) {
	g := newDialGuard(nil, nil, 0)
	public := []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
		"169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "192.169.0.0", "198.17.255.255",
		"198.20.0.0", "223.255.255.255", "168.63.129.15", "::ffff:1.1.1.1",
		"2606:4700:4700::1111", "2a00::1", "2001:200::1", "2620:4f:8000::1",
		"64:ff9b::101:101", "2002:101:101::1", "2001:0:101:101:0:0:fefe:fefe",
	}
	special := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
		"169.254.169.254", "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
		"255.255.255.255", "168.63.129.16",
		"::", "::1", "::7f00:1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
		"100::1", "2001:2::1", "2001:10::1", "2001:db8::1", "2002:a00:1::1", "2002:7f00:1::", "3fff::1", "5f00::1",
		"2001:0:a00:1::fefe:fefe", "2001:0:101:101::80ff:fffe", // Teredo: its server, its client
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "ff02::1",
	}
	if IsPublic(netip.Addr{}) {
		t.Error("an invalid address is public")
	}
	for _, addr := range append(public, special...) {
		if want := slices.Contains(public, addr); IsPublic(netip.MustParseAddr(addr)) != want {
			t.Errorf("IsPublic(%s) is %v", addr, !want)
		}
	}
	for _, addr := range public {
		if err := g.check(netip.MustParseAddr(addr), "x.example:80"); err != nil {
			t.Errorf("%s is refused: %v", addr, err)
		}
	}
	for _, addr := range special {
		var private *PrivateAddressError
		if err := g.check(netip.MustParseAddr(addr), "x.example:80"); !errors.As(err, &private) || private.Host != "x.example" {
			t.Errorf("%s: %v", addr, err)
		} else if text := err.Error(); !strings.Contains(text, "AllowPrivate") || !strings.Contains(text, addr) {
			t.Errorf("the message names neither address nor remedy: %s", text)
		}
	}
	everything := newDialGuard([]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}, nil, 0)
	for _, addr := range append(public, special...) {
		if err := everything.check(netip.MustParseAddr(addr), "x.example:80"); err != nil {
			t.Errorf("%s is refused though allowed: %v", addr, err)
		}
	}
}

func TestDialGuardAllowed(t *testing.T) {
	loopback := new(Loopback)
	loopback.Add("localhost:8080", "127.0.0.2:80", "[::1]:443")
	g := newDialGuard([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8"),
		netip.MustParsePrefix("::ffff:192.168.0.0/112")}, loopback, 0)
	tests := []struct {
		addr, asked string
		ok          bool
	}{
		{"10.1.2.3", "10.1.2.3:80", true},
		{"::ffff:10.1.2.3", "x.example:80", true},
		{"64:ff9b::a01:203", "x.example:80", true},
		{"10.2.0.1", "10.2.0.1:80", false},
		{"64:ff9b::a02:1", "x.example:80", false},
		{"192.168.3.4", "x.example:80", true},
		{"192.169.3.4", "x.example:80", true},
		{"172.16.0.1", "x.example:80", false},
		{"fd12::1", "x.example:80", true},
		{"127.0.0.1", "localhost:8080", true},
		{"127.0.0.1", "LOCALHOST:8080", true},
		{"::1", "localhost:8080", true},
		{"127.0.0.1", "localhost:8081", false},
		{"127.0.0.1", "127.0.0.1:8080", false},
		{"127.0.0.2", "127.0.0.2:80", true},
		{"127.0.0.2", "rebound.example:80", false},
		{"::1", "[::1]:443", true},
		{"::1", "[::1]:80", false},
		{"10.2.0.1", "localhost:8080", false}, // a resolver that lies about localhost
	}
	for _, test := range tests {
		if err := g.check(netip.MustParseAddr(test.addr), test.asked); (err == nil) != test.ok {
			t.Errorf("%s for %s: %v", test.addr, test.asked, err)
		}
	}
	literals := []struct {
		host string
		ok   bool
	}{{"10.2.0.1", false}, {"10.1.0.1", true}, {"::1", false}, {"localhost", false}, {"LocalHost.", false}, {"a.localhost", false},
		{"nolocalhost", true}, {"private.example", true}, {"1.1.1.1", true}}
	for _, test := range literals {
		if err := g.checkLiteral(test.host, net.JoinHostPort(test.host, "81")); (err == nil) != test.ok {
			t.Errorf("literal %s: %v", test.host, err)
		}
	}
}

func TestLoopback(t *testing.T) {
	s := new(Loopback)
	for url, want := range map[string]bool{
		"http://localhost:8080/x": true, "http://LOCALHOST/": true, "https://127.1.2.3": true, "http://[::1]:81/": true,
		"http://127.1/": true, "http://0x7f000001:9/": true, "http://u:p@localhost:82/": true,
		"http://x.localhost/": true, "http://localhost.:83/": true, "http://localhost.example/": false, "http://xlocalhost/": false, "http://10.0.0.1/": false, "http://0.0.0.0/": false,
		"http://[::]/": false, "http://example.com/?http://localhost": false, "http://localhost@example.com/": false,
		"localhost:80": false, "": false, "http://[fe80::1]/": false,
	} {
		if got := s.Allow(url); got != want {
			t.Errorf("Allow(%q) = %v", url, got)
		}
	}
	want := []string{"127.0.0.1:80", "127.0.0.1:9", "127.1.2.3:443", "[::1]:81", "localhost:80", "localhost:8080", "localhost:82", "localhost:83", "x.localhost:80"}
	if got := s.List(); !slices.Equal(got, want) {
		t.Errorf("list is %q", got)
	}
	denied := &Loopback{Denied: true}
	denied.Add(s.List()...)
	if denied.Allow("http://localhost/") || len(denied.List()) > 0 {
		t.Errorf("where all are denied the list is %q", denied.List())
	}
	restored := new(Loopback)
	restored.Add(s.List()...)
	if !slices.Equal(restored.List(), want) || !restored.Has("localhost:80") || restored.Has("localhost:81") {
		t.Errorf("restored list is %q", restored.List())
	}
}

// A server on loopback can be reached only by the host:port that a seed named.
func TestDialGuardRealDials(t *testing.T) {
	var asked atomic.Int64
	server := newServer(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	d := newTestClient(t, nil, server)
	mustDownload(t, d, request(server.URL, http.MethodGet))
	if asked.Load() != 1 {
		t.Fatal("the allowed server was not asked")
	}
	for _, host := range []string{"localhost", "127.0.0.2", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "169.254.169.254", "2130706434."} {
		result := download(d, request("http://u:s3cret@"+host+":"+port+"/", http.MethodGet))
		wantError[*PrivateAddressError](t, result)
		if strings.Contains(result.Error.Error(), "s3cret") || result.Response != nil {
			t.Errorf("%s: %v, response %v", host, result.Error, result.Response)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("the server was asked %d times", asked.Load())
	}
	allowed := newTestClient(t, func(s *Config) {
		s.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	mustDownload(t, allowed, request("http://127.0.0.1:"+port+"/", http.MethodGet))
}

// What counts is the address that is dialled, not one that the name had before: the fake name server
// answers differently each time.
func TestDialGuardSeesTheDialledAddress(t *testing.T) {
	var asked, lookups atomic.Int64
	server := newServer(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); io.WriteString(w, "secret") })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	d := newTestClient(t, nil, server)
	d.routes.guard.resolver.TTL = -1
	d.routes.guard.resolver.Lookup = func(context.Context, string) ([]netip.Addr, error) {
		if lookups.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("::1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	r := request("http://rebound.example:"+port+"/", http.MethodGet)
	err := wantError[*PrivateAddressError](t, download(d, r))
	if err.Host != "rebound.example" || err.Addr != netip.MustParseAddr("169.254.169.254") {
		t.Errorf("%+v", err)
	}
	if err := wantError[*PrivateAddressError](t, download(d, r)); err.Addr != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("%+v", err)
	}
	if asked.Load() != 0 || lookups.Load() == 0 {
		t.Errorf("server asked %d times after %d look-ups", asked.Load(), lookups.Load())
	}
	d.config.Loopback.Add("rebound.example:" + port)
	mustDownload(t, d, r)

	d.routes.guard.resolver.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no name server", Name: host}
	}
	if err := wantError[*net.DNSError](t, download(d, request("http://unknown.example/", http.MethodGet))); err.Name != "unknown.example" {
		t.Errorf("%+v", err)
	}
}

// The first address is the first one that may be dialled.
func TestFirstAddr(t *testing.T) {
	d := newTestClient(t, nil)
	found := map[string][]netip.Addr{
		"both.example":    {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:1.1.1.1"), netip.MustParseAddr("8.8.8.8")},
		"private.example": {netip.MustParseAddr("10.0.0.1")},
	}
	d.routes.guard.resolver.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		if addrs := found[host]; addrs != nil {
			return addrs, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host}
	}
	for url, want := range map[string]string{"http://both.example/": "1.1.1.1", "https://private.example/": "", "http://unknown.example/": "", "http://127.0.0.1/": ""} {
		addr, ok := d.FirstAddr(t.Context(), url)
		if ok != (want != "") || ok && addr.String() != want {
			t.Errorf("%s: %s, %v", url, addr, ok)
		}
	}
}
