package tegenaria

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/lifecycle"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/slots"
	"github.com/tegenaria/tegenaria/stage"
)

// settler ends jobs, in batches and in one goroutine: committers make the items durable, then the cache stores in one
// step that the requests are done. Where nothing is stored, the goroutine that ends a job settles it at once. A settler
// is made when the cache has returned its State.
type settler struct {
	cache      CacheInterface
	codec      *codec
	committers commit.Parts
	callbacks  *callbacks
	timed      []*callback // the committers; nil: not measured
	listeners  settlementListeners
	unreturned *unreturned
	keepers    commit.Keepers
	ledger     *frontier.Ledger
	frontier   *frontier.Frontier[*job]
	flights    *flights
	gates      *gates
	bodies     *fetch.Budget
	loopback   *fetch.Loopback
	report     *reporter
	stop       *stop
	work       *work

	durable  bool
	stamped  bool             // each batch has its time
	earlier  map[string]int64 // counters of the earlier runs of a durable job
	inMemory bool             // nothing is stored
	complete bool             // the job is
	batches  *stage.Batcher[settling]

	asked   atomic.Int64 // calls of sync
	storing sync.Mutex   // held while a batch is described and stored; guards synced
	synced  int64        // so many calls of sync are served
}

// settling is what is stored together.
type settling struct {
	ended   []ended
	hold    *fetch.Hold // shares of the bodies of those that were let go; nil: none
	slots   []string    // to be stored, though no job of theirs ends
	started bool        // all seeds are accepted
}

// ended is what is kept of a job without open parts until it is stored. A disk may take its time over that
// while pages keep coming, so most jobs and their responses are let go before.
type ended struct {
	Settled          // without an Outcome it goes back to the cache
	request *Request // nil: it was not decoded, or no event will need it
	id      string   // its CtxId
	url     string   // for listeners; "": there are none
	asked   string   // for listeners: the first URL of its chain of redirects
	ids     []string // those of what it fetched inline
	job     *job     // nil: it was let go
	again   *again   // how it runs again
	givenUp bool     // code of it was: what it has staged does not count
	died    *HandleError
	notes   *settlementNotes // as in the job; nil: none
	flown   bool
	end     *RequestEnd       // for RequestEnded; nil: nobody wants to know
	told    *report.Fields    // what the log says of it at debug level; nil otherwise
	fields  *fieldcount.Tally // counts of fields of its items; nil: there are none
	counts  *jobCounts
}

// settlePause is how far apart batches begin while all workers are busy: the cost of a batch depends little on its
// size. While a worker has nothing to do there is no pause, since new requests may depend on a request that is not
// settled.
const settlePause = 20 * time.Millisecond

// settleMost is how many jobs end a pause.
const settleMost = 512

// hurry ends the settler's pause: other requests may wait until one is settled.
func (s *settler) hurry() { s.batches.Hurry() }

// done ends one part of a job. The last one has the job settled. The caller may hold locks.
func (s *settler) done(j *job) {
	if j.parts.Close() {
		s.take(s.endOf(j), false)
	}
}

// end is done for a caller without locks, which may settle the job itself.
func (s *settler) end(j *job) {
	if !j.parts.Close() {
		return
	}
	e := s.endOf(j)
	switch {
	case !s.inMemory:
		gone := e.Outcome != 0 // or else it is to run again
		if gone {
			discard(j)
		}
		s.take(e, gone)
	case e.Outcome == 0 || e.Outcome.isDead() || s.stop.failed.Load():
		s.settle(&settling{ended: []ended{e}})
	default:
		s.report.fields.Add(e.fields)
		s.settled(&e)
	}
}

// endOf returns the part of a job that is kept until it is stored.
func (s *settler) endOf(j *job) ended {
	if j.claim.HasReservation() { // its download was announced, and did not begin
		s.frontier.Overrule(j)
	}
	s.gates.ended(j) // unless it was: it may have waited in line
	e := ended{Settled: Settled{Record: j.rec, Outcome: j.outcome, Reason: j.reason, Status: int(j.status)},
		ids: j.calls.Names(), job: j, died: j.died, flown: j.flown, again: j.again,
		givenUp: j.givenUp, notes: j.notes, counts: j.counted()}
	switch {
	case j.givenUp:
		e.request, e.id = s.codec.requestOf(&j.rec), j.id
	case j.ctx != nil:
		e.request, e.id = j.ctx.Request, j.ctx.CtxId
		e.told, e.fields = s.report.inDetail(e.request, j.ctx.Response()), j.fields.Load()
	}
	if len(s.listeners) > 0 && e.request != nil {
		e.url, e.asked = e.request.Url, e.request.Url
		if moved := e.request.Redirects; len(moved) > 0 {
			e.asked = moved[0]
		}
	}
	e.end = s.report.endOf(j, e.request, e.Outcome, e.Reason, e.Status, e.givenUp)
	return e
}

