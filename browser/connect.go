package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
)

// Connect returns a [Browser] that renders in a Chromium which runs already, on this machine or elsewhere. The URL is that of its
// debugging port, such as http://chromium:9222, or its WebSocket (ws, wss). The first download of a run connects to it, and the run
// leaves it as it was: the tabs are closed with their browser contexts, also if the program is killed.
//
// That Chromium dials by itself, so no address is checked, and its pages may reach all that it can reach. Without
// Options.DangerouslyWithoutGuard this is an [*UnguardedError]; a URL that cannot be right is a [*ConnectError]. What a page asks
// for is still judged by its kind, robots.txt and pauses. The Chromium must do nothing else meanwhile, since its other pages are
// judged too. Options.Path and Options.MaxMemory have no effect.
func Connect(address string, o Options) (*Browser, error) {
	if !o.DangerouslyWithoutGuard {
		return nil, &UnguardedError{}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, &ConnectError{Err: errConnectURL} // that of url.Parse has the URL, which may have a secret
	case u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" && (u.Scheme != "http" || u.Port() == ""):
		return nil, &ConnectError{u.Host, errConnectURL}
	}
	b := newBrowser(o)
	b.remote = u
	return b, nil
}

var errConnectURL = errors.New("the URL must be http://host:port, or that of a WebSocket, with ws or wss")

// connect connects to the Chromium that runs already.
func (b *Browser) connect(ctx context.Context, p *proxy) (*chromium, error) {
	var options []remote.Option
	if b.remote.Scheme != "http" {
		options = append(options, remote.NoModifyURL)
	}
	quiet := func(string, ...any) {}
	life, disconnect := remote.NewAllocator(context.Background(), b.remote.String(), options...)
	life, cancel := chromedp.NewContext(life, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	c := b.newChromium(life, cancel)
	err := b.begin(ctx, p, c, func() (err error) {
		defer func() { // chromedp panics if what answers is no Chromium
			if v := recover(); v != nil {
				err = fmt.Errorf("the answer is not that of Chromium: %v", v)
			}
		}()
		_, err = chromedp.CallBrowser(life, cdpbrowser.GetVersion, cdp.Empty{})
		return err
	}, func() {
		c.kill()
		disconnect()
		if connected := chromedp.FromContext(life).Browser; connected != nil {
			<-connected.LostConnection
		}
	})
	if err != nil && ctx.Err() == nil {
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) { // the outer ones have the URL
			err = inner
		}
		err = &ConnectError{b.remote.Host, err}
	}
	return c, err
}
