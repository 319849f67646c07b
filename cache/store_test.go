package cache

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// accept lets a store accept entries; verdicts are nil if there is no room.
func accept(s *Store, entries ...Stored) []Verdict {
	verdicts, ok := s.Accept(batchOf(entries))
	if !ok {
		return nil
	}
	return slices.Clone(verdicts)
}

// batchOf makes a batch of entries.
func batchOf(entries []Stored) Batch {
	b := Batch{Depth: func(i int) int { return entries[i].Depth }, Entry: func(i int) Stored { return entries[i] }}
	for _, e := range entries {
		b.Keys = append(b.Keys, e.Key)
		b.Cost += Cost(len(e.Data), e.Slot, !e.NotBefore.IsZero(), e.Live != nil)
	}
	return b
}

// plainEntry makes the entry of a plain GET of a URL with that many bytes.
func plainEntry(e *Stored, i, slots, bytes int) {
	e.Slot = fmt.Sprintf("www%d.example", i%slots)
	url := fmt.Sprintf("https://%s/%d/", e.Slot, i)
	url += strings.Repeat("x", bytes-len(url))
	e.Key, e.Parent = identity.Sum([]byte(url)), [4]byte{1, 2, 3, 4}
	e.Data = wire.AppendPlain(e.Data[:0], url)
}

// LiveHeap returns how many bytes are reachable.
func LiveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestStoreMemory lets 10,000 requests wait; a deep check lets a million wait, and weighs them.
func TestStoreMemory(t *testing.T) {
	records := 10_000
	if deep.Checks() {
		records = 1_000_000
	}
	for _, tt := range []struct{ slots, url, most int }{
		{1, 100, 165}, {1_000, 100, 180}, {1_000, 55, 130}, {20_000, 100, 200},
	} {
		t.Run(fmt.Sprintf("slots=%d/url=%d", tt.slots, tt.url), func(t *testing.T) {
			batch := make([]Stored, 1)
			verdicts := 0
			before := LiveHeap()
			s := NewStore(0)
			for i := range records {
				plainEntry(&batch[0], i, tt.slots, tt.url)
				found, ok := s.Accept(batchOf(batch))
				if !ok {
					t.Fatal("there is no room")
				}
				if found[0] == Queued {
					verdicts++
				}
			}
			each := float64(LiveHeap()-before) / float64(records)
			t.Logf("%.1f bytes a request, of which its URL %d", each, tt.url)
			if verdicts != records {
				t.Errorf("%d of %d are queued", verdicts, records)
			}
			if deep.Checks() && !israce.Enabled && each > float64(tt.most) {
				t.Errorf("%.1f bytes a request, want at most %d", each, tt.most)
			}
			runtime.KeepAlive(s)
		})
	}
}

// A live part comes out with its entry, and the store keeps it no longer than that.
func TestStoreLive(t *testing.T) {
	s := NewStore(0)
	live := &struct{ n int }{1}
	accept(s, Stored{Waiting: Waiting{Key: [16]byte{1}, Slot: "s", Data: []byte("data")}, Live: live},
		Stored{Waiting: Waiting{Key: [16]byte{2}, Slot: "s"}, Live: "later", NotBefore: time.Unix(100, 0)})
	for range 2 {
		got, ok, err := s.Next("s")
		if err != nil || !ok || got.Live != live || string(got.Data) != "data" {
			t.Fatalf("%+v, %v, %v", got, ok, err)
		}
		if _, again, err := s.Next("s"); again || err != nil {
			t.Fatal("what is not due is handed out", err)
		}
		if len(s.live) != 1 {
			t.Errorf("%d live parts are kept, want that of the due list", len(s.live))
		}
		if v := s.Return(got, time.Unix(1, 0)); v != Queued {
			t.Errorf("returned: verdict %d", v)
		}
	}
	if next := s.NextDue(); !next.Equal(time.Unix(100, 0)) {
		t.Errorf("next due %v", next)
	}
	if slot, _, ok, err := s.Due(time.Unix(100, 0)); slot != "s" || !ok || err != nil {
		t.Fatal(slot, ok, err)
	}
	if next := s.NextDue(); !next.IsZero() {
		t.Errorf("an empty list has the instant %v", next)
	}
	if _, pending := s.Head("s"); pending != 2 {
		t.Errorf("%d wait, want 2", pending)
	}
	for _, want := range []any{live, "later"} {
		if got, ok, err := s.Next("s"); err != nil || !ok || got.Live != want {
			t.Fatalf("%+v, %v, %v; want %v", got, ok, err, want)
		}
	}
	if len(s.live) != 0 || s.Bytes() != 0 {
		t.Errorf("%d live parts and %d bytes are left", len(s.live), s.Bytes())
	}
}

// An entry that is returned before its time goes to the due list, with the priority that it has now.
func TestStoreReturnsLater(t *testing.T) {
	s := NewStore(0)
	accept(s, Stored{Waiting: Waiting{Key: [16]byte{1}, Slot: "s", Priority: 1}})
	e, _, _ := s.Next("s")
	e.Priority, e.Attempt, e.NotBefore = 7, 2, time.Unix(10, 0)
	if v := s.Return(e, time.Unix(9, 0)); v != Delayed {
		t.Errorf("verdict %d, want delayed", v)
	}
	if _, _, ok, _ := s.Due(time.Unix(9, 0)); ok {
		t.Error("it is due too early")
	}
	if slot, priority, ok, err := s.Due(time.Unix(10, 0)); slot != "s" || priority != 7 || !ok || err != nil {
		t.Errorf("due: %q, %d, %v, %v", slot, priority, ok, err)
	}
	if e, ok, err := s.Next("s"); !ok || err != nil || e.Attempt != 2 || e.Priority != 7 || e.Seq != 1 {
		t.Errorf("%+v, %v, %v", e, ok, err)
	}
}

