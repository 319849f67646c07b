package spidertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// CommitterHarness is a [tegenaria.Committer] under test, and how to use it.
type CommitterHarness struct {
	// Open makes the committer of a run, over what the last one has left: a program that was started again.
	Open func(t testing.TB) tegenaria.Committer
	// Stage has a committer stage a result for an attempt, usually by ProcessItem. Results are told apart by their number.
	// An attempt that runs again stages the same ones.
	Stage func(t testing.TB, c tegenaria.Committer, id string, result int)
	// StageLate is Stage for code that was given up: another attempt has staged the same result, so the committer may refuse it
	// (nil: Stage).
	StageLate func(t testing.TB, c tegenaria.Committer, id string, result int)
	// Read returns the results that are durable, with another reader than the committer. It is called after Close.
	Read func(t testing.TB) []int
	// Merge returns what is left of results that were settled in this order, such as the last one of each key (nil: all of them).
	Merge func(settled []int) []int
	// AnyOrder says that results may be read in another order than that in which they were settled.
	AnyOrder bool
	// Kill ends a run as a crash does, without finishing anything (nil: the committer is not used any more).
	Kill func(t testing.TB, c tegenaria.Committer)
	// Before, if there is one, is called before each step of the random test, for example to break a connection.
	Before func(random *rand.Rand)
	// Rounds is how many steps the random test has (0: 200).
	Rounds int
}

// TestCommitter runs the conformance suite of [tegenaria.Committer]: what was settled is durable once and in its order,
// and nothing else is, whatever crashes between two calls. The steps are random, from a seed that the test's name
// gives.
func TestCommitter(t *testing.T, h CommitterHarness) {
	t.Helper()
	seed := seedOf(t)
	r := &committerRun{CommitterHarness: h, t: t, random: rand.New(rand.NewPCG(seed, 1))}
	if r.Rounds == 0 {
		r.Rounds = 200
	}
	t.Logf("seed %d", seed)
	r.begin()
	r.examples()
	for range r.Rounds {
		r.step()
	}
	r.end()
	if t.Failed() {
		t.Logf("the last steps: %q", r.steps[max(0, len(r.steps)-20):])
	}
}

// attempt is a request that has not been settled, and what it stages.
type attempt struct {
	id      string
	results []int
}

// committerRun is a job that is killed again and again, and what should be durable.
type committerRun struct {
	CommitterHarness
	t       *testing.T
	random  *rand.Rand
	c       tegenaria.Committer
	key     string
	stored  []byte    // the newest checkpoint that was stored
	waiting []attempt // in the order in which they will be settled
	given   []attempt // whose code was given up and has not returned
	settled []int
	made    int // results
	ids     int
	steps   []string // for the log
}

func (r *committerRun) note(format string, args ...any) {
	r.steps = append(r.steps, fmt.Sprintf(format, args...))
}

// begin begins the job.
func (r *committerRun) begin() {
	r.t.Helper()
	r.c = r.Open(r.t)
	if r.key = r.c.CommitKey(); r.key == "" {
		r.t.Fatal("its CommitKey is empty")
	}
	r.restore()
	r.kill() // no checkpoint was made
	r.reopen()
	r.prepare(nil)
	r.kill() // the first one was not stored
	r.reopen()
	r.stored = r.prepare(nil)
}

func (r *committerRun) restore() {
	r.t.Helper()
	r.note("restore")
	if err := r.c.Restore(r.t.Context(), slices.Clone(r.stored)); err != nil {
		r.t.Fatalf("Restore of the checkpoint %q: %v\nafter %q", r.stored, err, r.steps[max(0, len(r.steps)-20):])
	}
}

func (r *committerRun) prepare(ids []string) []byte {
	r.t.Helper()
	r.note("prepare %d", len(ids))
	checkpoint, err := r.c.Prepare(r.t.Context(), ids)
	if err != nil {
		r.t.Fatalf("Prepare(%q): %v\nafter %q", ids, err, r.steps[max(0, len(r.steps)-20):])
	}
	return slices.Clone(checkpoint)
}

// reopen begins a run over what the last one has left.
func (r *committerRun) reopen() {
	r.t.Helper()
	r.c = r.Open(r.t)
	if key := r.c.CommitKey(); key != r.key {
		r.t.Fatalf("its CommitKey was %q, and is %q in the next run", r.key, key)
	}
	r.restore()
}

// kill ends the run.
func (r *committerRun) kill() {
	r.t.Helper()
	r.note("kill")
	r.given = nil
	if r.Kill != nil {
		r.Kill(r.t, r.c)
	}
}

func (r *committerRun) close(reason string) {
	r.t.Helper()
	if closer, ok := r.c.(tegenaria.Closer); ok {
		if err := closer.Close(context.WithoutCancel(r.t.Context()), reason); err != nil {
			r.t.Fatalf("Close: %v", err)
		}
	}
}

