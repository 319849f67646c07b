package disk

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria"
)

var someRecord = record{
	key: tegenaria.Key{1, 2, 15: 3}, seq: 300, parent: 7, depth: 70_000, attempt: 2, data: []byte("\x00https://a.example/"),
}

// TestValues encodes and decodes everything that is stored.
func TestValues(t *testing.T) {
	for _, order := range []uint64{300, 301} {
		got, err := parseRecord(appendRecord(nil, &someRecord, order), order)
		if err != nil || !reflect.DeepEqual(got, someRecord) {
			t.Errorf("record: %+v, %v", got, err)
		}
	}
	slot, priority, rec, err := parseDue(appendDue(nil, "a.example", -5, &someRecord, 9), 9)
	if err != nil || slot != "a.example" || priority != -5 || !reflect.DeepEqual(rec, someRecord) {
		t.Errorf("due: %q, %d, %+v, %v", slot, priority, rec, err)
	}
	for _, want := range []where{
		{}, {seq: 5, depth: 3, slot: 9, order: 7, lowered: true}, {seq: 1, order: 1, due: true, at: math.MinInt64},
	} {
		if got, err := parseWhere(want.append(nil)); err != nil || got != want {
			t.Errorf("where: %+v, %v; want %+v", got, err, want)
		}
	}
	how := tegenaria.Settled{Outcome: tegenaria.GaveUp, Reason: "status 503", Status: 503, At: time.Unix(5, 6).UTC()}
	info, err := parseInfo(row{seqKey(nil, rangeOutcome, 300), appendOutcome(nil, &someRecord, "a.example", 4, &how)})
	if err != nil || info.Number != 300 || info.Parent != 7 || info.Reason != how.Reason || !info.At.Equal(how.At) || info.Record.Priority != 4 ||
		info.Record.Slot != "a.example" || info.Record.Depth != 70_000 || !bytes.Equal(info.Record.Data, someRecord.data) {
		t.Errorf("outcome: %+v, %v", info, err)
	}
	want := state{
		commits: 1 << 40, next: 9, nextSlot: 8, waiting: 7, delayed: 6, settled: 5, lowered: 4, started: true, finished: true, reason: "done",
		id: [16]byte{15: 1}, spider: "s", keyVersion: 3, filter: 2, lost: 0.5, manifest: witness{"MANIFEST-1", 77, 1 << 31},
	}
	if got, err := parseState(want.append(nil)); err != nil || got != want {
		t.Errorf("state: %+v, %v", got, err)
	}
}

func TestWitnesses(t *testing.T) {
	for _, want := range [][]witness{nil, {{"000012.log", 1 << 40, 1 << 31}}, {{"a", 0, 0}, {"b", 1, 2}}} {
		stored := appendWitnesses(nil, want)
		if got, err := parseWitnesses(stored); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v came back as %v, %v", want, got, err)
		}
		for i := range stored {
			changed := bytes.Clone(stored)
			changed[i] ^= 4
			if got, err := parseWitnesses(changed); err == nil {
				t.Errorf("byte %d was changed: %v", i, got)
			}
			if got, err := parseWitnesses(stored[:i]); err == nil {
				t.Errorf("cut off at byte %d: %v", i, got)
			}
		}
	}
}

// TestChanges checks that the last change of a key counts, and that the order of the keys is what a batch has.
func TestChanges(t *testing.T) {
	var c changes
	c.set([]byte("b"), []byte("first"))
	c.set([]byte("long key, 1"), []byte("x"))
	c.erase([]byte("gone"))
	c.set([]byte("long key, 0"), nil)
	c.set([]byte("b"), []byte("last"))
	c.set([]byte("gone"), []byte("y"))
	c.erase([]byte("gone"))
	db, err := pebble.Open("db", &pebble.Options{FS: vfs.NewMem(), Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	batch := c.batch(db, nil)
	defer batch.Close()
	var got []string
	for r := batch.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, fmt.Sprintf("%v %s=%s", kind, key, value))
	}
	if want := []string{"SET b=last", "DEL gone=", "SET long key, 0=", "SET long key, 1=x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.size() != 0 {
		t.Errorf("%d bytes are left", c.size())
	}
}

