package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http/httptrace"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/hostile"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/spidertest"
)

// hostileErrors are the typed errors of cases that have one.
var hostileErrors = map[string]func(error) bool{
	"bomb-gzip": isBomb, "bomb-x-gzip": isBomb, "bomb-deflate": isBomb, "bomb-deflate-raw": isBomb, "bomb-br": isBomb, "bomb-zstd": isBomb,
	"bomb-gzip-gzip": isBomb, "bomb-gzip-gzip-gzip": isBomb, "bomb-deflate-gzip": isBomb, "bomb-br-gzip": isBomb, "bomb-zstd-gzip": isBomb, "bomb-two-lines": isBomb,
	"endless":                  enginetest.IsA[*tegenaria.BodyTooLargeError],
	"endless-chunked":          enginetest.IsA[*tegenaria.BodyTooLargeError],
	"truncated":                enginetest.IsA[*tegenaria.TruncatedBodyError],
	"truncated-chunked":        enginetest.IsA[*tegenaria.TruncatedBodyError],
	"truncated-in-chunk":       enginetest.IsA[*tegenaria.TruncatedBodyError],
	"not-gzip":                 enginetest.IsA[*tegenaria.TruncatedBodyError],
	"reset-in-body":            enginetest.IsA[*tegenaria.TruncatedBodyError],
	"length-too-large":         enginetest.IsA[*tegenaria.TruncatedBodyError],
	"length-huge":              enginetest.IsA[*tegenaria.BodyTooLargeError],
	"length-overflow":          enginetest.IsA[*tegenaria.FramingError],
	"length-negative":          enginetest.IsA[*tegenaria.FramingError],
	"length-with-sign":         enginetest.IsA[*tegenaria.FramingError],
	"length-with-unit":         enginetest.IsA[*tegenaria.FramingError],
	"length-hexadecimal":       enginetest.IsA[*tegenaria.FramingError],
	"length-fraction":          enginetest.IsA[*tegenaria.FramingError],
	"two-lengths":              enginetest.IsA[*tegenaria.FramingError],
	"two-lengths-list":         enginetest.IsA[*tegenaria.FramingError],
	"chunked-and-length":       enginetest.IsA[*tegenaria.FramingError],
	"length-and-chunked":       enginetest.IsA[*tegenaria.FramingError],
	"chunked-twice":            enginetest.IsA[*tegenaria.FramingError],
	"chunked-list-twice":       enginetest.IsA[*tegenaria.FramingError],
	"unknown-transfer-coding":  enginetest.IsA[*tegenaria.FramingError],
	"chunked-not-last":         enginetest.IsA[*tegenaria.FramingError],
	"chunk-size-letters":       enginetest.IsA[*tegenaria.FramingError],
	"chunk-size-negative":      enginetest.IsA[*tegenaria.FramingError],
	"chunk-size-prefixed":      enginetest.IsA[*tegenaria.FramingError],
	"chunk-size-overflow":      enginetest.IsA[*tegenaria.FramingError],
	"chunk-size-missing":       enginetest.IsA[*tegenaria.FramingError],
	"chunk-size-too-small":     enginetest.IsA[*tegenaria.FramingError],
	"chunk-without-crlf":       enginetest.IsA[*tegenaria.FramingError],
	"switching-protocols":      enginetest.IsA[*tegenaria.UnexpectedStatusError],
	"redirect-self":            enginetest.IsA[*tegenaria.RedirectLoopError],
	"redirect-two":             enginetest.IsA[*tegenaria.RedirectLoopError],
	"redirect-endless":         enginetest.IsA[*tegenaria.TooManyRedirectsError],
	"redirect-metadata":        enginetest.IsA[*tegenaria.PrivateAddressError],
	"redirect-metadata-ipv6":   enginetest.IsA[*tegenaria.PrivateAddressError],
	"redirect-metadata-number": enginetest.IsA[*tegenaria.PrivateAddressError],
	"redirect-private":         enginetest.IsA[*tegenaria.PrivateAddressError],
	"redirect-private-ipv6":    enginetest.IsA[*tegenaria.PrivateAddressError],
	"redirect-loopback":        enginetest.IsA[*tegenaria.PrivateAddressError],
	"redirect-localhost":       enginetest.IsA[*tegenaria.PrivateAddressError],
	"redirect-zero":            enginetest.IsA[*tegenaria.PrivateAddressError],
}