// again begins a run that does what was not settled.
func (r *committerRun) again() {
	r.t.Helper()
	r.reopen()
	for _, a := range r.waiting {
		r.stage(a)
	}
}

func (r *committerRun) stage(a attempt) {
	for _, n := range a.results {
		r.Stage(r.t, r.c, a.id, n)
	}
}

// stageLate has code that was given up stage.
func (r *committerRun) stageLate(a attempt) {
	stage := r.StageLate
	if stage == nil {
		stage = r.Stage
	}
	for _, n := range a.results {
		stage(r.t, r.c, a.id, n)
	}
}

// attempt begins a request with so many results.
func (r *committerRun) attempt(results int) attempt {
	r.ids++
	a := attempt{id: fmt.Sprint("request-", r.ids)}
	for range results {
		a.results = append(a.results, r.made)
		r.made++
	}
	r.note("stage %d", results)
	r.stage(a)
	r.waiting = append(r.waiting, a)
	return a
}

// late gives the code of a request up: a second attempt stages the same results, and the code after it.
func (r *committerRun) late(of attempt) {
	r.ids++
	again := attempt{fmt.Sprint("request-", r.ids), of.results}
	r.note("late")
	r.c.Discard(of.id)
	r.stage(again)
	r.stageLate(of)
	for i := range r.waiting {
		if r.waiting[i].id == of.id {
			r.waiting[i] = again
		}
	}
	r.given = append(r.given, of)
}

// returned has code that was given up stage once more, and return.
func (r *committerRun) returned() {
	for _, a := range r.given {
		r.note("returned")
		r.stageLate(a)
		r.c.Discard(a.id)
	}
	r.given = nil
}

// settle settles the first n requests. If it is not stored, the run is killed, and they are done again.
func (r *committerRun) settle(n int, stored bool) {
	r.t.Helper()
	var ids []string
	for _, a := range r.waiting[:n] {
		ids = append(ids, a.id)
	}
	checkpoint := r.prepare(ids)
	if !stored {
		r.kill()
		r.again()
		return
	}
	r.stored = checkpoint
	for _, a := range r.waiting[:n] {
		r.settled = append(r.settled, a.results...)
	}
	r.waiting = r.waiting[n:]
}

// examples are the cases that the random test consists of, one by one.
func (r *committerRun) examples() {
	r.t.Helper()
	r.attempt(2)
	r.settle(1, true)
	r.attempt(0)
	r.settle(1, true) // nothing was staged
	r.c.Discard("nobody")
	r.settle(0, true)
	a := r.attempt(3)
	r.c.Discard(a.id) // the attempt runs again
	r.c.Discard(a.id)
	r.stage(a)
	r.attempt(1)
	r.late(a)
	r.settle(1, true) // while its code has not returned
	r.returned()
	r.attempt(1)
	r.settle(2, false)
	r.kill()
	r.reopen() // and again before anything is staged
	r.kill()
	r.again()
	r.settle(1, true)
	r.kill() // after a commit
	r.again()
	r.settle(1, true)
}

// step does one thing at random.
func (r *committerRun) step() {
	r.t.Helper()
	if r.Before != nil {
		r.Before(r.random)
	}
	switch r.random.IntN(9) {
	case 0, 1, 2:
		r.attempt(r.random.IntN(4))
	case 3:
		if len(r.waiting) > 0 {
			a := r.waiting[r.random.IntN(len(r.waiting))]
			r.note("discard")
			r.c.Discard(a.id)
			r.stage(a)
		}
	case 4, 5:
		r.settle(r.random.IntN(len(r.waiting)+1), r.random.IntN(3) > 0)
	case 6:
		r.kill()
		for range r.random.IntN(3) { // and once more when it has just begun
			r.reopen()
			r.kill()
		}
		r.again()
	case 7:
		if len(r.waiting) > 0 {
			r.late(r.waiting[r.random.IntN(len(r.waiting))])
		}
	case 8:
		r.returned()
	}
}

// end settles what waits, and closes.
func (r *committerRun) end() {
	r.t.Helper()
	r.settle(len(r.waiting), true)
	r.returned()
	r.close("finished")
	r.check("at the end")
	r.reopen() // a run that finds the job finished
	r.close("finished")
	r.check("when the finished job was opened again")
}

func (r *committerRun) check(when string) {
	r.t.Helper()
	want := slices.Clone(r.settled)
	if r.Merge != nil {
		want = r.Merge(want)
	}
	got := r.Read(r.t)
	if r.AnyOrder {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		r.t.Fatalf("%s there are %d results: %v\nwant %d: %v\nafter %q", when, len(got), got, len(want), want, r.steps[max(0, len(r.steps)-30):])
	}
}
