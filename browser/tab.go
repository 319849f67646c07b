package browser

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// tab makes one page, in a browser context of its own.
type tab struct {
	browser  *Browser
	chromium *chromium
	visit    *visit
	asked    *query
	target   *chromedp.Target
	answers  chan *answer // has room for the one that is delivered
	watching sync.WaitGroup
	sent     bool          // the document may have been requested of the site
	results  results       // of the actions that were done
	taking   chan struct{} // has room for one: who has put something in takes bodies for the capture
	maxBody  int64
	opening  chan window // has room for all windows that are followed
	made     func()      // to be called when the tab closes: another one may make its page meanwhile
	closed   func()      // to be called when the tab is closed, or was not opened

	changed chan struct{} // has room for one: seen has changed
	asking  bool          // the document was requested; of the goroutine that decides about requests

	mu       sync.Mutex                   // guards the fields below
	document *answer                      // the response with the document; nil: it has not come
	parsed   map[cdp.LoaderID]bool        // documents that were read to their end, by which a page may have all it gets
	loaded   map[cdp.LoaderID]bool        // documents that have loaded, or have stopped to load
	requests map[network.RequestID]sender // those that are under way
	begun    int                          // requests and documents that there have been
	loaders  map[cdp.FrameID]cdp.LoaderID // the documents that the frames have
	whole    cdp.FrameID                  // the frame that has all others in it
	capture  *capture                     // nil: the request captures nothing
	move
}

// sender is what a request comes from: a document in a frame.
type sender struct {
	frame  cdp.FrameID
	loader cdp.LoaderID // of the document
}

// answer is a response to the document's request, or what stands for one.
type answer struct {
	err    error
	status int
	header http.Header
	url    string    // of the document to which an action has led; "": that of the query
	body   io.Reader // nil unless the body is delivered as it comes
}

// download opens the tab and makes the page. The tab closes afterwards, for which a page that does harm may need seconds.
func (t *tab) download(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	defer t.visit.leave() // also if there is no tab
	t.answers, t.changed = make(chan *answer, 1), make(chan struct{}, 1)
	t.parsed, t.loaded, t.requests = make(map[cdp.LoaderID]bool), make(map[cdp.LoaderID]bool), make(map[network.RequestID]sender)
	t.loaders = make(map[cdp.FrameID]cdp.LoaderID)
	t.maxBody, t.opening = ctx.MaxBody(), make(chan window, maxWindows)
	if patterns := t.asked.plan.Capture; len(patterns) > 0 {
		t.capture, t.taking = newCapture(patterns, t.maxBody), make(chan struct{}, 1)
	}
	life, err := t.open(ctx)
	if err != nil {
		t.closed()
		return nil, err
	}
	defer func() {
		t.made()
		t.browser.running.Go(func() {
			t.close(life)
			t.closed()
		})
	}()
	defer t.visit.leave() // before requests that are paused are let go
	work, stop := context.WithCancel(life)
	defer t.watching.Wait()
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	if err := t.prepare(work); err != nil {
		if _, unfit := errors.AsType[*tegenaria.RequestError](err); unfit {
			return nil, err
		}
		return nil, t.unopened(work, err)
	}
	return t.await(ctx, work)
}

// note notes an event of the tab. It must not block.
func (t *tab) note(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.capture != nil {
		t.capture.note(event)
	}
	switch event := event.(type) {
	case *page.EventLifecycleEvent:
		switch event.Name {
		case "init", "commit":
			t.replace(event.FrameID, event.LoaderID)
		case "DOMContentLoaded":
			t.parsed[event.LoaderID] = true
		case "load":
			t.loaded[event.LoaderID] = true
		}
	case *page.EventFrameStoppedLoading: // also if it will never load: window.stop(), location = "mailto:…"
		t.loaded[t.loaders[event.FrameID]] = true
	case *page.EventDocumentOpened: // by a script, which may never close it
		t.parsed[event.Frame.LoaderID] = true
	case *page.EventWindowOpen:
		if !t.noteWindow(event) {
			return
		}
	case *network.EventRequestWillBeSent:
		switch {
		case event.Type == network.ResourceTypeEventSource: // which has no end
		case event.Type == network.ResourceTypeDocument: // the end of one in a frame of another site is told elsewhere; the load event waits for it
		case event.LoaderID == "": // the script of a worker, whose end is told to the worker alone
			t.begun++
		default:
			t.requests[event.RequestID] = sender{event.FrameID, event.LoaderID}
			t.begun++
		}
	case *network.EventLoadingFinished:
		delete(t.requests, event.RequestID)
	case *network.EventLoadingFailed:
		delete(t.requests, event.RequestID)
	case *page.EventFrameDetached:
		t.replace(event.FrameID, "")
	case *target.EventTargetCrashed:
		if cdp.FrameID(event.TargetID) != t.whole { // of another tab
			return
		}
		t.deliver(&answer{err: t.chromium.crashError(t.asked.url, event.Status)})
	default:
		return
	}
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// replace notes that a frame has another document, or is gone if the loader is empty. The requests of the document before are no longer
// awaited: when a document gives way to one in another process, Chromium does not tell how its requests end. With the document
// of the tab all frames and workers go. Called with mu held.
func (t *tab) replace(frame cdp.FrameID, loader cdp.LoaderID) {
	if t.loaders[frame] == loader {
		return
	}
	t.begun++
	if t.loaders[frame] = loader; loader == "" {
		delete(t.loaders, frame)
	}
	maps.DeleteFunc(t.requests, func(_ network.RequestID, s sender) bool {
		return s.loader != loader && (s.frame == frame || frame == t.whole)
	})
}

// progress is how far a tab has come.
type progress struct {
	document       cdp.LoaderID
	parsed, loaded bool // the document
	leaving        bool // another document was asked for
	quiet          bool // no request is under way
	begun          int  // changes with each request that begins
}

func (t *tab) progress() progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := progress{document: t.loaders[t.whole], leaving: t.going != "", quiet: len(t.requests) == 0, begun: t.begun}
	p.loaded = t.loaded[p.document]
	p.parsed = p.loaded || t.parsed[p.document]
	return p
}

