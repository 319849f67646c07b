package enginetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
)

// check compares what was seen with the model and with the engine's own counts.
func (c *Crawl) check(err error, ended time.Time) {
	p := c.p
	c.checkSnapshot()
	s := c.engine.Stats()
	c.checkError(err)
	finished := err == nil || hasFinished(err)
	c.checkSettled(s, err == nil, finished)
	for page := range p.pages {
		// Nobody foresees what runs too long, nor what the ErrorHandlers do when they are told of it.
		if p.pages[page].inline || p.limits.Callback > 0 || p.stuck && len(s.Abandoned) > 0 {
			continue
		}
		got, want := c.hits[page], c.model.hits[page]
		if got > want || got < want && err == nil && p.limits.Depth == 0 && p.policy.MaxPages == 0 && !p.closes && s.Reasons["filtered: queue-share"] == 0 {
			c.violation("page %d was downloaded %d times, the model says %d", page, got, want)
		}
	}
	c.checkItems(s, err == nil)
	c.checkCommits(err)
	if finished {
		if idle := ended.Sub(c.last); idle != 0 && len(s.Abandoned) == 0 && !(p.plain && (p.obey || p.policy.MaxPages > 0)) { // nobody sees what is filtered late then
			c.violation("the crawl ended %s after the last work", idle)
		}
		if open := s.Pending + s.Delayed + s.InFlight + s.Items; open != 0 {
			c.violation("finished with open work: %+v", s)
		}
		// A download that is announced begins, unless its slot is blocked by then and the crawl ends meanwhile.
		n := c.told.started
		if late := n - int(s.RequestDownloaded); !p.plain && len(s.Abandoned) == 0 && (late < 0 || late > 0 && (p.slowStarted == 0 || late > c.told.cut)) {
			c.violation("RequestDownloaded is %d, RequestStarted was told %d times, %d Fetches were cut", s.RequestDownloaded, n, c.told.cut)
		}
		if !p.obey && s.RequestDownloaded != int64(c.downloads) {
			c.violation("RequestDownloaded is %d, the servers saw %d", s.RequestDownloaded, c.downloads)
		}
	}
	if len(c.closed) != 1 || finished && c.closed[0] != "finished" {
		c.violation("Closed was told %q, Run returned %v", c.closed, err)
	}
}

func (c *Crawl) checkError(err error) {
	p, refused := c.p, c.refused
	var wrong *tegenaria.RunError
	var stopped *tegenaria.StoppedError
	var abandoned *tegenaria.AbandonedError
	noTime := p.hasty()
	switch {
	case errors.As(err, &wrong) && !((noTime || p.deaf) && errors.As(err, &abandoned) && abandoned.Stages[tegenaria.StageOpen] > 0):
		c.violation("Run failed: %v", err)
	case errors.As(err, &abandoned) && refused == 0 && !abandonedStart(abandoned) && !noTime && p.linger+p.slowStarted == 0 && p.limits.Callback == 0:
		c.violation("abandoned without reason: %v", err)
	case err == nil && refused > 0 && c.p.overHTTP:
		c.violation("%d callbacks refuse to return, and Run returned nil", refused)
	case err == nil, errors.As(err, &stopped), errors.As(err, &abandoned):
	case errors.Is(err, errHarnessCancel) && p.ending == endCancel:
	default:
		c.violation("Run returned %v", err)
	}
	if err != nil && p.ending == endNone && !hasFinished(err) {
		c.violation("Run returned %v, and nobody had stopped it", err)
	}
}

// hasFinished reports whether a crawl has come to its end but for code that it has left behind.
func hasFinished(err error) bool {
	_, left := errors.AsType[*tegenaria.AbandonedError](err)
	_, stopped := errors.AsType[*tegenaria.StoppedError](err)
	_, failed := errors.AsType[*tegenaria.RunError](err)
	return left && !stopped && !failed && !errors.Is(err, errHarnessCancel)
}

