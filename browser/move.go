package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
)

// maxMoves is how many documents the actions of a request may lead to, redirects included.
const maxMoves = 10

// move is where actions have led a tab. The lock of the tab guards it.
type move struct {
	acting  bool
	at      string // the URL of the document
	going   string // of the one that was asked for and has not come; "": none
	moves   int
	windows int   // that the page has asked for
	refused error // why the tab may not go where an action leads
}

var (
	errScope  = errors.New("it is outside of the allowed domains, or a RequestFilter refuses it")
	errPaused = errors.New("its host has asked for a pause")
	errMoves  = fmt.Errorf("the actions have led to %d documents already", maxMoves)
)

// beginMoves has the tab go where the page leads it from here on: actions do so, and so does a form that a page sends by itself.
func (t *tab) beginMoves() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.acting {
		t.acting, t.at = true, t.asked.url
	}
}

// isActing reports whether the tab goes where the page leads it.
func (t *tab) isActing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.acting
}

// refusal returns why the tab may not go where an action leads; nil if it may.
func (t *tab) refusal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

// address returns the URL of the document that the tab has.
func (t *tab) address() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}

// lostWay returns the error of a document to which an action leads, and which has not come.
func (t *tab) lostWay() error {
	t.mu.Lock()
	going := t.going
	t.mu.Unlock()
	if going == "" {
		return nil
	}
	return &NavigationError{going, "no answer", t.visit.whyNot(going)}
}

// goOn decides about a document to which an action leads: it stays in the tab. Until it has come the page is not quiet.
func (t *tab) goOn(work context.Context, e fetch.EventRequestPaused) {
	url, id := e.Request.URL, network.RequestID(e.NetworkID)
	t.mu.Lock()
	t.requests[id] = sender{e.FrameID, cdp.LoaderID(id)} // Chromium gives the document this name too
	t.moves++
	moves := t.moves
	t.mu.Unlock()
	err := t.mayGo(work, url, moves)
	t.mu.Lock()
	if t.going = url; err != nil {
		t.going, t.refused = "", &NavigationRefusedError{url, err}
		delete(t.requests, id)
	}
	t.mu.Unlock()
	if err == nil {
		t.proceed(work, fetch.ContinueRequestParams{RequestID: e.RequestID})
		return
	}
	t.fail(work, e.RequestID, network.ErrorReasonAborted)
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// mayGo judges a document to which an action leads as the engine judges others. The proxy judges its address.
func (t *tab) mayGo(work context.Context, url string, moves int) error {
	switch n := t.visit.proxy.network; {
	case moves > maxMoves:
		return errMoves
	case !n.InScope(url):
		return errScope
	case n.PausedUntil(url).After(time.Now()):
		return errPaused
	default:
		return n.Robots(work, url)
	}
}

// came notes the response with a document to which an action leads. It reports false before the actions begin.
func (t *tab) came(a *answer, e fetch.EventRequestPaused) bool {
	t.mu.Lock()
	acting := t.acting
	if acting {
		t.going, a.url = "", e.Request.URL
		switch {
		case a.status == http.StatusNoContent || a.status == http.StatusResetContent: // the tab stays where it is
			delete(t.requests, network.RequestID(e.NetworkID))
		case a.status/100 != 3:
			t.at = a.url
		}
	}
	t.mu.Unlock()
	if acting {
		t.visit.proxy.network.Refused(e.Request.URL, a.status, a.header.Get("Retry-After"))
	}
	return acting
}

// closePopups closes the windows that the page opens, which a Chromium that runs elsewhere lets it do.
func (t *tab) closePopups(work context.Context, session cdp.Session) {
	created := cdp.Events(work, session, target.TargetCreated)
	t.watching.Go(func() {
		for e, err := range created {
			if err != nil {
				return
			}
			if e.TargetInfo.OpenerID == t.target.TargetID {
				call(work, session, target.CloseTarget, target.CloseTargetParams{TargetID: e.TargetInfo.TargetID})
			}
		}
	})
}