// take adds an ended job to the next batch; gone says that the job itself is let go. Its share of the bodies is kept,
// so that a slow disk holds downloads up.
func (s *settler) take(e ended, gone bool) {
	s.batches.Add(func(batch *settling) (full bool) {
		if gone {
			if batch.hold == nil {
				batch.hold = new(fetch.Hold)
			}
			s.bodies.Move(&e.job.hold, batch.hold)
			e.job = nil
			if !s.report.tellsSettled() {
				e.request = nil
			}
		}
		batch.ended = append(batch.ended, e)
		return len(batch.ended) >= settleMost
	})
}

// keepSlot has a durable cache remember a slot as soon as it can.
func (s *settler) keepSlot(name string) {
	if !s.durable {
		return
	}
	s.batches.Add(func(batch *settling) (full bool) {
		if !slices.Contains(batch.slots, name) {
			batch.slots = append(batch.slots, name)
		}
		return false
	})
}

// settle ends a batch of jobs, stores their slots and others, and leaves the batch empty.
func (s *settler) settle(todo *settling) {
	list, hold, slots := todo.ended, todo.hold, todo.slots
	defer func() {
		clear(list)
		todo.ended, todo.hold, todo.slots, todo.started = list[:0], nil, nil, false
	}()
	batch := Batch{Settled: make([]Settled, 0, len(list)), Started: todo.started}
	var ids, discard []string
	again := 0
	for i := range list {
		e := &list[i]
		if e.Outcome == 0 {
			again++
		} else {
			batch.Settled = append(batch.Settled, e.Settled)
		}
		switch {
		case len(s.committers) == 0 || e.id == "":
		case e.Outcome == 0 || e.givenUp:
			discard = append(append(discard, e.id), e.ids...)
			if e.givenUp {
				s.unreturned.also(e.id, e.ids)
			}
		default:
			ids = append(append(ids, e.id), e.ids...)
		}
	}
	if len(s.committers) > 0 {
		discard = append(discard, s.unreturned.staged(false)...)
	}
	if s.durable {
		s.describeSlots(&batch, list, slots)
	}
	if !s.inMemory {
		s.work.settling.Store(settlesFeeds)
		defer s.work.settling.Store(settlesNothing)
	}
	told, err := s.prepare(&batch, list, ids, discard)
	if !s.inMemory {
		s.work.settling.Store(settlesStore)
	}
	if err == nil {
		s.flights.end(list)
		s.count(list)
		err = s.store(&batch)
	}
	if err == nil && told {
		if failed := s.listeners.stored(); failed != nil {
			s.stop.storeFailed(failed) // the batch is stored all the same
		}
	}
	s.bodies.Release(hold)
	if err != nil {
		s.stop.storeFailed(err)
		for i := range list {
			s.putBack(&list[i])
		}
		return
	}
	for i := 0; again > 0; i++ {
		if e := &list[i]; e.Outcome == 0 {
			s.requeue(e)
			again--
		}
	}
	for i := range list {
		if e := &list[i]; e.Outcome != 0 {
			s.settled(e)
		}
	}
}

// settled ends a job whose outcome is stored.
func (s *settler) settled(e *ended) {
	if e.died != nil {
		s.report.failed(e.died)
	}
	s.report.settledAs(e.request, e.told, e.Outcome, e.Reason)
	s.report.requestEnded(e.end)
	s.release(e)
	s.ledger.Settle(uint8(e.Outcome), e.Reason)
}