// deliver ends the making of the page with an answer; a second one is dropped.
func (t *tab) deliver(a *answer) {
	select {
	case t.answers <- a:
	default:
	}
}

// prepare makes the tab ready for its request: from here on it asks before each one for a document.
func (t *tab) prepare(work context.Context) error {
	each(work, t, fetch.RequestPaused, t.paused)
	each(work, t, fetch.AuthRequired, t.authenticate)
	each(work, t, page.JavascriptDialogOpening, t.dismiss)
	if t.capture != nil { // Chromium forgets the bodies of a page that goes
		each(work, t, network.LoadingFinished, func(work context.Context, _ network.EventLoadingFinished) { t.takeBodies(work) })
	}
	t.watching.Go(func() { t.followWindows(work) })
	c := chromedp.FromContext(work)
	t.closePopups(work, c.Browser)
	// chromedp switches these domains on, and follows each change of the document, for commands that are not used here.
	_, err := call(work, t.target, css.Disable, cdp.Empty{})
	if err == nil {
		_, err = call(work, t.target, dom.Disable, cdp.Empty{})
	}
	if err == nil {
		_, err = call(work, c.Browser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: c.BrowserContextID,
		})
	}
	if err == nil {
		_, err = call(work, t.target, fetch.Enable, fetch.EnableParams{
			Patterns: []*fetch.RequestPattern{
				{URLPattern: "*", RequestStage: fetch.RequestStageRequest, ResourceType: network.ResourceTypeDocument},
				{URLPattern: "*", RequestStage: fetch.RequestStageResponse, ResourceType: network.ResourceTypeDocument},
			},
			HandleAuthRequests: new(true),
		})
	}
	if err == nil && t.asked.agent != "" {
		_, err = call(work, t.target, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: t.asked.agent})
	}
	if err == nil && len(t.asked.cookies) > 0 {
		if _, err = call(work, t.target, network.SetCookies, network.SetCookiesParams{Cookies: t.asked.cookies}); err != nil {
			err = &tegenaria.RequestError{URL: t.asked.url, Field: "Cookies", Err: err, Remedy: "send cookies as RFC 6265 allows them, or " + byHTTP}
		}
	}
	return err
}

// each calls a func for each event of the tab, until the work is over. t.watching waits for it.
func each[E any](work context.Context, t *tab, event cdp.Event[E], f func(context.Context, E)) {
	events := cdp.Events(work, t.target, event)
	t.watching.Go(func() {
		for e, err := range events {
			if err != nil {
				return
			}
			f(work, e)
		}
	})
}

// paused decides about a request for a document, or about the response to it. Those of frames were judged before.
func (t *tab) paused(work context.Context, e fetch.EventRequestPaused) {
	answered := e.ResponseStatusCode != 0 || e.ResponseErrorReason != ""
	switch own := e.ResourceType == network.ResourceTypeDocument && e.FrameID == cdp.FrameID(t.target.TargetID); {
	case own && answered && e.ResponseErrorReason == "":
		t.arrived(work, e)
	case own && !answered:
		t.navigate(work, e)
	default:
		t.proceed(work, fetch.ContinueRequestParams{RequestID: e.RequestID})
	}
}

// proceed lets a request or a response pass. If it cannot, the request is gone.
func (t *tab) proceed(work context.Context, p fetch.ContinueRequestParams) error {
	_, err := call(work, t.target, fetch.ContinueRequest, p)
	return err
}