const (
	stallTimeout  = 700 * time.Millisecond // of cases that only a timeout ends
	hostileMemory = 64 << 20               // most that a case may allocate in all, client and server together
	hostileAfter  = 3                      // good requests after each hostile one
)

// ending is how a request of a hostile crawl ended.
type ending struct {
	resp    *tegenaria.Response
	err     *tegenaria.HandleError
	outcome tegenaria.Outcome
	reason  string
}

// class names the ending as the test kit does.
func (e ending) class() hostile.Outcome {
	switch {
	case e.outcome == tegenaria.Fetched && e.resp != nil:
		return hostile.OK
	case e.err != nil && e.err.Response != nil && e.err.Stage == tegenaria.StageDownload:
		return hostile.Partial
	}
	return hostile.Error
}

func (e ending) String() string {
	if e.err != nil {
		return fmt.Sprintf("%s %s: %v", e.outcome, e.reason, e.err)
	}
	return fmt.Sprintf("%s %s", e.outcome, e.reason)
}

// witness is a spider that sends requests and keeps how each ended, by what its Meta calls it.
type witness struct {
	*tegenaria.BaseSpider
	requests []*tegenaria.Request
	send     func(req chan<- *tegenaria.Context) // nil: all requests at once

	mu   sync.Mutex // guards ends
	ends map[string]ending
}

func newWitness(requests ...*tegenaria.Request) *witness {
	for _, r := range requests {
		tegenaria.RequestWithRequestMeta(map[string]any{"of": r.Url})(r)
	}
	return &witness{BaseSpider: &tegenaria.BaseSpider{Name: "test"}, requests: requests, ends: make(map[string]ending)}
}

// note changes what is known of a request's end.
func (w *witness) note(r *tegenaria.Request, change func(e *ending)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of, _ := r.Meta["of"].(string)
	e := w.ends[of]
	change(&e)
	w.ends[of] = e
}

func (w *witness) StartRequest(req chan<- *tegenaria.Context) {
	if w.send != nil {
		w.send(req)
		return
	}
	for _, r := range w.requests {
		req <- tegenaria.NewContext(r)
	}
}

func (w *witness) Parser(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
	w.note(resp.Request, func(e *ending) { e.resp = resp.Response() })
	return nil
}

func (w *witness) ErrorHandler(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) {
	w.note(err.Request, func(e *ending) { e.err = err })
}

// crawl runs the requests and returns how they ended. opts may change the engine.
func (w *witness) crawl(t testing.TB, opts ...tegenaria.EngineOption) map[string]ending {
	t.Helper()
	all := []tegenaria.EngineOption{
		tegenaria.EngineWithConcurrency(1), // one request after the other, in the order of their priorities
		tegenaria.EngineWithLimits(tegenaria.Limits{Body: hostile.Limit}),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
			if outcome != tegenaria.Redirected {
				w.note(r, func(e *ending) { e.outcome, e.reason = outcome, reason })
			}
		}}),
	}
	enginetest.MustRun(t, enginetest.NewEngine(nil, w, append(all, opts...)...))
	return w.ends
}

// ask asks for a URL; the smaller its rank, the earlier.
func ask(url, method string, timeout time.Duration, rank int) *tegenaria.Request {
	return tegenaria.NewRequest(url, method, nil, tegenaria.RequestWithTimeout(timeout), tegenaria.RequestWithPriority(-10*rank))
}

