package disk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/privatefs"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// Report is the result of [Repair].
type Report struct {
	// Damaged lists the damaged files, each with the reason. If it is empty, nothing was changed.
	Damaged []*DamageError
	// Waiting, Delayed and Settled count the requests that were saved.
	Waiting, Delayed, Settled int64
	// Lost counts requests of which only the key was readable. They are forgotten, so that they are fetched when they are found
	// again.
	Lost int64
	// Checkpoints are the names of those that were saved.
	Checkpoints []string
	// Kept is the path of the damaged store, or "" if nothing was changed. Remove it when you no longer need it.
	Kept string
}

// String returns the report as a few lines of text.
func (r Report) String() string {
	if len(r.Damaged) == 0 {
		return "the job is whole; nothing was changed"
	}
	var b strings.Builder
	for _, d := range r.Damaged {
		fmt.Fprintf(&b, "%s: %v\n", d.File, d.Err)
	}
	var state, others []string
	for _, name := range r.Checkpoints {
		if part, ok := strings.CutPrefix(name, statePrefix); ok {
			state = append(state, part)
		} else {
			others = append(others, name)
		}
	}
	fmt.Fprintf(&b, "saved: %d waiting, %d delayed, %d settled requests, checkpoints %q; lost: %d and those of which nothing is left\n",
		r.Waiting, r.Delayed, r.Settled, others, r.Lost)
	if len(state) > 0 {
		shown := state[:min(len(state), shownState)]
		fmt.Fprintf(&b, "saved, too: %d checkpoints below %s: %q", len(state), statePrefix, shown)
		if more := len(state) - len(shown); more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "the damaged store is kept in %s", r.Kept)
	return b.String()
}

// Checkpoints below statePrefix are the state of parts of the crawl, of which middleware.Cookies has one for each site. The text
// of a report has shownState of them.
const (
	statePrefix = "tegenaria/state/"
	shownState  = 10
)

// The stores of a repair.
const (
	keptDir    = "store.damaged"
	foundDir   = "store.found"
	rebuiltDir = "store.rebuilt"
)

// Repair reads every byte of a job and, if the job is damaged, saves everything that is readable. The job must not be open. A
// directory without a job is os.ErrNotExist.
//
// The repaired job is consistent: each request is in one place. Lost data cannot be restored, so StartRequest runs again, and a
// request whose outcome is lost is fetched again when it is found: its items are then in the feeds twice.
func Repair(ctx context.Context, dir string) (Report, error) {
	return repair(ctx, dir, privatefs.New(dir))
}

func repair(ctx context.Context, dir string, fs vfs.FS) (Report, error) {
	var report Report
	if err := mustExist(fs, dir); err != nil {
		return report, err
	}
	dir, lock, err := lockJob(fs, dir)
	if err != nil {
		return report, err
	}
	found := verify(ctx, fs, dir)
	if found == nil || ctx.Err() != nil {
		return report, errors.Join(ctx.Err(), lock.Close())
	}
	var wrong *DamageError
	if !errors.As(found, &wrong) {
		return report, errors.Join(found, lock.Close()) // another format, or the disk cannot be read at all
	}
	report, err = rebuild(ctx, fs, dir)
	if !slices.ContainsFunc(report.Damaged, func(d *DamageError) bool { return d.File == wrong.File }) {
		report.Damaged = append([]*DamageError{wrong}, report.Damaged...) // read by itself it seems to be in order
	}
	return report, errors.Join(err, lock.Close())
}

