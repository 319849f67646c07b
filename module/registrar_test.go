package module_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/module"
)

// pass lets d of the bubble's time pass.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// liar is a module that knows it is an analyzer.
type liar struct{ *module.Base }

func (liar) Type() module.Type { return module.TypeAnalyzer }

// named is a module with any name.
type named struct {
	module.Module
	mid module.MID
}

func (n named) ID() module.MID { return n.mid }

func TestRegister(t *testing.T) {
	var none *module.Base
	tests := []struct {
		name   string
		module module.Module
		bad    string
	}{
		{"downloader", newBase(t, "D1"), ""},
		{"analyzer", newBase(t, "A1"), ""},
		{"pipeline elsewhere", newBase(t, "P1|192.0.2.1:80"), ""},
		{"says the same", liar{newBase(t, "A7")}, ""},
		{"nil", nil, "module"},
		{"nil pointer", none, "module"},
		{"bad name", named{newBase(t, "D1"), "D1|"}, "MID"},
		{"says something else", liar{newBase(t, "D7")}, "module"},
	}
	r := module.NewRegistrar[module.Module]()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(r.GetAll())
			ok, err := r.Register(tt.module)
			if tt.bad != "" {
				wantIllegal(t, err, tt.bad)
				if ok || len(r.GetAll()) != before {
					t.Error("was registered in spite of the error")
				}
				return
			}
			if !ok || err != nil {
				t.Fatalf("Register = %t, %v", ok, err)
			}
			if ok, err := r.Register(tt.module); ok || err != nil {
				t.Errorf("Register again = %t, %v; want false, nil", ok, err)
			}
			if len(r.GetAll()) != before+1 {
				t.Errorf("%d modules, want %d", len(r.GetAll()), before+1)
			}
		})
	}
}

func TestCheckType(t *testing.T) {
	var none *module.Base
	tests := []struct {
		name   string
		typ    module.Type
		module module.Module
		want   bool
	}{
		{"downloader", module.TypeDownloader, newBase(t, "D1"), true},
		{"analyzer", module.TypeAnalyzer, newBase(t, "A1"), true},
		{"pipeline", module.TypePipeline, newBase(t, "P1"), true},
		{"other", module.TypePipeline, newBase(t, "D1"), false},
		{"no type", "", newBase(t, "D1"), false},
		{"unknown type", "D", newBase(t, "D1"), false},
		{"nil", module.TypeDownloader, nil, false},
		{"nil pointer", module.TypeDownloader, none, false},
		{"bad name", module.TypeDownloader, named{newBase(t, "D1"), "D"}, false},
		{"own word", module.TypeDownloader, liar{newBase(t, "D1")}, false},
		{"own word alone", module.TypeAnalyzer, liar{newBase(t, "D1")}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := module.CheckType(tt.typ, tt.module); got != tt.want {
				t.Errorf("CheckType = %t", got)
			}
		})
	}
}

func TestRegistrarContents(t *testing.T) {
	r := module.NewRegistrar[*module.Base]()
	mids := []module.MID{"A1", "D1", "D2", "P1|[::1]:80"}
	check := func(want ...module.MID) {
		t.Helper()
		all := r.GetAll()
		if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
			t.Errorf("GetAll %v, want %v", got, want)
		}
		for mid, m := range all {
			if m.ID() != mid {
				t.Errorf("%s is under %s", m.ID(), mid)
			}
		}
		for _, typ := range []module.Type{module.TypeDownloader, module.TypeAnalyzer, module.TypePipeline} {
			wanted := slices.DeleteFunc(slices.Clone(want), func(mid module.MID) bool { return !module.CheckType(typ, newBase(t, mid)) })
			of, err := r.GetAllByType(typ)
			if got := slices.Sorted(maps.Keys(of)); !slices.Equal(got, wanted) {
				t.Errorf("GetAllByType(%s) %v, want %v", typ, got, wanted)
			}
			_, errGet := r.Get(typ)
			for _, err := range []error{err, errGet} {
				var notFound *module.NotFoundError
				if len(wanted) > 0 && err != nil {
					t.Errorf("%s: %v", typ, err)
				}
				if len(wanted) == 0 && (!errors.As(err, &notFound) || notFound.Type != typ || !errors.Is(err, module.ErrNotFoundModuleInstance)) {
					t.Errorf("%s: error %v, want a NotFoundError of the type", typ, err)
				}
			}
		}
	}
	check()
	for _, mid := range mids {
		if ok, err := r.Register(newBase(t, mid)); !ok || err != nil {
			t.Fatalf("Register(%s) = %t, %v", mid, ok, err)
		}
	}
	check(mids...)

	// The maps are copies.
	clear(r.GetAll())
	of, _ := r.GetAllByType(module.TypeDownloader)
	clear(of)
	check(mids...)

	for _, tt := range []struct {
		mid  module.MID
		want bool
	}{{"D1", true}, {"D1", false}, {"D3", false}, {"P1", false}, {"P1|[::1]:80", true}} {
		if ok, err := r.Unregister(tt.mid); ok != tt.want || err != nil {
			t.Errorf("Unregister(%s) = %t, %v; want %t", tt.mid, ok, err, tt.want)
		}
	}
	_, err := r.Unregister("D")
	wantIllegal(t, err, "MID")
	check("A1", "D2")
	r.Clear()
	check()

	_, err = r.Get("scheduler")
	wantIllegal(t, err, "type")
	_, err = r.GetAllByType("scheduler")
	wantIllegal(t, err, "type")
}

