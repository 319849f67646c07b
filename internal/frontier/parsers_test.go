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

// acquire gives a page a place that is free.
func acquire(t *testing.T, p *Parsers) *Place {
	t.Helper()
	page := new(Place)
	if p.free == 0 {
		t.Fatal("no place is free")
	}
	if err := p.Acquire(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	return page
}

// wantPlaces wants so many places to be free and lent.
func wantPlaces(t *testing.T, p *Parsers, free, lent int) {
	t.Helper()
	if gotFree, gotLent := p.Count(); gotFree != free || gotLent != lent {
		t.Errorf("%d places are free and %d are lent, want %d and %d", gotFree, gotLent, free, lent)
	}
}

// A parser that comes for a place again goes before those that have had none; one that gives up waiting takes none along. It
// fails if a place is lost, or goes to who came last.
func TestParsersInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsers(3, 2)
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
		if !p.Lend(never) || !p.Lend(again) || p.Lend(last) {
			t.Fatal("want two of three places lent")
		}
		if err := p.Reclaim(t.Context(), last); err != nil || !last.held {
			t.Fatalf("what has lent nothing has nothing to wait for: %v", err)
		}
		first, second := new(Place), new(Place)
		guests := []*Place{acquire(t, p), acquire(t, p)}
		why := errors.New("gave up")
		ctx, cancel := context.WithCancelCause(t.Context())
		wait("first", func() error { return p.Acquire(t.Context(), first) })
		wait("never", func() error { return p.Reclaim(ctx, never) })
		wait("again", func() error { return p.Reclaim(t.Context(), again) })
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
		for i, page := range []*Place{first, second, again} {
			wantPlaces(t, p, i, 0)
			p.Release(page)
			p.Release(page) // it has none any more
		}
		wantPlaces(t, p, 3, 0)
	})
}

// A place that comes at the moment when its page gives up is neither lost nor lent twice. It fails if the page keeps it
// and returns the error.
func TestPlaceComesToWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsers(1, 1)
		for round := range 200 {
			guest, page := new(Place), new(Place)
			if round%2 == 0 {
				page = acquire(t, p)
				p.Lend(page)
			}
			if err := p.Acquire(t.Context(), guest); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() {
				if round%2 == 0 {
					served <- p.Reclaim(ctx, page)
				} else {
					served <- p.Acquire(ctx, page)
				}
			}()
			synctest.Wait()
			cancel() // wakes the page, which is not in time to leave the line in most rounds
			p.Release(guest)
			if err := <-served; (err == nil) != page.held {
				t.Fatalf("round %d: %v, and the page has a place: %t", round, err, page.held)
			}
			p.Release(page)
			wantPlaces(t, p, 1, 0)
		}
	})
}

// A page lends its place once, however many of its calls wait, and only the last of them reclaims it.
func TestPlaceIsLentOnce(t *testing.T) {
	p := NewParsers(1, 2)
	page := acquire(t, p)
	for range 3 {
		if !p.Lend(page) {
			t.Fatal("want the place lent")
		}
	}
	wantPlaces(t, p, 1, 1)
	guest := acquire(t, p)
	for range 2 { // the guest has the place: who waited for it would wait on
		if err := p.Reclaim(t.Context(), page); err != nil || page.held {
			t.Fatalf("a call that is not the last reclaims: %v", err)
		}
	}
	p.Release(guest)
	if err := p.Reclaim(t.Context(), page); err != nil || !page.held {
		t.Errorf("the last call does not reclaim: %v", err)
	}
	wantPlaces(t, p, 0, 0)
}