// goodAfter are good requests that come after a hostile one.
func goodAfter(server *hostile.Server, name string) (requests []*tegenaria.Request) {
	for i := range hostileAfter {
		requests = append(requests, ask(fmt.Sprintf("%s/good/%s?n=%d", server.Plain(), name, i), "GET", patience, i+1))
	}
	return requests
}

// checkGood checks that a good request got its own answer.
func checkGood(url string, e ending) error {
	_, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	want := hostile.Page("/" + path)
	switch {
	case e.resp == nil:
		return fmt.Errorf("%s: %v", url, e)
	case e.resp.Status != 200 || e.resp.String() != want:
		return fmt.Errorf("%s: status %d, body %.100q", url, e.resp.Status, e.resp)
	}
	return nil
}

// checkCase checks how a hostile request ended.
func checkCase(c hostile.Case, target string, e ending) error {
	class := e.class()
	if class&c.May == 0 {
		return fmt.Errorf("ended as %s, want %s: %v", class, c.May, e)
	}
	var errs []error
	if is := hostileErrors[c.Name]; is != nil && (e.err == nil || !is(e.err)) {
		errs = append(errs, fmt.Errorf("the error is %v", e))
	}
	if e.err != nil && len(e.err.Error()) > 4096 {
		errs = append(errs, fmt.Errorf("the error is %d bytes long: %.100q", len(e.err.Error()), e.err.Error()))
	}
	if c.Stalls && (e.err == nil || !enginetest.IsA[*tegenaria.TimeoutError](e.err)) {
		errs = append(errs, fmt.Errorf("no timeout: %v", e))
	}
	if !c.Stalls && e.err != nil && enginetest.IsA[*tegenaria.TimeoutError](e.err) {
		errs = append(errs, fmt.Errorf("only the timeout has ended it: %v", e))
	}
	resp := e.resp
	if class == hostile.Partial {
		resp = e.err.Response
	}
	if resp == nil {
		return errors.Join(errs...)
	}
	page := hostile.Page(target)
	if c.Empty {
		page = ""
	}
	body := resp.String()
	if damaged := resp.Transfer().Err != nil; class == hostile.OK && damaged != c.Damaged {
		errs = append(errs, fmt.Errorf("Transfer says %v", resp.Transfer().Err))
	}
	if class == hostile.OK && !c.Damaged && body != page || resp.Status != c.Status {
		errs = append(errs, fmt.Errorf("status %d, body %.100q; want %d, %q", resp.Status, body, c.Status, page))
	}
	if len(body) > hostile.Limit || len(body) <= len(page) && !strings.HasPrefix(page, body) {
		errs = append(errs, fmt.Errorf("a body of %d bytes: %.100q", len(body), body))
	}
	for name, values := range resp.Header {
		if strings.EqualFold(name, "X-Smuggled") || strings.ContainsFunc(name+strings.Join(values, ""), isControl) {
			errs = append(errs, fmt.Errorf("the response has the header %q: %q", name, values))
		}
	}
	return errors.Join(errs...)
}

// isControl tells what no header may have (RFC 9110 §5.5); a tab may be there.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// patience is the timeout of requests that end by themselves: it ends a hang.
const patience = time.Minute

// whenUnasked waits until the hostile request has ended and the server has sent more bytes than the answer to it can have.
func (w *witness) whenUnasked(t *testing.T, url string, sent func() int64) {
	late, tick := time.NewTimer(patience), time.NewTicker(time.Millisecond)
	defer late.Stop()
	defer tick.Stop()
	for {
		w.mu.Lock()
		ended := w.ends[url].resp != nil
		w.mu.Unlock()
		if ended && sent() > int64(2*len(hostile.Page(url))) {
			return
		}
		select {
		case <-tick.C:
		case <-late.C:
			t.Errorf("the server has sent %d bytes", sent())
			return
		}
	}
}

