package browser

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/tegenaria/tegenaria"
)

const (
	maxJudged  = 32   // sub-requests of a tab that are judged at once: each may wait for a robots.txt
	maxWaiting = 1000 // sub-requests of a tab that are judged or wait for it; further ones fail
)

// lane is where the sub-requests of one tab wait until they are judged, so that a tab with many of them does not delay others.
type lane struct {
	waiting, judging chan struct{}
}

func newLane() lane {
	return lane{make(chan struct{}, maxWaiting), make(chan struct{}, maxJudged)}
}

// judge decides about the sub-requests of all pages: whatever tabs, frames, workers and popups ask for, except the documents of
// tabs, which the engine has judged. Interception at the level of the browser reaches them all from their first request.
type judge struct {
	browser  *Browser
	network  tegenaria.Network
	session  cdp.Session // of the browser, not of a tab
	shared   lane        // of frames and workers
	requests sync.WaitGroup

	mu   sync.Mutex // guards tabs
	tabs map[cdp.FrameID]lane
}

// newJudge has Chromium ask about each sub-request from here on. life ends with Chromium.
func newJudge(b *Browser, life context.Context, n tegenaria.Network) (*judge, error) {
	j := &judge{
		browser: b, network: n, session: chromedp.FromContext(life).Browser,
		shared: newLane(), tabs: make(map[cdp.FrameID]lane),
	}
	paused := cdp.Events(life, j.session, fetch.RequestPaused)
	b.running.Go(func() {
		defer j.requests.Wait()
		for e, err := range paused {
			if err != nil {
				return
			}
			j.requests.Go(func() { j.decide(life, e) })
		}
	})
	_, err := call(life, j.session, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{
		{URLPattern: "*", RequestStage: fetch.RequestStageRequest},
		{URLPattern: "*", RequestStage: fetch.RequestStageResponse},
	}})
	return j, err
}

// add makes the documents of a tab none of the sub-requests.
func (j *judge) add(tab target.ID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tabs[cdp.FrameID(tab)] = newLane()
}

// remove forgets a tab.
func (j *judge) remove(tab target.ID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.tabs, cdp.FrameID(tab))
}

// isDocument reports whether a request is that of a tab for its document.
func (j *judge) isDocument(e fetch.EventRequestPaused) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, own := j.tabs[e.FrameID]
	return own && e.ResourceType == network.ResourceTypeDocument
}

// laneOf returns where a sub-request of a frame waits.
func (j *judge) laneOf(frame cdp.FrameID) lane {
	j.mu.Lock()
	defer j.mu.Unlock()
	if own, ok := j.tabs[frame]; ok {
		return own
	}
	return j.shared
}

// decide lets a sub-request pass or fails it, and reports the refusal of its host. If the request is gone meanwhile, the answer has
// no effect.
func (j *judge) decide(life context.Context, e fetch.EventRequestPaused) {
	answered := e.ResponseStatusCode != 0 || e.ResponseErrorReason != ""
	switch {
	case j.isDocument(e):
	case answered:
		j.network.Refused(e.Request.URL, int(e.ResponseStatusCode), fieldOf(e.ResponseHeaders, "Retry-After"))
	case !j.mayPass(life, e):
		call(life, j.session, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
		return
	}
	call(life, j.session, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
}

// mayPass reports whether a sub-request may be sent. What is no request to a site, such as data: and blob: URLs, may pass.
func (j *judge) mayPass(life context.Context, e fetch.EventRequestPaused) bool {
	if slices.Contains(j.browser.options.Block, kindOf(e)) {
		return false
	}
	if !strings.HasPrefix(e.Request.URL, "http://") && !strings.HasPrefix(e.Request.URL, "https://") {
		return true
	}
	lane := j.laneOf(e.FrameID)
	select {
	case lane.waiting <- struct{}{}:
		defer func() { <-lane.waiting }()
	default:
		return false
	}
	select {
	case lane.judging <- struct{}{}:
		defer func() { <-lane.judging }()
	case <-life.Done():
		return false
	}
	if j.network.PausedUntil(e.Request.URL).After(time.Now()) || j.network.Robots(life, e.Request.URL) != nil {
		j.browser.refused.Add(1)
		return false
	}
	return true
}

// kindOf returns what a request is for. Chromium itself asks for the icon of a page, and does not say that it is a picture.
func kindOf(e fetch.EventRequestPaused) Resource {
	accept, _ := e.Request.Headers["Accept"].(string)
	if e.ResourceType == network.ResourceTypeOther && strings.HasPrefix(accept, "image/") {
		return Images
	}
	return Resource(e.ResourceType)
}

// fieldOf returns the value of a header field; "" if there is none.
func fieldOf(header []*fetch.HeaderEntry, name string) string {
	for _, field := range header {
		if http.CanonicalHeaderKey(field.Name) == name {
			return field.Value
		}
	}
	return ""
}
