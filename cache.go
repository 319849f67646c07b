package tegenaria

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/report"
)

// Key is the identity of a request: 128 bits. Two requests are duplicates if and only if their
// keys are equal.
type Key [16]byte

// Record is a waiting request as a cache stores it. The values by which a cache orders records are fields; the
// rest of the request is encoded in Data.
type Record struct {
	Key Key
	// the request that emitted it, zero for seeds; a cache may keep its first four bytes alone, or nothing
	Parent    Key
	Slot      string    // the queue it waits in
	Priority  int       // larger first within the slot
	Depth     int       // lowered by the cache when a pending duplicate is found nearer to a seed
	Attempt   int       // how often it was tried before
	NotBefore time.Time // zero, or the instant before which it lies in the due list
	Seq       uint64    // given by the cache in Accept: the order within slot and priority
	// the Seq of the request that emitted it, if a durable cache keeps that; 0: it does not, or a seed
	ParentSeq uint64
	Data      []byte // the encoded request; a cache copies the bytes that it keeps
	Live      any    // the parts that cannot be encoded; nil for durable caches
	Crashes   int    // how often in a row the process died while it was in flight: see [FlightRecorder]
}

// Verdict is a cache's answer to one record.
type Verdict uint8

// The verdicts.
const (
	VerdictNew   Verdict = iota + 1 // first seen: it waits in its slot now
	VerdictKnown                    // its key was accepted before: nothing is stored
	VerdictLater                    // first seen: it waits in the due list until its NotBefore
	// VerdictRefused: the slot holds more than its share of a queue that is nearly full. Nothing is stored, and the key
	// is not marked as seen. The request ends as filtered: queue-share. Only a cache with a memory bound returns it.
	VerdictRefused
	// VerdictHandedOn: the slot belongs to another program that works on the same job, which decides whether the
	// request is new, and counts it. Only a [SharedCache] returns it.
	VerdictHandedOn
)

// Job describes the run that is about to use a cache.
type Job struct {
	Spider     string // name of the spider
	KeyVersion int    // version of the key rules; a durable cache refuses another one's data
	// BloomBits and BloomHashes size the negative cache in front of an exact set on disk. A cache
	// whose exact set is in memory ignores them.
	BloomBits, BloomHashes uint
	// QueueBytes bounds the memory for waiting records; above it Accept of a memory cache returns a
	// [*QueueFullError]. Zero: no bound.
	QueueBytes int64
}

// State is the state of a cache when a run begins.
type State struct {
	Durable     bool              // records survive the process; Record.Live is refused
	Started     bool              // StartRequest had finished: it is not called again
	Finished    bool              // the job was finished before, with this Reason
	Reason      string            //
	Delayed     int64             // records in the due list
	Counters    map[string]int64  // as last settled
	Checkpoints map[string][]byte // committer key → checkpoint, as last settled
	// those in flight when the process died, handed out as if by Next: see [FlightRecorder]
	Suspects []Record
	Unread   error // why suspects may be missing: the engine logs it
}

// SlotState is the state of one slot's queue and politeness.
type SlotState struct {
	Name        string
	Pending     int           // records waiting in the slot, those in flight not among them
	Delayed     int           // records of the slot that wait for their time, if the cache counts them
	Priority    int           // of the best of those that wait in the slot
	NextAllowed time.Time     // no download starts before
	Delay       time.Duration // between the starts of two downloads
	Penalty     time.Duration // the part of Delay that is due to refusals; other responses reduce it
	Pages       int           // downloads begun, if they are counted

	// AutoThrottle is the part of Delay that AutoThrottle has found; 0: none.
	AutoThrottle time.Duration
}

// Settled is a request that has ended.
type Settled struct {
	Record  Record
	Outcome Outcome
	Reason  string // of outcomes that have one: "offsite", an error's text …
	Status  int    // HTTP status of the response, 0 if there was none
	At      time.Time
}

