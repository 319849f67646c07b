package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pollPause is how often a page is asked for an element.
const pollPause = 50 * time.Millisecond

// The scripts of actions. Each is a func of an element and a text. They run in an isolated world, where the page's scripts cannot
// reach them.
const (
	matches = `() => true`
	middle  = `e => {
		e.scrollIntoView({block: "center", inline: "center", behavior: "instant"})
		const r = e.getBoundingClientRect()
		return r.width && r.height ? [r.x + r.width / 2, r.y + r.height / 2] : null
	}`
	fill = `(e, text) => {
		e.focus()
		const p = [HTMLInputElement, HTMLTextAreaElement].find(p => e instanceof p)
		if (p) Object.getOwnPropertyDescriptor(p.prototype, "value").set.call(e, text)
		else if (e.isContentEditable) e.textContent = text
		else return false
		e.dispatchEvent(new InputEvent("input", {bubbles: true, composed: true}))
		e.dispatchEvent(new Event("change", {bubbles: true}))
		return true
	}`
	choose = `(e, text) => {
		const all = [...(e.options ?? [])], o = all.find(o => o.value === text) ?? all.find(o => o.text.trim() === text)
		if (!o) return false
		o.selected = true
		e.dispatchEvent(new Event("input", {bubbles: true, composed: true}))
		e.dispatchEvent(new Event("change", {bubbles: true}))
		return true
	}`
	rectangle = `e => {
		const r = e.getBoundingClientRect()
		return [r.x + scrollX, r.y + scrollY, r.width, r.height]
	}`
	scroll = `(() => {
		const page = document.scrollingElement ?? document.documentElement
		page.scrollTo({top: page.scrollHeight, behavior: "instant"})
		return true
	})()`
	// scrollList scrolls what has the last element that matches in it and can be scrolled; if there is nothing of that kind, or if the
	// page is asked for, it scrolls the page.
	scrollList = `((css, most, wholePage) => {
		const page = document.scrollingElement ?? document.documentElement, found = document.querySelectorAll(css)
		const last = found[found.length - 1]
		let inner = last
		do inner = inner?.assignedSlot ?? inner?.parentElement ?? inner?.getRootNode().host
		while (inner && (inner === page || inner === document.body || inner.scrollHeight <= inner.clientHeight ||
			!/auto|scroll|overlay/.test(getComputedStyle(inner).overflowY)))
		const enough = most > 0 && found.length >= most
		if (!enough && inner && !wholePage) {
			inner.scrollIntoView({block: "nearest", behavior: "instant"})
			inner.scrollTo({top: inner.scrollHeight, behavior: "instant"})
		} else if (!enough) page.scrollTo({top: page.scrollHeight, behavior: "instant"})
		return [page.scrollHeight + (inner?.scrollHeight ?? 0), found.length, enough, !!inner]
	})(%s, %d, %t)`
)

var (
	errHidden = errors.New("the element has no size: it is hidden")
	errFilled = errors.New("the element takes no text")
	errOption = errors.New("the element has no such option")
	errKey    = errors.New("there is no such key")
	errAction = errors.New("there is no such action")
	errAbsent = errors.New("no element matches")
)

// act does the steps of the query. The answer is nil unless a step has led to a document that is not rendered.
func (t *tab) act(work context.Context) (a *answer, err error) {
	t.results = make(results)
	t.beginMoves()
	for i, s := range t.asked.plan.Do {
		a, err := t.do(work, s)
		if err == nil {
			err = t.refusal()
		}
		if work.Err() != nil {
			return nil, context.Cause(work)
		}
		if a == nil {
			select {
			case a = <-t.answers: // the tab has crashed, for example
			default:
			}
		}
		if err != nil && (a == nil || a.err == nil) {
			err = &ActionError{URL: t.address(), Action: s.Do, Number: i + 1, Selector: s.CSS, Err: err}
			return nil, err
		}
		if a != nil {
			return a, nil
		}
	}
	return t.settle(work)
}