// prepare has the committers make a batch durable. After that no user code sees its requests any more. told says that listeners
// know of it.
func (s *settler) prepare(batch *Batch, list []ended, ids, discard []string) (told bool, err error) {
	if s.stop.failed.Load() {
		return false, errStoreFailed
	}
	if err := s.committers.Discard(discard); err != nil {
		return false, err
	}
	if told, err = s.listeners.tell(list); err != nil {
		return told, err
	}
	if len(s.committers) == 0 || len(batch.Settled) == 0 {
		return told, nil
	}
	batch.Checkpoints, err = s.committers.Prepare(s.stop.storing, ids, s.timing())
	return told, err
}

// timing returns what measures the committers, nil if nothing is measured.
func (s *settler) timing() func(i int) (end func(error)) {
	if s.timed == nil {
		return nil
	}
	return func(i int) func(error) {
		took := s.callbacks.begin(nil)
		return func(err error) { took.end(s.timed[i], err) }
	}
}

// store makes a batch durable that the committers have prepared.
func (s *settler) store(batch *Batch) error {
	if len(batch.Settled) == 0 && len(batch.Slots) == 0 && !batch.Started {
		return nil
	}
	if !s.durable {
		return s.cache.Settle(s.stop.storing, *batch)
	}
	s.storing.Lock()
	defer s.storing.Unlock()
	return s.storeNext(batch, func() error { return s.describe(batch, time.Now()) })
}

// storeNext stores a batch of a durable job that describe completes. Called with storing held: what has changed since
// the last batch is in this one alone, so that no later batch may be stored before it.
func (s *settler) storeNext(batch *Batch, describe func() error) error {
	asked := s.asked.Load()
	if err := describe(); err != nil {
		return err
	}
	if err := s.cache.Settle(s.stop.storing, *batch); err != nil {
		return err
	}
	s.synced = asked
	return nil
}

// sync returns when all is durable that the cache has accepted before the call. Calls that come together share a batch.
func (s *settler) sync() error {
	mine := s.asked.Add(1)
	s.storing.Lock()
	defer s.storing.Unlock()
	switch {
	case s.synced >= mine:
		return nil
	case s.stop.failed.Load():
		return errStoreFailed
	}
	var batch Batch // without counters: those of requests that are being settled are stored already, and not counted yet
	return s.storeNext(&batch, func() error { return s.keepState(&batch) })
}

// requeue returns a job that is not settled to the cache: to run again, or because the crawl ends.
func (s *settler) requeue(e *ended) {
	if e.again == nil {
		s.putBack(e)
		return
	}
	retry := e.again.retry
	rec, now := e.Record, time.Now()
	rec.Crashes = 0
	rec.NotBefore = time.Time{}
	if retry != nil {
		rec.Priority--
		rec.Attempt++
		if retry.After > 0 {
			rec.NotBefore = now.Add(retry.After)
		}
	}
	if s.stop.refusing.Load() && !s.durable && s.stop.work.Err() != nil {
		s.putBack(e)
		return
	}
	s.putBack(e) // a request must be counted as waiting before anybody can take it
	verdict, err := s.cache.Return(s.stop.storing, rec, now)
	if err != nil {
		s.stop.storeFailed(err)
		return
	}
	stored := frontier.Stored{Slot: rec.Slot, Limit: e.request.extras().MaxConns}
	if verdict == VerdictLater {
		s.ledger.Later(1)
		stored.Delay(rec.NotBefore)
	} else {
		stored.Queue(rec.Slot, rec.Priority)
	}
	if retry == nil {
		s.gates.hold(stored, e.again.gate)
		return
	}
	s.report.counters.Retries.Add(1)
	s.countForJob(e) // the next batch stores what the attempt has counted
	if f := s.report.events.RequestRetried; f != nil {
		s.report.event(func() { f(e.request, retry.After, retry.Err) })
	}
	s.frontier.Added(stored)
}

// putBack counts a job as waiting again.
func (s *settler) putBack(e *ended) {
	s.release(e)
	s.ledger.PutBack()
}

// release gives back the memory that a job holds, unless it was let go.
func (s *settler) release(e *ended) {
	if e.job != nil {
		s.bodies.Release(&e.job.hold)
		discard(e.job)
	}
}

// started has it stored that all seeds are accepted.
func (s *settler) started() {
	if !s.durable {
		return
	}
	s.batches.Add(func(batch *settling) (full bool) {
		batch.started = true
		return false
	})
}

