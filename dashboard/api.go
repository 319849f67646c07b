package dashboard

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

const (
	maxRequest = 1 << 20 // bytes of what is sent to the API
	maxHosts   = 1000    // of one answer
)

// Run is the answer of GET /api/v1/run.
type Run struct {
	tegenaria.Summary
	Concurrency int      `json:"concurrency"` // downloads that may run at once
	Rates       Rates    `json:"rates"`
	End         Estimate `json:"end"`
	Places      Places   `json:"places"`
}

// Paused reports whether the crawl is paused.
func (r Run) Paused() bool { return r.Status == tegenaria.StatusPaused.String() }

// Places says where the time of the places for downloads has gone, see [tegenaria.Places].
type Places struct {
	Sentence     string      `json:"sentence,omitempty"` // names the largest cause; "" before there was any time
	Seconds      float64     `json:"seconds"`            // of all places together
	Causes       []PlaceTime `json:"causes,omitempty"`   // the longest first
	FetchSeconds float64     `json:"fetch_seconds"`      // of downloads of Context.Fetch in places of their own, which Seconds does not have
}

// PlaceTime is how long places were used for something, or nothing started in them because of it.
type PlaceTime struct {
	Cause   tegenaria.PlaceCause `json:"cause"`
	Seconds float64              `json:"seconds"`
	Share   float64              `json:"share"`           // from 0 to 1
	Of      string               `json:"of,omitempty"`    // the host or gate that at least half of it was for
	Delay   string               `json:"delay,omitempty"` // of a cause that is a delay: the one in force in Of
}

func placesOf(p tegenaria.Places) Places {
	all := Places{Sentence: p.String(), Seconds: p.Time.Seconds(), FetchSeconds: p.Fetch.Seconds()}
	for _, t := range p.Causes {
		one := PlaceTime{Cause: t.Cause, Seconds: t.Time.Seconds(), Share: t.Share, Of: t.Of}
		if t.Delay > 0 {
			one.Delay = t.Delay.String()
		}
		all.Causes = append(all.Causes, one)
	}
	return all
}

// Rates are means of the last ten seconds, or of the whole run if it is younger.
type Rates struct {
	Pages  float64 `json:"pages"`  // responses a second
	Items  float64 `json:"items"`  // items a second
	Errors float64 `json:"errors"` // failures a second
	Bytes  float64 `json:"bytes"`  // bytes of bodies a second
}

// Host is a slot in the answers of GET /api/v1/hosts. Durations are texts such as "1.5s".
type Host struct {
	Name     string     `json:"name"`
	Pending  int        `json:"pending"`        // requests that wait
	InFlight int        `json:"in_flight"`      // downloads
	PerSlot  int        `json:"per_slot"`       // the most downloads at once
	Next     *time.Time `json:"next,omitempty"` // when the next download may start

	Delay      string `json:"delay"`                 // in force between two downloads
	DelayCause string `json:"delay_cause,omitempty"` // whose the delay is: settings, changed, code, robots.txt, AutoThrottle or penalty

	Latency    string `json:"latency,omitempty"`     // mean from the start of a download to the first byte of its answer
	LatencyP95 string `json:"latency_p95,omitempty"` // the 95th percentile of the last five minutes

	Pages    int    `json:"pages,omitempty"` // downloads begun, of a page budget
	MaxPages int    `json:"max_pages,omitempty"`
	Gate     string `json:"gate,omitempty"`    // what it waits at: an IP address, a proxy or a downloader at its limit, or a closed gate
	Changed  bool   `json:"changed,omitempty"` // its policy was changed in this run, or in an earlier one of its job
}

// HostChange is what PATCH /api/v1/hosts/NAME takes: what is absent stays as it is.
type HostChange struct {
	Delay    *string  `json:"delay,omitempty"` // such as "2s"
	Jitter   *float64 `json:"jitter,omitempty"`
	PerSlot  *int     `json:"per_slot,omitempty"`
	MaxPages *int     `json:"max_pages,omitempty"`
}

// SettingsChange is what PATCH /api/v1/settings takes.
type SettingsChange struct {
	Concurrency *int `json:"concurrency,omitempty"`
}

// Addition is what POST /api/v1/requests takes: URLs that the running crawl is to request, see [tegenaria.SpiderEngine.Add].
type Addition struct {
	URLs   []string `json:"urls"`
	Parser string   `json:"parser,omitempty"` // its name; "": the spider's own
}

// Added says what has become of a URL of an [Addition].
type Added struct {
	URL   string `json:"url"` // without a password
	New   bool   `json:"new"` // false: it is known
	Error string `json:"error,omitempty"`
}

// Done is the answer to what has changed something.
type Done struct {
	Done string `json:"done"` // what was done, in words
}

// Refusal is the answer to what was not done.
type Refusal struct {
	Error string `json:"error"`
}

