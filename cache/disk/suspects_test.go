package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
)

const flightsFile = "FLIGHTS"

// fly notes where a request is.
func fly(t testing.TB, c *disk.Cache, rec tegenaria.Record, now tegenaria.Flight) {
	t.Helper()
	if err := c.RecordFlight(&rec, now); err != nil {
		t.Fatal(err)
	}
}

// killed begins a job of ten requests, has three of them in flight, and returns what the death of the process leaves.
func killed(t *testing.T) (dir string) {
	t.Helper()
	running := t.TempDir()
	c, _ := begun(t, running)
	accept(t, c, nodes(0, 10)...)
	commit(t, c, tegenaria.Batch{Started: true})
	for _, rec := range take(t, c, "host0", 3) {
		fly(t, c, rec, tegenaria.FlightBegun)
	}
	dir = leftOf(t, running)
	closed(t, c)
	if _, err := os.Stat(filepath.Join(running, flightsFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a job that was closed in order has notes: %v", err)
	}
	return dir
}

// TestSuspectsAreInspected looks into a job after a crash, twice: that counts the crash once. It fails when describe
// does not set Crashes.
func TestSuspectsAreInspected(t *testing.T) {
	dir := killed(t)
	for range 2 {
		c := open(t, dir, disk.Existing())
		status := statusOf(t, c)
		if len(status.Suspects) != 3 || !strings.Contains(status.String(), "3 requests in flight when the process died") {
			t.Fatalf("%+v", status)
		}
		for _, info := range status.Suspects {
			if info.Record.Crashes != 1 || info.State != disk.Waiting {
				t.Errorf("%+v", info)
			}
		}
		closed(t, c)
	}
	c, state := begun(t, dir)
	defer closed(t, c)
	if len(state.Suspects) != 3 || state.Suspects[0].Crashes != 1 || state.Unread != nil {
		t.Errorf("%+v", state)
	}
}

// TestDamagedNotesAreForgotten damages the notes of a job, or takes them away. It opens as if there were none of those
// that are damaged, and says so. It fails when parseNote does not check the sum, or when the sum does not depend on the job.
func TestDamagedNotesAreForgotten(t *testing.T) {
	other, err := os.ReadFile(filepath.Join(killed(t), flightsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		damage func(notes []byte) []byte
		left   int
		told   bool
	}{
		{"none", func(notes []byte) []byte { return notes }, 3, false},
		{"missing", nil, 0, false},
		{"empty", func([]byte) []byte { return nil }, 0, false},
		{"a bit", func(notes []byte) []byte { notes[5] ^= 4; return notes }, 2, true},
		{"a count", func(notes []byte) []byte { notes[24] = 200; return notes }, 2, true},
		{"cut off", func(notes []byte) []byte { return notes[:70] }, 2, true},
		{"garbage", func(notes []byte) []byte { return []byte(strings.Repeat("garbage ", len(notes)/8)) }, 0, true},
		{"too long", func(notes []byte) []byte { return append(notes, make([]byte, 5<<20)...) }, 3, false},
		{"of another job", func([]byte) []byte { return other }, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := killed(t)
			name := filepath.Join(dir, flightsFile)
			notes, err := os.ReadFile(name)
			if err == nil {
				err = os.Remove(name)
			}
			if err == nil && tt.damage != nil {
				err = os.WriteFile(name, tt.damage(notes), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			c, state := begun(t, dir)
			if len(state.Suspects) != tt.left || (state.Unread != nil) != tt.told {
				t.Errorf("%d suspects, %v", len(state.Suspects), state.Unread)
			}
			rest, _, err := c.Next(t.Context(), "host0", 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range append(rest, state.Suspects...) {
				fly(t, c, rec, tegenaria.FlightBegun)
				fly(t, c, rec, tegenaria.FlightOver)
			}
			closed(t, c)
			if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the notes are still there: %v", err)
			}
		})
	}
}

// TestCrashesAreCountedOnce has a process begin one of three suspects and die, and the next one begin another and die:
// their crashes are counted, and the third suspect, which neither has begun, keeps its count. It fails when readNotes does
// not replace the file.
func TestCrashesAreCountedOnce(t *testing.T) {
	dir := killed(t)
	for range 2 {
		c, state := begun(t, dir)
		for _, rec := range state.Suspects {
			if rec.Crashes == 1 {
				fly(t, c, rec, tegenaria.FlightBegun)
				break
			}
		}
		dir = leftOf(t, dir)
		closed(t, c)
	}
	c, state := begun(t, dir)
	defer closed(t, c)
	var crashes []int
	for _, rec := range state.Suspects {
		crashes = append(crashes, rec.Crashes)
	}
	if !slices.Equal(crashes, []int{1, 2, 2}) || state.Unread != nil {
		t.Errorf("crashes %v, %v", crashes, state.Unread)
	}
}

// TestNotesOutliveTheirFile takes the file away from under its mapping, which would end the process at the next note:
// the note is written instead, and a crash finds it. It fails when copyMapped does not turn faults into panics, or returns
// true after one.
func TestNotesOutliveTheirFile(t *testing.T) {
	dir := t.TempDir()
	c, _ := begun(t, dir)
	accept(t, c, nodes(0, 10)...)
	commit(t, c, tegenaria.Batch{Started: true})
	flying := take(t, c, "host0", 2)
	for i, rec := range flying {
		fly(t, c, rec, tegenaria.FlightBegun)
		if i == 0 {
			if err := os.Truncate(filepath.Join(dir, flightsFile), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	died := leftOf(t, dir)
	closed(t, c)
	c, state := begun(t, died)
	defer closed(t, c)
	if len(state.Suspects) != 1 || state.Suspects[0].Key != flying[1].Key {
		t.Errorf("%+v", state.Suspects)
	}
}

// BenchmarkRecordFlight notes that a request begins, and that it got through: what a page costs, beside sixteen others.
func BenchmarkRecordFlight(b *testing.B) {
	for _, in := range []string{"mapped", "written"} {
		b.Run(in, func(b *testing.B) {
			b.ReportAllocs()
			dir, opts := b.TempDir(), []disk.Option(nil)
			if in == "written" {
				dir, opts = "/job", []disk.Option{disk.WithFS(vfs.NewMem())}
			}
			c := open(b, dir, opts...)
			defer closed(b, c)
			records := nodes(0, 17)
			for _, rec := range records[:16] {
				fly(b, c, rec, tegenaria.FlightBegun)
			}
			for b.Loop() {
				for _, now := range []tegenaria.Flight{tegenaria.FlightBegun, tegenaria.FlightOver} {
					if err := c.RecordFlight(&records[16], now); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
