package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/pgretry"
)

// Options are what [Open] may be told. The zero value is a good one.
type Options struct {
	// Worker names this worker among those of the job; "" is the name of the machine. Checkpoints and counters are
	// stored by it: resume a job under the name under which its outputs were written.
	Worker string
	// Partitions is into how many parts the slots of a new job are divided; 0: 32, or as many as the job has.
	Partitions int
	// QueueBytes is how much memory waiting requests may take, of all hosts together; 0: 64 MiB.
	QueueBytes int
	// Patience is how long the crawl waits for a database that is away; 0: 5 minutes.
	Patience time.Duration
	// TTL is how long the worker may send no heartbeat before its session expires and others take its hosts over; 0: 30
	// seconds. It sends four heartbeats in this time. When none was acknowledged for three quarters of it, it starts no
	// download until one is; if one is in flight when all of it is over, the run ends with an [*Error].
	TTL time.Duration
	// Dir is a folder on a local disk that belongs to this worker alone, and is made if there is none; "" is none. It
	// says which requests are in flight, so that a page which kills the process is given up after it has done so three
	// times, whichever workers it killed, and its lock proves that the process before has ended, so that a worker which
	// is started again begins at once. Two processes that name one folder are refused with an [*InUseError], another
	// worker's folder with a [*DirError].
	Dir string
}

const (
	defaultPartitions = 32
	defaultQueueBytes = 64 << 20
	defaultPatience   = 5 * time.Minute
	defaultTTL        = 30 * time.Second
	longestName       = 63 // bytes of the name of a schema
)

// Cache is a job in a database. Its methods may be called concurrently.
type Cache struct {
	// storeToken has a token in it while somebody uses the store. It guards the store and what is being written, and is
	// acquired before mu.
	storeToken chan struct{}
	store      store
	remotes    []remoteServer // the servers of the job by number, of which its own is not used; none if there is only one
	folder     *folder        // nil: there is none
	member
	reserved   int64 // pages of the limit that the worker has reserved, see reservePages
	run        atomic.Pointer[tegenaria.SharedRun]
	heartbeats atomic.Pointer[heartbeats] // nil before Begin; changed by whoever holds the store
	membership atomic.Pointer[membership] // nil before Join
	paused     atomic.Bool                // nobody is to start downloads; changed by whoever holds the store

	alive  context.Context // until Close
	cancel context.CancelFunc
	writes sync.WaitGroup // writes that a timer begins

	hostLeases

	mu sync.Mutex // guards the fields below
	parts
	ready     bool // Begin was called
	closed    bool
	broken    error       // what has ended the use of the database
	timer     *time.Timer // writes what nobody settles; nil: nothing is to be written
	number    int64       // the newest number of a request, a place or a slot
	slots     map[string]*slot
	byID      map[int64]*slot
	idle      []*slot // without requests, remembered for their politeness
	flights   int     // requests that Next has handed out
	due       list
	workbench workbench
	entries   map[tegenaria.Key]*entry // what is in memory: in a front, in a batch, in flight
	hidden    map[int64]struct{}       // places that the database may still have, and where nothing waits
	recent    recent
	crashes   map[tegenaria.Key]int // of requests that were in flight when a worker died
	questions []*question
	open      *batch // gathers what changes
	writing   *batch // is being written, or was when a write failed
	durable   int64  // number of the last batch that is
	counters  map[string]int64
}

var (
	_ tegenaria.CacheInterface = (*Cache)(nil)
	_ tegenaria.SharedCache    = (*Cache)(nil)
	_ tegenaria.FlightRecorder = (*Cache)(nil)
	_ tegenaria.NamedWorker    = (*Cache)(nil)
	_ tegenaria.JobCounter     = (*Cache)(nil)
)

