package module_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria/module"
)

func newBase(t testing.TB, mid module.MID) *module.Base {
	t.Helper()
	b, err := module.NewBase(mid, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNewBase(t *testing.T) {
	simple := func(module.Counts) uint64 { return 42 }
	b, err := module.NewBase("P3|[::1]:80", simple)
	if err != nil {
		t.Fatal(err)
	}
	if b.ID() != "P3|[::1]:80" || b.Addr() != "[::1]:80" || b.Type() != module.TypePipeline || b.ScoreCalculator()(module.Counts{}) != 42 {
		t.Errorf("base is %s at %q of type %s", b.ID(), b.Addr(), b.Type())
	}
	if b.Score() != 0 || b.Counts() != (module.Counts{}) {
		t.Errorf("new base has score %d, counts %+v", b.Score(), b.Counts())
	}
	b.SetScore(7)
	if b.Score() != 7 {
		t.Errorf("score %d", b.Score())
	}
	if b := newBase(t, "D1"); b.Addr() != "" || b.ScoreCalculator() != nil {
		t.Errorf("base without address is at %q", b.Addr())
	}
	_, err = module.NewBase("D", nil)
	wantIllegal(t, err, "MID")
}

func TestBaseCounts(t *testing.T) {
	b := newBase(t, "D1")
	for range 4 {
		b.IncrCalledCount()
	}
	for range 3 {
		b.IncrAcceptedCount()
	}
	for range 2 {
		b.IncrCompletedCount()
	}
	b.IncrHandlingNumber()
	want := module.Counts{CalledCount: 4, AcceptedCount: 3, CompletedCount: 2, HandlingNumber: 1}
	if got := b.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if b.CalledCount() != 4 || b.AcceptedCount() != 3 || b.CompletedCount() != 2 || b.HandlingNumber() != 1 {
		t.Error("the single counts differ from Counts")
	}
	b.IncrFailure()
	b.Clear()
	if got, want := b.Counts(), (module.Counts{HandlingNumber: 1}); got != want {
		t.Errorf("counts after Clear %+v, want %+v", got, want)
	}
	b.DecrHandlingNumber()
	b.DecrHandlingNumber()
	if b.HandlingNumber() != 0 {
		t.Errorf("handling number %d, want it to stop at 0", b.HandlingNumber())
	}
}

// Each outcome of a call and what it counts.
func TestBaseCall(t *testing.T) {
	bad := errors.New("bad")
	tests := []struct {
		name         string
		accept, work func() error
		want         error
		counts       module.Counts
	}{
		{"success", nil, func() error { return nil }, nil, module.Counts{CalledCount: 1, AcceptedCount: 1, CompletedCount: 1}},
		{"accepted", func() error { return nil }, func() error { return nil }, nil, module.Counts{CalledCount: 1, AcceptedCount: 1, CompletedCount: 1}},
		{"refused", func() error { return bad }, func() error { panic("called") }, bad, module.Counts{CalledCount: 1}},
		{"failure", nil, func() error { return bad }, bad, module.Counts{CalledCount: 1, AcceptedCount: 1, RecentFailures: 1}},
		{"cancelled", nil, func() error { return context.Canceled }, context.Canceled, module.Counts{CalledCount: 1, AcceptedCount: 1}},
		{"timeout", nil, func() error { return context.DeadlineExceeded }, context.DeadlineExceeded,
			module.Counts{CalledCount: 1, AcceptedCount: 1, RecentFailures: 1}},
		{"panic", nil, func() error { panic(bad) }, bad, module.Counts{CalledCount: 1, AcceptedCount: 1, RecentFailures: 1}},
		{"panic in accept", func() error { panic(bad) }, nil, bad, module.Counts{CalledCount: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBase(t, "D1")
				running := uint64(0)
				call := func() (err error) {
					defer func() {
						if p := recover(); p != nil {
							err = p.(error)
						}
					}()
					return b.Call(tt.accept, func() error {
						running = b.HandlingNumber()
						return tt.work()
					})
				}
				if err := call(); err != tt.want {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if got := b.Counts(); got != tt.counts {
					t.Errorf("counts %+v, want %+v", got, tt.counts)
				}
				if tt.counts.AcceptedCount != running {
					t.Errorf("handling number %d while at work", running)
				}
			})
		})
	}
}

func TestRecentFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBase(t, "D1")
		want := func(f float64) {
			t.Helper()
			if got := b.Counts().RecentFailures; got != f {
				t.Errorf("recent failures %v, want %v", got, f)
			}
		}
		for range 8 {
			b.IncrFailure()
		}
		want(8)
		b.IncrCompletedCount()
		want(4)
		pass(module.FailureHalfLife)
		want(2)
		pass(2 * module.FailureHalfLife)
		want(0.5)
		pass(20 * module.FailureHalfLife)
		want(0)
		b.IncrFailure()
		want(1)
		for range 7 {
			b.IncrCompletedCount()
		}
		want(0)
	})
}

