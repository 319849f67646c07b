package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria/internal/flightnotes"
	"github.com/tegenaria/tegenaria/internal/privatefs"
)

// Option changes how a job is opened.
type Option func(*options)

type options struct {
	fs         vfs.FS
	fresh      bool
	existing   bool
	bloomOnly  bool
	every      time.Duration
	queueBytes int
	memTable   uint64
}

// Fresh starts the job over: what the directory holds of an earlier one is removed first. A directory that
// holds anything else is refused.
func Fresh() Option { return func(o *options) { o.fresh = true } }

// Existing opens a job only if it exists. Otherwise nothing is created, and the error is os.ErrNotExist. It is for programs that
// look into jobs.
func Existing() Option { return func(o *options) { o.existing = true } }

// CommitEvery sets how long Settle collects requests before it commits them with one synced write (default 10 ms); fifty requests
// are committed at once. Requests that were settled within this time before a crash may be fetched again. Zero commits each request
// at once.
func CommitEvery(d time.Duration) Option { return func(o *options) { o.every = max(d, 0) } }

// QueueBytes sets how much memory waiting requests may take, of all hosts together (default 64 MiB, at least 1
// MiB). The rest of the queues is on the disk alone.
func QueueBytes(n int) Option { return func(o *options) { o.queueBytes = max(n, 1<<20) } }

// BloomOnly trusts the Bloom filter when it says that a key was seen, and skips the exact look-up. The job then loses requests:
// about two in a thousand, four in a very large job; [Cache.ExpectedLoss] estimates the number. The filter has the size of the
// engine's duplicate filter, and grows when it is full.
func BloomOnly() Option { return func(o *options) { o.bloomOnly = true } }

// The defaults.
const (
	defaultEvery      = 10 * time.Millisecond
	defaultQueueBytes = 64 << 20
)

// The files of a job, beside the store's own directory.
const (
	formatFile = "JOB"                // says that this is one, and in which format
	lockFile   = "LOCK"               // held by the process that has the job open
	markFile   = "MARK"               // number of the newest commit, a witness beside the store
	filterFile = "BLOOM"              // the Bloom filter, of a job that was closed
	notesFile  = flightnotes.FileName // requests that are in flight, and those that may have killed the process
	taskFile   = "COMMAND"            // what the command of package cli has begun the job with, which writes and reads it
	storeDir   = "store"
)

// format is what formatFile holds. Another format has another number.
const format = formatPrefix + formatNumber + "\n"

const (
	formatPrefix = "tegenaria job, format "
	formatNumber = "2"
)

// Open opens the job in a directory, which is created if it does not exist. The error is an [*InUseError], a [*MismatchError] or a
// [*DamageError] if it is about the job. Close the cache when the crawl is over.
//
// The directory has the mode 0700 and its files 0600, whatever the umask: records hold passwords, Authorization headers and
// cookies. A job with wider modes is narrowed when it is opened, as far as the file system and its owner let it.
func Open(dir string, opts ...Option) (*Cache, error) {
	o := options{fs: privatefs.New(dir), every: defaultEvery, queueBytes: defaultQueueBytes, memTable: storeMemTable}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("disk: Open: option %d is nil; leave it out", i+1)
		}
		opt(&o)
	}
	if o.existing {
		if err := mustExist(o.fs, dir); err != nil {
			return nil, err
		}
	}
	dir, lock, err := lockJob(o.fs, dir)
	if err != nil {
		return nil, err
	}
	c, err := open(dir, o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	c.lock = lock
	return c, nil
}

