package stage_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parcel is the payload of the tests: it counts its marks.
type parcel struct {
	id    int
	text  string
	marks atomic.Int32
	depot *depot
	first *parcel // the one it stands for, if a processor has replaced that
}

func (p *parcel) MarkAsProcessed() {
	if p.first != nil {
		p = p.first
	}
	p.marks.Add(1)
}

// replaced returns a new parcel that stands for p.
func (p *parcel) replaced() *parcel {
	first := p
	if p.first != nil {
		first = p.first
	}
	return &parcel{id: p.id, text: p.text, depot: p.depot, first: first}
}

func (p *parcel) Clone() *parcel { return p.depot.parcel(p.id, p.text) }

// depot knows every parcel that was made.
type depot struct {
	mu      sync.Mutex
	parcels []*parcel
}

func (d *depot) parcel(id int, text string) *parcel {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &parcel{id: id, text: text, depot: d}
	d.parcels = append(d.parcels, p)
	return p
}

// each fails the test unless the depot has made want parcels and each is marked once.
func (d *depot) each(t *testing.T, want int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if want >= 0 && len(d.parcels) != want {
		t.Errorf("%d payloads were made, want %d", len(d.parcels), want)
	}
	for _, p := range d.parcels {
		if n := p.marks.Load(); n != 1 {
			t.Errorf("payload %d was marked as processed %d times, want once", p.id, n)
		}
	}
}

// flow is a source of n parcels, 0 to n-1, and a sink that keeps what arrives.
type flow struct {
	depot
	n        int
	err      error                      // the source's
	next     func(context.Context, int) // called in Next
	consume  func(context.Context, *parcel) error
	produced int
	arrived  []*parcel
}

func (f *flow) Next(ctx context.Context) bool {
	if f.next != nil {
		f.next(ctx, f.produced)
	}
	return f.produced < f.n
}

func (f *flow) Payload() *parcel {
	f.produced++
	return f.parcel(f.produced-1, "")
}

func (f *flow) Error() error { return f.err }

func (f *flow) Consume(ctx context.Context, p *parcel) error {
	if f.consume != nil {
		if err := f.consume(ctx, p); err != nil {
			return err
		}
	}
	f.mu.Lock() // a sink that was given up may still be here
	defer f.mu.Unlock()
	f.arrived = append(f.arrived, p)
	return nil
}

// ids are the payloads that arrived at the sink, in the order they did.
func (f *flow) ids() []int {
	var ids []int
	for _, p := range f.arrived {
		ids = append(ids, p.id)
	}
	return ids
}

func (f *flow) sortedIDs() []int { return slices.Sorted(slices.Values(f.ids())) }

func upTo(n int) []int {
	var ids []int
	for i := range n {
		ids = append(ids, i)
	}
	return ids
}

type process = stage.ProcessorFunc[*parcel]

func pass(_ context.Context, p *parcel) (*parcel, error) { return p, nil }

// runners are all kinds of stage that work for any number of payloads, by name.
func runners(p stage.Processor[*parcel]) map[string]stage.Runner[*parcel] {
	return map[string]stage.Runner[*parcel]{
		"FIFO":              stage.FIFO(p),
		"FixedWorkerPool":   stage.FixedWorkerPool(p, 4),
		"DynamicWorkerPool": stage.DynamicWorkerPool(p, 4),
		"Broadcast":         stage.Broadcast(p),
	}
}

// gauge counts who is inside and keeps the greatest count.
type gauge struct{ now, peak atomic.Int32 }

func (g *gauge) enter() {
	n := g.now.Add(1)
	for {
		peak := g.peak.Load()
		if n <= peak || g.peak.CompareAndSwap(peak, n) {
			return
		}
	}
}

func (g *gauge) leave() { g.now.Add(-1) }