// count adds what requests that have an outcome count to the counts of the run and of the job.
func (s *settler) count(list []ended) {
	for i := range list {
		if e := &list[i]; e.Outcome != 0 {
			s.report.fields.Add(e.fields)
			s.countForJob(e)
		}
	}
}

func (s *settler) countForJob(e *ended) {
	if s.durable {
		s.report.forJob.add(e.counts)
	}
}

// discard ends a job's context and removes its files. The caller holds no locks.
func discard(j *job) {
	j.closeSpools()
	j.call.Life.Cancel(context.Canceled)
}

// describe adds to a durable batch the facts that the job has to remember beside its requests.
func (s *settler) describe(batch *Batch, now time.Time) error {
	for i := range batch.Settled {
		batch.Settled[i].At = now
	}
	batch.Counters = s.counters(batch.Settled)
	return s.keepState(batch)
}

// counters returns the counts that a durable job keeps over its runs: those of requests that are settled and of their
// items, with those of the batch that is about to be stored, which the ledger has not counted yet; and those of traffic
// so far, such as downloads and bytes, of which a part happens again when the process is killed.
func (s *settler) counters(batch []Settled) map[string]int64 {
	var stats Stats
	stats.addLedger(s.ledger)
	for i := range batch {
		how := &batch[i]
		stats.Settled++
		stats.Outcomes[how.Outcome]++
		if how.Reason != "" {
			stats.Reasons[reasonKey(how.Outcome, how.Reason)]++
		}
	}
	stats.count(&s.report.counters)
	read, parsed := s.report.forJob.fill(&stats)
	stats.Fields = fieldStats(s.report.fields.Counts())
	stats.Elapsed = s.stop.elapsed()
	counts := stats.durable(s.earlier)
	counts["read"] += read
	counts["parsed"] += parsed
	counts["unparsed"] += s.report.counters.Unparsed.Load()
	return counts
}

// describeSlots adds to a batch the politeness of its jobs' slots, those that go back among them, and of others.
func (s *settler) describeSlots(batch *Batch, list []ended, others []string) {
	names := slices.Clone(others)
	for i := range list {
		names = append(names, slots.Name(list[i].Record.Slot))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if state, ok := s.frontier.Save(name); ok {
			batch.Slots = append(batch.Slots, SlotState(state))
		}
	}
}

// finished stores that the job is complete.
func (s *settler) finished() error {
	s.complete = true
	if !s.durable {
		return nil
	}
	return s.cache.Settle(s.stop.storing, Batch{Counters: s.counters(nil), Finished: lifecycle.Finished})
}

// closed stores that the committers of a complete job are closed: no later run touches what they have written.
func (s *settler) closed() error {
	if !s.durable {
		return nil
	}
	return s.cache.Settle(s.stop.storing, Batch{Checkpoints: map[string][]byte{closingCheckpoint: nil}})
}

// closingCheckpoint is the key under which a durable job notes that its committers are not closed yet: from their first
// checkpoints until the job is complete and they are closed. Each worker of a shared job has its own note.
const closingCheckpoint = "tegenaria/closing"

// keepState adds to a durable batch the state of parts that has changed, and the loopback addresses that the seeds
// allow. Any batch makes the seeds durable that came before it, so each batch has to have those.
func (s *settler) keepState(batch *Batch) error {
	added := make(map[string][]byte, len(batch.Checkpoints)+1)
	maps.Copy(added, batch.Checkpoints)
	if allowed := s.loopback.List(); len(allowed) > 0 {
		added[loopbackCheckpoint], _ = json.Marshal(allowed) // strings always encode
	}
	if s.stamped {
		added[clockCheckpoint] = storeClock(time.Now())
	}
	if err := s.keepers.Changed(func(key string, checkpoint []byte) { added[key] = checkpoint }); err != nil {
		return err
	}
	if len(added) > 0 {
		batch.Checkpoints = added
	}
	return nil
}

// loopbackCheckpoint is the key under which a durable job keeps the loopback addresses that its seeds allow.
const loopbackCheckpoint = "tegenaria/loopback"

// loopbackOf returns the loopback addresses that the seeds of earlier runs allow.
func loopbackOf(checkpoint []byte) (allowed []string) {
	_ = json.Unmarshal(checkpoint, &allowed) // nothing stored, nothing allowed
	return allowed
}
