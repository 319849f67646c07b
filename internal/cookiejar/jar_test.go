package cookiejar_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/cookiejar"
	"github.com/tegenaria/tegenaria/internal/deep"
)

func origin(t *testing.T, url string) cookiejar.Origin {
	t.Helper()
	o, ok := cookiejar.OriginOf(url)
	if !ok {
		t.Fatalf("%s has no origin", url)
	}
	return o
}

// A jar sends what it was given, longer paths first, and not what the request has itself. It fails if goesTo does not look
// at the path.
func TestJar(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	jar := cookiejar.NewStore(cookiejar.Limits{PerDomain: 10, DomainBytes: 1000, Total: 10, Bytes: 1 << 20}).NewJar("")
	from := origin(t, "https://a.example/dir/page")
	for _, header := range []string{"site=1; Path=/", "dir=2", "other=3; Path=/other", "short=4; Path=/; Max-Age=60", "own=5; Path=/"} {
		c, ok := cookiejar.ParseSetCookie(header, from, now)
		if !ok {
			t.Fatal(header)
		}
		jar.Set(c, from.Secure, now)
	}
	own := map[string]string{"own": "mine"}
	for _, tt := range []struct {
		url  string
		at   time.Time
		want string
	}{
		{"https://a.example/dir/other", now, "dir=2; site=1; short=4"},
		{"https://a.example/", now.Add(time.Minute), "site=1"},
		{"https://b.example/", now, ""},
	} {
		if got := jar.Header(origin(t, tt.url), own, tt.at); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.url, got, tt.want)
		}
	}
	if jar.Clear(); len(jar.All(now)) != 0 {
		t.Errorf("%v after Clear", jar.All(now))
	}
}

// Whatever is set, no bound is exceeded, and the store's account of memory returns to nothing: a jar takes as much as
// before when all others are cleared. It fails if drop forgets what its cookies take.
func TestJarsAreBounded(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	limits := cookiejar.Limits{PerDomain: 3, DomainBytes: 60, Total: 9, Bytes: 40_000}
	store := cookiejar.NewStore(limits)
	fill := func() (jars []*cookiejar.Jar, kept int) {
		for range 40 {
			jars = append(jars, store.NewJar(""))
		}
		for range 5_000 {
			c := cookiejar.Cookie{Name: fmt.Sprint("n", rng.IntN(5)), Value: strings.Repeat("v", rng.IntN(30)), Domain: fmt.Sprintf("d%d.example", rng.IntN(6)), Path: "/"}
			if rng.IntN(4) == 0 {
				c.Expires = now.Add(-time.Second)
			}
			jars[rng.IntN(len(jars))].Set(c, true, now)
		}
		for _, jar := range jars {
			domains := make(map[string][]cookiejar.Cookie)
			all := jar.All(now)
			for _, c := range all {
				domains[c.Domain] = append(domains[c.Domain], c)
			}
			for name, cookies := range domains {
				size := 0
				for _, c := range cookies {
					size += len(c.Name) + len(c.Value) + len(c.Domain) + len(c.Path)
				}
				if len(cookies) > limits.PerDomain || size > limits.DomainBytes {
					t.Errorf("%d cookies of %d bytes of %s", len(cookies), size, name)
				}
			}
			if len(all) > limits.Total {
				t.Errorf("%d cookies in a jar", len(all))
			}
			kept += len(all)
		}
		if least := kept * 200; kept == 0 || least > limits.Bytes {
			t.Errorf("%d cookies are kept in %d bytes", kept, limits.Bytes)
		}
		return jars, kept
	}
	first, kept := fill()
	for _, jar := range first {
		jar.Clear()
	}
	if _, again := fill(); again < kept/2 {
		t.Errorf("%d cookies are kept, %d before all were cleared", again, kept)
	}
}
