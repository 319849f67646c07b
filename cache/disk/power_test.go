package disk_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// power is a machine that loses its power before a certain write: of the store, or of the feed.
type power struct {
	disk *vfs.MemFS
	feed *feedDisk

	mu     sync.Mutex // guards the fields below
	writes int
	at     int // 0: never
	rng    *rand.Rand
	left   *power // what the next start finds; nil: the power is on
}

func newPower(rng *rand.Rand) *power {
	return &power{disk: vfs.NewCrashableMem(), feed: newFeedDisk(), rng: rng}
}

// write is called before each write.
func (p *power) write() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writes++; p.writes == p.at {
		// Of what was not synced nothing, some or all is there.
		percent := []int{0, 0, 30, 70, 100}[p.rng.IntN(5)]
		p.left = &power{
			disk: p.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: p.rng}),
			feed: p.feed.crash(percent, p.rng), rng: p.rng,
		}
	}
}

// gone reports whether the power is.
func (p *power) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left != nil
}

// store is the store's file system.
func (p *power) store() vfs.FS {
	return errorfs.Wrap(p.disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpCreate, errorfs.OpRemove, errorfs.OpRename, errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpFileSyncData:
			p.write()
		}
		return nil
	}))
}

// feedDisk holds the feed's files. Their names are durable at once, as feed.FS says.
type feedDisk struct {
	mu    sync.Mutex
	files map[string]*feedFile
}

type feedFile struct {
	disk         *feedDisk
	power        *power
	data, synced []byte
}

func newFeedDisk() *feedDisk { return &feedDisk{files: make(map[string]*feedFile)} }

// crash returns what is left: of each block the old state or the new one, where that was not synced.
func (d *feedDisk) crash(percent int, rng *rand.Rand) *feedDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := newFeedDisk()
	for name, f := range d.files {
		size := len(f.synced)
		if rng.IntN(100) < percent {
			size = len(f.data)
		}
		data := make([]byte, size)
		const block = 64
		for i := 0; i < size; i += block {
			from := f.synced
			if rng.IntN(100) < percent {
				from = f.data
			}
			if i < len(from) {
				copy(data[i:min(i+block, size)], from[i:])
			}
		}
		left.files[name] = &feedFile{disk: left, data: data, synced: bytes.Clone(data)}
	}
	return left
}

// feedFS is the feed's file system.
type feedFS struct{ power *power }

func (fs feedFS) Open(name string) (feed.File, error) {
	d := fs.power.feed
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		d.files[name] = &feedFile{disk: d}
	}
	d.files[name].power = fs.power
	return d.files[name], nil
}

func (fs feedFS) Remove(name string) error {
	fs.power.write()
	d := fs.power.feed
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, name)
	return nil
}

func (f *feedFile) ReadAt(p []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	n := copy(p, f.data[min(int(at), len(f.data)):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *feedFile) WriteAt(p []byte, at int64) (int, error) {
	f.power.write()
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if grow := int(at) + len(p) - len(f.data); grow > 0 {
		f.data = append(f.data, make([]byte, grow)...)
	}
	return copy(f.data[at:], p), nil
}

func (f *feedFile) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.data)), nil
}

func (f *feedFile) Truncate(size int64) error {
	f.power.write()
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.data = slices.Clone(f.data[:min(int(size), len(f.data))])
	return nil
}

func (f *feedFile) Sync() error {
	f.power.write()
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.synced = bytes.Clone(f.data)
	return nil
}

func (f *feedFile) Close() error { return nil }

// The crawl of these tests: node i has the children 2i+1 and 2i+2, and node i/2 again.
const powerNodes = 48

func nodeRecord(i int) tegenaria.Record {
	name := fmt.Sprintf("node %d", i)
	rec := tegenaria.Record{
		Slot: fmt.Sprint("host", i%3), Priority: i % 2, Depth: i % 5,
		Data: []byte(name + strings.Repeat("+", 1500)), // so that the store writes tables
	}
	copy(rec.Key[:], fmt.Sprintf("%016d", i*7919))
	if i%11 == 5 {
		rec.NotBefore = time.Unix(int64(i), 0)
	}
	return rec
}

