package dashboard

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

const (
	maxEnds   = 10000   // requests that have ended, which are kept
	maxReason = 200     // bytes of the reason of each
	maxAsked  = 8 << 10 // bytes of a URL that is asked for
	maxChain  = 100     // of the pages that have led to a request
)

// Explained says what became of the request of a URL, and why it waits: the answer of GET /api/v1/url?u=URL.
type Explained struct {
	URL      string       `json:"url"`      // without a password
	State    string       `json:"state"`    // "ended", "waiting" or "unknown"
	Text     []string     `json:"text"`     // all of it in sentences
	Requests []JobRequest `json:"requests"` // the request, and those through which it was found; none if no durable job knows it
	Host     *Host        `json:"host,omitempty"`
}

// JobRequest is a request of a durable job: the one that was asked for, or one through which it was found.
type JobRequest struct {
	URL     string     `json:"url"`   // without a password
	State   string     `json:"state"` // "ended" or "waiting"
	Why     string     `json:"why"`   // where it is or how it ended, in words
	Depth   int        `json:"depth"`
	Attempt int        `json:"attempt"`      // how often it was tried before
	At      *time.Time `json:"at,omitempty"` // when it ended
}

// ended is a request that has ended.
type ended struct {
	url     uint64 // a hash
	key     tegenaria.Key
	outcome tegenaria.Outcome
	reason  string
	status  int
	attempt int
	at      time.Time
	took    time.Duration
}

// inWords says how it ended.
func (e *ended) inWords() string {
	var b strings.Builder
	b.WriteString(e.outcome.String())
	if e.reason != "" {
		fmt.Fprintf(&b, " (%s)", e.reason)
	}
	if e.status != 0 {
		fmt.Fprintf(&b, ", status %d", e.status)
	}
	b.WriteString(triesInWords(e.attempt))
	if e.took > 0 {
		fmt.Fprintf(&b, ", the download took %s", e.took.Round(100*time.Microsecond))
	}
	return b.String()
}

// ends are the last requests of a run that have ended. They may be used concurrently.
type ends struct {
	seed maphash.Seed
	mu   sync.Mutex // guards the fields below
	ring []ended
	next int // where the next one goes, once the ring is full
}

// add keeps a request that has ended.
func (l *ends) add(end tegenaria.RequestEnd) {
	one := ended{key: end.Key, outcome: end.Outcome, reason: report.Cut(end.Reason, maxReason), status: end.Status, attempt: end.Attempt,
		at: time.Now(), took: end.Took}
	if end.Request != nil {
		one.url = maphash.String(l.seed, end.Request.Url)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < maxEnds {
		l.ring = append(l.ring, one)
		return
	}
	l.ring[l.next] = one
	l.next = (l.next + 1) % maxEnds
}

// find returns the newest request of a URL: of exactly this one, or of one with the same key.
func (l *ends) find(url string) (found ended, ok bool) {
	hash := maphash.String(l.seed, url)
	var key tegenaria.Key
	if sum, err := tegenaria.NewRFPDupeFilter(64, 1).Fingerprint(tegenaria.NewRequest(url, tegenaria.GET, nil)); err == nil {
		key = tegenaria.Key(sum)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.ring {
		e := &l.ring[(l.next+len(l.ring)-1-i)%len(l.ring)]
		if e.url == hash || e.key == key && key != (tegenaria.Key{}) {
			return *e, true
		}
	}
	return found, false
}

// forgotten reports whether requests have ended that are no longer kept.
func (l *ends) forgotten() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ring) == maxEnds
}

// reset forgets all.
func (l *ends) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring, l.next = nil, 0
}

