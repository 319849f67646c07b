package fetch

import (
	"context"
	"sync"
	"time"
)

// rateGrace is how long a body may be slower than Limits.MinRate at its beginning.
const rateGrace = 10 * time.Second

// timeLimits are those of one exchange; 0 is none.
type timeLimits struct {
	all, firstByte, idle time.Duration
	rate                 int64 // bytes per second
}

// clock cancels an exchange that overruns one of its limits. One timer serves them all: when it fires the clock finds out
// which limit is next. The zero clock has no limit.
type clock struct {
	url    string
	limits timeLimits
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards the fields below
	timer   *time.Timer
	all     time.Time // when the whole exchange is over
	asked   time.Time // when the request was sent to the connection; zero before
	began   time.Time // when the body began, put off by the time in which the exchange wanted none of it; zero before
	last    time.Time // when the last of it came, or when the exchange wanted more
	reading bool      // the exchange wants more: idle and rate are the server's now
	got     int64     // of it, in bytes
	paused  time.Time // zero unless the clock stands still
}

// start starts the clock of an exchange that begins now.
func (c *clock) start(url string, l timeLimits, now time.Time, cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.url, c.limits, c.cancel = url, l, cancel
	if l.all > 0 {
		c.all = now.Add(l.all)
	}
	c.arm(now)
}

// phaseRate is the limit of the rate, which is none of the phases.
const phaseRate Phase = "rate"

// next returns when a limit is overrun unless something happens, and which one. The caller holds mu.
func (c *clock) next() (at time.Time, which Phase) {
	sooner := func(t time.Time, limit Phase) {
		if at.IsZero() || t.Before(at) {
			at, which = t, limit
		}
	}
	if !c.all.IsZero() {
		sooner(c.all, PhaseAll)
	}
	if c.began.IsZero() {
		if c.limits.firstByte > 0 && !c.asked.IsZero() {
			sooner(c.asked.Add(c.limits.firstByte), PhaseFirstByte)
		}
		return at, which
	}
	if !c.reading {
		return at, which
	}
	if c.limits.idle > 0 {
		sooner(c.last.Add(c.limits.idle), PhaseIdle)
	}
	if c.limits.rate > 0 {
		sooner(c.began.Add(c.slowest()), phaseRate)
	}
	return at, which
}

// slowest returns how long the body may take for the bytes that have come and one more. The caller holds mu.
func (c *clock) slowest() time.Duration {
	return max(rateGrace, time.Duration(float64(c.got+1)/float64(c.limits.rate)*float64(time.Second)))
}

// late is the error of a limit that is overrun. The caller holds mu.
func (c *clock) late(which Phase) error {
	switch which {
	case phaseRate:
		return &TooSlowError{URL: c.url, Got: c.got, In: c.slowest(), Limit: c.limits.rate}
	case PhaseFirstByte:
		return &TimeoutError{URL: c.url, Limit: c.limits.firstByte, Phase: which}
	case PhaseIdle:
		return &TimeoutError{URL: c.url, Limit: c.limits.idle, Phase: which}
	}
	return &TimeoutError{URL: c.url, Limit: c.limits.all}
}

// arm sets the timer. The caller holds mu.
func (c *clock) arm(now time.Time) {
	at, _ := c.next()
	switch {
	case at.IsZero() || !c.paused.IsZero():
	case c.timer == nil:
		c.timer = time.AfterFunc(max(at.Sub(now), 0), c.look)
	default:
		c.timer.Reset(max(at.Sub(now), 0))
	}
}

// look cancels the exchange if a limit is overrun. The timer calls it.
func (c *clock) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.paused.IsZero() {
		return
	}
	now := time.Now()
	if at, which := c.next(); !at.IsZero() && !now.Before(at) {
		c.cancel(c.late(which))
		return
	}
	c.arm(now)
}

// stop ends the clock: it cancels nothing any more.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.paused = time.Now() // a timer that has fired already finds nothing to do
}

// sent notes that a connection is there: the request is on its way.
func (c *clock) sent() {
	if c.limits.firstByte == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = time.Now()
	c.arm(c.asked)
}

// answered notes that the header of the response has come.
func (c *clock) answered() {
	if c.limits.idle == 0 && c.limits.rate == 0 && c.limits.firstByte == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = time.Now()
	c.last = c.began
	c.arm(c.began)
}

// reads notes that the exchange wants more of the body. The time since the last of it came was the exchange's own: that of a
// slow Writer, say.
func (c *clock) reads() {
	if c.limits.idle == 0 && c.limits.rate == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.began = c.began.Add(now.Sub(c.last))
	c.last, c.reading = now, true
	c.arm(now)
}

// came notes that n more bytes of the body have come, and that the exchange wants no more for now.
func (c *clock) came(n int) {
	if c.limits.idle == 0 && c.limits.rate == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got += int64(n)
	c.last, c.reading = time.Now(), false // the timer finds out by itself
}

// pause stops the clock: the server is not to blame for the time that passes now.
func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.paused = time.Now()
}

// goOn ends a pause: all limits move on by its length.
func (c *clock) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	by := now.Sub(c.paused)
	c.paused = time.Time{}
	for _, t := range []*time.Time{&c.all, &c.asked, &c.began, &c.last} {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
	c.arm(now)
}

// left returns how much of the whole exchange's time is left, and the error for when it is over; 0 is no limit.
func (c *clock) left() (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all.IsZero() {
		return 0, nil
	}
	return max(time.Until(c.all), 1), &TimeoutError{URL: c.url, Limit: c.limits.all}
}