// hostileCrawl asks for a case and then for good pages, and says what was wrong with the case and with what came
// after it.
func hostileCrawl(t *testing.T, server *hostile.Server, c hostile.Case, opts ...tegenaria.EngineOption) (wrong, later error) {
	timeout := patience
	if c.Stalls {
		timeout = stallTimeout
	}
	url := server.URL(c) + "?q=1"
	w := newWitness(append(goodAfter(server, c.Name), ask(url, c.Method, timeout, 0))...)
	sent := server.Sent(c)
	began := time.Now()
	if c.Name == "extra-response-late" { // it needs an idle connection
		w.send = func(req chan<- *tegenaria.Context) {
			req <- tegenaria.NewContext(w.requests[hostileAfter])
			w.whenUnasked(t, url, func() int64 { return server.Sent(c) - sent })
			for _, r := range w.requests[:hostileAfter] {
				req <- tegenaria.NewContext(r)
			}
		}
	}
	ends := w.crawl(t, opts...)
	if took := time.Since(began); deep.Checks() && took > c.Time && !israce.Enabled { // with the race detector a byte takes ten times as long
		later = fmt.Errorf("took %v", took)
	}
	if n := server.Sent(c) - sent; n > c.Bytes {
		later = errors.Join(later, fmt.Errorf("the client took %d bytes", n))
	}
	for _, r := range w.requests[:hostileAfter] {
		later = errors.Join(later, checkGood(r.Url, ends[r.Url]))
	}
	return checkCase(c, c.Path+"?q=1", ends[url]), later
}

// quietLog fails the test if net/http says something by itself, as it does about what servers send unasked: it knows
// no logger but the process's.
func quietLog(t *testing.T) {
	var said strings.Builder // log.Logger writes under its lock
	log.SetOutput(&said)
	t.Cleanup(func() {
		log.SetOutput(os.Stderr)
		if said.Len() > 0 {
			t.Errorf("to the process's log: %s", said.String())
		}
	})
}

// Whatever a server does costs one request: no time beyond its timeout, in a deep check no memory, no connection, no goroutine and
// not the answers of other requests.
func TestHostileServer(t *testing.T) {
	quietLog(t)
	server := hostile.NewServer(t)
	for _, c := range server.Cases() {
		if c.Stalls {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			ignore := goleak.IgnoreCurrent()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			wrong, later := hostileCrawl(t, server, c)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; deep.Checks() && took > hostileMemory {
				later = errors.Join(later, fmt.Errorf("%d MiB were allocated", took>>20))
			}
			if wrong = errors.Join(wrong, later); wrong != nil {
				t.Errorf("%s: %v", c.Sends, wrong)
			}
			enginetest.NoLeaks(t, ignore)
			if n := server.Open(); n > 0 {
				t.Errorf("%d connections are open", n)
			}
		})
	}
}

// The cases that only a timeout ends, at the same time: the clock decides how long they take.
func TestHostileStalls(t *testing.T) {
	server := hostile.NewServer(t)
	ignore := goleak.IgnoreCurrent()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.Run("all", func(t *testing.T) {
		for _, c := range server.Cases() {
			if !c.Stalls {
				continue
			}
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				wrong, later := hostileCrawl(t, server, c)
				if wrong = errors.Join(wrong, later); wrong != nil {
					t.Errorf("%s: %v", c.Sends, wrong)
				}
			})
		}
	})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; deep.Checks() && took > hostileMemory {
		t.Errorf("%d MiB were allocated", took>>20)
	}
	enginetest.NoLeaks(t, ignore)
	if n := server.Open(); n > 0 {
		t.Errorf("%d connections are open", n)
	}
}

// isBomb reports whether decoding stopped at one of its limits, whichever came first.
func isBomb(err error) bool {
	return enginetest.IsA[*tegenaria.BodyTooLargeError](err) || enginetest.IsA[*tegenaria.RatioError](err)
}

