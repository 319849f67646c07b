package tegenaria

import "time"

// RequestEnd is how a request that was accepted has ended, for the RequestEnded of [Events].
type RequestEnd struct {
	Request *Request // nil if what is stored of it cannot be read
	Key     Key      // zero for a request of Fetch
	// Parent is the key of the request whose code has sent it, as far as the cache keeps it: the memory cache keeps the
	// first four bytes, a durable one has ParentSeq instead. It is zero for a seed, and whole for a request of Fetch.
	Parent Key
	// Seq and ParentSeq are the numbers that the cache has given the request and the one whose code has sent it; 0 if it
	// has none, and ParentSeq 0 for a seed or if the cache does not keep it. They are unique in a durable job.
	Seq, ParentSeq uint64
	Slot           string // its name, usually the host
	Inline         bool   // it was sent by Fetch

	Outcome Outcome
	Reason  string // of the outcome; "" if it has none
	Status  int    // of its response; 0 if there was none
	Attempt int    // how often it was tried before

	// Started is when the download of the last attempt began. It is zero if none began, or if code of the request was
	// abandoned; then Took and Transfer are unknown too.
	Started  time.Time
	Took     time.Duration // from Started to the end of the body, or to the failure
	Transfer *Transfer     // the phases of the download, not to be changed; nil if the engine's downloader has fetched no response
}

// endOf describes how a job has ended. It returns nil if nobody wants to know, or if the job goes back to the cache. Of a
// job whose code was given up only the record is looked at.
func (rp *reporter) endOf(j *job, r *Request, outcome Outcome, reason string, status int, givenUp bool) *RequestEnd {
	if rp.events.RequestEnded == nil || outcome == 0 {
		return nil
	}
	end := &RequestEnd{
		Request: r, Key: j.rec.Key, Parent: j.rec.Parent, Slot: j.slot(), Inline: j.isInline(),
		Seq: j.rec.Seq, ParentSeq: j.rec.ParentSeq,
		Outcome: outcome, Reason: reason, Status: status, Attempt: j.rec.Attempt,
	}
	if end.Inline {
		end.ParentSeq = j.root().rec.Seq
	}
	if givenUp {
		return end
	}
	end.Started, end.Took = j.started, j.took
	if j.ctx != nil {
		if resp := j.ctx.Response(); resp != nil {
			end.Transfer = resp.transfer
		}
	}
	return end
}

// requestEnded calls RequestEnded, unless end is nil.
func (rp *reporter) requestEnded(end *RequestEnd) {
	if end != nil {
		rp.event(func() { rp.events.RequestEnded(*end) })
	}
}