// fail ends a request.
func (t *tab) fail(work context.Context, id fetch.RequestID, why network.ErrorReason) {
	call(work, t.target, fetch.FailRequest, fetch.FailRequestParams{RequestID: id, ErrorReason: why})
}

// navigate decides about a request of the tab for a document. The first one is the query. With another one the page goes
// elsewhere, and that is for the engine to judge, unless the page sends a form: then its answer is the page.
func (t *tab) navigate(work context.Context, e fetch.EventRequestPaused) {
	if !t.asking {
		t.asking = true
		err := t.proceed(work, fetch.ContinueRequestParams{RequestID: e.RequestID, Headers: t.asked.fields(e.Request.Headers)})
		if err != nil && work.Err() == nil {
			t.deliver(&answer{err: &tegenaria.RequestError{URL: t.asked.url, Field: "Header", Err: err, Remedy: "leave the " +
				"field out, or " + byHTTP}})
		}
		return
	}
	if t.asked.follows && e.Request.Method != http.MethodGet { // no redirect of a response can send the form
		t.beginMoves()
	}
	if t.isActing() {
		t.goOn(work, e)
		return
	}
	t.fail(work, e.RequestID, network.ErrorReasonAborted)
	if t.asked.follows {
		t.deliver(&answer{status: http.StatusFound, header: http.Header{"Location": {e.Request.URL + e.Request.URLFragment}}})
	}
}

// arrived decides about the response with the document.
func (t *tab) arrived(work context.Context, e fetch.EventRequestPaused) {
	a := &answer{status: int(e.ResponseStatusCode), header: make(http.Header)}
	for _, field := range e.ResponseHeaders {
		a.header.Add(field.Name, field.Value)
	}
	switch empty := a.status/100 == 3 || a.status == http.StatusNoContent || a.status == http.StatusResetContent; {
	case t.came(a, e) && empty:
		t.proceed(work, fetch.ContinueRequestParams{RequestID: e.RequestID})
	case empty:
		t.deliver(a)
	case !isRendered(a.header):
		a.body, a.err = newBodyStream(work, t.target, e.RequestID)
		t.deliver(a)
	case isDoubtful(a.header, e.Request.URL):
		t.examine(work, a, e)
	default:
		t.noteDocument(a)
		t.proceed(work, fetch.ContinueRequestParams{RequestID: e.RequestID})
	}
}

// noteDocument notes the response with the document.
func (t *tab) noteDocument(a *answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.document = a
}

// examine has the first bytes of a document decide whether it is rendered. Chromium gets one that is whole, since what was read of it
// here it cannot read.
func (t *tab) examine(work context.Context, a *answer, e fetch.EventRequestPaused) {
	body, err := newBodyStream(work, t.target, e.RequestID)
	if err != nil {
		t.deliver(&answer{err: err})
		return
	}
	start := bufio.NewReader(body)
	first, err := start.Peek(sniffed)
	if err != nil && err != io.EOF {
		t.deliver(&answer{err: err})
		return
	}
	kind, _, _ := strings.Cut(http.DetectContentType(first), ";")
	if kind != "text/html" && kind != "text/plain" {
		a.body = start
		t.deliver(a)
		return
	}
	whole, err := io.ReadAll(io.LimitReader(start, t.maxBody+1))
	if err == nil && int64(len(whole)) > t.maxBody {
		err = &tegenaria.BodyTooLargeError{URL: e.Request.URL, Limit: t.maxBody}
	}
	if err != nil {
		t.deliver(&answer{err: err})
		return
	}
	if len(whole) == 0 {
		t.deliver(a)
		return
	}
	t.noteDocument(a)
	header := []*fetch.HeaderEntry{}
	for _, field := range e.ResponseHeaders {
		switch http.CanonicalHeaderKey(field.Name) {
		case "Content-Encoding", "Content-Length", "Transfer-Encoding": // of the bytes as they were sent
		case "Content-Type":
			if field.Value != "" {
				kind = field.Value
			}
		default:
			header = append(header, field)
		}
	}
	header = append(header, &fetch.HeaderEntry{Name: "Content-Type", Value: kind})
	call(work, t.target, fetch.FulfillRequest, fetch.FulfillRequestParams{
		RequestID: e.RequestID, ResponseCode: e.ResponseStatusCode, ResponseHeaders: header, Body: whole,
	})
}

// authenticate answers a demand for credentials. The proxy gets those of the visit, sites get none.
func (t *tab) authenticate(work context.Context, e fetch.EventAuthRequired) {
	answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
	if e.AuthChallenge.Source == fetch.AuthChallengeSourceProxy && t.browser.remote == nil {
		answer.Response = fetch.AuthChallengeResponseResponseProvideCredentials
		answer.Username, answer.Password = proxyUser, t.visit.password
	}
	call(work, t.target, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: answer})
}

