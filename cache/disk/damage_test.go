package disk_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// halfway is a job somewhere in its crawl: closed, or as kill -9 leaves it.
func halfway(t *testing.T, inOrder bool, rng *rand.Rand) *power {
	t.Helper()
	whole := newPower(rng)
	if err := crawlNodes(t.Context(), whole, newNaive()); err != nil {
		t.Fatal(err)
	}
	p := newPower(rng)
	p.at = whole.writes * (40 + rng.IntN(50)) / 100
	if err := crawlNodes(t.Context(), p, newNaive()); err != nil && !p.gone() {
		t.Fatal(err)
	}
	left := &power{disk: p.disk, feed: p.feed, rng: rng} // nothing that was written is lost
	if !inOrder {
		left = &power{disk: p.left.disk, feed: p.left.feed, rng: rng}
	} else {
		c, _ := begun(t, "/job", disk.WithFS(left.disk))
		closed(t, c)
	}
	return left
}

// files lists the files below a directory.
func files(t *testing.T, fs vfs.FS, dir string) (names []string) {
	t.Helper()
	list, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		name = path.Join(dir, name)
		if info, err := fs.Stat(name); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			names = append(names, files(t, fs, name)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// change rewrites a file, or removes it if how is nil.
func change(t *testing.T, fs vfs.FS, name string, how func(data []byte) []byte) {
	t.Helper()
	if how == nil {
		if err := fs.Remove(name); err != nil {
			t.Fatal(err)
		}
		return
	}
	file, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if file, err = fs.Create(name, vfs.WriteCategoryUnspecified); err == nil {
		_, err = file.Write(how(data))
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamage changes a bit, cuts the end off, or takes it all, of every file of a job. Then it must be resumed as if nothing had
// happened, or else say what is damaged; and Repair makes of that something that can be crawled to its end.
func TestDamage(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	all := newNaive()
	for i := range powerNodes {
		all.known[i], all.settled[i] = true, true
	}
	type damage struct {
		name string
		do   func(data []byte) []byte
	}
	flip := func(at func(n int) int) func([]byte) []byte {
		return func(data []byte) []byte {
			if len(data) > 0 {
				data[at(len(data))] ^= 1 << rng.IntN(8)
			}
			return data
		}
	}
	damages := []damage{
		{"first byte", flip(func(int) int { return 0 })},
		{"last byte", flip(func(n int) int { return n - 1 })},
		{"missing", nil},
		{"empty", func([]byte) []byte { return nil }},
		{"half", func(data []byte) []byte { return data[:len(data)/2] }},
		{"one byte short", func(data []byte) []byte { return data[:max(len(data)-1, 0)] }},
	}
	some := 3
	if testing.Short() {
		some = 1
	}
	for range some {
		damages = append(damages, damage{"some byte", flip(rng.IntN)})
	}
	told, unharmed := 0, 0
	for _, closed := range []bool{true, false} {
		whole := halfway(t, closed, rng)
		names := files(t, whole.disk, "/job")
		for _, name := range names {
			for i, d := range damages {
				p := whole.copy()
				change(t, p.disk, name, d.do)
				what := fmt.Sprintf("closed %v, %s, %s (%d)", closed, name, d.name, i)
				err := crawlNodes(t.Context(), p, newNaive())
				if err == nil { // or it is found by who reads all of it
					err = disk.VerifyFS(t.Context(), "/job", p.disk)
				}
				if err == nil {
					if checkLeft(t, p, all); t.Failed() {
						t.Fatal(what)
					}
					unharmed++
					continue
				}
				var damaged *disk.DamageError
				var other *disk.MismatchError // one bit may make a valid number of another format
				if !errors.As(err, &damaged) && !errors.As(err, &other) {
					t.Fatalf("%s: %v", what, err)
				}
				told++
				if damaged == nil {
					continue
				}
				report, err := disk.RepairFS(t.Context(), "/job", p.disk)
				if err == nil && len(report.Damaged) == 0 {
					// The filter of a table, which a compaction does not read, and which has replaced that table.
					if err := crawlNodes(t.Context(), p, newNaive()); err != nil {
						t.Fatalf("%s: %v: said to be whole: %v", what, damaged, err)
					}
					if checkLeft(t, p, all); t.Failed() {
						t.Fatalf("%s: %v: said to be whole", what, damaged)
					}
					continue
				}
				if err != nil || !strings.Contains(report.String(), report.Damaged[0].File) {
					t.Fatalf("%s: %v: repair: %v, %v", what, damaged, report, err)
				}
				if again, err := disk.RepairFS(t.Context(), "/job", p.disk); err != nil || len(again.Damaged) > 0 {
					t.Fatalf("%s: repaired again: %v, %v", what, again, err)
				}
				var opts []feed.Option
				if len(report.Checkpoints) == 0 {
					opts = append(opts, feed.Append()) // what is there was not lost
				}
				if err := crawlNodes(t.Context(), p, newNaive(), opts...); err != nil {
					t.Fatalf("%s: after the repair: %v\n%v", what, err, report)
				}
			}
		}
	}
	t.Logf("%d times the damage was told, %d times it did no harm", told, unharmed)
	if told < 20 || unharmed < 1 {
		t.Error("the test has not damaged anything")
	}
}
