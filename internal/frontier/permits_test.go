package frontier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// acquire gives a page a permit that is free.
func acquire(t *testing.T, p *ParsePermits) *ParsePermit {
	t.Helper()
	page := new(ParsePermit)
	if p.free == 0 {
		t.Fatal("no permit is free")
	}
	if err := p.Acquire(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	return page
}

// wantPermits wants so many permits to be free and yielded.
func wantPermits(t *testing.T, p *ParsePermits, free, yielded int) {
	t.Helper()
	if gotFree, gotYielded := p.Count(); gotFree != free || gotYielded != yielded {
		t.Errorf("%d permits are free and %d are yielded, want %d and %d", gotFree, gotYielded, free, yielded)
	}
}

// A parser that comes for a permit again goes before those that have had none; one that gives up waiting takes none along. It
// fails if a permit is lost, or goes to who came last.
func TestParsersInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsePermits(3, 2)
		never, again, last := acquire(t, p), acquire(t, p), acquire(t, p)
		var order []string
		served := make(chan struct{})
		wait := func(name string, code func() error) {
			go func() {
				if err := code(); err != nil {
					name = err.Error()
				}
				order = append(order, name)
				served <- struct{}{}
			}()
			synctest.Wait()
		}
		if !p.Yield(never) || !p.Yield(again) || p.Yield(last) {
			t.Fatal("want two of three permits yielded")
		}
		if err := p.Reacquire(t.Context(), last); err != nil || !last.held {
			t.Fatalf("what has yielded nothing has nothing to wait for: %v", err)
		}
		first, second := new(ParsePermit), new(ParsePermit)
		guests := []*ParsePermit{acquire(t, p), acquire(t, p)}
		why := errors.New("gave up")
		ctx, cancel := context.WithCancelCause(t.Context())
		wait("first", func() error { return p.Acquire(t.Context(), first) })
		wait("never", func() error { return p.Reacquire(ctx, never) })
		wait("again", func() error { return p.Reacquire(t.Context(), again) })
		wait("second", func() error { return p.Acquire(t.Context(), second) })
		cancel(why)
		<-served
		for _, page := range append(guests, last) {
			p.Release(page)
			<-served
		}
		if got := fmt.Sprint(order); got != "[gave up again first second]" {
			t.Error(got)
		}
		p.Release(never) // it has none
		for i, page := range []*ParsePermit{first, second, again} {
			wantPermits(t, p, i, 0)
			p.Release(page)
			p.Release(page) // it has none any more
		}
		wantPermits(t, p, 3, 0)
	})
}

// A permit that comes at the moment when its page gives up is neither lost nor yielded twice. It fails if the page keeps it
// and returns the error.
func TestPlaceComesToWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsePermits(1, 1)
		for round := range 200 {
			guest, page := new(ParsePermit), new(ParsePermit)
			if round%2 == 0 {
				page = acquire(t, p)
				p.Yield(page)
			}
			if err := p.Acquire(t.Context(), guest); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() {
				if round%2 == 0 {
					served <- p.Reacquire(ctx, page)
				} else {
					served <- p.Acquire(ctx, page)
				}
			}()
			synctest.Wait()
			cancel() // wakes the page, which is not in time to leave the line in most rounds
			p.Release(guest)
			if err := <-served; (err == nil) != page.held {
				t.Fatalf("round %d: %v, and the page has a permit: %t", round, err, page.held)
			}
			p.Release(page)
			wantPermits(t, p, 1, 0)
		}
	})
}

// A page yields its permit once, however many of its calls wait, and only the last of them reacquires it.
func TestPlaceIsLentOnce(t *testing.T) {
	p := NewParsePermits(1, 2)
	page := acquire(t, p)
	for range 3 {
		if !p.Yield(page) {
			t.Fatal("want the permit yielded")
		}
	}
	wantPermits(t, p, 1, 1)
	guest := acquire(t, p)
	for range 2 { // the guest has the permit: who waited for it would wait on
		if err := p.Reacquire(t.Context(), page); err != nil || page.held {
			t.Fatalf("a call that is not the last reacquires: %v", err)
		}
	}
	p.Release(guest)
	if err := p.Reacquire(t.Context(), page); err != nil || !page.held {
		t.Errorf("the last call does not reacquire: %v", err)
	}
	wantPermits(t, p, 0, 0)
}