// An entry that was returned waits as before: it takes the smaller depth at which it is found again.
func TestStoreReturnedDepth(t *testing.T) {
	s := NewStore(0)
	found := Stored{Waiting: Waiting{Key: [16]byte{1}, Slot: "s", Depth: 5}}
	accept(s, found)
	e, _, _ := s.Next("s")
	s.Return(e, time.Unix(1, 0))
	found.Depth = 2
	if v := accept(s, found); len(v) != 1 || v[0] != Known {
		t.Errorf("verdicts %v, want known", v)
	}
	if e, ok, err := s.Next("s"); !ok || err != nil || e.Depth != 2 {
		t.Errorf("%+v, %v, %v; want depth 2", e, ok, err)
	}
}

// A request that waits takes the smallest depth at which it was found.
func TestStoreDepth(t *testing.T) {
	for _, tt := range []struct{ first, again, want int }{
		{5, 3, 3}, {3, 5, 3}, {0, 0, 0}, {70_000, 2, 2}, {70_000, 69_000, 70_000}, {70_000, 90_000, 70_000}, {65_532, 65_531, 65_531},
	} {
		s := NewStore(0)
		for _, depth := range []int{tt.first, tt.again} {
			accept(s, Stored{Waiting: Waiting{Key: [16]byte{1}, Slot: "s", Depth: depth}})
		}
		if got, ok, err := s.Next("s"); err != nil || !ok || got.Depth != tt.want {
			t.Errorf("%d, then %d: %+v, %v; want %d", tt.first, tt.again, got, err, tt.want)
		}
	}
}

// The shares of all slots are the bytes of the store, whatever waits where, and nothing is left of either when it is empty.
//
// It fails if put does not count what lies in the due list.
func TestSharesAddUp(t *testing.T) {
	seed := deep.Seed()
	r := rand.New(rand.NewPCG(seed, 0))
	s := NewStore(1 << 40)
	now := time.Unix(1_000_000, 0)
	var out []Stored
	slot := func() string { return fmt.Sprintf("host%d.example", r.IntN(5)) }
	for round := range 5_000 {
		switch r.IntN(5) {
		case 0, 1:
			var entries []Stored
			for range 1 + r.IntN(4) {
				e := Stored{Waiting: Waiting{Key: [16]byte{byte(r.Uint32()), byte(r.Uint32())}, Slot: slot(), Priority: r.IntN(3), Data: make([]byte, r.IntN(300))}}
				if r.IntN(4) == 0 {
					e.NotBefore = now.Add(time.Duration(r.IntN(100)) * time.Second)
				}
				if r.IntN(4) == 0 {
					e.Live = "live"
				}
				entries = append(entries, e)
			}
			if accept(s, entries...) == nil {
				t.Fatal("there is no room")
			}
		case 2:
			name := slot()
			for range 1 + r.IntN(5) {
				if e, ok, err := s.Next(name); err != nil {
					t.Fatal(err)
				} else if ok {
					out = append(out, e)
				}
			}
		case 3:
			if n := len(out); n > 0 {
				out[n-1].NotBefore = now.Add(time.Duration(r.IntN(3)) * time.Second)
				s.Return(out[n-1], now)
				out = out[:n-1]
			}
		case 4:
			now = now.Add(time.Second)
			dueAll(t, s, now)
		}
		sum := int64(0)
		for i := range 5 {
			sum += s.room.Share(fmt.Sprintf("host%d.example", i))
		}
		if sum != s.Bytes() {
			t.Fatalf("seed %d, round %d: the shares are %d bytes, all together %d", seed, round, sum, s.Bytes())
		}
	}
	dueAll(t, s, now.Add(time.Hour))
	for i := range 5 {
		for ok := true; ok; {
			var err error
			if _, ok, err = s.Next(fmt.Sprintf("host%d.example", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s.Bytes() != 0 { // an entry that holds nothing counts too
		t.Errorf("seed %d: %d bytes are left", seed, s.Bytes())
	}
}

// dueAll moves all that is due.
func dueAll(t *testing.T, s *Store, now time.Time) {
	for {
		_, _, ok, err := s.Due(now)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return
		}
	}
}

// A full store refuses the slot that holds most of it while another has work; what is refused is not seen, and what is known is
// told as such. It fails if Accept marks what is refused as seen.
func TestStoreRefuses(t *testing.T) {
	s := NewStore(1_000_000)
	accept(s, Stored{Waiting: Waiting{Key: [16]byte{1}, Slot: "small", Data: make([]byte, 100)}})
	var refused Stored
	for i := 0; refused.Slot == ""; i++ {
		var e Stored
		plainEntry(&e, i, 1, 100)
		e.Slot = "large"
		switch v := accept(s, e); {
		case v == nil || i > 20_000:
			t.Fatalf("entry %d: nothing is refused", i)
		case v[0] == Refused:
			refused = e
		}
	}
	small := Stored{Waiting: Waiting{Key: [16]byte{2}, Slot: "small", Data: make([]byte, 100)}}
	if got := fmt.Sprint(accept(s, refused, small, small, refused)); got != fmt.Sprint([]Verdict{Refused, Queued, Known, Refused}) {
		t.Errorf("verdicts %s", got)
	}
	n := 0
	for ok := true; ok; n++ {
		_, ok, _ = s.Next("large")
	}
	if v := accept(s, refused); len(v) != 1 || v[0] != Queued {
		t.Errorf("refused before, now that there is room: %v (%d were taken)", v, n)
	}
}