func nodeOf(rec tegenaria.Record) (i int) {
	_, _ = fmt.Sscanf(string(rec.Data), "node %d", &i)
	return i
}

// naive is what was promised: a map, and nothing else.
type naive struct {
	known   map[int]bool // accepted before a Settle that has returned
	settled map[int]bool // by a Settle that has returned
	next    map[int]bool // accepted since
}

func newNaive() *naive {
	return &naive{known: make(map[int]bool), settled: make(map[int]bool), next: make(map[int]bool)}
}

var errPowerCut = errors.New("the power is gone")

// crawlNodes opens the job and crawls until all is settled or the power is gone.
func crawlNodes(ctx context.Context, p *power, promised *naive, opts ...feed.Option) (err error) {
	c, err := disk.Open("/job", disk.WithFS(p.store()), disk.CommitEvery(0), disk.WithMemTable(16<<10), disk.QueueBytes(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	state, err := c.Begin(ctx, testJob)
	if err != nil {
		return err
	}
	f := feed.JSONL("/out", append(opts, feed.WithFS(feedFS{p}), feed.StageBytes(20))...)
	if err := f.Restore(ctx, state.Checkpoints[f.CommitKey()]); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(ctx, "")) }()
	settle := func(b tegenaria.Batch, ids ...string) error {
		checkpoint, err := f.Prepare(ctx, ids)
		if err != nil {
			return err
		}
		b.Checkpoints = map[string][]byte{f.CommitKey(): checkpoint}
		if err := c.Settle(ctx, b); err != nil {
			return err
		}
		if p.gone() {
			return errPowerCut
		}
		maps.Copy(promised.known, promised.next)
		for _, s := range b.Settled {
			promised.settled[nodeOf(s.Record)] = true
		}
		return nil
	}
	accept := func(nodes ...int) error {
		var records []tegenaria.Record
		for _, i := range nodes {
			if i < powerNodes {
				records = append(records, nodeRecord(i))
				promised.next[i] = true
			}
		}
		_, err := c.Accept(ctx, records)
		return err
	}
	if err := settle(tegenaria.Batch{}); err != nil {
		return err
	}
	if !state.Started {
		if err := accept(0); err != nil {
			return err
		}
		if err := settle(tegenaria.Batch{Started: true}); err != nil {
			return err
		}
	}
	var done []tegenaria.Settled
	var ids []string
	fly := func(rec tegenaria.Record, now tegenaria.Flight) {
		if nodeOf(rec)%3 == 0 {
			_ = c.RecordFlight(&rec, now) // the power may be gone
		}
	}
	suspects := state.Suspects
	for quiet := 0; quiet < 4; quiet++ {
		for _, slot := range []string{"host0", "host1", "host2"} {
			records, _, err := c.Next(ctx, slot, 2)
			if err != nil {
				return err
			}
			records, suspects = append(suspects, records...), nil
			for _, rec := range records {
				quiet = 0
				i := nodeOf(rec)
				fly(rec, tegenaria.FlightBegun)
				if i%9 == 4 && rec.Attempt == 0 { // it has to run again
					rec.Attempt, rec.Priority, rec.NotBefore = 1, rec.Priority-1, time.Unix(int64(i), 0)
					if _, err := c.Return(ctx, rec, time.Unix(0, 0)); err != nil {
						return err
					}
					continue
				}
				if err := f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: fmt.Sprint(i), Item: i}); err != nil {
					return err
				}
				if err := accept(2*i+1, 2*i+2, i/2); err != nil {
					return err
				}
				done = append(done, tegenaria.Settled{Record: rec, Outcome: tegenaria.Fetched, At: time.Unix(1, 0)})
				ids = append(ids, fmt.Sprint(i))
			}
			if len(done) >= 3 || quiet > 0 && len(done) > 0 {
				for _, s := range done {
					fly(s.Record, tegenaria.FlightOver)
				}
				if err := settle(tegenaria.Batch{Settled: done}, ids...); err != nil {
					return err
				}
				done, ids = nil, nil
			}
		}
		if _, _, err := c.Due(ctx, time.Unix(1e6, 0)); err != nil {
			return err
		}
		if p.gone() {
			return errPowerCut
		}
	}
	return settle(tegenaria.Batch{Finished: "finished"})
}