// TestKeyOrder checks that keys are ordered as what they stand for.
func TestKeyOrder(t *testing.T) {
	var keys [][]byte
	for _, p := range []int64{math.MaxInt64, 1, 0, -1, math.MinInt64} {
		for _, order := range []uint64{0, 1, math.MaxUint64} {
			want := place{p, order}
			key := queueKey(nil, 7, want)
			keys = append(keys, key)
			if slot, got, err := parseQueueKey(key); err != nil || slot != 7 || got != want {
				t.Errorf("%+v came back as %+v, %v", want, got, err)
			}
		}
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		t.Error("queue keys are out of order")
	}
	keys = nil
	for _, at := range []time.Time{time.Unix(0, 0).AddDate(-400, 0, 0), time.Unix(-1, 0), time.Unix(0, 0), time.Unix(0, 1), time.Unix(0, 0).AddDate(1000, 0, 0)} {
		key := dueKey(nil, instantOf(at), 5)
		keys = append(keys, key)
		if got, order, err := parseDueKey(key); err != nil || got != instantOf(at) || order != 5 {
			t.Errorf("%v came back as %v, %d, %v", at, got, order, err)
		}
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		t.Error("due keys are out of order")
	}
}

// FuzzValues reads values that nobody has written. What is accepted comes back the same.
func FuzzValues(f *testing.F) {
	w := where{seq: 5, depth: 3, order: 7, due: true, at: 12}
	s := state{commits: 3, spider: "s", reason: "finished", finished: true}
	how := tegenaria.Settled{Outcome: tegenaria.Failed, Reason: "x", At: time.Unix(1, 2)}
	for _, value := range [][]byte{
		nil, appendRecord(nil, &someRecord, 1), w.append(nil), s.append(nil), appendOutcome(nil, &someRecord, "a", 1, &how),
		appendDue(nil, "a", 1, &someRecord, 1), appendCounters(nil, map[string]int64{"a": 1, "b": -1}), appendMark(nil, [16]byte{1}, 9),
		appendWitnesses(nil, []witness{{"000012.log", 5, 6}}), []byte("s0123456789abcdef\x08\x05\x01h\x04\x01\x02\x00\x00h\x01\x02"),
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if rec, err := parseRecord(value, 1); err == nil {
			if again, err := parseRecord(appendRecord(nil, &rec, 1), 1); err != nil || !reflect.DeepEqual(again, rec) && len(rec.data) > 0 {
				t.Errorf("record %+v came back as %+v, %v", rec, again, err)
			}
		}
		if w, err := parseWhere(value); err == nil {
			if again, err := parseWhere(w.append(nil)); err != nil || again != w {
				t.Errorf("where %+v came back as %+v, %v", w, again, err)
			}
		}
		if s, err := parseState(value); err == nil && s.lost == s.lost {
			if again, err := parseState(s.append(nil)); err != nil || again != s {
				t.Errorf("state %+v came back as %+v, %v", s, again, err)
			}
		}
		if counters, err := parseCounters(value); err == nil {
			if again, err := parseCounters(appendCounters(nil, counters)); err != nil || !reflect.DeepEqual(again, counters) {
				t.Errorf("counters %v came back as %v, %v", counters, again, err)
			}
		}
		if _, err := parseInfo(row{seqKey(nil, rangeOutcome, 1), value}); err == nil && len(value) < 20 {
			t.Errorf("%q is no outcome", value)
		}
		if slot, _, _, err := parseDue(value, 1); err == nil && len(slot) > len(value) {
			t.Errorf("the slot %q of %q", slot, value)
		}
		if s, err := parseSlot("a", value); err == nil && s.name != "a" {
			t.Errorf("slot %+v", s)
		}
		if all, err := parseWitnesses(value); err == nil {
			if again, err := parseWitnesses(appendWitnesses(nil, all)); err != nil || !slices.Equal(again, all) {
				t.Errorf("witnesses %v came back as %v, %v", all, again, err)
			}
		}
		row := newJournal(1 << 20)
		if err := row.read(1, value); err == nil {
			again := newJournal(1 << 20)
			for at := range row.seen.all() {
				key := keyAt(row.data, at)
				w, _ := row.where(key)
				again.see(key, w)
			}
			if err := again.read(2, again.data); err != nil || again.seen.used != row.seen.used {
				t.Errorf("the journal %q came back as %q, %v", value, again.data, err)
			}
		}
		if id, number, ok := parseMark(value); ok && !bytes.Equal(value[:markLen], appendMark(nil, id, number)) {
			t.Errorf("mark %q", value)
		}
	})
}
