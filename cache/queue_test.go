package cache_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/cache"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// text is a codec for strings; what begins with "bad" comes in but not out.
type text struct{}

var errBad = errors.New("bad value")

func (text) Append(dst []byte, v string) []byte { return append(dst, v...) }

func (text) Decode(src []byte) (string, error) {
	if strings.HasPrefix(string(src), "bad") {
		return "half a value", errBad
	}
	return string(src), nil
}

func take(t *testing.T, q *cache.Queue[string], slot string) (string, int) {
	t.Helper()
	v, priority, ok, err := q.Dequeue(slot)
	if err != nil || !ok {
		t.Fatalf("Dequeue(%q): ok %v, err %v", slot, ok, err)
	}
	return v, priority
}

func TestQueueOrder(t *testing.T) {
	type entry struct {
		priority int
		value    string
	}
	tests := []struct {
		name string
		in   []entry
		want string
	}{
		{"first in first out", []entry{{0, "a"}, {0, "b"}, {0, "c"}}, "a b c"},
		{"larger priority first", []entry{{1, "a"}, {3, "b"}, {2, "c"}}, "b c a"},
		{"fifo within a priority", []entry{{0, "a"}, {1, "b"}, {0, "c"}, {1, "d"}}, "b d a c"},
		{"extreme priorities", []entry{{0, "a"}, {math.MinInt, "b"}, {math.MaxInt, "c"}}, "c a b"},
		{"top steps down twice", []entry{{0, "a"}, {1, "b"}, {2, "c"}, {1, "d"}, {0, "e"}}, "c b d a e"},
		{"empty values", []entry{{0, ""}, {0, "a"}, {0, ""}}, " a "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := cache.NewQueue[string](text{})
			for _, e := range tt.in {
				q.Enqueue("s", e.priority, e.value)
			}
			var seen, got []string
			for e, err := range q.Each("s") {
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, e.Value)
			}
			for range tt.in {
				v, _ := take(t, q, "s")
				got = append(got, v)
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("taken %q, want %q", s, tt.want)
			}
			if s := strings.Join(seen, " "); s != tt.want {
				t.Errorf("Each gave %q, want %q", s, tt.want)
			}
			if _, _, ok, err := q.Dequeue("s"); ok || err != nil {
				t.Errorf("Dequeue of an empty slot: ok %v, err %v", ok, err)
			}
			if q.Len() != 0 || q.Bytes() != 0 {
				t.Errorf("empty queue: Len %d, Bytes %d", q.Len(), q.Bytes())
			}
		})
	}
}

// Many priorities in one slot, so that the search by index is used and given up again.
func TestQueueManyPriorities(t *testing.T) {
	q := cache.NewQueue[string](text{})
	const n = 1000
	for _, p := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
		q.Enqueue("s", p, fmt.Sprint(p))
		q.Enqueue("s", p, fmt.Sprint(p))
	}
	for p := n - 1; p >= 0; p-- {
		for range 2 {
			if v, priority := take(t, q, "s"); priority != p || v != fmt.Sprint(p) {
				t.Fatalf("got %q at %d, want %d", v, priority, p)
			}
		}
	}
	if q.Bytes() != 0 {
		t.Errorf("Bytes of an empty queue: %d", q.Bytes())
	}
}

func TestQueueLargeEntries(t *testing.T) {
	q := cache.NewQueue[string](text{})
	sizes := []int{1, 127, 128, 4 << 10, 32<<10 - 3, 32 << 10, 33 << 10, 5 << 20, 0, 16383, 16384, 100}
	for round := range 3 {
		for i, size := range sizes {
			q.Enqueue("s", 0, strings.Repeat(string(rune('a'+(i+round)%26)), size))
		}
	}
	if held := q.Bytes(); held < 15<<20 || held > 17<<20 {
		t.Errorf("Bytes %d, want little more than the 15 MiB of the entries", held)
	}
	for round := range 3 {
		for i, size := range sizes {
			if v, _ := take(t, q, "s"); v != strings.Repeat(string(rune('a'+(i+round)%26)), size) {
				t.Fatalf("round %d: entry of %d bytes came back with %d", round, size, len(v))
			}
		}
	}
}

func TestQueueDecodeError(t *testing.T) {
	q := cache.NewQueue[string](text{})
	q.Enqueue("s", 2, "bad one")
	q.Enqueue("s", 1, "good one")
	v, priority, ok, err := q.Dequeue("s")
	if v != "" || priority != 2 || !ok || !errors.Is(err, errBad) || !strings.Contains(err.Error(), `slot "s"`) {
		t.Errorf("got %q, %d, %v, %v", v, priority, ok, err)
	}
	if v, _ := take(t, q, "s"); v != "good one" {
		t.Errorf("after the bad entry came %q", v)
	}
}

func TestQueueSlotsWhileTaking(t *testing.T) {
	q := cache.NewQueue[string](text{})
	const n = 5000 // enough for the map to be replaced on the way down
	for i := range n {
		q.Enqueue(fmt.Sprint(i), 0, "v")
	}
	seen := map[string]bool{}
	for slot, pending := range q.Slots() {
		if seen[slot] || pending != 1 {
			t.Fatalf("slot %s: seen %v, pending %d", slot, seen[slot], pending)
		}
		seen[slot] = true
		take(t, q, slot)
	}
	if len(seen) != n || q.Len() != 0 {
		t.Errorf("saw %d of %d slots, %d entries left", len(seen), n, q.Len())
	}
}