func TestScores(t *testing.T) {
	tests := []struct {
		name             string
		counts           module.Counts
		byDefault, bySum uint64
	}{
		{"nothing", module.Counts{}, 0, 0},
		{"idle after work", module.Counts{CalledCount: 9, AcceptedCount: 8, CompletedCount: 7}, 0, 9 + 16 + 28},
		{"at work", module.Counts{CalledCount: 2, AcceptedCount: 2, HandlingNumber: 2}, 32, 2 + 4 + 32},
		{"a failure", module.Counts{CalledCount: 1, AcceptedCount: 1, RecentFailures: 1}, 64, 3},
		{"half forgiven", module.Counts{CalledCount: 1, AcceptedCount: 1, RecentFailures: 0.5}, 32, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := module.DefaultScore(tt.counts); got != tt.byDefault {
				t.Errorf("DefaultScore %d, want %d", got, tt.byDefault)
			}
			if got := module.SimpleScore(tt.counts); got != tt.bySum {
				t.Errorf("SimpleScore %d, want %d", got, tt.bySum)
			}
		})
	}
}

// withExtra is a module with something of its own to show.
type withExtra struct{ *module.Base }

func (m withExtra) Summary() module.SummaryStruct {
	s := m.Base.Summary()
	s.Extra = map[string]any{"fail_fast": true}
	return s
}

func TestSummaryJSON(t *testing.T) {
	b := newBase(t, "P2|127.0.0.1:80")
	b.Call(nil, func() error { return nil })
	b.Call(func() error { return errors.New("no") }, nil)
	b.IncrHandlingNumber()
	tests := []struct {
		name    string
		summary module.SummaryStruct
		want    string
	}{
		{"plain", b.Summary(), `{"id":"P2|127.0.0.1:80","called":2,"accepted":1,"completed":1,"handling":1}`},
		{"extra", withExtra{b}.Summary(), `{"id":"P2|127.0.0.1:80","called":2,"accepted":1,"completed":1,"handling":1,"extra":{"fail_fast":true}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.summary)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// A snapshot is in order at every moment.
func TestCountsAreInOrder(t *testing.T) {
	b := newBase(t, "D1")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 20000 {
				b.Call(nil, func() error { return nil })
			}
		})
	}
	for range 20000 {
		if c := b.Counts(); c.CompletedCount > c.AcceptedCount || c.AcceptedCount > c.CalledCount {
			t.Fatalf("counts %+v", c)
		}
	}
	wg.Wait()
	if got, want := b.Counts(), (module.Counts{CalledCount: 40000, AcceptedCount: 40000, CompletedCount: 40000}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func Example() {
	sn, err := module.NewSNGenerator(1, 0)
	if err != nil {
		panic(err)
	}
	registrar := module.NewRegistrar[*module.Base]()
	for range 2 {
		mid, err := module.GenMID(module.TypeDownloader, sn.Get(), netip.AddrPort{})
		if err != nil {
			panic(err)
		}
		base, err := module.NewBase(mid, nil)
		if err != nil {
			panic(err)
		}
		registrar.Register(base)
	}

	// D1 fails, so that D2 gets the next calls.
	for range 3 {
		d, err := registrar.Get(module.TypeDownloader)
		if err != nil {
			panic(err)
		}
		err = d.Call(nil, func() error {
			if d.ID() == "D1" {
				return errors.New("no route to host")
			}
			return nil
		})
		fmt.Println(d.ID(), err)
	}
	// Output:
	// D1 no route to host
	// D2 <nil>
	// D2 <nil>
}

func ExampleSplitMID() {
	parts, err := module.SplitMID("P7|192.0.2.1:8080")
	fmt.Println(parts.Type, parts.SN, parts.Addr, err)
	_, err = module.SplitMID("P07")
	fmt.Println(err)
	// Output:
	// pipeline 7 192.0.2.1:8080 <nil>
	// module: illegal parameter: MID "P07": must be written P7
}
