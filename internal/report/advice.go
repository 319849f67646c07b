package report

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/internal/remedy"
)

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
		if a.linked.format != "" && example.Referrer != "" {
			return a.linked.String()
		}
		if a.wired.format != "" && (a.part == cookies && wired.Cookies || a.part == retry && wired.Retry) {
			return a.wired.String()
		}
		return a.text.String()
	}
	return ""
}

// sentence is a text that names settings, which are called as the reader calls them when it is printed.
type sentence struct {
	format   string
	settings []any
}

func said(format string, settings ...any) sentence { return sentence{format, settings} }

func (s sentence) String() string { return fmt.Sprintf(s.format, s.settings...) }

// The parts that advice may be to add.
const (
	retry = iota + 1
	cookies
)

// advice is searched from the top. A cause that ends in * stands for all that begin so.
var advice = []struct {
	cause  string
	text   sentence
	part   int      // what the text advises; 0: none of them
	wired  sentence // the text for a crawl that has it
	linked sentence // the text if a page has led to the failure's
}{
	{cause: "status 400", text: said("the site does not understand the request: check its URL, method and body, and " +
		"whether this port wants https")},
	{cause: "status 401", text: said("the site wants a login: see the guide on logging in")},
	{cause: "status 403", text: said("the site refuses this client: crawl slower (%s), and tell it who you are (%s)", remedy.Delay, remedy.UserAgent)},
	{cause: "status 404", text: said("a first request asks for a page that does not exist: check its URL"),
		linked: said("the site links to pages that do not exist: each line names as referrer the page with the link")},
	{cause: "status 407", text: said("the proxy wants credentials: put them in the proxy's URL")},
	{cause: "status 410", text: said("a first request asks for a page that does not exist any more: check its URL"),
		linked: said("the site links to pages that do not exist any more: each line names as referrer the page with the link")},
	{cause: "status 429", text: said("the site asks for fewer requests: set %s or %s, and try again with "+
		"middleware.Standard()", remedy.Delay, remedy.AutoThrottle), part: retry,
		wired: said("the site asks for fewer requests: set %s or %s", remedy.Delay, remedy.AutoThrottle)},
	{cause: "status 5*", text: said("the server fails: middleware.Standard() tries such pages again later"), part: retry,
		wired: said("the server fails, also when it is asked again: crawl slower (%s, %s), or try another day", remedy.PerSlot, remedy.Delay)},
	{cause: "timeout*", text: said("the server is too slow, or asked too much at once: crawl slower (%s, %s), or wait "+
		"longer (%s)", remedy.PerSlot, remedy.Delay, remedy.Timeout)},
	{cause: "no such host", text: said("no server has this name: check how the host is written, and this machine's DNS")},
	{cause: "no answer from DNS", text: said("this machine cannot ask for the addresses of hosts: check its network and DNS")},
	{cause: "host cannot be reached", text: said("no connection to this host is possible: check the network and the " +
		"firewall, or try again later")},
	{cause: "connection refused", text: said("nothing answers at this host and port: check both, or try again later")},
	{cause: "connection broken", text: said("the server ends connections before it has answered: middleware.Standard() " +
		"tries such pages again later"), part: retry,
		wired: said("the server ends connections before it has answered, also when it is asked again: crawl slower (%s, %s)", remedy.PerSlot, remedy.Delay)},
	{cause: "certificate", text: said("the server's certificate is not trusted: give its authority to EngineWithTLSConfig (RootCAs)")},
	{cause: "tls: first record does not look like a TLS handshake", text: said("the server does not speak TLS at this " +
		"port: write http:// or another port")},
	{cause: "private address", text: said("the host is in a private network: allow its addresses with %s", remedy.AllowPrivate)},
	{cause: "proxy", text: said("the proxy does not answer: check its URL, or take another one")},
	{cause: "body too large", text: said("raise %s, or have large bodies go to a file with RequestWithSpool", remedy.Body)},
	{cause: OverNodes, text: said("raise %s if the page is what you want; a page of that many nodes or links is often a trap", remedy.Nodes)},
	{cause: OverAttributes, text: said("raise %s if the page is what you want; a page of that many attributes is often a trap", remedy.Attributes)},
	{cause: "page too large", text: said("leave the page out; a real page does not reach this bound")},
	{cause: "results too large", text: said("select the elements that directly hold what you want: elements of the page " +
		"repeat the same text, or its URLs are very long")},
	{cause: "query too costly", text: said("select the elements that directly hold what you want, or begin at a part of " +
		"the page: the query looks at its nodes again and again")},
	{cause: "decoding the JSON*", text: said("the body is not the JSON that the parser expects: look at it " +
		"(Response.Text), a site may answer with a page in HTML")},
	{cause: "too slow", text: said("the server sends too slowly: lower %s, or try again later", remedy.MinRate)},
	{cause: "header too large", text: said("raise %s and %s", remedy.Header, remedy.HeaderFields)},
	{cause: "panic*", text: said("fix the code that the first line of the stack names")},
	{cause: "redirect loop", text: said("the site redirects the crawler in a circle, often because it misses a cookie: " +
		"middleware.Standard() keeps cookies"), part: cookies,
		wired: said("the site redirects the crawler in a circle: open the page in a browser, and compare the headers and cookies that it sends")},
	{cause: "too many redirects", text: said("raise RequestWithMaxRedirects if the chain ends at all")},
}