// abandonedStart reports whether nothing but StartRequest was abandoned, which is not told to stop.
func abandonedStart(err *tegenaria.AbandonedError) bool {
	return len(err.Stages) == 1 && err.Stages[tegenaria.StageStart] == 1
}

// checkSettled checks that what was sent has its one end. What code sends after it was given up has none: complete says that there is
// no such code.
func (c *Crawl) checkSettled(s tegenaria.Stats, complete, finished bool) {
	if len(s.Abandoned) == 0 || finished { // else what was left behind may be in the middle of it
		c.checkEnded(s, finished)
	}
	if c.p.plain {
		return
	}
	for serial, what := range c.sent {
		ends := len(c.settled[serial])
		// A page that was given up while the cache took the target of its redirect has an end, as has the target.
		if ends > 1+c.forked[serial] || ends == 0 && complete {
			c.violation("%s has the ends %v after %d redirects", what, c.settled[serial], c.redirected[serial])
		}
	}
	for serial := range c.told.givenUp {
		// It was given up for its own sake, not because the crawl gave up: then it has failed, whatever else came of it.
		if ends := c.settled[serial]; finished && !slices.Contains(ends, "failed abandoned") {
			c.violation("%s was given up, and has the ends %v", c.sent[serial], ends)
		}
	}
	if len(s.Abandoned) > 0 && !finished {
		return // what was left behind may be in the middle of it
	}
	if int64(c.requestOf) != s.Settled {
		c.violation("%d events RequestSettled, Settled is %d", c.requestOf, s.Settled)
	}
	for o, n := range c.outcomes {
		if s.Outcomes[o] != n {
			c.violation("%d events settled as %s, the count is %d", n, o, s.Outcomes[o])
		}
	}
}

// checkEnded checks that each accepted request has the one event RequestEnded, and no other request has one.
func (c *Crawl) checkEnded(s tegenaria.Stats, finished bool) {
	for o, n := range s.Outcomes {
		got := c.ended.outcomes[o]
		switch o {
		case tegenaria.Fetched, tegenaria.Redirected, tegenaria.Robots: // nothing ends so when it is sent
			if got != n {
				c.violation("%d events RequestEnded with %s, the count is %d", got, o, n)
			}
		case tegenaria.Duplicate:
			if got > 0 {
				c.violation("%d events RequestEnded of duplicates", got)
			}
		default:
			if got > n {
				c.violation("%d events RequestEnded with %s, the count is %d", got, o, n)
			}
		}
	}
	if finished && !c.p.plain && c.ended.ofQueue != c.accepted {
		c.violation("%d events RequestEnded of %d accepted requests", c.ended.ofQueue, c.accepted)
	}
}

func (c *Crawl) checkItems(s tegenaria.Stats, finished bool) {
	for serial, n := range c.items {
		if n > 1 || n == 0 && finished && c.p.limits.Callback == 0 {
			c.violation("item %d passed the pipelines %d times", serial, n)
		}
	}
	if !finished {
		return
	}
	if got := s.ItemScraped + s.ItemDropped + s.ItemFailed; got != int64(len(c.items)) || s.ItemScraped != c.scraped {
		c.violation("items: %d scraped, %d dropped, %d failed; %d were sent, %d events", s.ItemScraped, s.ItemDropped,
			s.ItemFailed, len(c.items), c.scraped)
	}
}

// checkCommits checks that everything that committers staged was prepared or discarded.
func (c *Crawl) checkCommits(err error) {
	var full *tegenaria.QueueFullError
	if !c.p.commits || c.refused > 0 || errors.As(err, &full) {
		return
	}
	for id, items := range c.commit.staged {
		c.violation("committer: %d items of %s are neither prepared nor discarded", len(items), id)
	}
}

// NoLeaks fails the test unless all goroutines that began in it have ended. It waits for them: a machine that is busy needs its time.
func NoLeaks(t testing.TB, options ...goleak.Option) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; {
		err := goleak.Find(options...) // which tries again for some hundred milliseconds
		if err == nil {
			return
		}
		if time.Now().After(until) {
			t.Error(err)
			return
		}
	}
}
