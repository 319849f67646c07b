package disk_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
)

var testJob = tegenaria.Job{Spider: "nodes", KeyVersion: 1}

// begun opens a job and begins a run.
func begun(t *testing.T, dir string, opts ...disk.Option) (*disk.Cache, tegenaria.State) {
	t.Helper()
	c := open(t, dir, opts...)
	state, err := c.Begin(t.Context(), testJob)
	if err != nil {
		t.Fatal(err)
	}
	return c, state
}

func closed(t testing.TB, c *disk.Cache) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func nodes(from, to int) (records []tegenaria.Record) {
	for i := from; i < to; i++ {
		records = append(records, nodeRecord(i))
	}
	return records
}

func accept(t *testing.T, c *disk.Cache, records ...tegenaria.Record) []tegenaria.Verdict {
	t.Helper()
	verdicts, err := c.Accept(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// take takes n records of a slot.
func take(t *testing.T, c *disk.Cache, slot string, n int) []tegenaria.Record {
	t.Helper()
	records, _, err := c.Next(t.Context(), slot, n)
	if err != nil || len(records) != n {
		t.Fatalf("%d records, %v", len(records), err)
	}
	return records
}

func commit(t *testing.T, c *disk.Cache, b tegenaria.Batch) {
	t.Helper()
	if err := c.Settle(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// all reads a list to its end.
func all[T any](t *testing.T, of iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for one, err := range of {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return list
}

func statusOf(t *testing.T, c *disk.Cache) disk.Status {
	t.Helper()
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// settle takes n records of a slot and settles them.
func settle(t *testing.T, c *disk.Cache, slot string, n int, outcome tegenaria.Outcome, reason string) (taken []int) {
	t.Helper()
	var b tegenaria.Batch
	for _, rec := range take(t, c, slot, n) {
		b.Settled = append(b.Settled, tegenaria.Settled{Record: rec, Outcome: outcome, Reason: reason, At: time.Unix(5, 0)})
		taken = append(taken, nodeOf(rec))
	}
	commit(t, c, b)
	return taken
}

func TestOneProcess(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	var used *disk.InUseError
	if again, err := disk.Open(dir + "/."); !errors.As(err, &used) || !strings.Contains(err.Error(), "one process") {
		t.Errorf("opened twice: %v, %v", again, err)
	}
	if _, err := disk.Repair(t.Context(), dir); !errors.As(err, &used) {
		t.Errorf("repaired while open: %v", err)
	}
	closed(t, c)
	closed(t, c) // once more does nothing
	closed(t, open(t, dir))
}

func TestMismatch(t *testing.T) {
	dir := t.TempDir()
	c, _ := begun(t, dir)
	closed(t, c)
	for _, test := range []struct {
		what string
		job  tegenaria.Job
	}{
		{"spider", tegenaria.Job{Spider: "other", KeyVersion: 1}},
		{"key version", tegenaria.Job{Spider: "nodes", KeyVersion: 2}},
	} {
		c := open(t, dir)
		var mismatch *disk.MismatchError
		if _, err := c.Begin(t.Context(), test.job); !errors.As(err, &mismatch) || mismatch.What != test.what || !strings.Contains(err.Error(), "disk.Fresh") {
			t.Errorf("another %s: %v", test.what, err)
		}
		closed(t, c)
	}
	t.Run("format", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(dir, "JOB"), []byte("tegenaria job, format 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var mismatch *disk.MismatchError
		if _, err := disk.Open(dir); !errors.As(err, &mismatch) || mismatch.Stored != "1" || !strings.Contains(err.Error(), "disk.Fresh") {
			t.Errorf("another format: %v", err)
		}
		if _, err := disk.Repair(t.Context(), dir); !errors.As(err, &mismatch) {
			t.Errorf("another format was repaired: %v", err)
		}
	})
}

func TestFresh(t *testing.T) {
	dir := t.TempDir()
	c, _ := begun(t, dir, disk.Fresh()) // of nothing
	accept(t, c, nodes(0, 3)...)
	commit(t, c, tegenaria.Batch{Started: true, Finished: "finished"})
	closed(t, c)
	c, state := begun(t, dir)
	if !state.Finished || state.Reason != "finished" {
		t.Errorf("state %+v", state)
	}
	closed(t, c)
	c, state = begun(t, dir, disk.Fresh())
	if state.Finished || state.Started {
		t.Errorf("a fresh job is %+v", state)
	}
	if v := accept(t, c, nodes(0, 1)...); v[0] != tegenaria.VerdictNew {
		t.Errorf("verdict %d", v[0])
	}
	closed(t, c)

	other := t.TempDir()
	name := filepath.Join(other, "diary.txt")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, opts := range [][]disk.Option{nil, {disk.Fresh()}} {
		if _, err := disk.Open(other, opts...); err == nil || !strings.Contains(err.Error(), "something else") {
			t.Errorf("somebody else's directory: %v", err)
		}
	}
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
	if _, err := disk.Repair(t.Context(), filepath.Join(other, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("repair of nothing: %v", err)
	}
}

func TestBeforeAndAfter(t *testing.T) {
	c := open(t, t.TempDir())
	if _, err := c.Accept(t.Context(), nodes(0, 1)); err == nil || !strings.Contains(err.Error(), "Begin") {
		t.Errorf("before Begin: %v", err)
	}
	closed(t, c)
	if _, _, err := c.Next(t.Context(), "host0", 1); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: %v", err)
	}
	for _, err := range c.Slots(t.Context()) {
		if err == nil {
			t.Error("Slots of a closed cache")
		}
	}
	if _, err := c.Begin(t.Context(), testJob); err == nil {
		t.Error("a closed cache begins")
	}
}

// A second run of the same process finds everything as a new process would.
func TestBeginAgain(t *testing.T) {
	c, _ := begun(t, t.TempDir())
	accept(t, c, nodes(0, 30)...)
	take(t, c, "host0", 4)
	if _, err := c.Begin(t.Context(), testJob); err != nil {
		t.Fatal(err)
	}
	if v := accept(t, c, nodes(0, 30)...); slices.Contains(v, tegenaria.VerdictNew) {
		t.Errorf("verdicts %v", v)
	}
	if records, left, err := c.Next(t.Context(), "host0", 50); err != nil || len(records)+left.Pending < 8 {
		t.Errorf("%d records, %+v, %v", len(records), left, err)
	}
	closed(t, c)
}

// What is not in flight is not settled, and nothing of the batch is.
func TestWrongSettle(t *testing.T) {
	c, _ := begun(t, t.TempDir())
	defer closed(t, c)
	accept(t, c, nodes(0, 7)...)
	done := tegenaria.Settled{Record: take(t, c, "host0", 2)[0], Outcome: tegenaria.Fetched}
	for name, wrong := range map[string]tegenaria.Settled{"waiting": {Record: nodeRecord(1), Outcome: tegenaria.Fetched}, "twice": done} {
		if err := c.Settle(t.Context(), tegenaria.Batch{Settled: []tegenaria.Settled{done, wrong}}); err == nil {
			t.Error(name)
		}
	}
	if _, err := c.Return(t.Context(), nodeRecord(1), time.Now()); err == nil {
		t.Error("what waits was returned")
	}
	commit(t, c, tegenaria.Batch{Settled: []tegenaria.Settled{done}})
	if status := statusOf(t, c); status.Settled != 1 {
		t.Errorf("%v", status)
	}
}

// fullFS is a disk that takes no more when it is told so.
type fullFS struct {
	vfs.FS
	full atomic.Bool
}

var errFull = errors.New("no space left on device")

func (fs *fullFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if fs.full.Load() {
		return nil, errFull
	}
	file, err := fs.FS.Create(name, c)
	return &fullFile{file, fs}, err
}

type fullFile struct {
	vfs.File
	fs *fullFS
}

func (f *fullFile) Write(p []byte) (int, error) {
	if f.fs.full.Load() {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, errFull
	}
	return f.File.Write(p)
}

func (f *fullFile) Sync() error {
	if f.fs.full.Load() {
		return errFull
	}
	return f.File.Sync()
}

func (f *fullFile) SyncData() error { return f.Sync() }

// A full disk ends the crawl with that error. What was settled before is there when it is resumed, and nothing else is.
func TestFullDisk(t *testing.T) {
	for _, after := range []int{0, 1, 7, 40} {
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			fs := &fullFS{FS: vfs.NewMem()}
			c, _ := begun(t, "/job", disk.WithFS(fs), disk.CommitEvery(0), disk.WithMemTable(16<<10))
			settled, next := 0, 0
			var err error
			for err == nil && next < 1000 {
				if settled >= after {
					fs.full.Store(true)
				}
				if _, err = c.Accept(t.Context(), nodes(next, next+3)); err != nil {
					break
				}
				next += 3
				for slot := range 3 {
					var records []tegenaria.Record
					if records, _, err = c.Next(t.Context(), fmt.Sprint("host", slot), 1); err != nil || len(records) == 0 {
						break
					}
					if err = c.Settle(t.Context(), tegenaria.Batch{Settled: []tegenaria.Settled{{Record: records[0], Outcome: tegenaria.Fetched}}}); err == nil {
						settled++
					}
				}
			}
			if !errors.Is(err, errFull) {
				t.Fatalf("the crawl ended with %v", err)
			}
			if settled < after {
				t.Fatalf("%d settled", settled)
			}
			if _, err := c.Accept(t.Context(), nodes(0, 1)); !errors.Is(err, errFull) {
				t.Errorf("afterwards: %v", err)
			}
			if err := c.Close(); !errors.Is(err, errFull) {
				t.Errorf("Close: %v", err)
			}
			fs.full.Store(false)
			c, _ = begun(t, "/job", disk.WithFS(fs))
			defer closed(t, c)
			if status := statusOf(t, c); status.Settled != int64(settled) && status.Settled != int64(settled)+1 { // the last one may have been written all the same
				t.Errorf("%v; %d were settled", status, settled)
			}
			accept(t, c, nodes(0, 30)...)
			settle(t, c, "host1", 1, tegenaria.Fetched, "")
		})
	}
}

// Not every file system can take space in advance.
func TestNoPreallocation(t *testing.T) {
	fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFilePreallocate {
			return syscall.EOPNOTSUPP
		}
		return nil
	}))
	c, _ := begun(t, t.TempDir(), disk.WithFS(fs))
	accept(t, c, nodes(0, 3)...)
	settle(t, c, "host1", 1, tegenaria.Fetched, "")
	closed(t, c)
}

// readOnlyFS is a disk that is mounted to be read alone.
type readOnlyFS struct{ vfs.FS }

func (readOnlyFS) refuse(name string) error {
	return &os.PathError{Op: "open", Path: name, Err: syscall.EROFS}
}

func (fs readOnlyFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, fs.refuse(name)
}

func (fs readOnlyFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, fs.refuse(name)
}

func (fs readOnlyFS) Lock(name string) (io.Closer, error)       { return nil, fs.refuse(name) }
func (fs readOnlyFS) MkdirAll(name string, _ os.FileMode) error { return fs.refuse(name) }
func (fs readOnlyFS) Remove(name string) error                  { return fs.refuse(name) }
func (fs readOnlyFS) RemoveAll(name string) error               { return fs.refuse(name) }
func (fs readOnlyFS) Rename(_, name string) error               { return fs.refuse(name) }

// lockableFS can be locked all the same, as where only what is in a job cannot be written.
type lockableFS struct{ readOnlyFS }

func (fs lockableFS) Lock(name string) (io.Closer, error) { return fs.FS.Lock(name) }

// A disk that cannot be written is no damage: the job is there when it can.
func TestReadOnly(t *testing.T) {
	mem := vfs.NewMem()
	c, _ := begun(t, "/job", disk.WithFS(mem))
	accept(t, c, nodes(0, 30)...)
	closed(t, c)
	for _, test := range []struct {
		name, dir string
		fs        vfs.FS
		opts      []disk.Option
	}{
		{"a job", "/job", readOnlyFS{mem}, nil},
		{"a job that can be locked", "/job", lockableFS{readOnlyFS{mem}}, nil},
		{"a new job", "/new", readOnlyFS{mem}, nil},
		{"a fresh job", "/job", lockableFS{readOnlyFS{mem}}, []disk.Option{disk.Fresh()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := disk.Open(test.dir, append(test.opts, disk.WithFS(test.fs))...)
			var damaged *disk.DamageError
			var used *disk.InUseError
			if !errors.Is(err, syscall.EROFS) || errors.As(err, &damaged) || errors.As(err, &used) {
				t.Errorf("error %v", err)
			}
		})
	}
	c, _ = begun(t, "/job", disk.WithFS(mem))
	defer closed(t, c)
	if status := statusOf(t, c); status.Waiting+status.Delayed != 30 {
		t.Errorf("%v", status)
	}
}

// keyRecord is one of very many requests.
func keyRecord(i int) tegenaria.Record {
	rec := tegenaria.Record{Slot: "host", Data: []byte("\x00x")}
	for j := range 2 {
		v := uint64(i)*0x9e3779b97f4a7c15 + uint64(j)*0xd1342543de82ef95
		v ^= v >> 31
		v *= 0xbf58476d1ce4e5b9
		v ^= v >> 29
		for k := range 8 {
			rec.Key[8*j+k] = byte(v >> (8 * k))
		}
	}
	return rec
}

// With BloomOnly new requests are lost, about as many as ExpectedLoss says. Without it none are.
func TestBloomOnly(t *testing.T) {
	const requests = 60_000
	for _, test := range []struct {
		name string
		opts []disk.Option
	}{{"exact", nil}, {"Bloom only", []disk.Option{disk.BloomOnly()}}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			c := open(t, dir, test.opts...)
			begin := func() {
				if _, err := c.Begin(t.Context(), tegenaria.Job{Spider: "s", KeyVersion: 1, BloomBits: 1 << 14, BloomHashes: 4}); err != nil {
					t.Fatal(err)
				}
			}
			begin()
			lost := 0
			for i := 0; i < requests; i += 100 {
				if i == requests/2 {
					closed(t, c)
					c = open(t, dir, test.opts...)
					begin()
				}
				var records []tegenaria.Record
				for j := range 100 {
					records = append(records, keyRecord(i+j))
				}
				for _, v := range accept(t, c, records...) {
					if v == tegenaria.VerdictKnown {
						lost++
					}
				}
				if v := accept(t, c, records[:10]...); slices.Contains(v, tegenaria.VerdictNew) {
					t.Fatal("a known request was accepted again")
				}
			}
			expected := float64(c.ExpectedLoss())
			closed(t, c)
			t.Logf("%d of %d lost, %v expected", lost, requests, expected)
			if test.opts == nil {
				if lost != 0 || expected != 0 {
					t.Errorf("%d lost, %v expected", lost, expected)
				}
				return
			}
			if sigma := math.Sqrt(expected); lost < 100 || math.Abs(float64(lost)-expected) > 5*sigma {
				t.Errorf("%d lost, %v ± %.0f expected", lost, expected, 5*sigma)
			}
		})
	}
}

// The Bloom filter is stored by Close, and whatever becomes of its file, nothing is accepted twice.
func TestFilterFile(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(name string) error
	}{
		{"as it was", func(string) error { return nil }},
		{"missing", os.Remove},
		{"empty", func(name string) error { return os.Truncate(name, 0) }},
		{"short", func(name string) error { return os.Truncate(name, 200) }},
		{"changed", func(name string) error {
			data, err := os.ReadFile(name)
			if err == nil {
				data[len(data)/2] ^= 4
				err = os.WriteFile(name, data, 0o600)
			}
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			c, _ := begun(t, dir)
			accept(t, c, nodes(0, 200)...)
			closed(t, c)
			if err := test.do(filepath.Join(dir, "BLOOM")); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				c, _ = begun(t, dir)
				if v := accept(t, c, nodes(0, 200)...); slices.Contains(v, tegenaria.VerdictNew) || slices.Contains(v, tegenaria.VerdictLater) {
					t.Errorf("verdicts %v", v)
				}
				closed(t, c)
			}
		})
	}
}
