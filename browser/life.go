package browser

import (
	"context"
	"errors"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// unopened returns the error of a tab that has not come as far as its request. Its Chromium makes no further pages.
func (t *tab) unopened(life context.Context, err error) error {
	t.chromium.retire()
	reason := "its tab did not open"
	if life.Err() == nil {
		reason += ": " + err.Error()
	}
	return &LostError{URL: t.asked.url, Reason: reason}
}

// open opens the tab. One that is given up half open goes with its Chromium, which makes no further pages.
func (t *tab) open(ctx context.Context) (context.Context, error) {
	life, cancel := chromedp.NewContext(t.chromium.ctx,
		chromedp.WithNewBrowserContext(func(p *target.CreateBrowserContextParams) {
			if t.browser.remote != nil { // which the proxy does not serve, and which outlives a lost connection
				p.DisposeOnDetach = new(true)
				return
			}
			p.ProxyServer, p.ProxyBypassList = "http://"+t.visit.proxy.address, "<-loopback>"
		}),
		chromedp.WithListener(t.note))
	late := time.AfterFunc(openTimeout, cancel)
	defer late.Stop()
	defer context.AfterFunc(ctx, func() { late.Reset(openGrace) })()
	if err := chromedp.Do(life); err != nil {
		return nil, t.unopened(life, err)
	}
	t.target = chromedp.FromContext(life).Target
	t.mu.Lock()
	t.whole = cdp.FrameID(t.target.TargetID)
	t.mu.Unlock()
	t.chromium.judge.add(t.target.TargetID)
	return life, nil
}

// close closes the tab with its browser context. One that does not close goes with its Chromium, which makes no further pages.
func (t *tab) close(life context.Context) {
	defer t.chromium.judge.remove(t.target.TargetID)
	t.detach(life)
	if err := chromedp.Cancel(life); errors.Is(err, context.DeadlineExceeded) {
		t.chromium.retire()
	}
}

// detach ends the events of the tab, and waits until those that have come are read. chromedp itself reads no events of a tab that it
// closes, and nothing at all of this Chromium once there are more of them than it can keep.
func (t *tab) detach(life context.Context) {
	c := chromedp.FromContext(life)
	if _, err := call(life, c.Browser, target.DetachFromTarget, target.DetachFromTargetParams{SessionID: t.target.SessionID}); err != nil {
		return
	}
	_, err := call(life, t.target, page.Disable, cdp.Empty{}) // gets no answer: it ends with the last event
	if errors.Is(err, chromedp.ErrTargetDetached) {
		t.target.SessionID = "" // so that it is not detached again
	}
}
