package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
)

// harnessAnswer is what a server says.
type harnessAnswer struct {
	wait     time.Duration
	status   int
	location string
	body     string
	broken   bool
	silent   bool
	after    string // Retry-After
}

// answer looks a request up in the plan, and writes it down.
func (c *Crawl) answer(host, url string, attempt int) harnessAnswer {
	if strings.HasSuffix(url, "/robots.txt") {
		return c.answerRobots(host)
	}
	page := harnessPageOf(url)
	if page < 0 || page >= len(c.p.pages) {
		c.violation("the server was asked for %s", url)
		return harnessAnswer{status: 404}
	}
	c.log("asked for %s, attempt %d: %+v", url, attempt, c.p.pages[page])
	c.mu.Lock()
	c.hits[page]++
	slot := c.p.slot(host)
	if c.asked[slot]++; c.p.rule(slot).MaxPages > 0 && c.asked[slot] > c.p.rule(slot).MaxPages {
		c.violationLocked("slot %s was asked for %d pages, its budget is %d", slot, c.asked[slot], c.p.rule(slot).MaxPages)
	}
	c.mu.Unlock()
	r := c.p.draw("latency", page, attempt)
	a := harnessAnswer{wait: time.Duration(r.Float64() * float64(c.p.slow)), status: c.p.pages[page].code}
	switch c.p.kindAt(page, attempt) {
	case pageMoved:
		a.location = c.p.url(c.p.pages[page].to)
	case pageBroken:
		a.broken = true
	case pageSilent:
		a.silent = true
	case pageFine:
		a.status, a.body = http.StatusOK, c.p.body(page)
	}
	return a
}

func (c *Crawl) answerRobots(host string) harnessAnswer {
	c.log("asked for robots.txt of %s", host)
	i := slices.Index(c.p.hosts, host)
	if i < 0 || !c.p.obey {
		c.violation("robots.txt of %q was asked for", host)
		return harnessAnswer{status: 404}
	}
	c.mu.Lock()
	c.robots[host]++
	n := c.robots[host]
	c.mu.Unlock()
	a := harnessAnswer{status: http.StatusOK, body: harnessRules}
	switch c.p.robots[i] {
	case robotsNone:
		a = harnessAnswer{status: http.StatusNotFound}
	case robotsSlow:
		a.wait = 3 * time.Second
	case robotsDown:
		a = harnessAnswer{status: http.StatusServiceUnavailable}
	case robotsFlaky:
		if n <= 2 {
			a = harnessAnswer{status: http.StatusInternalServerError}
		}
	case robotsBroken:
		a = harnessAnswer{broken: true}
	}
	return a
}

// heeds lets an answer ask for a pause, if the plan says so, and remembers it.
func (c *Crawl) heeds(slot string, a *harnessAnswer) {
	if c.p.retryAfter == 0 || a.broken || a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable {
		return
	}
	a.after = strconv.Itoa(int(c.p.retryAfter.Seconds()))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausedAt[slot], c.pausedTo[slot] = time.Now(), time.Now().Add(c.p.retryAfter)
}