// explain says what became of the URL that a request names.
func (b *Board) explain(r *http.Request) (x Explained, err error) {
	url := strings.TrimSpace(r.URL.Query().Get("u"))
	switch {
	case url == "":
		return x, malformed("no URL is asked for: give it as the parameter u")
	case len(url) > maxAsked:
		return x, malformed("the URL has more than %d bytes", maxAsked)
	}
	if _, err := urlx.AskedHost(url); err != nil {
		return x, malformed("no crawl can request this URL: %s", errtext.Beside(urlx.Cure(url, err), urlx.Redact(url)))
	}
	x = Explained{URL: urlx.Redact(url), State: "unknown", Text: []string{}, Requests: []JobRequest{}}
	if b.options.Explain != nil {
		steps, err := b.options.Explain(r.Context(), url)
		if err != nil {
			x.say("%s.", strings.TrimSuffix(errtext.Beside(err, x.URL), "."))
		}
		x.follow(steps)
	} else {
		b.remember(&x, url)
	}
	if x.State == "ended" {
		return x, nil
	}
	s, err := b.engine.SlotOf(url)
	if err != nil {
		x.say("No crawl is running.")
		return x, nil
	}
	host := b.hostOf(s)
	x.Host = &host
	x.say("%s", host.inWords(b.run().Paused()))
	return x, nil
}

// say adds a sentence.
func (x *Explained) say(format string, args ...any) {
	x.Text = append(x.Text, fmt.Sprintf(format, args...))
}

// follow takes over what a durable job says.
func (x *Explained) follow(steps []JobRequest) {
	x.Requests = append(x.Requests, steps[:min(len(steps), maxChain)]...)
	for i, s := range x.Requests {
		lead := ""
		if i == 0 {
			x.State = s.State
		} else {
			lead = "Found by " + s.URL + ": "
		}
		tries := triesInWords(s.Attempt)
		if s.At != nil {
			tries += ", at " + s.At.Format(time.DateTime)
		}
		x.say("%s%s, depth %d%s.", lead, s.Why, s.Depth, tries)
	}
	if len(steps) > maxChain {
		x.say("It was found through %d requests more.", len(steps)-maxChain)
	}
}

// remember says what the board itself knows of a request.
func (b *Board) remember(x *Explained, url string) {
	end, known := b.ends.find(url)
	if known {
		x.State = "ended"
		x.say("Its request has ended at %s: %s.", end.at.Format(time.TimeOnly), end.inWords())
		return
	}
	if b.ends.forgotten() {
		x.say("It is not among the last %d requests of this run that have ended.", maxEnds)
	} else {
		x.say("No request of this URL has ended in this run.")
	}
	x.say("Whether it waits, was refused when it was found, or was never found is not known: only a durable job can be asked that.")
}

// inWords says what a request at this host waits for.
func (h *Host) inWords(paused bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "At %s %s, in an order that is not known here, and %d of %d downloads are in flight", h.Name, waitsInWords(h.Pending), h.InFlight, h.PerSlot)
	if h.DelayCause != "" {
		fmt.Fprintf(&b, "; between two of them is a delay of %s (%s)", h.Delay, h.DelayCause)
	}
	switch {
	case paused:
		b.WriteString("; the crawl is paused")
	case h.Gate != "":
		fmt.Fprintf(&b, "; it waits for %s, which is at its limit or closed", h.Gate)
	case h.InFlight >= h.PerSlot && h.PerSlot > 0:
		b.WriteString("; none starts before one has ended")
	case h.MaxPages > 0 && h.Pages >= h.MaxPages:
		fmt.Fprintf(&b, "; its budget of %d pages is used up", h.MaxPages)
	case h.Next != nil && time.Until(*h.Next) > 0:
		fmt.Fprintf(&b, "; the next may start in %s", time.Until(*h.Next).Round(100*time.Millisecond))
	default:
		b.WriteString("; the next may start now")
	}
	return b.String() + "."
}

func waitsInWords(n int) string {
	if n == 1 {
		return "1 request waits"
	}
	return fmt.Sprintf("%s requests wait", report.Number(int64(n)))
}

// triesInWords says how often a request was tried before.
func triesInWords(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", tried once before"
	}
	return fmt.Sprintf(", tried %d times before", n)
}