// slowPutBack is a context in which a connection that is put back is not looked at until a request that was sent
// meanwhile is on its way over it, or a moment has passed. idle is closed when it can be used.
func slowPutBack(ctx context.Context) (with context.Context, idle chan struct{}) {
	idle, written := make(chan struct{}), make(chan struct{})
	var once, again sync.Once
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		PutIdleConn: func(error) {
			once.Do(func() {
				close(idle)
				timer := time.NewTimer(100 * time.Millisecond)
				defer timer.Stop()
				select {
				case <-written:
				case <-timer.C:
				}
			})
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			select {
			case <-idle:
				again.Do(func() { close(written) })
			default: // the first request
			}
		},
	}), idle
}

// What is left on a kept connection is nobody's answer, however soon the next request comes.
func TestHostileKeptConnections(t *testing.T) {
	quietLog(t)
	server := hostile.NewServer(t)
	for _, c := range server.Cases() {
		// What comes when the next request has been sent already is taken for its answer: HTTP/1 has no other way.
		if c.May&hostile.OK == 0 || c.Name == "extra-response-late" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			ignore := goleak.IgnoreCurrent()
			ctx, idle := slowPutBack(t.Context())
			asked := ask(server.URL(c)+"?q=1", c.Method, patience, 0)
			w := newWitness(append([]*tegenaria.Request{asked}, goodAfter(server, c.Name)...)...)
			w.send = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(w.requests[0], tegenaria.WithContext(ctx))
				select {
				case <-idle:
				case <-time.NewTimer(100 * time.Millisecond).C: // the connection was not kept
				}
				for _, r := range w.requests[1:] {
					req <- tegenaria.NewContext(r, tegenaria.WithContext(ctx))
				}
			}
			ends := w.crawl(t, tegenaria.EngineWithConcurrency(2))
			wrong := checkCase(c, c.Path+"?q=1", ends[asked.Url])
			for _, r := range w.requests[1:] {
				wrong = errors.Join(wrong, checkGood(r.Url, ends[r.Url]))
			}
			if wrong != nil {
				t.Errorf("%s: %v", c.Sends, wrong)
			}
			enginetest.NoLeaks(t, ignore)
		})
	}
}

// A crawl that trusts the authority finds what is wrong with each certificate, and nothing wrong with the good one.
func TestHostileTLS(t *testing.T) {
	server := hostile.NewServer(t)
	trusting := tegenaria.EngineWithTLSConfig(&tls.Config{RootCAs: server.Roots()})
	expired := func(err error) bool {
		var invalid x509.CertificateInvalidError
		return errors.As(err, &invalid) && invalid.Reason == x509.Expired
	}
	want := map[string]func(error) bool{
		"tls-expired":       expired,
		"tls-not-yet-valid": expired,
		"tls-wrong-host":    enginetest.IsA[x509.HostnameError],
		"tls-self-signed":   enginetest.IsA[x509.UnknownAuthorityError],
		"tls-1.0":           func(err error) bool { return strings.Contains(err.Error(), "protocol version") },
		"tls-1.1":           func(err error) bool { return strings.Contains(err.Error(), "protocol version") },
		"tls-plain":         enginetest.IsA[tls.RecordHeaderError],
	}
	ignore := goleak.IgnoreCurrent()
	for _, c := range server.Cases() {
		is := want[c.Name]
		if is == nil {
			continue
		}
		delete(want, c.Name)
		t.Run(c.Name, func(t *testing.T) {
			ends := newWitness(ask(server.URL(c), c.Method, patience, 0)).crawl(t, trusting)
			if e := ends[server.URL(c)]; e.err == nil || !is(e.err) {
				t.Errorf("%v", e)
			}
			if server.Asked(c) > 0 {
				t.Error("the request was sent all the same")
			}
		})
	}
	if len(want) > 0 {
		t.Errorf("there are no cases for %v", want)
	}
	good := server.Secure() + "/good"
	if e := newWitness(ask(good, "GET", patience, 0)).crawl(t, trusting)[good]; e.resp == nil || e.resp.String() != hostile.Page("/good") {
		t.Errorf("the good certificate: %v", e)
	}
	enginetest.NoLeaks(t, ignore)
}

