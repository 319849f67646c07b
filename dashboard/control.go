package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// control is a change of the crawl that users of a board may make: by the API, or by a form of a page.
type control struct {
	api    string // the route of the API
	byAPI  change
	form   string // the route of the form; "": there is none
	byForm change
	page   string                      // that has the form: its name
	back   string                      // the path of that page
	after  func(w http.ResponseWriter) // called when the answer is written; nil: nothing follows
}

// change makes a change. done says in words what was done, which is logged too.
type change func(r *http.Request) (done string, err error)

// controls are all changes but the adding of requests, whose answer is a list.
func (b *Board) controls() []control {
	pause := func(*http.Request) (string, error) { return "paused", b.engine.Pause() }
	resume := func(*http.Request) (string, error) { return "resumed", b.engine.Resume() }
	return []control{
		{api: "POST /api/v1/pause", byAPI: pause, form: "POST /pause", byForm: pause, page: "overview", back: "/"},
		{api: "POST /api/v1/resume", byAPI: resume, form: "POST /resume", byForm: resume, page: "overview", back: "/"},
		{api: "POST /api/v1/stop", byAPI: b.stop, form: "POST /stop", byForm: b.stop, page: "overview", back: "/", after: b.stopNow},
		{api: "PATCH /api/v1/settings", byAPI: b.changeSettings, form: "POST /concurrency", byForm: b.concurrencyForm, page: "overview", back: "/"},
		{api: "DELETE /api/v1/settings/concurrency", byAPI: b.resetConcurrency, form: "POST /concurrency/reset", byForm: b.resetConcurrency, page: "settings", back: "/settings"},
		{api: "PATCH /api/v1/hosts/{name}", byAPI: b.changeHost, form: "POST /hosts", byForm: b.hostForm, page: "hosts", back: "/hosts"},
		{api: "DELETE /api/v1/hosts/{name}", byAPI: func(r *http.Request) (string, error) { return b.resetHost(r.PathValue("name")) }},
		{api: "POST /api/v1/hosts/{name}/forgive", byAPI: func(r *http.Request) (string, error) { return b.forgiveHost(r.PathValue("name")) }},
	}
}

// controlRoutes makes the routes of all changes.
func (b *Board) controlRoutes(mux *http.ServeMux) {
	for _, c := range b.controls() {
		handle := func(pattern string, do change, fail func(w http.ResponseWriter, r *http.Request, err error),
			succeed func(w http.ResponseWriter, r *http.Request, done string)) {
			mux.HandleFunc(pattern, b.access.require(controller, func(w http.ResponseWriter, r *http.Request) {
				r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
				done, err := do(r)
				if err != nil {
					fail(w, r, err)
					return
				}
				b.changed(done)
				succeed(w, r, done)
				if c.after != nil {
					c.after(w)
				}
			}))
		}
		handle(c.api, c.byAPI, func(w http.ResponseWriter, _ *http.Request, err error) {
			status := http.StatusConflict
			if malformed := (*malformedError)(nil); errors.As(err, &malformed) {
				status = http.StatusBadRequest
			}
			refuse(w, status, err.Error())
		}, func(w http.ResponseWriter, _ *http.Request, done string) { answer(w, http.StatusOK, Done{Done: done}) })
		if c.form == "" {
			continue
		}
		handle(c.form, c.byForm, func(w http.ResponseWriter, r *http.Request, err error) {
			b.show(w, r, c.page, http.StatusConflict, err.Error())
		}, func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, c.back, http.StatusSeeOther) // so that reloading the page sends nothing again
		})
	}
}

// stop says whether the crawl can be stopped; stopNow does it.
func (b *Board) stop(*http.Request) (done string, err error) {
	if !b.isRunning() {
		return "", errors.New("no crawl is running")
	}
	return "stopping: downloads that have begun come to their end", nil
}

