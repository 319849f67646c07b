package proxy_test

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/proxy"
)

// stored merges what has changed into a state, as a durable job does.
func stored(t *testing.T, a *asked, state map[string][]byte) map[string][]byte {
	t.Helper()
	changed, _, err := a.ChangedState(0)
	if err != nil {
		t.Fatal(err)
	}
	merged := maps.Clone(state)
	maps.Copy(merged, changed)
	return merged
}

// restored is a pool of a run that goes on with a state.
func restored(t *testing.T, opts proxy.Options, state map[string][]byte, urls ...string) *asked {
	t.Helper()
	a := newAsked(t, opts, urls...)
	if err := a.RestoreState(state); err != nil {
		t.Fatal(err)
	}
	return a
}

// A durable job keeps which proxies rest, and with which hosts, without their passwords.
func TestRestsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "http://user:secret@p4.test:80"
		a := restored(t, proxy.Options{}, nil, p1, p2, p3, secret)
		for range 3 {
			a.fails("http://a.test/", p1, refused) // everywhere
		}
		blocked := &tegenaria.BlockedError{URL: "http://a.test/", Rule: "status 403"}
		a.fails("http://a.test/", p2, blocked) // with this host
		a.fails("http://a.test/", secret, blocked)
		state := stored(t, a, map[string][]byte{})
		if len(state) != 3 {
			t.Fatalf("%q", state)
		}
		for name, text := range state {
			if strings.Contains(name, "secret") || bytes.Contains(text, []byte("secret")) {
				t.Errorf("%s: %s", name, text)
			}
		}
		if again := stored(t, a, map[string][]byte{}); len(again) > 0 {
			t.Errorf("nothing has changed since: %q", again)
		}

		enginetest.Sleep(5 * time.Second)
		b := restored(t, proxy.Options{}, state, p1, p2, p3, secret)
		for range 50 {
			b.want(p3, "the others rest")
			if by := b.next("http://other.test/"); by == p1 || by == "" {
				t.Fatalf("http://other.test/ goes through %q", by)
			}
		}
		enginetest.Sleep(10 * time.Second)
		tried := make(map[string]int)
		for range 50 {
			tried[b.next("http://a.test/")]++
		}
		if tried[p1] != 1 || tried[p2] != 1 || tried[secret] != 1 {
			t.Errorf("after their rests each is tried by one request: %v", tried)
		}

		// One that works again is forgotten, one that does not rests for longer than before.
		if _, err := b.answers("http://a.test/", p1, 200); err != nil {
			t.Fatal(err)
		}
		b.fails("http://a.test/", p2, blocked)
		state = stored(t, b, state)
		c := restored(t, proxy.Options{}, state, p1, p2)
		if c.want(p1, "it works again"); c.next("http://a.test/") != p1 {
			t.Error("p2 is used")
		}
		enginetest.Sleep(14 * time.Second)
		for range 20 {
			c.want(p1, "the second rest of p2 is the longer one")
		}

		// What is not listed any more is forgotten.
		for name, text := range stored(t, c, state) {
			if len(text) > 0 && !bytes.Contains(text, []byte(`"rests":2`)) {
				t.Errorf("%s: %s", name, text)
			}
		}
	})
}

// A job that goes on does not try again what it knew to be down.
func TestJobKeepsRests(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const pages = 400
	for run := range 2 {
		u := newUsed()
		u.set(true, p1)
		ctx, stop := context.WithCancel(t.Context())
		e := u.engine(pages, proxy.NewPool(proxy.List(p1, p3), proxy.Options{}), tegenaria.EngineWithCache(store),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 1, IgnoreRobots: true}),
			tegenaria.EngineWithEvents(tegenaria.Events{Downloaded: func(*tegenaria.Request, *tegenaria.Response) {
				if run == 0 && u.requests() > pages/2 {
					stop()
				}
			}}))
		if err := e.Run(ctx, "test"); run == 1 && err != nil {
			t.Fatal(err)
		}
		stop()
		switch tried := len(u.by[p1]); {
		case run == 0 && tried < 3:
			t.Fatalf("it was tried %d times", tried)
		case run == 1 && (tried > 1 || len(u.by[p3]) < 10): // after its rest, on a slow machine, by one
			t.Errorf("it was tried %d times again, and the other one %d times", tried, len(u.by[p3]))
		}
	}
}

// A clock that was set back, and a state that cannot be read.
func TestBadState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := restored(t, proxy.Options{}, nil, p1)
		for range 3 {
			a.fails("http://a.test/", p1, refused)
		}
		state := stored(t, a, map[string][]byte{})
		if len(state) != 1 {
			t.Fatalf("%q", state)
		}
		for name := range state {
			state[name] = []byte(`{"until":"2999-01-01T00:00:00Z","rests":1}`)
			b := restored(t, proxy.Options{}, state, p1)
			b.want("", "it rests")
			enginetest.Sleep(13 * time.Minute)
			b.want(p1, "no rest is longer")
			if err := b.RestoreState(map[string][]byte{name: []byte("{")}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
				t.Error(err)
			}
		}
	})
}

// LeastUsed takes the one that was used least often of those that do not rest, also after the list has changed.
func TestLeastUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const p4 = "http://p4.test:80"
		var list atomic.Value
		list.Store([]string{p1, p2, p3})
		pool := proxy.NewPool(proxy.Func(func(context.Context) ([]string, error) { return list.Load().([]string), nil }), proxy.Options{Choose: proxy.LeastUsed, Reload: time.Hour})
		if err := pool.Open(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		defer pool.Close(t.Context(), "finished")
		a := &asked{pool, t}
		used := func(requests int) map[string]int {
			by := make(map[string]int)
			for range requests {
				by[a.next("http://a.test/")]++
			}
			return by
		}
		if by := used(30); by[p1] != 10 || by[p2] != 10 || by[p3] != 10 {
			t.Errorf("%v", by)
		}
		a.fails("http://a.test/", p2, &tegenaria.BlockedError{URL: "http://a.test/", Rule: "status 403"})
		if by := used(10); by[p1] != 5 || by[p3] != 5 {
			t.Errorf("p2 rests: %v", by)
		}
		list.Store([]string{p3, p4})
		enginetest.Sleep(time.Hour + time.Minute)
		if by := used(25); by[p4] != 20 || by[p3] != 5 {
			t.Errorf("p4 is new: %v", by)
		}
	})
}