// verify reads all of a job. Its error is what is wrong.
func verify(ctx context.Context, fs vfs.FS, dir string) error {
	if _, err := fs.Stat(fs.PathJoin(dir, storeDir)); errors.Is(err, os.ErrNotExist) {
		return damage(dir, storeDir, errors.New("it is missing"))
	}
	c, err := open(dir, options{fs: fs, queueBytes: defaultQueueBytes, memTable: storeMemTable})
	if err != nil {
		return err
	}
	c.lock = noLock{}
	defer func() {
		c.fs.fail(errors.New("only looking")) // nothing is written
		_ = c.Close()
	}()
	if err := c.checkTables(ctx); err != nil {
		return err
	}
	var waiting, delayed, settled, inSlots int64
	for _, count := range []struct {
		in    byte
		n     *int64
		parse func(row) (int64, error)
	}{
		{rangeSlot, &inSlots, func(r row) (int64, error) {
			s, err := parseSlot(string(r.key[1:]), r.value)
			if err != nil {
				return 0, err
			}
			return int64(s.waiting), nil
		}},
		{rangeQueue, &waiting, func(r row) (int64, error) {
			_, p, err := parseQueueKey(r.key)
			if err == nil {
				_, err = parseRecord(r.value, p.order)
			}
			return 1, err
		}},
		{rangeDue, &delayed, func(r row) (int64, error) {
			_, order, err := parseDueKey(r.key)
			if err == nil {
				_, _, _, err = parseDue(r.value, order)
			}
			return 1, err
		}},
		{rangeOutcome, &settled, func(r row) (int64, error) {
			_, err := parseInfo(r)
			return 1, err
		}},
		{rangeSeen, new(int64), func(r row) (int64, error) {
			_, err := parseWhere(r.value)
			return 1, err
		}},
	} {
		for r, err := range c.rows(ctx, count.in) {
			var n int64
			if err == nil {
				n, err = count.parse(r)
			}
			if err != nil {
				return damage(dir, "", err)
			}
			*count.n += n
		}
	}
	if s := &c.state; waiting != s.waiting || inSlots != s.waiting || delayed != s.delayed || settled != s.settled {
		return damage(dir, storeDir, fmt.Errorf("it holds %d waiting (%d by host), %d delayed and %d settled requests, and "+
			"should hold %d, %d and %d",
			waiting, inSlots, delayed, settled, s.waiting, s.delayed, s.settled))
	}
	return c.broken() // by what was read in the background
}

// checkTables reads every block of every table: a key that has been written again is read no more, until a compaction comes
// to the table where the older one is.
func (c *Cache) checkTables(ctx context.Context) error {
	tables, err := c.db.SSTables()
	if err != nil {
		return damage(c.dir, storeDir, err)
	}
	for _, level := range tables {
		for _, table := range level {
			name := fmt.Sprintf("%s.sst", table.BackingSSTNum)
			if err := checkTable(ctx, c.fs.FS, c.fs.PathJoin(c.dir, storeDir, name)); err != nil {
				return damage(c.dir, storeDir+"/"+name, err)
			}
		}
	}
	return nil
}

// noLock stands for a lock that another process holds.
type noLock struct{}

func (noLock) Close() error { return nil }

// rebuild makes a new store of what is left of the old one, and puts it in its place.
func rebuild(ctx context.Context, fs vfs.FS, dir string) (report Report, err error) {
	path := func(name string) string { return fs.PathJoin(dir, name) }
	for _, name := range []string{foundDir, rebuiltDir} { // of a repair that was killed
		if err := fs.RemoveAll(path(name)); err != nil {
			return report, fmt.Errorf("disk: %w", err)
		}
	}
	from := storeDir
	if _, err := fs.Stat(path(storeDir)); errors.Is(err, os.ErrNotExist) {
		from = keptDir // it was killed between two renames
	}
	report.Kept = path(keptDir)
	s := &salvage{fs: fs, dir: path(from)}
	s.found, err = pebble.Open(path(foundDir), &pebble.Options{FS: fs, DisableWAL: true, Logger: quiet{}})
	if err != nil {
		return report, fmt.Errorf("disk: %w", err)
	}
	defer func() { err = errors.Join(err, fs.RemoveAll(path(foundDir))) }()
	defer func() { err = errors.Join(err, s.found.Close()) }()
	if err := s.files(ctx); err != nil {
		return report, err
	}
	report.Damaged = s.damaged

	c := &Cache{
		dir: dir, fs: &guard{FS: fs, logs: &closedLogs{fs: fs, dir: path(rebuiltDir)}}, lock: noLock{}, closing: make(chan struct{}),
		workbench: workbench{budget: 1 << 20}, journal: newJournal(storeMemTable),
	}
	if c.db, err = pebble.Open(path(rebuiltDir), c.storeOptions(storeMemTable)); err != nil {
		return report, fmt.Errorf("disk: %w", err)
	}
	r := &rebuilder{Cache: c, found: s.found, report: &report}
	err = r.run(ctx)
	err = errors.Join(err, c.db.Close(), c.broken())
	if err != nil {
		return report, err
	}
	if from == storeDir {
		if err := errors.Join(fs.RemoveAll(path(keptDir)), fs.Rename(path(storeDir), path(keptDir)), syncDir(fs, dir)); err != nil {
			return report, fmt.Errorf("disk: %w", err)
		}
	}
	if err := errors.Join(fs.Rename(path(rebuiltDir), path(storeDir)), fs.RemoveAll(path(filterFile)), syncDir(fs, dir)); err != nil {
		return report, fmt.Errorf("disk: %w", err)
	}
	if err := writeFormat(fs, dir); err != nil {
		return report, err
	}
	m, err := createMark(fs, dir, c.state.id, c.state.commits)
	if err != nil {
		return report, err
	}
	return report, m.close()
}

