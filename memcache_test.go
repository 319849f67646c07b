package tegenaria

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/identity"
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

// plainRecord makes the record of a plain GET of a URL with that many bytes.
func plainRecord(rec *Record, i, slots, bytes int) {
	rec.Slot = fmt.Sprintf("www%d.example", i%slots)
	url := fmt.Sprintf("https://%s/%d/", rec.Slot, i)
	url += strings.Repeat("x", bytes-len(url))
	rec.Key = identity.Sum([]byte(url))
	rec.Data = wire.AppendPlain(rec.Data[:0], url)
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
	if got := m.waiting.Bytes(); got > limit*11/10 || got < limit*7/10 {
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
		m, waiting := beginMemory(b, 1<<40), 0
		for i := 0; i < b.N; i += len(batch) {
			if waiting >= most {
				b.StopTimer()
				m, waiting = beginMemory(b, 1<<40), 0
				b.StartTimer()
			}
			waiting += len(batch)
			fill()
			if _, err := m.Accept(ctx, batch); err != nil {
				b.Fatal(err)
			}
		}
	})
	full := func(b *testing.B) *memoryCache {
		m := beginMemory(b, 1<<40)
		next = 0
		for next < most {
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
			if i%most == 0 && i > 0 {
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

// At 7/8 the slot that holds more than half is refused while another one has work, and nothing is marked as seen.
//
// It fails if cache.Room refuses nothing, or if Accept marks what is refused as seen.
func TestShareOfOneSlot(t *testing.T) {
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
		if got := m.waiting.Bytes(); got > limit || got < limit*3/4 {
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