// Batch is all that a cache makes durable in one step.
type Batch struct {
	Settled     []Settled         // these records are done: they are never handed out again
	Slots       []SlotState       // politeness to remember; Pending and Priority are not set
	Checkpoints map[string][]byte // committer key → checkpoint; other keys keep theirs
	Counters    map[string]int64  // absolute values of all counters; nil keeps the last ones
	Started     bool              // StartRequest has finished
	Finished    string            // not empty: the job is complete, for this reason
}

// CacheInterface stores the waiting requests and the keys that were seen. It is not an HTTP cache. It alone decides
// whether a request was seen; it does not decide when a request is downloaded.
//
// Contract. All methods may be called concurrently. None waits for another goroutine of the engine;
// waiting for the store's own input and output is allowed. A record is in exactly one place: a slot's
// queue, the due list, in flight (handed out by Next), or settled. After a crash each record that was
// in flight waits again, in its old place. An error of Accept, Next, Due, Return or Settle ends the run
// with that error; nothing is settled that was not stored.
//
// The suite [spidertest.TestCache] tests an implementation. Those of this module are the memory of the engine, cache/disk,
// and cluster, whose workers share one queue.
//
// [spidertest.TestCache]: https://pkg.go.dev/github.com/tegenaria/tegenaria/spidertest#TestCache
type CacheInterface interface {
	// Begin opens the cache for a run, and is called once before anything else. A memory cache
	// starts empty each time. A durable one resumes, or refuses with an error that names the remedy.
	Begin(ctx context.Context, job Job) (State, error)
	// Accept marks each record's key as seen and stores the record, in one atomic step: after a crash
	// a key is either known and its record stored, or neither. The verdicts have the order of
	// the records. A record with a NotBefore goes to the due list, whatever the time. If a key is accepted again at a
	// smaller depth, its waiting record gets that depth. On an error nothing is stored.
	Accept(ctx context.Context, records []Record) ([]Verdict, error)
	// Next hands out up to n of a slot's records, largest priority first, then in the order of
	// acceptance, and returns the state of the rest. The order of delayed or returned records among
	// those of their priority is not specified. The records stay stored until they are settled or returned. An unknown
	// slot is treated as an empty one.
	Next(ctx context.Context, slot string, n int) (records []Record, left SlotState, err error)
	// Due moves records whose time has come, the earliest first, from the due list to their slots'
	// queues. It returns the slot of each moved record, with the record's priority; next is
	// the earliest NotBefore that is left, zero if the list is empty. A cache may move only some of
	// the records: next is then not after now, and the caller calls Due again.
	Due(ctx context.Context, now time.Time) (moved []SlotState, next time.Time, err error)
	// Return puts back a record that Next handed out, with its Priority, Attempt and NotBefore as
	// given: to the due list if NotBefore lies ahead (VerdictLater), otherwise to its slot's queue
	// (VerdictNew). The other fields must be those that Next gave.
	Return(ctx context.Context, record Record, now time.Time) (Verdict, error)
	// Settle stores the batch in one atomic step. On return the batch is durable, and so are all earlier
	// results of Accept, Due and Return; before that a crash may undo those, the latest first.
	Settle(ctx context.Context, batch Batch) error
	// Slots lists the slots that hold waiting records, in any order. A durable cache lists them with their NextAllowed,
	// Delay, Penalty, AutoThrottle and Pages as last settled, and lists those too, with Pending 0, whose NextAllowed
	// lies ahead, or whose Pages or Delayed are not 0.
	Slots(ctx context.Context) iter.Seq2[SlotState, error]
	// DeadLetters lists requests that failed or gave up. A memory cache keeps the newest 1,000.
	DeadLetters(ctx context.Context) iter.Seq2[Settled, error]
	// Counters returns the counters as last settled.
	Counters(ctx context.Context) (map[string]int64, error)
	// Close releases all resources. The program that opened a cache closes it; the engine does not.
	Close() error
}

// Flight is the state of a request that a cache has handed out.
type Flight uint8

// The flights.
const (
	FlightBegun  Flight = iota + 1 // network and user code work on it from now on
	FlightPaused                   // it waits in the engine, and no code works on it
	FlightOver                     // it has got through: no user code will see it again
)