// pick returns how often each of n choices fell on each module, calling call with it.
func pick(t *testing.T, r *module.Registrar[*module.Base], n int, call func(*module.Base)) map[module.MID]int {
	t.Helper()
	picked := make(map[module.MID]int)
	for range n {
		m, err := r.Get(module.TypeDownloader)
		if err != nil {
			t.Fatal(err)
		}
		picked[m.ID()]++
		if call != nil {
			call(m)
		}
	}
	return picked
}

func downloaders(t *testing.T, n int) (*module.Registrar[*module.Base], []*module.Base) {
	t.Helper()
	r := module.NewRegistrar[*module.Base]()
	all := make([]*module.Base, n)
	for i := range all {
		all[i] = newBase(t, module.MID(fmt.Sprintf("D%d", i+1)))
		if ok, err := r.Register(all[i]); !ok || err != nil {
			t.Fatalf("Register = %t, %v", ok, err)
		}
	}
	return r, all
}

func TestGetSharesTheLoad(t *testing.T) {
	r, all := downloaders(t, 3)
	want := map[module.MID]int{"D1": 100, "D2": 100, "D3": 100}
	if got := pick(t, r, 300, nil); !maps.Equal(got, want) {
		t.Errorf("equals: %v, want %v", got, want)
	}
	// Calls that do not end even out too.
	all[0].IncrHandlingNumber()
	all[0].IncrHandlingNumber()
	pick(t, r, 10, (*module.Base).IncrHandlingNumber)
	for _, m := range all {
		if m.HandlingNumber() != 4 {
			t.Errorf("%s handles %d calls, want 4", m.ID(), m.HandlingNumber())
		}
	}
	if all[2].Score() == 0 {
		t.Error("Get did not set the score")
	}
}

func TestGetUsesTheCalculator(t *testing.T) {
	r := module.NewRegistrar[*module.Base]()
	for mid, score := range map[module.MID]uint64{"D1": 30, "D2": 20, "D3": 40} {
		b, err := module.NewBase(mid, func(module.Counts) uint64 { return score })
		if err != nil {
			t.Fatal(err)
		}
		r.Register(b)
	}
	if got := pick(t, r, 50, nil); got["D2"] != 50 {
		t.Errorf("picked %v, want D2 always", got)
	}
}

// A module that failed for a while is tried again after it was avoided, and is back to its share
// when it works.
func TestFailingModuleRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, all := downloaders(t, 2)
		for range 10 {
			all[0].IncrFailure()
		}
		if got := pick(t, r, 100, nil); got["D1"] != 0 {
			t.Errorf("right after its failures: %v", got)
		}
		pass(12 * module.FailureHalfLife)
		if got := pick(t, r, 100, nil); got["D1"] != 50 {
			t.Errorf("when all is forgiven: %v", got)
		}
	})
}

func TestRegistrarConcurrently(t *testing.T) {
	r := module.NewRegistrar[*module.Base]()
	r.Register(newBase(t, "D0"))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 200 {
				mid := module.MID(fmt.Sprintf("D%d", 1+i*1000+n))
				b, err := module.NewBase(mid, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if ok, err := r.Register(b); !ok || err != nil {
					t.Errorf("Register(%s) = %t, %v", mid, ok, err)
				}
				if m, err := r.Get(module.TypeDownloader); err != nil {
					t.Error(err)
				} else {
					m.Call(nil, func() error { return nil })
				}
				if n%2 == 0 {
					if ok, err := r.Unregister(mid); !ok || err != nil {
						t.Errorf("Unregister(%s) = %t, %v", mid, ok, err)
					}
				}
			}
		})
	}
	// One name, many owners: exactly one gets it.
	won := make([]bool, 8)
	for i := range won {
		b := newBase(t, "D999999")
		wg.Go(func() { won[i], _ = r.Register(b) })
	}
	wg.Wait()
	if n := len(r.GetAll()); n != 1+4*100+1 {
		t.Errorf("%d modules are left, want 402", n)
	}
	if n := len(slices.DeleteFunc(won, func(ok bool) bool { return !ok })); n != 1 {
		t.Errorf("%d registered the same name", n)
	}
}

func BenchmarkGet(b *testing.B) {
	r := module.NewRegistrar[*module.Base]()
	for _, mid := range []module.MID{"D1", "D2", "D3", "D4"} {
		r.Register(newBase(b, mid))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Get(module.TypeDownloader); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	m := newBase(b, "D1")
	work := func() error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		m.Call(nil, work)
	}
}