// Open connects to a database and opens a job in it, or makes it: the job is a schema of that name. dsn is a URL or a
// list of settings as libpq has them; a password may also come from a file. The databases of a job on several servers
// are URLs, separated by commas, in the same order for all workers. An address that cannot be read is refused with an
// [*AddressError]. A job that has other tables or another number of partitions is refused with a [*MismatchError], a
// server that cannot keep a job with a [*ServerError], and a user without the rights with a [*RightsError].
func Open(ctx context.Context, dsn, job string, o Options) (*Cache, error) {
	configs, err := configsOf(dsn, job)
	if err != nil {
		return nil, err
	}
	if o.Worker == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("cluster: the name of the machine: %w; set Options.Worker", err)
		}
		o.Worker = name
	}
	s := &server{
		config: configs[0], member: member{job: job, worker: clean(o.Worker), ttl: cmp.Or(max(o.TTL, 0), defaultTTL)}, location: location{suffixes: builtIn, servers: len(configs)},
		patience: cmp.Or(max(o.Patience, 0), defaultPatience), lock: rand.Int32(),
	}
	var own *folder
	if o.Dir != "" {
		if own, err = openFolder(o.Dir, job, s.worker); err != nil {
			return nil, err
		}
		s.lock = own.state.Lock
	}
	s, err = s.openServers(ctx, configs, max(o.Partitions, 0))
	if err == nil && own != nil {
		if err = own.matchJob(ctx, s); err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}
	if err != nil {
		return nil, errors.Join(err, own.close())
	}
	c := newCache(ctx, s, s.member, s.location, o)
	c.folder = own
	for _, p := range s.peers {
		c.remotes = append(c.remotes, p)
	}
	return c, nil
}

// WorkerName returns the name of the worker, see [Options].Worker. Outputs that would have one name in all workers add
// it.
func (c *Cache) WorkerName() string { return c.worker }