// stopNow stops the crawl after what was answered: it may take a while, and it ends the server.
func (b *Board) stopNow(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // a reader that has gone has its answer
	_ = b.engine.Stop(b.life)                 // Run says how it ended
}

// concurrencyForm reads the form of the number of downloads at once.
func (b *Board) concurrencyForm(r *http.Request) (done string, err error) {
	n, err := strconv.Atoi(r.PostFormValue("concurrency"))
	if err != nil {
		return "", errNoNumber
	}
	return b.setConcurrency(n)
}

var errNoNumber = errors.New("the number of downloads at once is no number")

// hostForm reads the form of a host, which has one field of it.
func (b *Board) hostForm(r *http.Request) (done string, err error) {
	var c HostChange
	name, value := r.PostFormValue("host"), strings.TrimSpace(r.PostFormValue("value"))
	switch field := r.PostFormValue("field"); field {
	case "reset":
		return b.resetHost(name)
	case "forgive":
		return b.forgiveHost(name)
	case "delay":
		c.Delay = &value
	case "per_slot":
		n, err := strconv.Atoi(value)
		if err != nil {
			return "", errNoNumber
		}
		c.PerSlot = &n
	default:
		return "", fmt.Errorf("a host has no value %q", field)
	}
	return b.setHost(name, c)
}

func (b *Board) changeSettings(r *http.Request) (string, error) {
	var change SettingsChange
	if err := read(r, &change); err != nil {
		return "", err
	}
	if change.Concurrency == nil {
		return "", malformed("nothing is to be changed: give a concurrency")
	}
	return b.setConcurrency(*change.Concurrency)
}

func (b *Board) setConcurrency(n int) (done string, err error) {
	return fmt.Sprintf("%d downloads may run at once", n), b.engine.SetConcurrency(n)
}

func (b *Board) resetConcurrency(*http.Request) (done string, err error) {
	if err := b.engine.ResetConcurrency(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d downloads may run at once, as in the settings", b.engine.Concurrency()), nil
}

func (b *Board) changeHost(r *http.Request) (string, error) {
	var change HostChange
	if err := read(r, &change); err != nil {
		return "", err
	}
	return b.setHost(r.PathValue("name"), change)
}

// setHost changes some values of a host.
func (b *Board) setHost(name string, change HostChange) (done string, err error) {
	policy, _ := b.engine.SlotPolicy(name)
	before := policy
	if change.Delay != nil {
		if policy.Delay, err = time.ParseDuration(*change.Delay); err != nil {
			return "", malformed("the delay %q is no duration: write it as 500ms, 2s or 1m30s", *change.Delay)
		}
	}
	policy.Jitter = *cmp.Or(change.Jitter, &policy.Jitter)
	policy.PerSlot = *cmp.Or(change.PerSlot, &policy.PerSlot)
	policy.MaxPages = *cmp.Or(change.MaxPages, &policy.MaxPages)
	if policy == before {
		return "", malformed("nothing is to be changed: give another delay, jitter, per_slot or max_pages")
	}
	return fmt.Sprintf("%s: delay %s, jitter %g, %d downloads at once, %s", name, policy.Delay, policy.Jitter, policy.PerSlot, pageBudget(policy.MaxPages)),
		b.engine.SetSlot(name, policy)
}

func (b *Board) resetHost(name string) (done string, err error) {
	return fmt.Sprintf("%s has the delay and limits of the settings again", name), b.engine.ResetSlot(name)
}

// forgiveHost ends what refusals have earned a host.
func (b *Board) forgiveHost(name string) (done string, err error) {
	forgiven, err := b.engine.ForgiveSlot(name)
	if err == nil && !forgiven {
		err = fmt.Errorf("%s has no penalty that could end: it was not refused, or that is over", name)
	}
	return fmt.Sprintf("%s: the penalty for its refusals has ended", name), err
}

func pageBudget(n int) string {
	if n == 0 {
		return "any number of pages"
	}
	return fmt.Sprintf("%d pages", n)
}