// TestQueueModel compares the queue with a map of sorted slices under random operations.
func TestQueueModel(t *testing.T) {
	type entry struct {
		priority int
		value    string
	}
	for round := range 30 {
		seed := deep.Seed()
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		q := cache.NewQueue[string](text{})
		model := map[string][]entry{}
		length := 0
		slots, priorities, grow := 1+r.IntN(20), 1+r.IntN(30), 30+r.IntN(50)
		for step := range 5000 {
			fail := func(format string, args ...any) {
				t.Helper()
				t.Fatalf("seed %d round %d step %d: %s", seed, round, step, fmt.Sprintf(format, args...))
			}
			slot := fmt.Sprint("slot", r.IntN(slots))
			switch op := r.IntN(100); {
			case op < grow:
				size := r.IntN(200)
				if r.IntN(200) == 0 {
					size = r.IntN(70_000)
				}
				e := entry{r.IntN(priorities) - priorities/2, strings.Repeat(fmt.Sprint(step%10), size)}
				q.Enqueue(slot, e.priority, e.value)
				waiting := model[slot]
				i := len(waiting)
				for i > 0 && waiting[i-1].priority < e.priority {
					i--
				}
				model[slot] = slices.Insert(waiting, i, e)
				length++
			case op < 98:
				v, priority, ok, err := q.Dequeue(slot)
				want := model[slot]
				if err != nil || ok != (len(want) > 0) {
					fail("Dequeue: ok %v, err %v, %d in the model", ok, err, len(want))
				}
				if ok {
					if v != want[0].value || priority != want[0].priority {
						fail("got %d bytes at %d, want %d at %d", len(v), priority, len(want[0].value), want[0].priority)
					}
					model[slot] = want[1:]
					length--
				}
			case op < 99:
				i := 0
				for e, err := range q.Each(slot) {
					if err != nil || i >= len(model[slot]) || e.Value != model[slot][i].value || e.Priority != model[slot][i].priority {
						fail("Each differs at %d: %v", i, err)
					}
					i++
				}
				if i != len(model[slot]) {
					fail("Each gave %d of %d", i, len(model[slot]))
				}
			case r.IntN(5) == 0:
				if n := q.Drop(slot); n != len(model[slot]) {
					fail("Drop gave %d, want %d", n, len(model[slot]))
				}
				length -= len(model[slot])
				delete(model, slot)
			}
			priority, pending := q.Head(slot)
			if want := model[slot]; pending != len(want) || pending > 0 && priority != want[0].priority {
				fail("Head: %d pending at %d", pending, priority)
			}
			if q.Len() != length || (q.Bytes() == 0) != (length == 0) {
				fail("Len %d, Bytes %d, want %d entries", q.Len(), q.Bytes(), length)
			}
		}
		maps.DeleteFunc(model, func(_ string, e []entry) bool { return len(e) == 0 })
		if got := maps.Collect(q.Slots()); len(got) != len(model) {
			t.Fatalf("seed %d: %d slots, want %d", seed, len(got), len(model))
		}
		for slot := range model {
			q.Drop(slot)
		}
		if q.Len() != 0 || q.Bytes() != 0 {
			t.Fatalf("seed %d: after dropping all: Len %d, Bytes %d", seed, q.Len(), q.Bytes())
		}
	}
}

func TestDueModel(t *testing.T) {
	type entry struct {
		at    int
		value string
	}
	seed := deep.Seed()
	r := rand.New(rand.NewPCG(seed, 0))
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	d := cache.NewDue[string](text{})
	var model []entry
	now := 0
	for step := range 20_000 {
		switch r.IntN(5) {
		case 0:
			now += r.IntN(3)
		case 1, 2:
			e := entry{now + r.IntN(100) - 10, fmt.Sprint(step)}
			d.Add(start.Add(time.Duration(e.at)*time.Second), e.value)
			i := len(model)
			for i > 0 && model[i-1].at > e.at {
				i--
			}
			model = slices.Insert(model, i, e)
		default:
			at, found := d.Next()
			if found != (len(model) > 0) || found && !at.Equal(start.Add(time.Duration(model[0].at)*time.Second)) {
				t.Fatalf("seed %d step %d: Next %v %v", seed, step, at, found)
			}
			v, ok, err := d.Pop(start.Add(time.Duration(now) * time.Second))
			if due := len(model) > 0 && model[0].at <= now; ok != due || err != nil || ok && v != model[0].value {
				t.Fatalf("seed %d step %d: Pop %q %v %v, due %v", seed, step, v, ok, err, due)
			}
			if ok {
				model = model[1:]
			}
		}
		if d.Len() != len(model) || (d.Bytes() == 0) != (len(model) == 0) {
			t.Fatalf("seed %d step %d: Len %d, Bytes %d, want %d", seed, step, d.Len(), d.Bytes(), len(model))
		}
	}
	i := 0
	for e, err := range d.All() {
		if err != nil || e.Value != model[i].value {
			t.Fatalf("seed %d: All differs at %d", seed, i)
		}
		i++
	}
	if i != len(model) {
		t.Errorf("seed %d: All gave %d of %d", seed, i, len(model))
	}
}

func TestDueDecodeError(t *testing.T) {
	d := cache.NewDue[string](text{})
	d.Add(time.Unix(5, 0), "bad one")
	if v, ok, err := d.Pop(time.Unix(5, 0)); v != "" || !ok || !errors.Is(err, errBad) {
		t.Errorf("got %q, %v, %v", v, ok, err)
	}
	if d.Len() != 0 || d.Bytes() != 0 {
		t.Errorf("the bad entry stayed: Len %d, Bytes %d", d.Len(), d.Bytes())
	}
}
