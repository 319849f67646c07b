package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/tegenaria/tegenaria"
)

// condition says when a page is ready. One of its fields is set.
type condition struct {
	CSS string `json:"css,omitempty"`
	JS  string `json:"js,omitempty"`
}

// ReadyWhen has a page be ready as soon as an element matches: it is awaited neither until it has loaded nor until its requests have
// ended. If no element matches within Options.Settle after the document was read, the request fails with a [*NotReadyError].
//
// The selector is part of the request's variant, as the actions of [Do] are, and replaces what an earlier ReadyWhen or
// [ReadyWhenTrue] said. After actions the page is awaited as it is without ReadyWhen.
func ReadyWhen(css string) tegenaria.RequestOption { return readyBy(condition{CSS: css}) }

// ReadyWhenTrue is [ReadyWhen] for an expression of JavaScript, which is evaluated in the page again and again until its value is
// true, or something that JavaScript takes for true. An exception counts as false.
func ReadyWhenTrue(js string) tegenaria.RequestOption { return readyBy(condition{JS: js}) }

func readyBy(c condition) tegenaria.RequestOption { return with(func(p *plan) { p.Ready = &c }) }

var (
	errFalse  = errors.New("the expression is false")
	errSilent = errors.New("the page does not answer")
)

// becomeReady waits until the page is ready. The answer is nil unless another one has come than a page.
func (t *tab) becomeReady(work context.Context) (*answer, error) {
	c := t.asked.plan.Ready
	if c == nil {
		return t.settle(work)
	}
	asking, stop := context.WithCancel(work)
	defer stop()
	met := make(chan error, 1)
	t.watching.Go(func() { met <- t.awaitCondition(asking, c) })
	var late <-chan time.Time
	for {
		if err := t.refusal(); err != nil {
			return nil, err
		}
		if t.progress().parsed && late == nil {
			timer := time.NewTimer(t.browser.options.Settle)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case a := <-t.answers:
			return a, nil
		case err := <-met:
			if err != nil && work.Err() == nil {
				err = &NotReadyError{URL: t.asked.url, Condition: c.CSS + c.JS, Err: err}
			}
			return nil, err
		case <-t.changed:
		case <-late:
			stop() // then met has an answer
		case <-work.Done():
			return nil, context.Cause(work)
		}
	}
}

// awaitCondition returns nil as soon as the condition holds. At the end of ctx, and for a selector that is none, it returns why it does
// not hold.
func (t *tab) awaitCondition(ctx context.Context, c *condition) error {
	pause := time.NewTicker(pollPause)
	defer pause.Stop()
	for why := errSilent; ; {
		err := t.check(ctx, c)
		switch {
		case err == nil:
			return nil
		case isException(err) && c.CSS != "":
			return err
		case ctx.Err() == nil:
			why = err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return why
		}
	}
}

// check returns why a condition does not hold; nil if it does. Selectors are looked for where the page's scripts cannot interfere;
// expressions are evaluated among them, since they read what the scripts have made.
func (t *tab) check(ctx context.Context, c *condition) error {
	if c.CSS != "" {
		css, _ := json.Marshal(c.CSS)
		var found bool
		err := t.script(ctx, fmt.Sprintf(`document.querySelector(%s) !== null`, css), &found)
		if err == nil && !found {
			err = errAbsent
		}
		return err
	}
	got, err := call(ctx, t.target, runtime.Evaluate, runtime.EvaluateParams{Expression: "!!(" + c.JS + "\n)", ReturnByValue: new(true)})
	switch {
	case err != nil:
		return err
	case got.ExceptionDetails != nil:
		return &chromedp.ExceptionError{ExceptionDetails: got.ExceptionDetails}
	case string(got.Result.Value) != "true":
		return errFalse
	}
	return nil
}
