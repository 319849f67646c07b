package tegenaria

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// Settlement is how an attempt at a request has ended.
type Settlement struct {
	CtxId   string  // of the attempt, as items, errors and committers have it
	Caller  string  // the CtxId of the request whose code has sent it by Fetch; "" for one of the queue
	URL     string  // of the request; a chain of redirects is several requests
	Asked   string  // the URL that redirects have led on from, the first of the chain; URL if there were none, and of one of Fetch
	Key     Key     // of the request; zero for one of Fetch
	Parent  Key     // of the request that has sent it; zero for a seed and for one of Fetch, or if the cache does not keep it
	Seed    bool    // nothing has sent it but the spider's start, or Add, as far as the cache keeps that
	Outcome Outcome // how it ended
	Reason  string  // of the outcome; "" if it has none
	Failed  Stage   // the stage of its last failure; "" if it has not failed
	Status  int     // of its response; 0 if there was none
	Attempt int     // how often it was tried before

	// StoredRead says that it has failed, and its parser has read the stored page instead, for its links: see [StoredPages].
	StoredRead bool

	LostItems int // how many of its items were dropped or have failed
	// Links are the beginnings of the keys of all requests that its code has sent in this attempt, in any order: those of links, duplicates
	// and refused ones too, and the target of its redirect. Requests that are no requests, such as those of a scheme that is not
	// crawled, have no key. It is empty unless a [LinkListener] wants it.
	Links []uint64

	// Unchanged says that its parser did not run, because the page is unchanged: what it sent before was sent again: see [UnchangedPages].
	Unchanged bool
	// Sent are the encodings of the requests of Links, in the order in which they were sent, for a part that skips unchanged pages. It is nil
	// also if one of them cannot be encoded or sent again, such as one with a parser that has no name, one with a time before which it is not
	// sent, or one that was invalid; then Sendable is false.
	Sent     [][]byte
	Sendable bool
}

// Short is the beginning of a key, its first eight bytes: what Links of a [Settlement] have.
func (k Key) Short() uint64 { return binary.BigEndian.Uint64(k[:]) }

// SettlementListener is an optional interface of any registered part: it is told how requests end. A part that is a
// [Committer] too learns by it what became of what it has staged.
//
// Settling is called with the requests of a batch that have an outcome, before Prepare is called for the batch; a request
// of Fetch comes with the request of its caller. It is not told of attempts that run again, and of those whose code was
// given up: what these have staged is discarded. settlements must not be changed or kept.
//
// Settled is called when the batch is stored: these requests do not run again, also after a crash. It is not called if storing
// failed. Calls of a listener do not overlap.
type SettlementListener interface {
	Settling(settlements []Settlement)
	Settled()
}

// LinkListener is an optional interface of a [SettlementListener]: its settlements have Links, which take eight bytes
// for each link until the request is settled.
type LinkListener interface {
	SettlementListener
	// ListensToLinks is called once, at the beginning of a run, and reports whether the links are wanted.
	ListensToLinks() bool
}

// settlementListeners are those of a run.
type settlementListeners []SettlementListener

// tell tells them how the requests of a batch end. told says that there are such requests.
func (ls settlementListeners) tell(list []ended) (told bool, err error) {
	if len(ls) == 0 {
		return false, nil
	}
	var settlements []Settlement
	for i := range list {
		e := &list[i]
		if e.Outcome == 0 || e.givenUp || e.id == "" {
			continue
		}
		settlements = append(settlements, Settlement{
			CtxId: e.id, URL: e.url, Asked: e.asked, Seed: e.Record.Parent == Key{} && e.Record.ParentSeq == 0, Key: e.Record.Key, Parent: e.Record.Parent, Outcome: e.Outcome, Reason: e.Reason,
			Status: e.Status, Attempt: e.Record.Attempt, Sendable: true,
		})
		if e.notes == nil {
			continue
		}
		last := &settlements[len(settlements)-1]
		last.Failed, last.LostItems, last.Links = e.notes.failed, e.notes.lost, e.notes.links
		last.StoredRead, last.Unchanged = e.notes.stored, e.notes.unchanged
		last.Sent, last.Sendable = e.notes.sent, !e.notes.unsendable
		for _, one := range e.notes.inline {
			one.Caller = e.id
			settlements = append(settlements, one)
		}
	}
	if len(settlements) == 0 {
		return false, nil
	}
	return true, ls.each("Settling", func(l SettlementListener) { l.Settling(settlements) })
}

// stored tells them that the batch is stored.
func (ls settlementListeners) stored() error { return ls.each("Settled", SettlementListener.Settled) }

// wantLinks reports whether one of them wants the links of pages.
func (ls settlementListeners) wantLinks() bool {
	return slices.ContainsFunc(ls, func(l SettlementListener) bool {
		wants, ok := l.(LinkListener)
		return ok && wants.ListensToLinks()
	})
}

// each calls a method of each. An error says that one has panicked.
func (ls settlementListeners) each(method string, call func(SettlementListener)) error {
	for _, l := range ls {
		if err := guard.Protect(func() error { call(l); return nil }); err != nil {
			return fmt.Errorf("%T: %s: %w", l, method, err)
		}
	}
	return nil
}

// settlementNotes are what a Settlement says beside the outcome of a job.
type settlementNotes struct {
	failed Stage        // where it failed last; "" if it did not
	lost   int          // items of it
	stored bool         // its parser has read the stored page instead
	links  []uint64     // what its code has sent, if a part wants to know
	inline []Settlement // of its inline requests, if a part wants to know

	unchanged  bool     // its parser did not run
	sent       [][]byte // the encodings of what its code has sent, if a part wants to send it again
	unsendable bool     // that cannot be done
}

// note changes the notes of the job, unless code of it was given up: that may still be at work when the job is settled.
func (j *job) note(change func(n *settlementNotes)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.givenUp {
		return
	}
	if j.notes == nil {
		j.notes = new(settlementNotes)
	}
	change(j.notes)
}

// failedAt notes at which stage the job has failed.
func (j *job) failedAt(at Stage) { j.note(func(n *settlementNotes) { n.failed = at }) }

// noteLostItem notes that an item of the job was dropped or has failed.
func (j *job) noteLostItem() { j.note(func(n *settlementNotes) { n.lost++ }) }

// noteLink notes that code of the job has sent a request.
func (j *job) noteLink(key Key) {
	j.root().note(func(n *settlementNotes) { n.links = append(n.links, key.Short()) })
}

// noteInline notes how an inline request has ended, for those who want to know when the request of its caller is settled.
func (s *settler) noteInline(j *job, outcome Outcome, reason string) {
	if len(s.listeners) == 0 || j.call.GivenUp() {
		return
	}
	one := Settlement{CtxId: j.ctx.CtxId, URL: j.ctx.Request.Url, Asked: j.ctx.Request.Url, Outcome: outcome, Reason: reason, Attempt: j.rec.Attempt}
	j.mu.Lock()
	one.Status = int(j.status)
	if j.notes != nil {
		one.Failed = j.notes.failed
	}
	j.mu.Unlock()
	j.root().note(func(n *settlementNotes) { n.inline = append(n.inline, one) })
}