// rebuilder fills a new store.
type rebuilder struct {
	*Cache
	found    *pebble.DB
	report   *Report
	anywhere bool // an older place will do: the newest one is lost
}

// rows lists the newest versions of a range that were not deleted.
func (r *rebuilder) rows(ctx context.Context, in byte, each func(row) error) error {
	iter, err := r.found.NewIter(&pebble.IterOptions{LowerBound: []byte{in}, UpperBound: []byte{in + 1}})
	if err != nil {
		return err
	}
	defer iter.Close()
	for more := iter.First(); more; more = iter.Next() {
		version, err := iter.ValueAndErr()
		if err != nil {
			return err
		}
		if version[8] == 0 {
			continue
		}
		if err := errors.Join(ctx.Err(), each(row{iter.Key(), version[9:]})); err != nil {
			return err
		}
	}
	return iter.Error()
}

// has reports whether the rebuilt store has a key; what was gathered is in it only after apply.
func (r *rebuilder) has(key []byte) (found bool, err error) {
	err = r.get(key, func([]byte) error { found = true; return nil })
	return found, err
}

func (r *rebuilder) run(ctx context.Context) error {
	r.slots = make(map[string]*slot)
	r.flights = make(map[tegenaria.Key]*flight)
	r.recent, r.filter = newRecent(), newBloomFilter(1<<10, 1)
	r.checkpoints = make(map[string][]byte)
	id := [16]byte{}
	known := state{}
	if err := r.rows(ctx, rangeState, func(row row) (err error) {
		known, err = parseState(row.value)
		return err
	}); err != nil {
		known = state{} // the program that resumes says whose job it is
	}
	if id = known.id; id == [16]byte{} {
		id = newID()
	}
	r.state = state{id: id, spider: known.spider, keyVersion: known.keyVersion, next: max(known.next, 1), commits: known.commits + 1}
	names, err := r.names(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return r.rows(ctx, rangeOutcome, r.settled) },
		func() error { return r.rows(ctx, rangeQueue, func(row row) error { return r.waiting(row, names) }) },
		func() error { return r.rows(ctx, rangeDue, r.delayed) },
		func() error { r.anywhere = true; return nil },
		func() error { return r.rows(ctx, rangeQueue, func(row row) error { return r.waiting(row, names) }) },
		func() error { return r.rows(ctx, rangeDue, r.delayed) },
		func() error { return r.rows(ctx, rangeSeen, r.seen) },
		func() error { return r.rows(ctx, rangeCheckpoint, r.checkpoint) },
		func() error { return r.rows(ctx, rangeCounters, r.count) },
	} {
		if err := step(); err != nil {
			return err
		}
		if err := r.merge(); err != nil { // the next step looks up what this one has found
			return err
		}
	}
	r.report.Waiting, r.report.Delayed, r.report.Settled = r.state.waiting, r.state.delayed, r.state.settled
	done, err := r.apply(true)
	if err != nil {
		return err
	}
	return errors.Join(done.batch.SyncWait(), done.batch.Close(), r.db.Flush())
}

// names finds the slots' names by number.
func (r *rebuilder) names(ctx context.Context) (map[uint32]string, error) {
	names := make(map[uint32]string)
	return names, r.rows(ctx, rangeSlot, func(row row) error {
		if s, err := parseSlot(string(row.key[1:]), row.value); err == nil {
			names[s.id] = s.name
		}
		return nil
	})
}