// dismiss closes a dialog, for which the page waits.
func (t *tab) dismiss(work context.Context, _ page.EventJavascriptDialogOpening) {
	call(work, t.target, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
}

// await requests the document, waits until there is an answer or the page is ready, and makes the response.
func (t *tab) await(ctx *tegenaria.Context, work context.Context) (*tegenaria.Response, error) {
	if err := ctx.AwaitTurn(); err != nil { // the tab may have taken seconds to open
		return nil, err
	}
	t.sent = true
	type outcome struct {
		page.NavigateResult
		err error
	}
	navigated := make(chan outcome, 1)
	t.watching.Go(func() {
		got, err := cdp.Call(work, t.target, page.Navigate, page.NavigateParams{URL: t.asked.url, Referrer: t.asked.referrer})
		navigated <- outcome{got, err}
	})
	select {
	case a := <-t.answers:
		return t.respond(ctx, work, a)
	case got := <-navigated:
		switch {
		case got.err != nil:
			return nil, got.err
		case got.ErrorText != "":
			return t.notNavigated(ctx, work, got.ErrorText)
		}
		t.mu.Lock()
		t.loaders[cdp.FrameID(t.target.TargetID)] = got.LoaderID
		t.mu.Unlock()
	case <-work.Done():
		return nil, context.Cause(work)
	}
	a, err := t.becomeReady(work)
	if a == nil && err == nil && len(t.asked.plan.Do) > 0 {
		a, err = t.act(work)
	}
	if refused, ok := err.(*NavigationRefusedError); ok { // of no action
		err = &NavigationError{t.asked.url, "the page leaves by itself", refused}
	}
	var resp *tegenaria.Response
	t.takeBodies(work)
	switch {
	case err != nil:
		return nil, err
	case a != nil:
		resp, err = t.respond(ctx, work, a)
	default:
		resp, err = t.render(ctx, work)
	}
	if resp != nil && len(t.results) > 0 {
		if err := resp.SetValue(resultsKey{}, t.results, t.results.size()); err != nil {
			return nil, err
		}
	}
	if resp != nil && t.capture != nil {
		if err := t.keepCaptured(resp); err != nil {
			return nil, err
		}
	}
	return resp, err
}

// notNavigated makes the response of a document that Chromium does not show: it was answered here, or has no body, or did
// not come.
func (t *tab) notNavigated(ctx *tegenaria.Context, work context.Context, reason string) (*tegenaria.Response, error) {
	select {
	case a := <-t.answers:
		return t.respond(ctx, work, a)
	default:
	}
	if a := t.arrival(); a != nil && a.status >= http.StatusBadRequest {
		return t.respond(ctx, work, a)
	}
	err := &NavigationError{t.asked.url, reason, t.visit.whyNot(t.asked.url)}
	if err.Temporary() {
		select {
		case a := <-t.answers: // the end of the process, which is told afterwards
			return t.respond(ctx, work, a)
		case <-time.After(crashTime):
		case <-work.Done():
		}
	}
	return nil, err
}

// arrival returns the response with the document; nil if it has not come.
func (t *tab) arrival() *answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.document
}

// respond makes the response of an answer without a page.
func (t *tab) respond(ctx *tegenaria.Context, work context.Context, a *answer) (*tegenaria.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	at := a.url
	if at == "" {
		at = t.asked.url
	}
	if err := t.setCookies(work, a.header, at); err != nil {
		return nil, err
	}
	a.header.Del("Content-Encoding") // Chromium has removed it
	resp, err := ctx.Respond(a.status, a.header, a.body)
	if resp != nil && a.url != "" {
		resp.URL, _ = urlx.CutFragment(a.url)
	}
	return resp, err
}

// render makes the response of a page that is ready.
func (t *tab) render(ctx *tegenaria.Context, work context.Context) (*tegenaria.Response, error) {
	a := t.arrival()
	if a == nil {
		return nil, &NavigationError{t.asked.url, "the page has come without a response", nil}
	}
	text, err := newPageText(work, t.target)
	if err != nil {
		return nil, err
	}
	if text.isPDF {
		return nil, &NavigationError{text.url, "it is a PDF, which the server calls HTML; request it without the browser", nil}
	}
	if strings.HasPrefix(text.url, "chrome-error:") { // instead of an error without a body
		if err := t.lostWay(); err != nil {
			return nil, err
		}
		return t.respond(ctx, work, a)
	}
	if err := t.setCookies(work, a.header, text.url); err != nil {
		return nil, err
	}
	forText(a.header)
	resp, err := ctx.Respond(a.status, a.header, text)
	if resp != nil { // the page may have changed it (history.pushState)
		resp.URL, _ = urlx.CutFragment(text.url)
	}
	return resp, err
}
