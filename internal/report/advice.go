package report

import "strings"

// Wired says which parts a crawl has already, so that they are not advised.
type Wired struct {
	Retry   bool // failures that may go away are tried again
	Cookies bool // cookies are kept
}

// Advice returns what may help against failures like this one, "" if nothing is known.
func Advice(example Failure, wired Wired) string {
	for _, a := range advice {
		begin, begins := strings.CutSuffix(a.cause, "*")
		if example.Cause != a.cause && !(begins && strings.HasPrefix(example.Cause, begin)) {
			continue
		}
		if a.linked != "" && example.Referrer != "" {
			return a.linked
		}
		if a.wired != "" && (a.part == cookies && wired.Cookies || a.part == retry && wired.Retry) {
			return a.wired
		}
		return a.text
	}
	return ""
}

// The parts that advice may be to add.
const (
	retry = iota + 1
	cookies
)

// advice is searched from the top. A cause that ends in * stands for all that begin so.
var advice = []struct {
	cause, text string
	part        int    // what the text advises; 0: none of them
	wired       string // the text for a crawl that has it
	linked      string // the text if a page has led to the failure's
}{
	{cause: "status 400", text: "the site does not understand the request: check its URL, method and body, and whether this port wants https"},
	{cause: "status 401", text: "the site wants a login: see the guide on logging in"},
	{cause: "status 403", text: "the site refuses this client: crawl slower (Politeness.Delay), and tell it who you are (Politeness.UserAgent)"},
	{cause: "status 404", text: "a first request asks for a page that does not exist: check its URL",
		linked: "the site links to pages that do not exist: each line names as referrer the page with the link"},
	{cause: "status 407", text: "the proxy wants credentials: put them in the proxy's URL"},
	{cause: "status 410", text: "a first request asks for a page that does not exist any more: check its URL",
		linked: "the site links to pages that do not exist any more: each line names as referrer the page with the link"},
	{cause: "status 429", text: "the site asks for fewer requests: set Politeness.Delay or AutoThrottle, and try again with middleware.Standard()", part: retry,
		wired: "the site asks for fewer requests: set Politeness.Delay or AutoThrottle"},
	{cause: "status 5*", text: "the server fails: middleware.Standard() tries such pages again later", part: retry,
		wired: "the server fails, also when it is asked again: crawl slower (Politeness.PerSlot, Delay), or try another day"},
	{cause: "timeout*", text: "the server is too slow, or asked too much at once: crawl slower (Politeness.PerSlot, Delay), or wait longer (RequestWithTimeout)"},
	{cause: "no such host", text: "no server has this name: check how the host is written, and this machine's DNS"},
	{cause: "no answer from DNS", text: "this machine cannot ask for the addresses of hosts: check its network and DNS"},
	{cause: "host cannot be reached", text: "no connection to this host is possible: check the network and the firewall, or try again later"},
	{cause: "connection refused", text: "nothing answers at this host and port: check both, or try again later"},
	{cause: "connection broken", text: "the server ends connections before it has answered: middleware.Standard() tries such pages again later", part: retry,
		wired: "the server ends connections before it has answered, also when it is asked again: crawl slower (Politeness.PerSlot, Delay)"},
	{cause: "certificate", text: "the server's certificate is not trusted: give its authority to EngineWithTLSConfig (RootCAs)"},
	{cause: "tls: first record does not look like a TLS handshake", text: "the server does not speak TLS at this port: write http:// or another port"},
	{cause: "private address", text: "the host is in a private network: allow its addresses with Politeness.AllowPrivate"},
	{cause: "proxy", text: "the proxy does not answer: check its URL, or take another one"},
	{cause: "body too large", text: "raise Limits.Body, or have large bodies go to a file with RequestWithSpool"},
	{cause: "page over Limits.Nodes", text: "raise Limits.Nodes if the page is what you want; a page of that many nodes or links is often a trap"},
	{cause: "page over Limits.Attributes", text: "raise Limits.Attributes if the page is what you want; a page of that many attributes is often a trap"},
	{cause: "page too large", text: "leave the page out; a real page does not reach this bound"},
	{cause: "results too large", text: "select the elements that directly hold what you want: elements of the page repeat the same text, or its URLs are very long"},
	{cause: "query too costly", text: "select the elements that directly hold what you want, or begin at a part of the page: the query looks at its nodes again and again"},
	{cause: "decoding the JSON*", text: "the body is not the JSON that the parser expects: look at it (Response.Text), a site may answer with a page in HTML"},
	{cause: "too slow", text: "the server sends too slowly: lower Limits.MinRate, or try again later"},
	{cause: "header too large", text: "raise Limits.Header and Limits.HeaderFields"},
	{cause: "panic*", text: "fix the code that the first line of the stack names"},
	{cause: "redirect loop", text: "the site redirects the crawler in a circle, often because it misses a cookie: middleware.Standard() keeps cookies", part: cookies,
		wired: "the site redirects the crawler in a circle: open the page in a browser, and compare the headers and cookies that it sends"},
	{cause: "too many redirects", text: "raise RequestWithMaxRedirects if the chain ends at all"},
}
