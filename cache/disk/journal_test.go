package disk

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria"
)

// rowsOf lists what a batch sets and, as "gone", deletes.
func rowsOf(t *testing.T, batch *pebble.Batch) map[string]string {
	t.Helper()
	defer batch.Close()
	rows := make(map[string]string)
	for r := batch.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return rows
		}
		if _, twice := rows[string(key)]; twice {
			t.Errorf("key %x comes twice", key)
		}
		rows[string(key)] = string(value)
		if kind == pebble.InternalKeyKindDelete {
			rows[string(key)] = "gone"
		}
	}
}

// TestJournal fills a journal over three commits and checks what it says, what it says when it was read from the store
// again, and what rows it is merged into.
func TestJournal(t *testing.T) {
	db, err := pebble.Open("db", &pebble.Options{FS: vfs.NewMem(), Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	keys := []tegenaria.Key{{3}, {1}, {1, 15: 1}, {2}}
	slotValue := func(id, waiting byte) []byte { return []byte{id, waiting, 0, 0} }
	j := newJournal(1 << 20)
	stored := make(map[uint64][]byte)
	for commit, fill := range []func(){
		func() {
			j.see(&keys[0], where{seq: 1, order: 1, depth: 9})
			j.see(&keys[1], where{seq: 2, order: 2, slot: 300})
			j.setSlot(1, "a", slotValue(1, 5))
			j.setSlot(2, "b", slotValue(2, 5))
		},
		func() {
			j.see(&keys[0], where{seq: 1, order: 1, depth: 4, lowered: true})
			j.see(&keys[2], where{seq: 3, order: 3, due: true, at: -1})
			j.setSlot(1, "a", slotValue(1, 6))
			j.forgetSlot(2)
		},
		func() { j.setSlot(3, "b", slotValue(3, 1)) },
	} {
		fill()
		stored[uint64(commit)] = append([]byte(nil), j.next()...)
		j.wrote(uint64(commit))
	}
	again := newJournal(1 << 20)
	for commit := range uint64(len(stored)) {
		if err := again.read(commit, stored[commit]); err != nil {
			t.Fatal(err)
		}
	}
	again.nameSlot(1, "a")
	again.nameSlot(3, "b")
	again.nameSlot(7, "not in the journal")
	want := map[string]string{
		"ha": string(slotValue(1, 6)), "hb": string(slotValue(3, 1)),
		string(seqKey(nil, rangeJournal, 0)): "gone", string(seqKey(nil, rangeJournal, 1)): "gone", string(seqKey(nil, rangeJournal, 2)): "gone",
		"m": "state", "x": "gone",
	}
	wheres := map[int]where{
		0: {seq: 1, order: 1, depth: 4, lowered: true}, 1: {seq: 2, order: 2, slot: 300}, 2: {seq: 3, order: 3, due: true, at: -1},
	}
	for i, w := range wheres {
		want[string(seenKey(nil, &keys[i]))] = string(w.append(nil))
	}
	for name, j := range map[string]*journal{"written": &j, "read": &again} {
		for i := range keys {
			w, known := j.where(&keys[i])
			if wantWhere, wantKnown := wheres[i]; known != wantKnown || w != wantWhere {
				t.Errorf("%s: key %d is at %+v, %v", name, i, w, known)
			}
		}
		if value, ok := j.slot(1); !ok || string(value) != string(slotValue(1, 6)) {
			t.Errorf("%s: slot 1 is %x, %v", name, value, ok)
		}
		if value, ok := j.slot(2); ok {
			t.Errorf("%s: the forgotten slot is %x", name, value)
		}
		if j.empty() || len(j.next()) != 0 || j.due() {
			t.Errorf("%s: empty %v, %d bytes are not stored, due %v", name, j.empty(), len(j.next()), j.due())
		}
		var c changes
		c.set([]byte("m"), []byte("state"))
		c.erase([]byte("x"))
		if got := rowsOf(t, c.batch(db, j)); !maps.Equal(got, want) {
			t.Errorf("%s: merged into %q, want %q", name, got, want)
		}
		if _, known := j.where(&keys[0]); known || !j.empty() {
			t.Errorf("%s: not forgotten when it was merged", name)
		}
	}
	for i := range stored[0] {
		cut := newJournal(1 << 20)
		if err := cut.read(0, stored[0][:i]); err == nil && cut.seen.used+len(cut.slots) >= 4 {
			t.Errorf("cut off at byte %d it is whole", i)
		}
	}
	if err := again.read(9, []byte("q")); err == nil {
		t.Error("a row of another range was read")
	}
}

// TestJournalDue checks that a journal is merged at its share of a memtable, and when it is asked for.
func TestJournalDue(t *testing.T) {
	j := newJournal(journalShare * 1000)
	for n := 0; !j.due(); n++ {
		if len(j.data) >= 1000 {
			t.Fatalf("%d bytes are not merged", len(j.data))
		}
		j.see(&tegenaria.Key{byte(n), byte(n >> 8)}, where{})
	}
	if len(j.data) < 1000 {
		t.Errorf("%d bytes are merged", len(j.data))
	}
	j.clear()
	if j.due() {
		t.Error("an empty journal is due")
	}
	j.full = true
	if !j.due() {
		t.Error("what was asked for is not due")
	}
}

// randomKey makes a key as good as any.
func randomKey(rng *rand.Rand) (key tegenaria.Key) {
	for i := range key {
		key[i] = byte(rng.Uint32())
	}
	return key
}

// TestKeyTable fills a table with keys that collide in one half or the other, and gives each a second place: it finds the
// second one of each, and nothing else, until it is cleared.
func TestKeyTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	table := newKeyTable()
	var data []byte
	want := make(map[tegenaria.Key]int)
	for round := range 2 {
		rng := rand.New(rand.NewPCG(3, 4)) // the same keys again
		for i := range 10_000 {
			key := randomKey(rng)
			switch i % 3 {
			case 0:
				clear(key[:8])
			case 1:
				clear(key[8:])
			}
			want[key] = len(data)
			data = append(append(data, rangeSeen), key[:]...)
			table.set(data, &key, want[key])
		}
		if table.used != len(want) {
			t.Fatalf("round %d: %d keys are used, want %d", round, table.used, len(want))
		}
	}
	for key, at := range want {
		if got, known := table.find(data, &key); !known || got != at {
			t.Fatalf("key %x is at %d, %v; want %d", key, got, known, at)
		}
	}
	all := 0
	for at := range table.all() {
		if key := keyAt(data, at); want[*key] != int(at) {
			t.Fatalf("%x at %d is not the newest, which is at %d", *key, at, want[*key])
		}
		all++
	}
	if all != len(want) {
		t.Errorf("%d keys in all, want %d", all, len(want))
	}
	for range 10_000 {
		if key := randomKey(rng); want[key] == 0 {
			if _, known := table.find(data, &key); known {
				t.Fatalf("%x is known, and was not set", key)
			}
		}
	}
	table.clear()
	for key := range want {
		if _, known := table.find(data, &key); known {
			t.Fatalf("%x is known, and was cleared", key)
		}
	}
}

// TestRecent fills the table as far as it goes: whatever it says it knows was added, at that depth or a smaller one, and of
// as many keys as nine tenths of its places it has forgotten less than a tenth; with one group for a key it would be more.
// It grows beyond its own size only when enough of the keys that it has forgotten were asked for.
func TestRecent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := newRecent()
	fill := func(size int) {
		t.Helper()
		keys := make([]tegenaria.Key, size*9/10)
		for i := range keys {
			keys[i] = randomKey(rng)
			r.add(&keys[i], i%100+1)
		}
		if len(r.keys) != size {
			t.Fatalf("it has %d places, want %d", len(r.keys), size)
		}
		forgotten := 0
		for i := range keys {
			if r.known(&keys[i], i%100) {
				t.Fatalf("key %d is known at a smaller depth than it was added with", i)
			}
			if !r.known(&keys[i], i%100+1) {
				forgotten++
			}
		}
		t.Logf("%d of %d keys are forgotten", forgotten, len(keys))
		if forgotten > len(keys)/10 {
			t.Errorf("%d of %d keys are forgotten", forgotten, len(keys))
		}
		for range 100_000 {
			if key := randomKey(rng); r.known(&key, deepest) {
				t.Fatalf("%x is known, and was not added", key)
			}
		}
		youngest := keys[len(keys)-1]
		r.add(&youngest, 0)
		if !r.known(&youngest, 0) {
			t.Error("the smaller depth is not known")
		}
	}
	r.missed = maxRecent // of a job that was resumed: there is room all the same
	r.miss()
	if len(r.keys) != minRecent {
		t.Fatalf("an empty table has grown to %d places", len(r.keys))
	}
	fill(ownRecent)
	for range ownRecent / 16 {
		r.miss()
	}
	if len(r.keys) != ownRecent {
		t.Fatalf("it has grown to %d places too soon", len(r.keys))
	}
	r.miss()
	if len(r.keys) != maxRecent {
		t.Fatalf("it has %d places, want %d", len(r.keys), maxRecent)
	}
	r = newRecent()
	for r.grow(); len(r.keys) < maxRecent; r.grow() {
	}
	fill(maxRecent)
	for range maxRecent {
		r.miss()
	}
	if len(r.keys) != maxRecent {
		t.Fatalf("it has grown to %d places", len(r.keys))
	}
}

// TestKeyMarks checks that no key that was marked is said not to be.
func TestKeyMarks(t *testing.T) {
	var marks keyMarks
	again := 0
	for i := range 20 {
		if marks.mark(&tegenaria.Key{byte(i * 7), byte(i * 31)}) {
			again++
		}
	}
	if again > 2 {
		t.Errorf("%d of 20 keys may have been marked before", again)
	}
	for i := range 20 {
		if key := (tegenaria.Key{byte(i * 7), byte(i * 31)}); !marks.mark(&key) {
			t.Errorf("key %d was not marked", i)
		}
	}
}
