package tegenaria

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The shares of all slots are the bytes of the cache, whatever waits where, and nothing is left of either when it is
// empty.
//
// It fails if put does not count what lies in the due list (putAside in memcache.go).
func TestH11SharesAddUp(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	m, ctx := beginMemory(t, 1<<40), t.Context()
	now := time.Unix(1_000_000, 0)
	var out []Record
	slot := func() string { return fmt.Sprintf("host%d.example", r.IntN(5)) }
	for round := range 5_000 {
		switch r.IntN(5) {
		case 0, 1:
			var records []Record
			for range 1 + r.IntN(4) {
				rec := Record{Key: Key{byte(r.Uint32()), byte(r.Uint32())}, Slot: slot(), Priority: r.IntN(3), Data: make([]byte, r.IntN(300))}
				if r.IntN(4) == 0 {
					rec.NotBefore = now.Add(time.Duration(r.IntN(100)) * time.Second)
				}
				if r.IntN(4) == 0 {
					rec.Live = "live"
				}
				records = append(records, rec)
			}
			if _, err := m.Accept(ctx, records); err != nil {
				t.Fatal(err)
			}
		case 2:
			records, _, err := m.Next(ctx, slot(), 1+r.IntN(5))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, records...)
		case 3:
			if n := len(out); n > 0 {
				out[n-1].NotBefore = now.Add(time.Duration(r.IntN(3)) * time.Second)
				if _, err := m.Return(ctx, out[n-1], now); err != nil {
					t.Fatal(err)
				}
				out = out[:n-1]
			}
		case 4:
			now = now.Add(time.Second)
			if _, _, err := m.Due(ctx, now); err != nil {
				t.Fatal(err)
			}
		}
		sum := int64(0)
		for i := range 5 {
			sum += m.share(fmt.Sprintf("host%d.example", i))
		}
		if sum != m.bytes() {
			t.Fatalf("seed %d, round %d: the shares are %d bytes, all together %d", seed, round, sum, m.bytes())
		}
	}
	if _, _, err := m.Due(ctx, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, _, err := m.Next(ctx, fmt.Sprintf("host%d.example", i), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	if m.bytes() != 0 || len(m.room.aside) != 0 {
		t.Errorf("seed %d: %d bytes and %d entries are left", seed, m.bytes(), len(m.room.aside))
	}
}

// At 7/8 the slot that holds more than half is refused while another one has work, and nothing is marked as seen.
//
// It fails if makeRoom refuses nothing (VerdictRefused), or if Accept marks what is refused as seen.
func TestH11ShareOfOneSlot(t *testing.T) {
	const limit = 1_000_000
	fill := func(t *testing.T, m *memoryCache, others int) (refused []Record, err error) {
		for i := range others {
			rec := Record{Key: Key{1, byte(i)}, Slot: "small.example", Data: make([]byte, 100)}
			if _, err := m.Accept(t.Context(), []Record{rec}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range limit / 50 {
			var rec Record
			plainRecord(&rec, i, 1, 100)
			rec.Slot = "large.example"
			verdicts, err := m.Accept(t.Context(), []Record{rec})
			if err != nil {
				return refused, err
			}
			if verdicts[0] == VerdictRefused {
				refused = append(refused, rec)
			}
		}
		return refused, nil
	}
	t.Run("another waits", func(t *testing.T) {
		m := beginMemory(t, limit)
		refused, err := fill(t, m, 3)
		if err != nil || len(refused) == 0 {
			t.Fatalf("%d refused, %v", len(refused), err)
		}
		if got := m.bytes(); got > limit || got < limit*3/4 {
			t.Errorf("%d bytes wait", got)
		}
		small := Record{Key: Key{2}, Slot: "small.example", Data: make([]byte, 100)}
		verdicts, err := m.Accept(t.Context(), []Record{refused[0], small, small, refused[0]})
		if want := []Verdict{VerdictRefused, VerdictNew, VerdictKnown, VerdictRefused}; err != nil || !slices.Equal(verdicts, want) {
			t.Errorf("%v, %v; want %v", verdicts, err, want)
		}
		if _, _, err := m.Next(t.Context(), "large.example", 3000); err != nil {
			t.Fatal(err)
		}
		if verdicts, err := m.Accept(t.Context(), refused[:1]); err != nil || verdicts[0] != VerdictNew {
			t.Errorf("refused before, now that there is room: %v, %v", verdicts, err)
		}
	})
	t.Run("alone", func(t *testing.T) {
		refused, err := fill(t, beginMemory(t, limit), 0)
		var full *QueueFullError
		if !errors.As(err, &full) || len(refused) > 0 {
			t.Errorf("%d refused, %v", len(refused), err)
		}
	})
	t.Run("the other has come to its end", func(t *testing.T) {
		m := beginMemory(t, limit)
		if refused, err := fill(t, m, 1); err != nil || len(refused) == 0 {
			t.Fatalf("%d refused, %v", len(refused), err)
		}
		if _, _, err := m.Next(t.Context(), "small.example", 1); err != nil {
			t.Fatal(err)
		}
		var err error
		for i := 0; err == nil; i++ {
			var rec Record
			plainRecord(&rec, limit+i, 1, 100)
			rec.Slot = "large.example"
			if _, err = m.Accept(t.Context(), []Record{rec}); i > limit {
				t.Fatal("the slot that is alone is refused for ever")
			}
		}
	})
}