// checkLeft opens what a power cut has left and compares it with what was promised.
func checkLeft(t *testing.T, p *power, promised *naive) {
	t.Helper()
	c, state := begun(t, "/job", disk.WithFS(p.disk))
	place := make(map[int]disk.State)
	for _, list := range []iter.Seq2[disk.Info, error]{c.Pending(t.Context()), c.Outcomes(t.Context())} {
		for _, info := range all(t, list) {
			i := nodeOf(info.Record)
			if place[i] != "" {
				t.Errorf("node %d is %s and %s", i, place[i], info.State)
			}
			place[i] = info.State
			if info.Record.Key != nodeRecord(i).Key {
				t.Errorf("node %d has the key %x", i, info.Record.Key)
			}
		}
	}
	for i := range promised.known {
		if place[i] == "" {
			t.Errorf("node %d is lost", i)
		}
	}
	for i := range promised.settled {
		if place[i] != disk.Settled {
			t.Errorf("node %d is %q, though it was settled", i, place[i])
		}
	}
	lines := make(map[int]disk.State)
	for i, where := range place {
		if where != disk.Settled {
			continue
		}
		lines[i] = where
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < powerNodes && place[child] == "" {
				t.Errorf("node %d is settled, its child %d is lost", i, child)
			}
		}
	}
	status := statusOf(t, c)
	if int(status.Waiting+status.Delayed+status.Settled) != len(place) || int(status.Settled) != len(lines) {
		t.Errorf("the counts are %v; there are %d, %d of them settled", status, len(place), len(lines))
	}
	f := feed.JSONL("/out", feed.WithFS(feedFS{p}), feed.StageBytes(20))
	if err := f.Restore(t.Context(), state.Checkpoints[f.CommitKey()]); err != nil {
		t.Fatal(err)
	}
	got := bytes.Fields(p.feed.files["/out"].data)
	for _, line := range got {
		var i int
		if _, err := fmt.Sscan(string(line), &i); err != nil || lines[i] == "" {
			t.Errorf("the feed has the line %q, which is not settled, or comes twice", line)
		}
		delete(lines, i)
	}
	for i := range lines {
		t.Errorf("node %d is settled, and not in the feed", i)
	}
	if err := errors.Join(f.Close(t.Context(), ""), c.Close()); err != nil {
		t.Fatal(err)
	}
}

// cutEvery is how many writes apart TestPower cuts.
var cutEvery = flag.Int("cut-every", 5, "writes between the power cuts of TestPower")

// TestPower cuts the power before writes of a crawl, another choice of them each time, and once more at random while it
// is resumed. What was promised must hold, and the third run finishes.
func TestPower(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	whole := newPower(rng)
	if err := crawlNodes(t.Context(), whole, newNaive()); err != nil {
		t.Fatal(err)
	}
	total := whole.writes
	if total < 100 {
		t.Fatalf("only %d writes", total)
	}
	step := *cutEvery
	if testing.Short() {
		step = 1 + total/40
	}
	cuts := 0
	for at := 1 + rng.IntN(step); at <= total; at += step {
		p, promised := newPower(rng), newNaive()
		p.at = at
		for try := 0; ; try++ {
			err := crawlNodes(t.Context(), p, promised)
			if !p.gone() {
				if err != nil {
					t.Fatalf("cut %d, run %d: %v", at, try, err)
				}
				break
			}
			cuts++
			p = p.left
			promised.next = make(map[int]bool)
			if try == 0 {
				p.at = 1 + rng.IntN(total)
			}
			checkLeft(t, p.copy(), promised)
			if t.Failed() {
				t.Fatalf("cut %d, run %d", at, try)
			}
		}
		for i := range powerNodes {
			promised.known[i], promised.settled[i] = true, true
		}
		checkLeft(t, &power{disk: p.disk, feed: p.feed, rng: rng}, promised)
		if t.Failed() {
			t.Fatalf("cut %d, at the end", at)
		}
	}
	t.Logf("%d writes, %d cuts", total, cuts)
}

// copy returns what is there for somebody who only looks.
func (p *power) copy() *power {
	return &power{disk: p.disk.CrashClone(vfs.CrashCloneCfg{}), feed: p.feed.crash(100, p.rng), rng: p.rng}
}