// newCache makes the cache of a member of the job that lies in a store. It is open until Close, whatever becomes of
// ctx.
func newCache(ctx context.Context, s store, m member, p location, o Options) *Cache {
	c := &Cache{
		storeToken: make(chan struct{}, 1), store: s, member: m, hostLeases: newHostLeases(), parts: newParts(p),
		workbench: workbench{budget: cmp.Or(max(o.QueueBytes, 0), defaultQueueBytes)}, open: newBatch(1),
	}
	c.alive, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// nextAddress is what stands between the URLs of two servers. A password has no slash, unless it is written as %2F.
var nextAddress = regexp.MustCompile(`\s*,\s*(postgres(?:ql)?://)`)

// configsOf returns how to connect to the servers of a job of this name.
func configsOf(dsn, job string) (configs []*pgx.ConnConfig, err error) {
	if job == "" || len(job) > longestName || strings.Contains(job, "\x00") || strings.HasPrefix(job, "pg_") || job == "public" || job == "information_schema" {
		return nil, fmt.Errorf("cluster: %q is no name of a job, which is a schema of its own: choose one of 1 to %d bytes "+
			"that does not begin with pg_, and neither public nor information_schema", job, longestName)
	}
	addresses := []string{dsn}
	if dsn = strings.TrimSpace(dsn); nextAddress.MatchString(","+dsn) && strings.HasPrefix(dsn, "postgres") {
		addresses = strings.Split(nextAddress.ReplaceAllString(dsn, "\n$1"), "\n")
	}
	for i, address := range addresses {
		config, err := pgx.ParseConfig(address)
		if err != nil { // which has the address in it, and so may have its password
			return nil, &AddressError{Server: i}
		}
		configs = append(configs, config)
	}
	return configs, nil
}

// open connects and finds the job.
func (s *server) open(ctx context.Context, partitions int) (found int, err error) {
	if err = s.reconnect(ctx); err == nil {
		if err = s.check(ctx); err == nil {
			found, err = s.find(ctx, partitions)
		}
	}
	if err == nil {
		return found, nil
	}
	err = errors.Join(err, s.close(ctx))
	var mismatch *MismatchError
	var refused *ServerError
	var missing *MissingError
	switch {
	case errors.As(err, &missing):
		return 0, missing
	case errors.As(err, &mismatch):
		return 0, mismatch
	case errors.As(err, &refused):
		return 0, refused
	case pgretry.IsCode(err, noRights):
		return 0, &RightsError{Job: s.job, Doing: "opening", Err: err}
	}
	return 0, &Error{Job: s.job, Doing: "opening", Err: err}
}

// Begin is described at [tegenaria.CacheInterface]. It takes partitions that the worker is to have and that nobody has,
// until they have 1,000 slots; others come once the run has joined. A worker whose name is at work is refused with an
// [*InUseError], a job of another spider, or whose keys were made by other rules, with a [*MismatchError]. So is a
// program with another list of public suffixes than the workers that are alive; if there are none Begin moves the slots
// to the partitions in which they are by the list of this program. Begin also ends an earlier run of the worker:
// whatever that still tries to write is refused.
func (c *Cache) Begin(ctx context.Context, job tegenaria.Job) (tegenaria.State, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return tegenaria.State{}, errClosed
	}
	c.membership.Swap(nil).end()
	if err := c.acquireStore(ctx); err != nil {
		return tegenaria.State{}, err
	}
	defer c.releaseStore()
	c.mu.Lock()
	ended := c.broken
	c.mu.Unlock()
	if ended == nil { // otherwise what could not be written is as if it had never been
		if err := c.write(ctx); err != nil { // what an earlier run of this process has gathered
			return tegenaria.State{}, err
		}
	}
	c.heartbeats.Swap(nil).end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(c.alive, func() { cancel(errClosed) })()
	d, unread := c.folder.death()
	l, sent, err := c.store.begin(ctx, job, d)
	if err == nil && c.folder != nil {
		err = c.folder.sessionBegan(l.session)
	}
	if err != nil {
		return tegenaria.State{}, err
	}
	l.state.Unread = unread
	l.state.Checkpoints[itemsKey] = itemsReady
	c.session, c.reserved = l.session, l.reserved
	c.paused.Store(l.paused)
	c.heartbeats.Store(startHeartbeats(c.alive, c.store, c.member, c.sharedRun(), sent, func(err error) { _ = c.failed(err) }))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number = l.session << sessionBits
	c.slots, c.byID, c.idle, c.flights = make(map[string]*slot), make(map[int64]*slot), nil, 0
	c.due = list{most: dueRecords, quota: dueBytes}
	c.entries, c.hidden = make(map[tegenaria.Key]*entry), make(map[int64]struct{})
	c.recent = recent{}
	c.workbench = workbench{budget: c.workbench.budget, left: c.forgetEntry}
	clear(c.owned)
	clear(c.leaving)
	c.foreign = make(map[string]slotLocation)
	c.hostLeases = newHostLeases()
	c.open, c.writing, c.durable = newBatch(1), nil, 0
	c.add(l)
	l.state.Suspects = c.handOut(l.suspects)
	c.counters = l.state.Counters
	c.ready, c.broken = true, nil
	l.state.Counters = maps.Clone(l.state.Counters)
	return l.state, nil
}

// add takes slots in whose partitions were taken, and returns those that the run has to know. Called with mu held.
func (c *Cache) add(l *loaded) (states []tegenaria.SlotState) {
	for _, p := range l.parts {
		c.owned[p] = true
	}
	c.addCrashes(l.crashes)
	now := time.Now()
	for name, s := range l.slots {
		c.slots[name], c.byID[s.id] = s, s
		if s.count > 0 {
			c.workbench.lists++
		}
		if s.count+s.delayed > 0 || s.remembers(now) {
			states = append(states, s.state())
		}
		c.rest(s)
	}
	if l.due.count == 0 {
		return states
	}
	if len(c.due.front) > 0 {
		c.workbench.drop(&c.due)
	}
	if c.due.count == 0 {
		c.workbench.lists++
		c.due.head, c.due.cursor = last, last
	}
	if l.due.head.before(c.due.head) {
		c.due.head = l.due.head
	}
	if l.due.head.before(c.due.cursor) {
		c.due.cursor = l.due.head
	}
	c.due.count += l.due.count
	return states
}