// What ends while its place is lent, or while a call waits to have it again, leaves no place behind and takes none along.
func TestPlaceOfPageThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsers(1, 1)
		page := acquire(t, p)
		p.Lend(page)
		if p.Release(page); page.lent || p.Lend(page) {
			t.Error("a page that is over has lent a place")
		}
		for range 2 {
			if err := p.Reclaim(t.Context(), page); err != nil || page.held {
				t.Errorf("a page that is over has a place: %v", err)
			}
		}

		page = acquire(t, p)
		p.Lend(page)
		guest := acquire(t, p)
		returned := make(chan error)
		go func() { returned <- p.Reclaim(t.Context(), page) }()
		synctest.Wait()
		p.Release(page)
		if err := <-returned; err != nil || page.held {
			t.Errorf("a page that is over has a place: %v", err)
		}
		p.Release(guest)
		wantPlaces(t, p, 1, 0)
	})
}

// A call that waits to have the place again goes on when another call of the page begins to wait: the place stays lent.
func TestPlaceIsLentWhileItIsReclaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParsers(1, 1)
		page := acquire(t, p)
		p.Lend(page)
		guest := acquire(t, p)
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- p.Reclaim(t.Context(), page) }()
		synctest.Wait()
		if !p.Lend(page) {
			t.Error("the place is not lent")
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
		go func() { second <- p.Reclaim(t.Context(), page) }()
		synctest.Wait()
		if len(second) > 0 || page.held {
			t.Error("the page has a place that another one has")
		}
		p.Release(guest)
		if err := <-second; err != nil || !page.held {
			t.Errorf("the page has no place: %v", err)
		}
	})
}

// crowd are pages that use a few places at random.
type crowd struct {
	*Parsers
	t      *testing.T
	places int
	pages  []*Place
}

// check looks at all places at once.
func (c *crowd) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, lent, waiting := 0, 0, 0
	for _, page := range c.pages {
		states := 0
		for _, is := range []struct {
			so  bool
			sum *int
		}{{page.held, &held}, {page.lent, &lent}, {page.ready != nil, &waiting}} {
			if is.so {
				states++
				*is.sum++
			}
		}
		if states > 1 {
			c.t.Errorf("a page is in %d states: %+v", states, page)
		}
	}
	if held+c.free != c.places || lent != c.lent || lent > c.lending || waiting != len(c.again)+len(c.fresh) || waiting > 0 && c.free > 0 {
		c.t.Errorf("of %d places %d are held and %d free; %d of at most %d are lent, %d are counted; %d and %d wait, %d are in the lines",
			c.places, held, c.free, lent, c.lending, c.lent, waiting, c.free, len(c.again)+len(c.fresh))
	}
}

// parse is the way of one page: calls that wait side by side, some of which it does not wait for.
func (c *crowd) parse(rng *rand.Rand, page *Place) {
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
				c.Lend(page)
				c.check()
				pause(own)
				_ = c.Reclaim(ctx, page)
				c.check()
			})
		}
		if pause(rng); rng.IntN(4) > 0 {
			calls.Wait()
			c.mu.Lock()
			if !over && !page.held {
				c.t.Errorf("all its calls have returned, and the page has no place: %+v", page)
			}
			c.mu.Unlock()
		}
	}
	c.Release(page)
	c.check()
}

// However pages lend, reclaim, give up and end: each place is held by one page or free, no more are lent than may be, nobody
// waits beside a free place, and a page whose calls have all returned has its place.
func TestPlacesAtRandom(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	for round := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, round))
			c := &crowd{t: t, places: 1 + rng.IntN(3)}
			c.Parsers = NewParsers(c.places, rng.IntN(4))
			var pages sync.WaitGroup
			for i := range 2 + rng.IntN(8) {
				own, page := rand.New(rand.NewPCG(seed+round, uint64(i))), new(Place)
				c.pages = append(c.pages, page)
				pages.Go(func() { c.parse(own, page) })
			}
			pages.Wait()
			if free, lent := c.Count(); free != c.places || lent != 0 {
				t.Errorf("round %d: %d of %d places are free, %d are lent", round, free, c.places, lent)
			}
		})
		if t.Failed() {
			return
		}
	}
}