// Under TLS a response's framing, and what comes behind it, are looked at as well.
func TestHostileOverTLS(t *testing.T) {
	quietLog(t)
	server := hostile.NewServer(t)
	trusting := tegenaria.EngineWithTLSConfig(&tls.Config{RootCAs: server.Roots()})
	ignore, cases := goleak.IgnoreCurrent(), 0
	for _, c := range server.Cases() {
		if c.Stalls || c.Redirect || !strings.HasPrefix(server.URL(c), server.Plain()) || c.Name == "extra-response-late" {
			continue
		}
		cases++
		t.Run(c.Name, func(t *testing.T) {
			bad, good := server.Secure()+c.Path+"?q=1", server.Secure()+"/good/"+c.Name
			ends := newWitness(ask(bad, c.Method, patience, 0), ask(good, "GET", patience, 1)).crawl(t, trusting)
			wrong := checkCase(c, c.Path+"?q=1", ends[bad])
			if e := ends[good]; e.resp == nil || e.resp.String() != hostile.Page("/good/"+c.Name) {
				wrong = errors.Join(wrong, fmt.Errorf("the next request: %v", e))
			}
			if wrong != nil {
				t.Errorf("%s: %v", c.Sends, wrong)
			}
		})
	}
	if cases < 80 {
		t.Errorf("%d cases", cases)
	}
	enginetest.NoLeaks(t, ignore)
}

// A name that is harmless at one look-up and not at the next one leads nowhere: the address that is dialled is judged.
func TestHostileNames(t *testing.T) {
	server := hostile.NewServer(t)
	port := netip.MustParseAddrPort(strings.TrimPrefix(server.Plain(), "http://")).Port()
	good, bad := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("169.254.169.254")
	other := netip.MustParseAddr("127.0.0.2") // the server is not there, but on this machine
	for _, tt := range []struct {
		name    string
		answers [][]netip.Addr
		refused []bool // at each request
	}{
		{"changes", [][]netip.Addr{{good}, {bad}}, []bool{false, true, true}},
		{"changes back", [][]netip.Addr{{bad}, {good}, {other}}, []bool{true, false, true}},
		{"bad one first", [][]netip.Addr{{bad, good}}, []bool{false}},
		{"good one first", [][]netip.Addr{{good, bad}}, []bool{false}},
		{"all bad", [][]netip.Addr{{bad, other}}, []bool{true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resolver := spidertest.NewHostileResolver(t, tt.answers...)
			system := net.DefaultResolver
			net.DefaultResolver = resolver.Resolver()
			defer func() { net.DefaultResolver = system }()
			var requests []*tegenaria.Request
			for i := range tt.refused {
				r := ask(fmt.Sprintf("http://name.example:%d/good?n=%d", port, i), "GET", patience, i)
				tegenaria.RequestWithRequestHeader(map[string]string{"Connection": "close"})(r)
				requests = append(requests, r)
			}
			for i, refused := range tt.refused {
				// A crawl of its own: within one a name is looked up once a minute.
				ends := newWitness(requests[i]).crawl(t, tegenaria.EngineWithPoliteness(tegenaria.Politeness{
					IgnoreRobots: true, AllowPrivate: []netip.Prefix{netip.PrefixFrom(good, 32)}}))
				e := ends[requests[i].Url]
				if !refused {
					if err := checkGood(requests[i].Url, e); err != nil {
						t.Error(err)
					}
					continue
				}
				answer := tt.answers[min(i, len(tt.answers)-1)]
				var private *tegenaria.PrivateAddressError
				if e.err == nil || !errors.As(e.err, &private) || !slices.Contains(answer, private.Addr) {
					t.Errorf("request %d: %v, want one of %s refused", i, e, answer)
				}
			}
			if n := resolver.Lookups(); n != len(tt.refused) {
				t.Errorf("%d look-ups for %d requests", n, len(tt.refused))
			}
		})
	}
}
