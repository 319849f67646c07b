package rfc9111

import (
	"net/http"
	"time"
)

// Change is what happens to the stored responses after an answer.
type Change int

const (
	// Keep: nothing is stored.
	Keep Change = iota
	// Store: the response is stored with Outcome.Entry, once its body has arrived whole (§3.3).
	Store
	// Update: the header of the chosen entry is replaced by that of Outcome.Entry. The body stays.
	Update
	// Again: the 304 is not about the chosen entry. The caller sets Condition to nil, sends the request once more without it,
	// and calls Answered with that answer.
	Again
)

// Outcome is what follows from an answer of the origin.
type Outcome struct {
	Change     Change
	Entry      Entry    // of Store and Update
	Drop       []int    // indexes of the entries to delete, which the answer has made useless
	Invalidate []string // absolute URLs whose entries are all to be deleted
	Reply      *Reply   // the response to hand out, with the body of the chosen entry; nil: the answer itself
}

// Answered says what follows from the answer to the request of a decision, which was Fetch, Validate or ServeWhileRevalidating.
func (d Decision) Answered(a Response) Outcome {
	if !safe(d.request.Method) {
		return Outcome{Invalidate: invalidated(d.request, a)}
	}
	switch a.Status {
	case 500, 502, 503, 504: // RFC 5861 §4
		if reply, ok := d.Failed(a.Received); ok {
			return Outcome{Reply: &reply}
		}
	case http.StatusNotModified:
		return d.notModified(a)
	}
	if d.request.Method == http.MethodHead {
		return d.head(a)
	}
	e, ok := newEntry(d.request, a)
	if !ok {
		return Outcome{}
	}
	out := Outcome{Change: Store, Entry: e}
	match := matcher(d.request)
	for i := range d.stored {
		if match(d.stored[i]) {
			out.Drop = append(out.Drop, i)
		}
	}
	return out
}

// Failed says whether the chosen entry may be handed out though it is stale, after the origin gave no answer (RFC 5861 §4,
// RFC 9111 §4.2.4). If not, the error is to be handed out.
func (d Decision) Failed(now time.Time) (Reply, bool) {
	if d.Entry < 0 {
		return Reply{}, false
	}
	e := d.stored[d.Entry]
	asked, said := parseDirectives(d.request.Header["Cache-Control"]), parseDirectives(e.Header["Cache-Control"])
	window := max(asked.staleIfError, said.staleIfError)
	if window == none || asked.noCache || said.noCache || said.mustRevalidate || originOnly(d.request) ||
		e.age(now)-e.lifetime() > window {
		return Reply{}, false
	}
	return e.reply(d.request, now, false), true
}

// notModified says what follows from a 304 (§4.3.3). One that we have not asked for is the user's.
func (d Decision) notModified(a Response) Outcome {
	if len(d.Condition) == 0 {
		return Outcome{}
	}
	old := d.stored[d.Entry]
	if !old.identifiedBy(a) {
		return Outcome{Change: Again}
	}
	out, e := d.updated(a)
	reply := e.reply(d.request, a.Received, true)
	out.Reply = &reply
	return out
}

// head says what follows from the answer to a HEAD (§4.3.5).
func (d Decision) head(a Response) Outcome {
	if d.Entry < 0 || a.Status != http.StatusOK {
		return Outcome{}
	}
	if d.stored[d.Entry].contradictedBy(a) {
		return Outcome{Drop: []int{d.Entry}}
	}
	out, _ := d.updated(a)
	return out
}

// updated returns the chosen entry with the header of a newer answer, and what happens to it in the store (§3, §3.2).
func (d Decision) updated(a Response) (Outcome, Entry) {
	e := d.stored[d.Entry].updated(a)
	if parseDirectives(d.request.Header["Cache-Control"]).noStore { // §5.2.1.5
		return Outcome{}, e
	}
	get := d.request
	get.Method = http.MethodGet
	vary, ok := nominated(e.Header, get.Header)
	if !ok || !storable(get, e.Response) {
		return Outcome{Drop: []int{d.Entry}}, e
	}
	e.Vary = vary
	return Outcome{Change: Update, Entry: e}, e
}