// sessionBits is how many bits of a number are counted in a session; the others are those of the session.
const sessionBits = 40

// Slots is described at [tegenaria.CacheInterface].
func (c *Cache) Slots(context.Context) iter.Seq2[tegenaria.SlotState, error] {
	return func(yield func(tegenaria.SlotState, error) bool) {
		c.mu.Lock()
		err := c.usable()
		now := time.Now()
		states := make([]tegenaria.SlotState, 0, len(c.slots))
		for _, s := range c.slots {
			if s.count+s.delayed > 0 || s.suspected || s.remembers(now) {
				states = append(states, s.state())
			}
		}
		c.mu.Unlock()
		if err != nil {
			yield(tegenaria.SlotState{}, err)
			return
		}
		for _, state := range states {
			if !yield(state, nil) {
				return
			}
		}
	}
}

// Counters is described at [tegenaria.CacheInterface].
func (c *Cache) Counters(context.Context) (map[string]int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counters), c.usable()
}

// Close writes what has changed, ends the session, so that another worker can begin at once, and closes the
// connections. Requests that were in flight wait again when the job is opened. If the database could not be used any
// more, Close returns the error that ended the crawl.
func (c *Cache) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	if c.timer != nil && c.timer.Stop() {
		c.writes.Done()
	}
	c.mu.Unlock()
	c.cancel() // so that no other write waits for a database that is away
	c.writes.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), longestClose)
	defer cancel()
	c.storeToken <- struct{}{} // whoever has it has a context that has ended, or is about to settle
	defer c.releaseStore()
	c.membership.Load().end()
	err := c.write(ctx)
	if err == nil {
		err = c.returnPages(ctx)
	}
	if err == nil {
		err = c.store.endSession(ctx)
	}
	c.heartbeats.Load().end() // they have ended with c.alive
	for server, a := range c.remotes {
		if server != c.ownServer {
			err = errors.Join(err, a.close(ctx))
		}
	}
	return errors.Join(err, c.store.close(ctx), c.folder.close())
}

// longestClose is how long Close tries to write.
const longestClose = 10 * time.Second

var (
	errClosed   = errors.New("cluster: the cache is closed")
	errNotBegun = errors.New("cluster: Begin was not called")
)

// usable reports whether the cache can be used. Called with mu held.
func (c *Cache) usable() error {
	switch {
	case c.closed:
		return errClosed
	case !c.ready:
		return errNotBegun
	}
	return c.broken
}

// slotOf returns the slot of a name, a new one if there is none, or nil if it belongs to another worker. Called with mu
// held.
func (c *Cache) slotOf(name string) *slot {
	s := c.slots[name]
	if s == nil {
		at, foreign := c.isForeign(name)
		if foreign {
			return nil
		}
		s = &slot{list: list{most: frontRecords, quota: frontBytes}, name: name, id: c.next(), partition: at.partition}
		c.slots[name], c.byID[s.id] = s, s
		c.open.store(s)
	}
	return s
}

// next returns a new number. Called with mu held.
func (c *Cache) next() int64 {
	c.number++
	return c.number
}

// rest notes that a slot has no requests, so that it is forgotten when its politeness is over. Called with mu held.
func (c *Cache) rest(s *slot) {
	if s.empty() && !s.idle {
		s.idle = true
		c.idle = append(c.idle, s)
	}
}

// forgetIdle forgets some of the slots that have nothing to remember. Called with mu held.
func (c *Cache) forgetIdle(now time.Time) {
	for range min(len(c.idle), 64) {
		s := c.idle[0]
		c.idle = c.idle[1:]
		switch {
		case !s.empty():
			s.idle = false
		case s.remembers(now):
			c.idle = append(c.idle, s)
		default:
			delete(c.slots, s.name)
			delete(c.byID, s.id)
			c.open.forget(s)
		}
	}
}