// do does one step within its deadline, and awaits the page after those that are likely to change it.
func (t *tab) do(work context.Context, s step) (*answer, error) {
	limit := s.Within
	if limit <= 0 {
		limit = actionTime
	}
	if s.Do == "Wait" {
		limit += s.For
	}
	ctx, cancel := context.WithTimeout(work, limit)
	defer cancel()
	switch s.Do {
	case "WaitFor":
		return nil, t.onElement(ctx, s, matches, new(bool))
	case "Fill":
		return nil, t.mustChange(ctx, s, fill, errFilled)
	case "Wait":
		pause := time.NewTimer(s.For)
		defer pause.Stop()
		select {
		case <-pause.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "Evaluate":
		return nil, t.evaluate(ctx, s)
	case "Screenshot":
		return nil, t.picture(ctx, s)
	case "PDF":
		got, err := cdp.Call(ctx, t.target, page.PrintToPDF, page.PrintToPDFParams{PrintBackground: new(true)})
		t.results[s.Name] = result{got.Data, true}
		return nil, err
	case "ScrollUntil":
		return t.scrollUntil(ctx, s)
	case "Click":
		if err := t.click(ctx, s); err != nil {
			return nil, err
		}
	case "Select":
		if err := t.mustChange(ctx, s, choose, errOption); err != nil {
			return nil, err
		}
	case "Press":
		if err := t.press(ctx, s.Text); err != nil {
			return nil, err
		}
	case "Scroll":
		if err := t.script(ctx, scroll, new(bool)); err != nil {
			return nil, err
		}
	default:
		return nil, errAction
	}
	return t.settle(work) // which has a bound of its own
}

// script evaluates an expression in a world of its own.
func (t *tab) script(ctx context.Context, js string, v any) error {
	world, err := call(ctx, t.target, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(t.target.TargetID)})
	if err != nil {
		return err
	}
	return (&pageText{ctx: ctx, session: t.target, world: world.ExecutionContextID}).evaluate(js, v)
}

// onElement calls a script with the first element that matches, for which it waits, and with the text of the step. A page
// that is going elsewhere is asked again.
func (t *tab) onElement(ctx context.Context, s step, script string, v any) error {
	css, _ := json.Marshal(s.CSS)
	text, _ := json.Marshal(s.Text)
	js := fmt.Sprintf(`(() => { const e = document.querySelector(%s); return e ? [(%s)(e, %s)] : [] })()`, css, script, text)
	pause := time.NewTicker(pollPause)
	defer pause.Stop()
	for why := errAbsent; ; {
		var got []json.RawMessage
		switch err := t.script(ctx, js, &got); {
		case err == nil && len(got) == 1:
			return json.Unmarshal(got[0], v)
		case err == nil:
			why = errAbsent
		case isException(err):
			return err
		case ctx.Err() == nil:
			why = err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", why, ctx.Err())
		}
	}
}

// isException reports whether an error was thrown by a script.
func isException(err error) bool {
	_, ok := errors.AsType[*chromedp.ExceptionError](err)
	return ok
}

// mustChange has a script change an element; it returns whether it could.
func (t *tab) mustChange(ctx context.Context, s step, script string, otherwise error) error {
	var changed bool
	err := t.onElement(ctx, s, script, &changed)
	if err == nil && !changed {
		err = otherwise
	}
	return err
}

// click clicks on the middle of an element, as a user does.
func (t *tab) click(ctx context.Context, s step) error {
	var at []float64
	if err := t.onElement(ctx, s, middle, &at); err != nil {
		return err
	}
	if len(at) != 2 {
		return errHidden
	}
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		p := input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1]}
		if kind != input.DispatchMouseEventTypeMouseMoved {
			p.Button, p.ClickCount = input.MouseButtonLeft, 1
		}
		if _, err := call(ctx, t.target, input.DispatchMouseEvent, p); err != nil {
			return err
		}
	}
	return nil
}

// press presses and releases a key.
func (t *tab) press(ctx context.Context, name string) error {
	for char, key := range kb.Keys {
		if key.Key != name {
			continue
		}
		for _, p := range kb.Encode(char) {
			if _, err := call(ctx, t.target, input.DispatchKeyEvent, *p); err != nil {
				return err
			}
		}
		return nil
	}
	return errKey
}

