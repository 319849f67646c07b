package browser

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Action is one thing that is done with a page, after it has loaded: see [Do]. Selectors are CSS. An action that has one waits until
// the page has an element that matches, and takes the first one.
type Action struct{ step step }

// step is an action as it is stored.
type step struct {
	Do     string        `json:"do"` // the name of the func that makes it
	CSS    string        `json:"css,omitempty"`
	Text   string        `json:"text,omitempty"` // what is typed or chosen, the key, or the script
	Name   string        `json:"name,omitempty"` // of the result
	Count  int           `json:"count,omitempty"`
	For    time.Duration `json:"for,omitempty"`
	Within time.Duration `json:"within,omitempty"` // 0: actionTime
}

// actionTime is the deadline of an action that has no other.
const actionTime = 10 * time.Second

// Within gives the action another deadline than 10 seconds. The request's timeout bounds all actions together.
func (a Action) Within(d time.Duration) Action {
	a.step.Within = d
	return a
}

// WaitFor waits until an element matches.
func WaitFor(css string) Action { return Action{step{Do: "WaitFor", CSS: css}} }

// Click scrolls an element into view and clicks on its middle with the left button of the mouse. No window is opened: its document comes
// into the tab.
func Click(css string) Action { return Action{step{Do: "Click", CSS: css}} }

// Fill replaces the text of an input, a textarea, or an element that can be edited.
func Fill(css, text string) Action { return Action{step{Do: "Fill", CSS: css, Text: text}} }

// Select chooses the option of a select element that has a value, or else that text.
func Select(css, value string) Action { return Action{step{Do: "Select", CSS: css, Text: value}} }

// Press presses a key: a character, or a name such as Enter, Tab, Escape, ArrowDown or PageDown. The element that has the focus gets
// it: that of the last Click or Fill.
func Press(key string) Action { return Action{step{Do: "Press", Text: key}} }

// Scroll scrolls to the end of the page.
func Scroll() Action { return Action{step{Do: "Scroll"}} }

// ScrollUntil scrolls to the end of the page again and again, until n elements match, or the page grows no more. If n is 0,
// only the second one ends it. If the last element that matches is in a part of the page that scrolls, this part is scrolled too.
func ScrollUntil(css string, n int) Action {
	return Action{step{Do: "ScrollUntil", CSS: css, Count: n}}
}

// Wait does nothing for a time. What can be waited for by [WaitFor] is better waited for so.
func Wait(d time.Duration) Action { return Action{step{Do: "Wait", For: d}} }

// Evaluate runs an expression of JavaScript in the page, awaits it if it is a promise, and keeps its value, as JSON, under a name for
// [Result].
func Evaluate(js, name string) Action { return Action{step{Do: "Evaluate", Text: js, Name: name}} }

// Screenshot keeps a picture, as PNG, under a name for [Result]: of an element, or of the whole page if css is empty. Pages have no
// images unless Options.Block says otherwise.
func Screenshot(name, css string) Action { return Action{step{Do: "Screenshot", CSS: css, Name: name}} }

// PDF keeps the page as it would be printed under a name for [Result].
func PDF(name string) Action { return Action{step{Do: "PDF", Name: name}} }

// Do has a page be acted on, in this order, after it is ready; the response is the page as it is then. After a Click, Press, Select
// and Scroll the page is awaited again. The first action that fails ends the request with an [*ActionError].
//
// The actions are part of the request's variant: they are stored by durable caches, and requests with different actions are no
// duplicates. They replace those of an earlier Do.
func Do(actions ...Action) tegenaria.RequestOption {
	steps := make([]step, len(actions))
	for i, a := range actions {
		steps[i] = a.step
	}
	return with(func(p *plan) { p.Do = steps })
}

// results are what actions have kept, by their names.
type results map[string]result

type result struct {
	data []byte
	raw  bool // else JSON
}

// size returns how many bytes the results take.
func (r results) size() (sum int64) {
	for _, one := range r {
		sum += int64(len(one.data))
	}
	return sum
}

// resultsKey is that of the results in a Response.
type resultsKey struct{}

// Result returns what an action has kept under a name: the value of [Evaluate], read from JSON, or the []byte of [Screenshot] and
// [PDF]. The error is a [*ResultError].
func Result[T any](resp *tegenaria.Response, name string) (T, error) {
	var value T
	all, _ := resp.Value(resultsKey{}).(results)
	got, ok := all[name]
	switch bytes, isBytes := any(&value).(*[]byte); {
	case !ok:
		return value, &ResultError{URL: resp.URL, Name: name, Err: errNoResult}
	case got.raw && isBytes:
		*bytes = got.data
		return value, nil
	case got.raw:
		return value, &ResultError{URL: resp.URL, Name: name, Err: errRaw}
	}
	if err := json.Unmarshal(got.data, &value); err != nil {
		return value, &ResultError{URL: resp.URL, Name: name, Err: err}
	}
	return value, nil
}

var (
	errNoResult = errors.New("no action of the request has this name")
	errRaw      = errors.New("it is a file: ask for []byte")
)
