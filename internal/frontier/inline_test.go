package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/frontier"
)

// page is what inline requests live with, and an inline request itself.
type page struct {
	calls frontier.Calls[*page]
	parts atomic.Int32 // that are open; the first one is its own
	ends  atomic.Int32 // how often it was settled as an inline request
}

func (p *page) Calls() *frontier.Calls[*page] { return &p.calls }

// Open opens the page for another part, unless it is over.
func (p *page) Open() bool {
	for {
		n := p.parts.Load()
		if n == 0 {
			return false
		}
		if p.parts.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func newPage() *page {
	p := new(page)
	p.parts.Store(1)
	return p
}

// calls is an Inline with its ledger.
type calls struct {
	*frontier.Inline[*page]
	t      testing.TB
	ledger *frontier.Ledger
}

func newCalls(t testing.TB) *calls {
	ledger := frontier.NewLedger(int(outcomes))
	return &calls{Inline: frontier.NewInline[*page](ledger, 3), t: t, ledger: ledger}
}

// enter begins a call that is let in.
func (l *calls) enter(p *page) *frontier.Call[*page] {
	l.t.Helper()
	call, err := l.Enter(p, nil)
	if err != nil || call.Page() != p {
		l.t.Fatalf("Enter: %v", err)
	}
	return call
}

func (l *calls) refuses(when string, p *page, within *frontier.Call[*page], want error) {
	l.t.Helper()
	parts := p.parts.Load()
	if call, err := l.Enter(p, within); call != nil || err != want {
		l.t.Errorf("%s: Enter returned %v, want %v", when, err, want)
	}
	if p.parts.Load() != parts {
		l.t.Errorf("%s: the page was opened", when)
	}
}

func (l *calls) counted(when string, want int64) {
	l.t.Helper()
	if n := l.ledger.Counts(); n.Discovered != want {
		l.t.Errorf("%s: %d requests are counted, want %d", when, n.Discovered, want)
	}
}

// closes closes it, and wants those pages to have calls.
func (l *calls) closes(want ...*page) {
	l.t.Helper()
	if pages := l.Close(); !slices.Equal(pages, want) {
		l.t.Errorf("%d pages have calls, want %d", len(pages), len(want))
	}
}

// A page is open as long as its calls are; they know what they wait for, and the page the names of all.
func TestInline(t *testing.T) {
	l, p := newCalls(t), newPage()
	call, other := l.enter(p), l.enter(p)
	if n := p.parts.Load(); n != 3 {
		t.Errorf("the page has %d open parts, want 3", n)
	}
	first, second := newPage(), newPage()
	if !l.Add(call, first, "first") || !l.Count(call) || !l.Add(other, second, "second") {
		t.Error("a call that is open counts nothing")
	}
	l.counted("three requests", 3)
	if !l.Awaits(p, first) || !l.End(p, first) || l.Awaits(p, first) || l.End(p, first) {
		t.Error("a request ends once")
	}
	if !l.Awaits(p, second) || l.End(p, newPage()) {
		t.Error("another request has ended")
	}
	if !l.Leave(call) || l.Leave(call) {
		t.Error("a call is left once")
	}
	if l.Count(call) || l.Add(call, newPage(), "late") {
		t.Error("a call that was left counts")
	}
	l.counted("after the call", 3)
	if got := fmt.Sprint(p.calls.Names()); got != "[first second]" {
		t.Errorf("the names are %s", got)
	}
	l.closes(p)
	l.refuses("closed", p, nil, frontier.ErrEnded)
	if !l.End(p, second) || !l.Leave(other) {
		t.Error("a call that was open before does not end")
	}
	l.closes()
}

// Calls nest so deep and no deeper, counted from the page.
func TestLaneNests(t *testing.T) {
	l, p := newCalls(t), newPage()
	within := l.enter(p)
	for depth := 2; depth <= 3; depth++ {
		next, err := l.Enter(p, within)
		if err != nil {
			t.Fatalf("depth %d: %v", depth, err)
		}
		within = next
	}
	l.refuses("at depth 4", p, within, frontier.ErrNested)
	if l.enter(p); p.parts.Load() != 5 {
		t.Errorf("the page has %d open parts, want 5", p.parts.Load())
	}
}

// A page whose code was given up is closed as often as it was opened; nothing that its calls still do is counted.
func TestLaneDrops(t *testing.T) {
	l, p := newCalls(t), newPage()
	left, call, other := l.enter(p), l.enter(p), l.enter(p)
	over, inline := newPage(), newPage()
	l.Add(call, over, "over")
	l.Add(other, inline, "inline")
	l.End(p, over)
	l.Leave(left)
	calls, awaited := l.Drop(p)
	if calls != 2 || !slices.Equal(awaited, []*page{inline}) {
		t.Errorf("%d calls were open and waited for %d requests, want 2 and the one", calls, len(awaited))
	}
	if l.Add(call, newPage(), "late") || l.Count(other) {
		t.Error("a call that was dropped counts")
	}
	l.counted("after the drop", 2)
	if l.Leave(call) || l.Leave(other) {
		t.Error("a call that was dropped closes its page")
	}
	l.refuses("dropped", p, nil, frontier.ErrEnded)
	if !l.End(p, inline) || l.End(p, inline) {
		t.Error("what was under way is settled once")
	}
	if calls, awaited = l.Drop(p); calls != 0 || len(awaited) != 0 {
		t.Errorf("the second drop ends %d calls and %d requests", calls, len(awaited))
	}
	l.closes()
	l = newCalls(t)
	settled := new(page)
	l.refuses("settled", settled, nil, frontier.ErrEnded)
	l.closes()
}

// settle ends an inline request if it has not been ended.
func (l *calls) settle(p, inline *page) {
	if l.End(p, inline) {
		inline.ends.Add(1)
		l.ledger.Settle(fetched, "")
	}
}

// drop ends the calls of a page.
func (l *calls) drop(p *page) {
	calls, awaited := l.Drop(p)
	for _, inline := range awaited {
		l.settle(p, inline)
	}
	p.parts.Add(int32(-calls))
}

// fetch is one call, with redirects and with calls within it.
func (l *calls) fetch(rng *rand.Rand, p *page, within *frontier.Call[*page], made func(*page)) {
	call, err := l.Enter(p, within)
	if err != nil {
		return
	}
	for range 1 + rng.IntN(3) {
		if inline := newPage(); l.Add(call, inline, "") {
			made(inline)
			if rng.IntN(4) == 0 {
				l.fetch(rng, p, call, made)
			}
			runtime.Gosched()
			l.settle(p, inline)
		}
	}
	if l.Leave(call) {
		p.parts.Add(-1)
	}
}

// Whatever is dropped and closed meanwhile: each page is closed as often as it was opened, and each request that was counted is
// settled once.
func TestLaneAtRandom(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	for round := range uint64(300) {
		l := newCalls(t)
		var mu sync.Mutex
		var pages, inlines []*page
		made := func(inline *page) {
			mu.Lock()
			inlines = append(inlines, inline)
			mu.Unlock()
		}
		var calls sync.WaitGroup
		for i := range 3 {
			p := newPage()
			pages = append(pages, p)
			for k := range 3 {
				rng := rand.New(rand.NewPCG(seed+round, uint64(10*i+k)))
				calls.Go(func() { l.fetch(rng, p, nil, made) })
			}
			if (round+uint64(i))%3 == 0 {
				calls.Go(func() { l.drop(p) })
			}
		}
		if round%4 == 0 {
			for _, p := range l.Close() {
				l.drop(p)
			}
		}
		calls.Wait()
		for _, p := range l.Close() {
			t.Errorf("round %d: a page has calls", round)
			l.drop(p)
		}
		for _, p := range pages {
			if n := p.parts.Load(); n != 1 {
				t.Errorf("round %d: %d parts of a page are open, want its own", round, n)
			}
		}
		names := 0
		for _, p := range pages {
			names += len(p.calls.Names())
		}
		for _, inline := range inlines {
			if n := inline.ends.Load(); n != 1 {
				t.Errorf("round %d: a request was settled %d times", round, n)
			}
		}
		if n := l.ledger.Counts(); n.Discovered != int64(len(inlines)) || n.Settled != n.Discovered || names != len(inlines) {
			t.Errorf("round %d: %d requests are counted, %d of them settled and %d named, want %d", round, n.Discovered, n.Settled, names, len(inlines))
		}
		if t.Failed() {
			return
		}
	}
}

// Sleep waits for its time, or until the context ends.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := frontier.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		why := errors.New("given up")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if err := frontier.Sleep(ctx, time.Minute); err != why || time.Since(began) != time.Minute+time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