// scrollUntil scrolls until enough elements match, or the list and the page are as long as before.
func (t *tab) scrollUntil(ctx context.Context, s step) (*answer, error) {
	css, _ := json.Marshal(s.CSS)
	wholePage := false
	for lastHeight, lastFound := -1.0, -1; ; {
		var height float64
		var found int
		var enough, inner bool
		if err := t.script(ctx, fmt.Sprintf(scrollList, css, s.Count, wholePage), &[]any{&height, &found, &enough, &inner}); err != nil {
			return nil, err
		}
		same := height == lastHeight && found == lastFound
		if enough || same && (wholePage || !inner) {
			return nil, nil
		}
		wholePage = same // it may be the page that loads more, not the list in it
		lastHeight, lastFound = height, found
		if a, err := t.settle(ctx); a != nil || err != nil {
			return a, err
		}
	}
}

// evaluate keeps the value of an expression in the page. One that goes on at its deadline is stopped.
func (t *tab) evaluate(ctx context.Context, s step) error {
	got, err := cdp.Call(ctx, t.target, runtime.Evaluate, runtime.EvaluateParams{
		Expression: s.Text, ReturnByValue: new(true), AwaitPromise: new(true), UserGesture: new(true),
	})
	switch {
	case err != nil:
		if ctx.Err() != nil {
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), openGrace)
			defer cancel()
			cdp.Call(stop, t.target, runtime.TerminateExecution, cdp.Empty{})
		}
		return err
	case got.ExceptionDetails != nil:
		return &chromedp.ExceptionError{ExceptionDetails: got.ExceptionDetails}
	}
	value := []byte(got.Result.Value)
	if len(value) == 0 { // undefined
		value = []byte("null")
	}
	t.results[s.Name] = result{value, false}
	return nil
}

// picture keeps a screenshot of an element, or of the whole page.
func (t *tab) picture(ctx context.Context, s step) error {
	area := make([]float64, 4)
	if s.CSS == "" {
		size, err := call(ctx, t.target, page.GetLayoutMetrics, cdp.Empty{})
		if err != nil {
			return err
		}
		area = []float64{0, 0, size.CSSContentSize.Width, size.CSSContentSize.Height}
	} else if err := t.onElement(ctx, s, rectangle, &area); err != nil {
		return err
	}
	if len(area) != 4 || area[2] <= 0 || area[3] <= 0 {
		return errHidden
	}
	got, err := cdp.Call(ctx, t.target, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Clip:                  &page.Viewport{X: area[0], Y: area[1], Width: area[2], Height: area[3], Scale: 1},
		CaptureBeyondViewport: new(true),
	})
	t.results[s.Name] = result{got.Data, true}
	return err
}

// settle waits until the document that the tab has now has loaded, and no request has been under way for idleTime, or until the
// page has had Options.Settle for it: from the end of the document on, and again once it has loaded. A page that is likely to send a
// form has all of that time.
func (t *tab) settle(work context.Context) (*answer, error) {
	quiet, late := time.NewTimer(idleTime), time.NewTimer(t.browser.options.Settle)
	quiet.Stop()
	late.Stop()
	before := -1
	var last progress
	for {
		if err := t.refusal(); err != nil {
			return nil, err
		}
		p := t.progress()
		switch settling := p.document == last.document && p.parsed == last.parsed && p.loaded == last.loaded; {
		case p.leaving, !p.parsed: // what comes next is awaited
			late.Stop()
		case !settling || last.leaving:
			late.Reset(t.browser.options.Settle)
		}
		switch { // other events do not disturb it
		case !p.loaded || !p.quiet:
			quiet.Stop()
			before = -1
		case p.begun != before:
			quiet.Reset(idleTime)
			before = p.begun
		}
		last = p
		select {
		case a := <-t.answers:
			return a, nil
		case <-t.changed:
		case <-quiet.C:
			if !t.mayLeave(work) {
				return nil, nil
			}
		case <-late.C:
			return nil, nil
		case <-work.Done():
			return nil, context.Cause(work)
		}
	}
}
