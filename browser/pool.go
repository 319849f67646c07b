package browser

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

const (
	maxPages   = 500              // that one Chromium makes at most; then another takes its place
	retireTime = 30 * time.Second // for the pages in hand of a Chromium whose place another has taken
	watchPause = 2 * time.Second  // between two looks at a Chromium
	answerTime = 10 * time.Second // for Chromium to answer the simplest question, however busy its pages are
)

// take begins a page of a Chromium, unless that makes no more pages.
func (c *chromium) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired || c.isLost() {
		return false
	}
	c.pages++
	c.inHand++
	if c.pages >= c.maxPages {
		c.retireLocked()
	}
	return true
}

// give ends what take has begun.
func (c *chromium) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inHand--
	c.endIfIdle()
}

// retire has another Chromium make the pages from here on. This one ends after its pages in hand, for which it has retireTime.
func (c *chromium) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retireLocked()
}

// retireLocked is retire, called with mu held.
func (c *chromium) retireLocked() {
	if c.retired {
		return
	}
	c.retired, c.since = true, time.Now()
	c.endIfIdle()
}

// endIfIdle tells watch that a retired Chromium has no page in hand. It is called with mu held.
func (c *chromium) endIfIdle() {
	if c.retired && c.inHand == 0 {
		close(c.idle)
	}
}

// fail kills Chromium. The errors of its pages in hand give the reason.
func (c *chromium) fail(reason string) {
	c.mu.Lock()
	if c.reason == "" {
		c.reason = reason
	}
	c.mu.Unlock()
	c.kill()
}

// lostError returns the error of a page that a lost Chromium was making.
func (c *chromium) lostError(url string, err error) error {
	c.mu.Lock()
	reason := c.reason
	c.mu.Unlock()
	if reason != "" {
		return &LostError{URL: url, Reason: reason}
	}
	exit, killed := c.exit()
	lost, ok := errors.AsType[*LostError](err)
	switch {
	case exit != nil:
		lost = &LostError{URL: url, Reason: "its process has ended: " + exit.Error(), killed: killed}
	case !ok:
		lost = &LostError{URL: url, Reason: err.Error()}
	}
	return lost
}

// exit returns how the process of a lost Chromium has ended, and whether somebody else has killed it; nil if that is not known.
func (c *chromium) exit() (_ *exec.ExitError, killed bool) {
	_, err := chromedp.CallBrowser(c.ctx, cdpbrowser.GetVersion, cdp.Empty{})
	exit, ok := errors.AsType[*exec.ExitError](err)
	if ok {
		status, ok := exit.Sys().(syscall.WaitStatus)
		killed = ok && status.Signaled() && status.Signal() == syscall.SIGKILL ||
			exit.ExitCode() == 128+int(syscall.SIGKILL) // as a script says that has started it
	}
	return exit, killed
}

// crashError returns the error of a page whose process has ended as Chromium says.
func (c *chromium) crashError(url, status string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.greedy > 0 {
		c.greedy--
		return &LostError{URL: url, Reason: "it took more than half of Options.MaxMemory", greedy: true}
	}
	if status == "killed" {
		return &LostError{URL: url, Reason: "the process of its tab was killed", killed: true}
	}
	return &LostError{URL: url, Reason: "the tab has crashed"}
}

// watch kills Chromium when it is retired and its pages have ended, and when it does not answer. It returns when Chromium is lost.
func (c *chromium) watch(maxMemory int64) {
	pause := time.NewTicker(watchPause)
	defer pause.Stop()
	for !c.isLost() {
		select {
		case <-c.lost:
		case <-c.idle:
			c.kill()
		case <-pause.C:
			c.check(maxMemory)
		}
	}
}

// check looks whether Chromium answers, how much memory it takes, and whether it is to end.
func (c *chromium) check(maxMemory int64) {
	c.mu.Lock()
	late := c.retired && time.Since(c.since) > retireTime
	c.mu.Unlock()
	if late {
		c.fail("another one has taken its place, and the page has not ended in time")
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, answerTime)
	defer cancel()
	switch _, err := cdp.Call(ctx, chromedp.FromContext(c.ctx).Browser, cdpbrowser.GetVersion, cdp.Empty{}); {
	case c.isLost():
	case err != nil:
		c.fail("it does not answer")
	case c.process != 0:
		c.limit(maxMemory)
	}
}

// limit keeps the memory of Chromium's processes within a bound: a page that takes more than half of it loses its process, and
// otherwise another Chromium takes the place of this one. That ends at once if it has twice as much.
func (c *chromium) limit(most int64) {
	all := memoryOf(c.process, most)
	var total int64
	var largest memory
	for _, m := range all {
		total += m.bytes
		if m.renders && m.bytes > largest.bytes {
			largest = m
		}
	}
	switch {
	case total <= most:
	case largest.bytes > most/2:
		c.mu.Lock()
		c.greedy++
		c.mu.Unlock()
		killMember(c.process, largest.pid)
	case total > 2*most:
		c.fail("it took twice Options.MaxMemory")
	default:
		c.retire()
	}
}

// memory is what a process of Chromium takes.
type memory struct {
	pid     int
	bytes   int64 // its share of what it has in common with others is in it
	renders bool  // it makes pages
}
