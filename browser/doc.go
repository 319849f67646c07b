// Package browser downloads pages with Chromium, for sites whose pages are made by scripts.
//
//	chromium, err := browser.Open(browser.Options{})
//	if err != nil { … } // it says what to install
//	engine.RegisterDownloader("browser", chromium)
//	…
//	out.Follow("/list", tegenaria.RequestWithDownloader("browser"))
//
// A request by that name is rendered; everything else of the engine holds for it as for others: delay, robots.txt, scope, redirects,
// limits, retries. The way of a download:
//
//  1. [Browser.Download] takes one of the places for tabs, and starts Chromium if it does not run (chromium.go).
//  2. It opens a tab in a browser context of its own: cookies, cache and storage are shared with no other download (life.go).
//  3. The tab requests the document (tab.go). Whatever it asks of the network goes through a proxy in our process, which dials by the
//     engine's [tegenaria.Network] (proxy.go).
//     What the page asks for beside it, in frames and workers too, is judged first: its kind, robots.txt, the pause of its host
//     (subrequest.go).
//  4. A redirect, a response without a body, and a document that is not HTML are delivered as they came. Other pages are awaited:
//     the load event, then half a second without requests, or what the request says (ready.go).
//  5. The actions of [Do] are done with the page (acting.go). A document to which they lead is judged and stays in the tab (move.go).
//     So does the document of a window, which is not opened (window.go).
//  6. The tree of the page is serialised and becomes the body of the response (page.go), and the cookies that it has left become fields
//     of the header (cookies.go). What [Capture] has collected is added (capture.go). The tab and its context are closed
//     (life.go).
//
// Chromium runs in its sandbox, in a process group of its own, with a temporary profile. It ends with the run, and with our process. One
// that runs elsewhere is used through its debugging port, without the proxy (connect.go).
package browser
