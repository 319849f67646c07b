package tegenaria

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/internal/wire"
)

func beginMemory(t testing.TB, queueBytes int64) *memoryCache {
	t.Helper()
	m := newMemoryCache()
	if state, err := m.Begin(t.Context(), Job{QueueBytes: queueBytes}); err != nil || state.Durable {
		t.Fatalf("Begin: %+v, %v", state, err)
	}
	return m
}

// plainRecord makes the record of a plain GET of an URL with that many bytes.
func plainRecord(rec *Record, i, slots, bytes int) {
	rec.Slot = fmt.Sprintf("www%d.example", i%slots)
	url := fmt.Sprintf("https://%s/%d/", rec.Slot, i)
	url += strings.Repeat("x", bytes-len(url))
	rec.Key = identity.Sum([]byte(url))
	rec.Data = wire.AppendPlain(rec.Data[:0], url)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryCacheMemory lets a million requests wait.
func TestMemoryCacheMemory(t *testing.T) {
	if israce.Enabled {
		t.Skip("the race detector takes memory of its own")
	}
	const records = 1_000_000
	for _, tt := range []struct{ slots, url, most int }{
		{1, 100, 165}, {1_000, 100, 180}, {1_000, 55, 130}, {20_000, 100, 200},
	} {
		t.Run(fmt.Sprintf("slots=%d/url=%d", tt.slots, tt.url), func(t *testing.T) {
			batch := make([]Record, 1)
			before := liveHeap()
			m := beginMemory(t, 0)
			for i := range records {
				plainRecord(&batch[0], i, tt.slots, tt.url)
				if v, err := m.Accept(t.Context(), batch); err != nil || v[0] != VerdictNew {
					t.Fatal(v, err)
				}
			}
			each := float64(liveHeap()-before) / records
			t.Logf("%.1f bytes a request, of which its URL %d", each, tt.url)
			if each > float64(tt.most) {
				t.Errorf("%.1f bytes a request, want at most %d", each, tt.most)
			}
			runtime.KeepAlive(m)
		})
	}
}

// A full queue refuses the whole batch, and known requests are no reason to refuse it.
func TestMemoryCacheQueueFull(t *testing.T) {
	ctx := t.Context()
	const limit = 100_000
	m := beginMemory(t, limit)
	var accepted []Record
	var err error
	for i := 0; err == nil; i++ {
		rec := Record{}
		plainRecord(&rec, i, 10, 100)
		if _, err = m.Accept(ctx, []Record{rec}); err == nil {
			accepted = append(accepted, rec)
		}
		if i > limit/100 {
			t.Fatal("no error")
		}
	}
	var full *QueueFullError
	if !errors.As(err, &full) || full.Limit != limit || !strings.Contains(err.Error(), "cache/disk") {
		t.Fatalf("error %v, want a QueueFullError of %d", err, limit)
	}
	if got := m.room.Bytes(); got > limit*11/10 || got < limit*7/10 {
		t.Errorf("%d bytes are in use when the queue of %d is full", got, limit)
	}
	if verdicts, err := m.Accept(ctx, accepted); err != nil || slices.Contains(verdicts, VerdictNew) {
		t.Errorf("known requests: %v, %v", verdicts, err)
	}
	var fresh Record
	plainRecord(&fresh, 1<<20, 10, 100)
	small := Record{Key: Key{1}, Slot: "www1.example", Data: []byte("x")}
	if _, err := m.Accept(ctx, []Record{small, fresh, fresh, accepted[0]}); err == nil {
		t.Fatal("the full queue takes more")
	}
	for range 10 {
		if _, _, err := m.Next(ctx, "www1.example", 10); err != nil {
			t.Fatal(err)
		}
	}
	verdicts, err := m.Accept(ctx, []Record{small, fresh})
	if err != nil || !slices.Equal(verdicts, []Verdict{VerdictNew, VerdictNew}) {
		t.Errorf("of the refused batch: %v, %v; want all new", verdicts, err)
	}
}

func TestMemoryCacheLive(t *testing.T) {
	ctx := t.Context()
	m := beginMemory(t, 0)
	live := &liveParts{}
	rec := Record{Key: Key{1}, Slot: "s", Data: []byte("data"), Live: live}
	later := Record{Key: Key{2}, Slot: "s", Live: "later", NotBefore: time.Unix(100, 0)}
	if _, err := m.Accept(ctx, []Record{rec, later}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, _, err := m.Next(ctx, "s", 9)
		if err != nil || len(got) != 1 || got[0].Live != live {
			t.Fatalf("%+v, %v", got, err)
		}
		if len(m.live) != 1 {
			t.Errorf("%d live parts are kept, want that of the due list", len(m.live))
		}
		if _, err := m.Return(ctx, got[0], time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := m.Due(ctx, time.Unix(100, 0)); err != nil {
		t.Fatal(err)
	}
	got, _, err := m.Next(ctx, "s", 9)
	if err != nil || len(got) != 2 || got[1].Live != "later" || len(m.live) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestMemoryCacheBeginsEmpty(t *testing.T) {
	ctx := t.Context()
	m := beginMemory(t, 0)
	batch := []Record{{Key: Key{1}, Slot: "s"}, {Key: Key{2}, Slot: "s", NotBefore: time.Unix(1, 0)}}
	for range 2 {
		if verdicts, err := m.Accept(ctx, batch); err != nil || !slices.Equal(verdicts, []Verdict{VerdictNew, VerdictLater}) {
			t.Fatal(verdicts, err)
		}
		err := m.Settle(ctx, Batch{Settled: []Settled{{Outcome: Failed}}, Counters: map[string]int64{"a": 1}, Started: true, Finished: "finished"})
		if err != nil {
			t.Fatal(err)
		}
		state, err := m.Begin(ctx, Job{})
		if err != nil || state.Started || state.Finished || state.Delayed != 0 || len(state.Counters) != 0 {
			t.Fatalf("%+v, %v", state, err)
		}
		if counters, err := m.Counters(ctx); err != nil || len(counters) != 0 {
			t.Errorf("counters %v, %v", counters, err)
		}
		for slot := range m.Slots(ctx) {
			t.Errorf("slot %v", slot)
		}
		for letter := range m.DeadLetters(ctx) {
			t.Errorf("dead letter %v", letter)
		}
	}
}

func TestMemoryCacheDeadLetters(t *testing.T) {
	ctx := t.Context()
	m := beginMemory(t, 0)
	for i := range 3_000 {
		s := Settled{Outcome: []Outcome{Fetched, Failed, GaveUp}[i%3], Status: i, Record: Record{Data: []byte("url"), Live: "live"}}
		if err := m.Settle(ctx, Batch{Settled: []Settled{s}}); err != nil {
			t.Fatal(err)
		}
	}
	n, last := 0, 0
	for s, err := range m.DeadLetters(ctx) {
		if err != nil || s.Outcome == Fetched || s.Status <= last || s.Record.Live != nil {
			t.Fatalf("%+v, %v", s, err)
		}
		n, last = n+1, s.Status
	}
	if n != 1_000 || last != 2_999 {
		t.Errorf("%d dead letters up to number %d, want the newest 1,000", n, last)
	}
	big := Settled{Outcome: Failed, Record: Record{Data: make([]byte, 6<<20)}}
	if err := m.Settle(ctx, Batch{Settled: []Settled{big, big, big, big}}); err != nil {
		t.Fatal(err)
	}
	n = 0
	for range m.DeadLetters(ctx) {
		n++
	}
	if n != 2 {
		t.Errorf("%d dead letters of 6 MiB are kept, want 2", n)
	}
}

func TestMemoryCacheDepth(t *testing.T) {
	ctx := t.Context()
	for _, tt := range []struct{ first, again, want int }{
		{5, 3, 3}, {3, 5, 3}, {0, 0, 0}, {70_000, 2, 2}, {70_000, 69_000, 70_000}, {70_000, 90_000, 70_000}, {65_532, 65_531, 65_531},
	} {
		m := beginMemory(t, 0)
		for _, depth := range []int{tt.first, tt.again} {
			if _, err := m.Accept(ctx, []Record{{Key: Key{1}, Slot: "s", Depth: depth}}); err != nil {
				t.Fatal(err)
			}
		}
		if got, _, err := m.Next(ctx, "s", 1); err != nil || got[0].Depth != tt.want {
			t.Errorf("%d, then %d: %+v, %v; want %d", tt.first, tt.again, got, err, tt.want)
		}
	}
}

func BenchmarkMemoryCache(b *testing.B) {
	ctx := context.Background()
	// One batch is used again and again, with other keys: what is measured is the cache.
	batch := make([]Record, 64)
	var slots []string
	for i := range 1_000 {
		slots = append(slots, fmt.Sprintf("www%d.example", i))
	}
	next := uint64(0)
	fill := func() {
		for i := range batch {
			next++
			rec := &batch[i]
			if rec.Data == nil {
				plainRecord(rec, i, 1, 55)
			}
			rec.Slot = slots[next%uint64(len(slots))]
			binary.LittleEndian.PutUint64(rec.Key[:], next*0x9e3779b97f4a7c15)
		}
	}
	const most = 1 << 20
	b.Run("Accept/new", func(b *testing.B) {
		b.ReportAllocs()
		m := beginMemory(b, 1<<40)
		for i := 0; i < b.N; i += len(batch) {
			if m.queue.Len() >= most {
				b.StopTimer()
				m = beginMemory(b, 1<<40)
				b.StartTimer()
			}
			fill()
			if _, err := m.Accept(ctx, batch); err != nil {
				b.Fatal(err)
			}
		}
	})
	full := func(b *testing.B) *memoryCache {
		m := beginMemory(b, 1<<40)
		next = 0
		for m.queue.Len() < most {
			fill()
			if _, err := m.Accept(ctx, batch); err != nil {
				b.Fatal(err)
			}
		}
		return m
	}
	b.Run("Accept/known", func(b *testing.B) {
		b.ReportAllocs()
		m := full(b)
		b.ResetTimer()
		for i := 0; i < b.N; i += len(batch) {
			if next >= most {
				next = 0
			}
			fill()
			if _, err := m.Accept(ctx, batch); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Next", func(b *testing.B) {
		b.ReportAllocs()
		m := full(b)
		b.ResetTimer()
		for i := range b.N {
			if m.queue.Len() == 0 {
				b.StopTimer()
				m = full(b)
				b.StartTimer()
			}
			m.Next(ctx, slots[i%len(slots)], 1)
		}
	})
}

// Who looks into a job has neither its parsers nor its types.
func TestRecordRequest(t *testing.T) {
	r := NewRequest("https://a.example/x", POST, nil, RequestWithParserName("other"), RequestWithBody([]byte("body")),
		RequestWithRequestMeta(map[string]any{"at": metaPoint{1, 2}, "n": 3}))
	c := testCodec(t, true)
	data, _, err := c.encode(nil, NewContext(r), false)
	if err != nil {
		t.Fatal(err)
	}
	rec := Record{Data: data, Priority: 1, Depth: 2, Attempt: 3}
	got, err := rec.Request()
	if err != nil {
		t.Fatal(err)
	}
	if got.Url != r.Url || got.Method != POST || string(got.Body) != "body" || got.Priority != 1 || got.Depth != 2 || got.Attempt != 3 {
		t.Errorf("got %+v", got)
	}
	if raw, ok := got.Meta["at"].(json.RawMessage); !ok || string(raw) != `{"X":1,"Y":2}` || got.Meta["n"] != 3 {
		t.Errorf("meta %#v", got.Meta)
	}
	for _, bad := range []string{"", "\x01", "\xff", "\x01\x04PO"} {
		rec.Data = []byte(bad)
		if got, err := rec.Request(); err == nil {
			t.Errorf("%q became %+v", bad, got)
		}
	}
}

// The shares of all slots are the bytes of the cache, whatever waits where, and nothing is left of either when it is
// empty.
//
// It fails if put does not count what lies in the due list (PutAside in memcache.go).
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
			sum += m.room.Share(fmt.Sprintf("host%d.example", i))
		}
		if sum != m.room.Bytes() {
			t.Fatalf("seed %d, round %d: the shares are %d bytes, all together %d", seed, round, sum, m.room.Bytes())
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
	if m.room.Bytes() != 0 { // an entry that holds nothing counts too
		t.Errorf("seed %d: %d bytes are left", seed, m.room.Bytes())
	}
}

// At 7/8 the slot that holds more than half is refused while another one has work, and nothing is marked as seen.
//
// It fails if cache.Room refuses nothing, or if Accept marks what is refused as seen.
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
		if got := m.room.Bytes(); got > limit || got < limit*3/4 {
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