// open opens a job that is locked.
func open(dir string, o options) (*Cache, error) {
	if o.fresh {
		if err := removeJob(o.fs, dir); err != nil {
			return nil, err
		}
	}
	made, err := makeJob(o.fs, dir)
	if err != nil {
		return nil, err
	}
	store := o.fs.PathJoin(dir, storeDir)
	logs, err := readClosedLogs(o.fs, store)
	if err != nil {
		return nil, err
	}
	manifest, err := currentManifest(o.fs, store)
	if err != nil {
		return nil, damage(dir, storeDir, err)
	}
	c := &Cache{
		dir: dir, fs: &guard{FS: o.fs, logs: logs}, every: o.every, bloomOnly: o.bloomOnly, closing: make(chan struct{}),
		workbench: workbench{budget: o.queueBytes}, journal: newJournal(o.memTable),
	}
	if c.db, err = pebble.Open(store, c.storeOptions(o.memTable)); err != nil {
		return nil, damage(dir, "", err)
	}
	if err := c.check(made, manifest); err != nil {
		c.fs.fail(err)      // nothing is to be tidied away
		err = c.fs.failed() // what else was seen may follow from what came first
		err = errors.Join(err, c.db.Close())
		if c.mark != nil {
			err = errors.Join(err, c.mark.close())
		}
		return nil, err
	}
	c.notes = flightnotes.Read(notesFolder{o.fs, dir}, "disk: the job "+dir, c.state.id)
	return c, nil
}

// check compares what the store holds with its witnesses, and with nothing if it was just made. The manifest is the one
// it was opened with.
func (c *Cache) check(made bool, manifest string) error {
	found := false
	err := c.get([]byte{rangeState}, func(value []byte) (err error) {
		found = true
		c.state, err = parseState(value)
		return err
	})
	switch {
	case c.fs.failed() != nil && !found:
		return c.failure(c.fs.failed())
	case err != nil:
		return damage(c.dir, "", err)
	case !found:
		return c.create(made)
	}
	c.durable = c.state.commits
	if err := c.readJournal(); err != nil {
		return err
	}
	if _, err := c.fs.Stat(c.fs.PathJoin(c.dir, markFile)); errors.Is(err, os.ErrNotExist) && c.state.commits == 1 {
		// It was killed when it had just been made.
		c.mark, err = createMark(c.fs, c.dir, c.state.id, 1)
		return err
	}
	c.mark, err = openMark(c.fs, c.dir, c.state.id, c.state.commits)
	if err != nil {
		return err
	}
	store := c.fs.PathJoin(c.dir, storeDir)
	if err := checkManifest(c.state.manifest, c.fs.FS, store, manifest); err != nil {
		return damage(c.dir, storeDir+"/"+c.state.manifest.name, err)
	}
	if _, written := c.fs.manifest(); !written {
		return nil
	}
	// The store has a new manifest, and will remove the old one: the witness must not be that one's.
	done, err := c.apply(true)
	if err != nil {
		return err
	}
	return c.wait(done)
}

// readJournal reads the journal of a job that was not closed.
func (c *Cache) readJournal() error {
	err := c.scan([]byte{rangeJournal}, []byte{rangeJournal + 1}, func(key, value []byte) error {
		commit, err := parseSeqKey(key)
		if err != nil {
			return err
		}
		return c.journal.read(commit, value)
	})
	if err != nil || len(c.journal.slots) == 0 {
		return err
	}
	err = c.scan([]byte{rangeSlot}, []byte{rangeSlot + 1}, func(key, value []byte) error {
		s, err := parseSlot(string(key[1:]), value)
		if err == nil {
			c.journal.nameSlot(s.id, s.name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for id, s := range c.journal.slots {
		if s.name == "" {
			return c.failure(fmt.Errorf("the journal has a slot that has no name, number %d", id))
		}
	}
	return nil
}

// newID makes the id of a job.
func newID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // it does not fail
	return id
}

// create begins the store of a job that has none.
func (c *Cache) create(made bool) error {
	if name := c.fs.PathJoin(c.dir, markFile); !made {
		// A job that was killed while it was made has nothing yet. One that has a mark has lost its store.
		if _, err := c.fs.Stat(name); err == nil {
			return damage(c.dir, storeDir, errors.New("the store is empty, though the job has begun"))
		}
	}
	c.state.id = newID()
	c.state.next, c.state.commits = 1, 0
	done, err := c.apply(true)
	if err != nil {
		return err
	}
	if err := errors.Join(done.batch.SyncWait(), done.batch.Close(), c.broken()); err != nil {
		return err
	}
	c.durable = done.number
	c.mark, err = createMark(c.fs, c.dir, c.state.id, done.number)
	return err
}