// ServeHTTP is the server of crawls over HTTP.
func (c *Crawl) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	attempt, _ := strconv.Atoi(r.Header.Get("X-Attempt"))
	a := c.answer(r.Host, r.URL.String(), attempt)
	if a.silent || Wait(r.Context(), a.wait) != nil {
		<-r.Context().Done()
		return
	}
	if a.broken {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			c.violation("hijacking: %v", err)
			return
		}
		// Something must come, or net/http asks again by itself.
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nnot all")
		conn.Close()
		return
	}
	if a.location != "" {
		w.Header().Set("Location", a.location)
	}
	if c.heeds(c.p.slot(r.Host), &a); a.after != "" {
		w.Header().Set("Retry-After", a.after)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

// harnessDownloader answers without HTTP, in all the ways that a Downloader may.
type harnessDownloader struct{ *Crawl }

var _ tegenaria.Downloader = harnessDownloader{}

func (d harnessDownloader) CheckStatus(code uint64, allowed []uint64) bool {
	return code < 400 || slices.Contains(allowed, code)
}

// ErrPlanned is the error of user code and servers that the plan has fail.
var ErrPlanned = errors.New("planned failure")

func (d harnessDownloader) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	c, req := d.Crawl, ctx.Request
	defer c.touch()
	c.touch()
	host := strings.ToLower(req.Url[strings.Index(req.Url, "//")+2:])
	host, _, _ = strings.Cut(host, "/")
	slot := c.p.slot(host)
	c.begin(slot)
	left := c.gates.download(req)
	a := c.answer(host, req.Url, req.Attempt)
	page := harnessPageOf(req.Url)
	r := c.p.draw("downloader", page, req.Attempt)
	if c.p.stuck && r.IntN(100) == 0 {
		c.refuse()
		return
	}
	wait := a.wait
	if a.silent {
		wait = harnessTimeout
	}
	if err := Wait(ctx, wait); err != nil {
		a.broken = true
	}
	if !a.silent && ctx.Err() == nil {
		c.heeds(slot, &a)
	}
	left()
	c.end(slot)
	if a.silent || a.broken {
		switch r.IntN(5) {
		case 0:
			panic(ErrPlanned)
		case 1:
			ctx.DownloadResult = &tegenaria.RequestResult{}
		case 2:
			if page >= 0 && ctx.Err() == nil {
				return // no result at all
			}
			fallthrough
		default:
			ctx.DownloadResult = &tegenaria.RequestResult{Error: tegenaria.NewError(ctx.CtxId, ErrPlanned)}
		}
		result <- ctx
		return
	}
	header := map[string][]string{"Content-Type": {"text/html"}}
	if a.location != "" {
		header["Location"] = []string{a.location}
	}
	if a.after != "" {
		header["Retry-After"] = []string{a.after}
	}
	resp := tegenaria.NewResponse(req, a.status, header, []byte(a.body))
	switch r.IntN(6) {
	case 0: // by another Context
		other := *ctx
		other.DownloadResult = &tegenaria.RequestResult{Response: resp}
		result <- &other
		return
	case 1: // later
		c.helpers.Go(func() {
			ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
			result <- ctx
		})
		return
	}
	ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
	result <- ctx
	if r.IntN(4) == 0 { // once more, which is discarded
		select {
		case result <- ctx:
		default:
		}
	}
}

// harnessTransport is the witness of what a real downloader does.
type harnessTransport struct {
	*Crawl
	next http.RoundTripper
}

func (t harnessTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	slot := t.p.slot(r.URL.Host)
	t.touch()
	t.begin(slot)
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		t.end(slot)
		t.touch()
		return nil, err
	}
	resp.Body = &HarnessBody{ReadCloser: resp.Body, End: func() { t.end(slot); t.touch() }}
	return resp, nil
}

// HarnessBody is a body that calls End when it is closed for the first time.
type HarnessBody struct {
	io.ReadCloser
	End func()
}

// Close closes the body.
func (b *HarnessBody) Close() error {
	if b.End != nil {
		b.End()
		b.End = nil
	}
	return b.ReadCloser.Close()
}

// begin notes the start of a download.
func (c *Crawl) begin(slot string) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[slot]++
	c.downloads++
	rule := c.p.rule(slot)
	if n := c.running[slot]; n > rule.PerSlot && !c.p.stuck {
		c.violationLocked("%d downloads in slot %s, limit %d", n, slot, rule.PerSlot)
	}
	// What starts at the very moment of the answer may not know of it.
	if now.Before(c.pausedTo[slot]) && now.After(c.pausedAt[slot]) && !c.p.stuck {
		c.violationLocked("a download in slot %s starts %s before Retry-After is over", slot, c.pausedTo[slot].Sub(now))
	}
	starts := c.starts[slot]
	if n := len(starts); n > 0 {
		gap, want := now.Sub(starts[n-1]), rule.Delay
		if at, ok := c.slowed[slot]; ok && want > 0 && starts[n-1].After(at) {
			want = max(want, c.p.slotDelay)
		}
		if gap < want {
			c.violationLocked("two downloads in slot %s start %s apart, delay %s", slot, gap, want)
		}
	}
	c.starts[slot] = append(starts, now)
}

// end notes the end of a download.
func (c *Crawl) end(slot string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[slot]--
}

// Wait lets time pass.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