func (r *rebuilder) settled(row row) error {
	info, err := parseInfo(row)
	if err != nil {
		return nil
	}
	r.state.next = max(r.state.next, info.Number+1)
	rec := info.Record
	e := entry{place{int64(rec.Priority), info.Number}, record{
		key: rec.Key, seq: info.Number, parent: info.Parent, depth: rec.Depth, attempt: rec.Attempt, data: rec.Data,
	}}
	c := r.Cache
	c.settleRecord(&slot{name: rec.Slot}, &e, &info.Settled)
	c.journal.see(&e.key, where{seq: e.seq, depth: e.depth, order: e.seq})
	return c.room()
}

// elsewhere reports whether a request that was found at a place has been found before, or, unless anything will do, has
// moved to another place since.
func (r *rebuilder) elsewhere(key *tegenaria.Key, order uint64, due bool) (bool, error) {
	if _, ok := r.journal.where(key); ok {
		return true, nil
	}
	if before, err := r.has(seenKey(nil, key)); before || err != nil || r.anywhere {
		return before, err
	}
	version, err := r.version(seenKey(nil, key))
	if err != nil || version == nil {
		return false, err
	}
	w, err := parseWhere(version)
	return err == nil && (w.order != order || w.due != due), nil
}

// version returns what was found of a key, nil if nothing was or if it was deleted.
func (r *rebuilder) version(key []byte) ([]byte, error) {
	version, closer, err := r.found.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	if version[8] == 0 {
		return nil, nil
	}
	return append([]byte{}, version[9:]...), nil
}

func (r *rebuilder) waiting(row row, names map[uint32]string) error {
	id, p, err := parseQueueKey(row.key)
	if err != nil {
		return nil
	}
	rec, err := parseRecord(row.value, p.order)
	if err != nil {
		return nil
	}
	r.state.next = max(r.state.next, rec.seq+1, p.order+1)
	if elsewhere, err := r.elsewhere(&rec.key, p.order, false); err != nil || elsewhere {
		return err
	}
	name, ok := names[id]
	if !ok {
		name = hostOf(rec.data)
	}
	if err := r.depth(&rec); err != nil {
		return err
	}
	r.enqueue(r.slotOf(name), entry{p, rec})
	return r.room()
}

func (r *rebuilder) delayed(row row) error {
	at, order, err := parseDueKey(row.key)
	if err != nil {
		return nil
	}
	name, priority, rec, err := parseDue(row.value, order)
	if err != nil {
		return nil
	}
	r.state.next = max(r.state.next, rec.seq+1, order+1)
	if elsewhere, err := r.elsewhere(&rec.key, order, true); err != nil || elsewhere {
		return err
	}
	if err := r.depth(&rec); err != nil {
		return err
	}
	r.delay(r.slotOf(name), entry{place{priority, order}, rec}, at.time())
	return r.room()
}

// depth gives a record the depth it was lowered to.
func (r *rebuilder) depth(rec *record) error {
	version, err := r.version(seqKey(nil, rangeLowered, rec.seq))
	if err != nil || version == nil {
		return err
	}
	rec.depth = min(rec.depth, int((&reader{wire.Decoder{Rest: version}}).Uint()))
	return nil
}

// seen counts keys without a record. They are forgotten.
func (r *rebuilder) seen(row row) error {
	kept, err := r.has(row.key)
	if err == nil && !kept {
		r.report.Lost++
	}
	return err
}

func (r *rebuilder) checkpoint(row row) error {
	r.set(slices.Clone(row.key), slices.Clone(row.value))
	r.report.Checkpoints = append(r.report.Checkpoints, string(row.key[1:]))
	return nil
}

func (r *rebuilder) count(row row) error {
	if counters, err := parseCounters(row.value); err == nil {
		r.set([]byte{rangeCounters}, appendCounters(nil, maps.Clone(counters)))
	}
	return nil
}

// hostOf finds a slot for a request whose slot's name is lost: the host of its URL, as it is by default.
func hostOf(data []byte) string {
	rec := tegenaria.Record{Data: data}
	r, err := rec.Request()
	if err != nil {
		return "lost"
	}
	_, rest, _ := strings.Cut(r.Url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// quiet is a logger for a store that is thrown away; its errors are returned to its caller.
type quiet struct{}

func (quiet) Infof(string, ...any) {}

func (quiet) Errorf(string, ...any) {}

func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