// FlightRecorder is an optional interface of a durable [CacheInterface]: after a crash of the process it knows which
// requests were in flight, that is, being downloaded or processed by user code. Each of them is a suspect: it may have
// caused the crash. The engine runs suspects one at a time, and gives up a request after three crashes in a row, see
// [ProcessDiedError].
//
// An implementation counts crashes for each request by these rules:
//
//   - When the process dies, each request that has begun, and is neither paused nor over, has one crash more.
//   - A paused request keeps its count. A request that is over, settled or returned has no crashes any more.
//   - A run that ends, Close, and anything else that the process survives change no count.
//   - When a run begins, State.Suspects lists the requests that have crashes, those with the fewest first, with
//     Record.Crashes set. Slots lists their slots, even those where nothing else waits.
//   - A suspect may be missing from State.Suspects because it is delayed, or because the crash has undone the page that
//     emitted it. It has its Crashes when Next hands it out.
//   - The notes must survive the death of the process. They need not survive that of the machine.
type FlightRecorder interface {
	// RecordFlight notes the flight of a request that Next or Begin has handed out. It is called concurrently, and with
	// the engine's locks held. So it must not wait for anything except a lock of its own, and should make no system
	// call. The engine logs an error, and the run goes on without the note.
	RecordFlight(rec *Record, now Flight) error
}

// RefusalRecorder is an optional interface of a durable [CacheInterface]: it stores requests that the crawl has
// refused, so that a program that looks into the job can say why a URL was not crawled.
type RefusalRecorder interface {
	// RecordRefusal stores, by its key, how a request ended that the crawl has refused. Its Record has Key, Data,
	// Depth, Slot and ParentSeq; Data is valid until RecordRefusal returns. A key may come several times. It returns
	// false when it keeps no more. It is called concurrently, must not wait, and may lose what came after the last
	// Settle.
	RecordRefusal(how Settled) (more bool)
}

// Outcome is how a request ended. Each request has exactly one.
type Outcome uint8

// The outcomes. Those marked with (reason) carry a reason in [Settled] and [Stats].
const (
	Fetched    Outcome = iota + 1 // its response was read by a parser, or by the caller of Fetch
	Redirected                    // the target took its place
	Duplicate                     // an equal request had been accepted before
	Filtered                      // never asked (reason: offsite, depth, scheme, url, middleware …)
	Robots                        // robots.txt forbids it, or cannot be read (reason)
	Dropped                       // a middleware's answer or the spider's wish ended it early (reason)
	Failed                        // an error ended it (reason: the stage)
	GaveUp                        // it was tried Limits.Attempts times, or GiveUp says so (reason: the last error)
	outcomes                      // how many there are, plus one
)

var outcomeNames = [outcomes]string{"", "fetched", "redirected", "duplicate", "filtered", "robots", "dropped", "failed",
	"gave-up"}

// String returns the outcome's name as summaries print it: "fetched", "gave-up" …
func (o Outcome) String() string {
	if o < outcomes {
		return outcomeNames[o]
	}
	return "unknown"
}

// UnmarshalText reads what MarshalText wrote.
func (o *Outcome) UnmarshalText(text []byte) error {
	i := slices.Index(outcomeNames[1:], string(text))
	if i < 0 {
		return fmt.Errorf("tegenaria: %q is no outcome", text)
	}
	*o = Outcome(i + 1)
	return nil
}

// MarshalText makes an Outcome usable as a JSON value and map key.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// isDead reports whether a request that ended so is a dead letter.
func (o Outcome) isDead() bool { return o == Failed || o == GaveUp }

// parentPage identifies the page that the record's request comes from: by its number, or else by what the cache has
// kept of its key.
func (r *Record) parentPage() report.PageID {
	if r.ParentSeq != 0 {
		return report.PageByNumber(r.ParentSeq)
	}
	return report.PageByKey([4]byte(r.Parent[:4]))
}

// maxBatch is how many requests the cache is asked about at a time.
const maxBatch = 64