// routes makes the routes of the API, and of the forms of the pages.
func (b *Board) routes(mux *http.ServeMux) {
	view := func(pattern string, h http.HandlerFunc) { mux.HandleFunc(pattern, b.access.require(viewer, h)) }
	view("GET /api/v1/run", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, b.run()) })
	view("GET /api/v1/hosts", b.listHosts)
	view("GET /api/v1/failures", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, b.failures.list()) })
	view("GET /api/v1/url", func(w http.ResponseWriter, r *http.Request) {
		explained, err := b.explain(r)
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		answer(w, http.StatusOK, explained)
	})
	view("GET /api/v1/items", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, b.items.list(b.engine.Stats().Fields))
	})
	view("GET /api/v1/callbacks", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, callbacksOf(b.engine)) })
	view("GET /api/v1/log", b.listLines)
	view("GET /api/v1/runs", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, b.past.list(b.options.Runs)) })
	view("GET /api/v1/settings", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, b.wired()) })
	view("GET /api/v1/changes", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, b.log.newest()) })
	view("GET /api/v1/events", b.stream)
	if b.options.Metrics != nil {
		view("GET /metrics", b.options.Metrics.ServeHTTP)
	}
	mux.HandleFunc("GET /api/v1/view-token", b.access.require(controller, func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, Done{Done: b.ViewToken()})
	}))
	mux.HandleFunc("POST /api/v1/requests", b.access.require(controller, b.add))
	b.controlRoutes(mux)
}

// malformedError is about a request that says nothing that could be done.
type malformedError struct{ err error }

func (e *malformedError) Error() string { return e.err.Error() }

func (e *malformedError) Unwrap() error { return e.err }

func malformed(format string, args ...any) error { return &malformedError{fmt.Errorf(format, args...)} }

// add adds requests to the crawl, one after the other.
func (b *Board) add(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	var addition Addition
	err := read(r, &addition)
	if err == nil && len(addition.URLs) == 0 {
		err = malformed("nothing is to be added: give urls")
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	list, n := make([]Added, len(addition.URLs)), 0
	for i, u := range addition.URLs {
		list[i].URL = urlx.Redact(u)
		request := tegenaria.NewRequest(u, tegenaria.GET, nil)
		if addition.Parser != "" {
			tegenaria.RequestWithParserName(addition.Parser)(request)
		}
		if list[i].New, err = b.engine.Add(r.Context(), request); err != nil {
			list[i].Error = errtext.Beside(err, list[i].URL)
		} else if list[i].New {
			n++
		}
	}
	if n > 0 {
		b.changed(fmt.Sprintf("%d requests were added", n))
	}
	answer(w, http.StatusOK, list)
}

// listHosts answers with the busiest hosts, or with the one that is named.
func (b *Board) listHosts(w http.ResponseWriter, r *http.Request) {
	n := 100
	if text := r.URL.Query().Get("n"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxHosts {
			refuse(w, http.StatusBadRequest, fmt.Sprintf("n is a number of hosts from 1 to %d", maxHosts))
			return
		}
	}
	answer(w, http.StatusOK, b.hosts(n))
}

// listLines answers with the lines of the log, of one level and those above it.
func (b *Board) listLines(w http.ResponseWriter, r *http.Request) {
	least, err := levelOf(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	answer(w, http.StatusOK, b.lines.newest(least))
}

// hosts returns the n busiest hosts.
func (b *Board) hosts(n int) []Host {
	list := []Host{}
	for _, s := range b.engine.BusiestSlots(n) {
		list = append(list, b.hostOf(s))
	}
	return list
}

func (b *Board) hostOf(s tegenaria.SlotStatus) Host {
	_, changed := b.engine.SlotPolicy(s.Name)
	h := Host{
		Name: s.Name, Pending: s.Pending, InFlight: s.InFlight, PerSlot: s.PerSlot,
		Delay: s.Delay.String(), DelayCause: causeOfDelay(s, changed), Pages: s.Pages, MaxPages: s.MaxPages, Gate: s.Gate, Changed: changed,
	}
	if !s.Next.IsZero() {
		h.Next = &s.Next
	}
	if s.Latency > 0 {
		h.Latency = s.Latency.String()
	}
	if s.Latency95 > 0 {
		h.LatencyP95 = s.Latency95.String()
	}
	return h
}

// causeOfDelay says whose the delay of a slot is.
func causeOfDelay(s tegenaria.SlotStatus, changed bool) string {
	switch s.Delay {
	case 0:
		return ""
	case s.Penalty:
		return "penalty"
	case s.CrawlDelay:
		return "robots.txt"
	case s.AutoThrottle:
		return "AutoThrottle"
	case s.SlotDelay:
		return "code"
	}
	if changed {
		return "changed"
	}
	return "settings"
}

// read reads the JSON that was sent.
func read(r *http.Request, to any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return malformed("the request cannot be read: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return malformed("the request has more than one JSON object")
	}
	return nil
}

func answer(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // a NaN, for example
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the reader may have gone
}

func refuse(w http.ResponseWriter, status int, why string) { answer(w, status, Refusal{Error: why}) }

// stream sends the run once a second, as events of the standard (Server-Sent Events), until the reader goes or the board is closed.
func (b *Board) stream(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		text, err := json.Marshal(b.run())
		if err != nil {
			return
		}
		_ = control.SetWriteDeadline(time.Now().Add(maxUnread)) // not every writer has one
		if _, err := fmt.Fprintf(w, "event: run\ndata: %s\n\n", text); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-b.life.Done():
			return
		}
	}
}

// maxUnread is how long a reader may leave unread what it has asked for.
const maxUnread = 30 * time.Second

// isRunning reports whether a crawl runs.
func (b *Board) isRunning() bool {
	return slices.Contains([]tegenaria.Status{tegenaria.StatusStarted, tegenaria.StatusPaused}, b.engine.Status())
}
