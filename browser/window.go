package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

// maxWindows is how many windows a page may ask for; further ones are ignored.
const maxWindows = 10

// window is one that the page asks for. It is not opened: its document comes into the tab.
type window struct {
	url     string
	byUser  bool              // an action asks for it
	request network.RequestID // that stands for the window until its document is asked for
}

// follow has the tab go where a window would have gone, and reports whether it does: it sends the form that is to be sent into a window,
// or else goes to the URL if the user has asked for the window. The form is the one with the window's URL, and the button that sends
// it has the focus.
const follow = `((url, byUser) => {
	const base = document.querySelector("base[target]")?.getAttribute("target")
	for (const form of document.querySelectorAll("form")) {
		const focus = document.activeElement
		const button = focus?.form === form && /^(submit|image)$/.test(focus.type) ? focus : null
		const field = (name, otherwise) => button?.getAttribute("form" + name) ?? form.getAttribute(name) ?? otherwise ?? ""
		if (/^(_self|_top|_parent|)$/i.test(field("target", base))) continue
		const action = new URL(field("action") || document.URL, document.baseURI)
		action.hash = ""
		const asked = new URL(url)
		asked.hash = ""
		if (field("method").toLowerCase() === "post") {
			if (action.href !== asked.href) continue
			if (button?.name) form.append(Object.assign(document.createElement("input"), {type: "hidden", name: button.name, value: button.value}))
			for (const [name, value] of [["target", "_self"], ["action", action.href], ["method", "post"], ["enctype", field("enctype")]])
				form.setAttribute(name, value)
			HTMLFormElement.prototype.submit.call(form)
			return
		}
		action.search = asked.search = ""
		byUser ||= action.href === asked.href
	}
	if (byUser) location.href = url
})(%s, %t)`

// mayLeave is true of a page on which nothing is to be read or typed, and which can send a form by itself: those of sign-ons and "please
// wait" do so.
const mayLeave = `(() => {
	const forms = [...document.querySelectorAll("form")].filter(form => /^post$/i.test(form.getAttribute("method") ?? "") &&
		[...form.elements].every(e => /^(hidden|submit|image|button)$/.test(e.type)))
	if (!forms.length || !document.scripts.length && !document.body?.hasAttribute("onload")) return false
	return (document.body.innerText.match(/[\p{L}\p{N}]/gu)?.length ?? 0) < %d
})()`

var errWindow = errors.New("no windows are opened, and this one has no document of a site that could be loaded in place of the page")

// noteWindow notes that the page asks for a window, and reports whether it is followed. Called with mu held.
func (t *tab) noteWindow(event *page.EventWindowOpen) bool {
	if t.windows == maxWindows {
		return false
	}
	t.windows++
	w := window{event.URL, event.UserGesture, network.RequestID(fmt.Sprint("window ", t.windows))}
	t.requests[w.request] = sender{t.whole, t.loaders[t.whole]}
	t.begun++
	t.opening <- w // which has room for all
	return true
}

// followWindows has the tab go where the page wants windows to go. Windows that nobody has asked for by an action are ignored, as
// browsers do, unless a form is sent into them.
func (t *tab) followWindows(work context.Context) {
	for {
		select {
		case w := <-t.opening:
			t.followWindow(work, w)
		case <-work.Done():
			return
		}
	}
}

func (t *tab) followWindow(work context.Context, w window) {
	scheme, _, _ := strings.Cut(strings.ToLower(w.url), ":")
	var refused error
	switch scheme {
	case "http", "https":
		url, _ := json.Marshal(w.url)
		// An error is that of a page that has left meanwhile, or that does not answer.
		_ = t.script(work, fmt.Sprintf(follow, url, w.byUser), new(any))
	case "", "about", "blob", "data", "javascript":
		if w.byUser {
			refused = &NavigationRefusedError{w.url, errWindow}
		}
	} // others, such as mailto, have no document
	t.mu.Lock()
	delete(t.requests, w.request)
	t.begun++
	if refused != nil {
		t.refused = refused
	}
	t.mu.Unlock()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// mayLeave reports whether the page is likely to send a form by itself, and so to be followed by another one.
func (t *tab) mayLeave(work context.Context) (likely bool) {
	if !t.asked.follows {
		return false
	}
	// A page that does not answer is not likely to.
	_ = t.script(work, fmt.Sprintf(mayLeave, littleText), &likely)
	return likely
}
