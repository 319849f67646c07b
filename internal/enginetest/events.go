package enginetest

import (
	"context"
	"time"

	"github.com/tegenaria/tegenaria"
)

// harnessAttempt is the subject of an event, which is called once for it: an attempt at a request, or an item.
type harnessAttempt struct {
	serial, attempt int
	url             string
	redirects       int // that led to it: a chain may ask for a URL twice
}

func harnessSerial(r *tegenaria.Request) int {
	serial, _ := r.Meta["serial"].(int)
	return serial
}

func harnessAttemptOf(r *tegenaria.Request) harnessAttempt {
	return harnessAttempt{harnessSerial(r), r.Attempt, r.Url, len(r.Redirects)}
}

// harnessTold counts the calls of events.
type harnessTold struct {
	times   map[string]map[harnessAttempt]int // by event
	errors  map[*tegenaria.HandleError]int
	started int
	givenUp map[int]bool // requests, by serial number, whose code was given up before anybody had stopped the crawl
	cut     int          // Fetches that failed because the crawl was ending
}

func (h *harnessTold) init() {
	h.times, h.errors = make(map[string]map[harnessAttempt]int), make(map[*tegenaria.HandleError]int)
	h.givenUp = make(map[int]bool)
}

// once checks that an event is reported for the first time. Only requests with a serial number can be told apart.
func (c *Crawl) once(event string, of harnessAttempt) {
	c.inTime(event)
	c.mu.Lock()
	defer c.mu.Unlock()
	if of.serial == 0 {
		return
	}
	if c.told.times[event] == nil {
		c.told.times[event] = make(map[harnessAttempt]int)
	}
	if c.told.times[event][of]++; c.told.times[event][of] > 1 {
		c.violationLocked("%s was told %d times of %+v", event, c.told.times[event][of], of)
	}
}

// inTime checks that nothing is reported after Run has returned.
func (c *Crawl) inTime(event string) {
	select {
	case <-c.over:
		c.violation("%s was told after Run had returned", event)
	default:
	}
}

// harnessEnds counts events RequestEnded.
type harnessEnds struct {
	ofQueue  int // without those of Fetch
	outcomes map[tegenaria.Outcome]int64
}

func (c *Crawl) requestEnded(end tegenaria.RequestEnd) {
	if end.Request != nil {
		c.once("RequestEnded", harnessAttemptOf(end.Request))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !end.Inline {
		c.ended.ofQueue++
	}
	if c.ended.outcomes == nil {
		c.ended.outcomes = make(map[tegenaria.Outcome]int64)
	}
	c.ended.outcomes[end.Outcome]++
	began := !end.Started.IsZero()
	if end.Inline != (end.Key == tegenaria.Key{}) || end.Took < 0 || !began && end.Took > 0 ||
		began && end.Started.Add(end.Took).After(time.Now()) {
		c.violationLocked("RequestEnded was told %+v", end)
	}
}

// events record what happens for the witness; some panic.
func (c *Crawl) events() tegenaria.Events {
	events := tegenaria.Events{
		Closed: func(reason string) {
			c.inTime("Closed")
			c.mu.Lock()
			defer c.mu.Unlock()
			c.closed = append(c.closed, reason)
		},
		ItemScraped: func(item *tegenaria.ItemMeta) {
			c.once("end of an item", harnessAttempt{serial: item.Item.(*harnessItem).serial})
			c.mu.Lock()
			c.scraped++
			c.mu.Unlock()
			c.touch()
		},
		ItemDropped: func(err *tegenaria.HandleError) {
			c.once("end of an item", harnessAttempt{serial: err.Item.Item.(*harnessItem).serial})
		},
		Error: func(err *tegenaria.HandleError) {
			c.inTime("Error")
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.told.errors[err]++; c.told.errors[err] > 1 {
				c.violationLocked("Error was told twice of %v", err)
			}
		},
		ItemEnded: func(end tegenaria.ItemEnd) {
			c.once("ItemEnded", harnessAttempt{serial: end.Item.Item.(*harnessItem).serial})
		},
		Abandoned: func(at tegenaria.Stage, r *tegenaria.Request) {
			c.inTime("Abandoned")
			if r != nil {
				c.mu.Lock()
				if at == tegenaria.StageRedirect {
					c.forked[harnessSerial(r)]++
				}
				if serial := harnessSerial(r); serial > 0 && !c.stopping {
					c.told.givenUp[serial] = true
				}
				c.mu.Unlock()
			}
			c.touch()
		},
	}
	events.RequestEnded = c.requestEnded
	if c.p.plain {
		return events
	}
	events.RequestSettled = func(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
		c.inTime("RequestSettled")
		if r != nil {
			c.log("%s settles as %s (%s)", r.Url, outcome, reason)
		}
		c.mu.Lock()
		c.requestOf++
		c.outcomes[outcome]++
		if c.stopping && outcome == tegenaria.Failed && reason == "download" {
			c.told.cut++
		}
		if r != nil {
			serial, _ := r.Meta["serial"].(int)
			if outcome == tegenaria.Redirected {
				c.redirected[serial]++
			} else {
				c.settled[serial] = append(c.settled[serial], outcome.String()+" "+reason)
			}
		}
		n := c.requestOf
		c.mu.Unlock()
		c.touch()
		if n%7 == 0 && c.p.faulty > 0 {
			panic(ErrPlanned)
		}
	}
	events.RequestAccepted = func(r *tegenaria.Request) {
		c.mu.Lock()
		c.accepted++
		c.mu.Unlock()
		c.once("RequestAccepted", harnessAttempt{serial: harnessSerial(r), url: r.Url, redirects: len(r.Redirects)})
		c.touch()
	}
	events.RequestStarted = func(r *tegenaria.Request) {
		c.once("RequestStarted", harnessAttemptOf(r))
		c.mu.Lock()
		c.told.started++
		n := c.told.started
		c.mu.Unlock()
		c.touch()
		if c.p.slowStarted > 0 {
			Wait(context.Background(), time.Duration(c.p.draw("started", n, 0).Float64()*float64(c.p.slowStarted)))
			c.touch()
		}
	}
	events.RequestRetried = func(r *tegenaria.Request, _ time.Duration, _ error) { c.once("RequestRetried", harnessAttemptOf(r)) }
	events.Downloaded = func(r *tegenaria.Request, _ *tegenaria.Response) { c.once("Downloaded", harnessAttemptOf(r)) }
	return events
}