// What ends while its permit is yielded, or while a call waits to have it again, leaves no permit behind and takes none along.
func TestPlaceOfPageThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsePermits(1, 1)
		page := acquire(t, p)
		p.Yield(page)
		if p.Release(page); page.yielded || p.Yield(page) {
			t.Error("a page that is over has yielded a permit")
		}
		for range 2 {
			if err := p.Reacquire(t.Context(), page); err != nil || page.held {
				t.Errorf("a page that is over has a permit: %v", err)
			}
		}

		page = acquire(t, p)
		p.Yield(page)
		guest := acquire(t, p)
		returned := make(chan error)
		go func() { returned <- p.Reacquire(t.Context(), page) }()
		synctest.Wait()
		p.Release(page)
		if err := <-returned; err != nil || page.held {
			t.Errorf("a page that is over has a permit: %v", err)
		}
		p.Release(guest)
		wantPermits(t, p, 1, 0)
	})
}

// A call that waits to have the permit again goes on when another call of the page begins to wait: the permit stays yielded.
func TestPlaceIsLentWhileItIsReclaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsePermits(1, 1)
		page := acquire(t, p)
		p.Yield(page)
		guest := acquire(t, p)
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- p.Reacquire(t.Context(), page) }()
		synctest.Wait()
		if !p.Yield(page) {
			t.Error("the permit is not yielded")
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
		go func() { second <- p.Reacquire(t.Context(), page) }()
		synctest.Wait()
		if len(second) > 0 || page.held {
			t.Error("the page has a permit that another one has")
		}
		p.Release(guest)
		if err := <-second; err != nil || !page.held {
			t.Errorf("the page has no permit: %v", err)
		}
	})
}

// crowd are pages that use a few permits at random.
type crowd struct {
	*ParsePermits
	t       *testing.T
	permits int
	pages   []*ParsePermit
}

// check looks at all permits at once.
func (c *crowd) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, yielded, waiting := 0, 0, 0
	for _, page := range c.pages {
		states := 0
		for _, is := range []struct {
			so  bool
			sum *int
		}{{page.held, &held}, {page.yielded, &yielded}, {page.ready != nil, &waiting}} {
			if is.so {
				states++
				*is.sum++
			}
		}
		if states > 1 {
			c.t.Errorf("a page is in %d states: %+v", states, page)
		}
	}
	if held+c.free != c.permits || yielded != c.yielded || yielded > c.yielding || waiting != len(c.again)+len(c.fresh) || waiting > 0 && c.free > 0 {
		c.t.Errorf("of %d permits %d are held and %d free; %d of at most %d are yielded, %d are counted; %d and %d wait, %d are in the lines",
			c.permits, held, c.free, yielded, c.yielding, c.yielded, waiting, c.free, len(c.again)+len(c.fresh))
	}
}

// parse is the way of one page: calls that wait side by side, some of which it does not wait for.
func (c *crowd) parse(rng *rand.Rand, page *ParsePermit) {
	pause := func(r *rand.Rand) { <-time.NewTimer(time.Duration(1+r.IntN(5)) * time.Millisecond).C }
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	var calls sync.WaitGroup
	defer calls.Wait()
	over := false                    // guarded by mu
	if end := rng.IntN(8); end < 3 { // it ends, perhaps while it waits
		defer time.AfterFunc(time.Duration(1+rng.IntN(40))*time.Millisecond, func() {
			c.mu.Lock()
			over = true
			c.mu.Unlock()
			if end > 0 {
				cancel()
			}
			if end < 2 {
				c.Release(page)
			}
		}).Stop()
	}
	if err := c.Acquire(ctx, page); err != nil {
		return
	}
	for range 1 + rng.IntN(3) {
		for range 1 + rng.IntN(3) {
			own := rand.New(rand.NewPCG(rng.Uint64(), 1))
			calls.Go(func() {
				pause(own)
				c.Yield(page)
				c.check()
				pause(own)
				_ = c.Reacquire(ctx, page)
				c.check()
			})
		}
		if pause(rng); rng.IntN(4) > 0 {
			calls.Wait()
			c.mu.Lock()
			if !over && !page.held {
				c.t.Errorf("all its calls have returned, and the page has no permit: %+v", page)
			}
			c.mu.Unlock()
		}
	}
	c.Release(page)
	c.check()
}

// However pages yield, reacquire, give up and end: each permit is held by one page or free, no more are yielded than may be, nobody
// waits beside a free permit, and a page whose calls have all returned has its permit.
func TestPlacesAtRandom(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	for round := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, round))
			c := &crowd{t: t, permits: 1 + rng.IntN(3)}
			c.ParsePermits = NewParsePermits(c.permits, rng.IntN(4))
			var pages sync.WaitGroup
			for i := range 2 + rng.IntN(8) {
				own, page := rand.New(rand.NewPCG(seed+round, uint64(i))), new(ParsePermit)
				c.pages = append(c.pages, page)
				pages.Go(func() { c.parse(own, page) })
			}
			pages.Wait()
			if free, yielded := c.Count(); free != c.permits || yielded != 0 {
				t.Errorf("round %d: %d of %d permits are free, %d are yielded", round, free, c.permits, yielded)
			}
		})
		if t.Failed() {
			return
		}
	}
}
