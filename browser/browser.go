package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/network"

	"github.com/tegenaria/tegenaria"
)

// Options configure a [Browser]. The zero value is a sensible default.
type Options struct {
	// Path is the program: Chromium, Chrome, the headless shell of one of them, or a name for exec.LookPath. If it is empty, the usual
	// names are tried, those of headless shells first.
	Path string
	// Tabs is how many pages are made at once; 0 is the number of CPUs. Further requests wait until there is a tab for them, which does
	// not count towards their timeout. A robots.txt does not count as a page.
	Tabs int
	// Block lists the kinds of resources that pages do not get. nil is [Images], [Media] and [Fonts]; an empty list blocks nothing.
	Block []Resource
	// Settle is how long a page that has loaded may go on with requests before it is taken as it is; 0 is 10 seconds. One that never
	// loads has that time from the end of its document on.
	Settle time.Duration
	// MaxMemory is how many bytes the processes of Chromium may take together, on Linux; 0 is 1 GiB and 256 MiB more for each tab. A
	// page that takes more than half of it is ended, and its request fails with a [*LostError]. Otherwise another Chromium takes the
	// place of the one that has grown: for up to 30 seconds that goes on with the pages in hand.
	MaxMemory int64
	// DangerouslyWithoutSandbox runs Chromium without its sandbox: whoever finds a hole in Chromium then has the rights of this
	// program. It is for containers that run as root, and for pages that are your own.
	DangerouslyWithoutSandbox bool
	// DangerouslyWithoutGuard lets [Connect] use a Chromium that dials by itself: its pages may reach private addresses, such as the
	// services of its own network and the metadata of a cloud.
	DangerouslyWithoutGuard bool
}

// Resource is a kind of resource that a page asks for.
type Resource string

// The kinds of resources that can be blocked.
const (
	Images      = Resource(network.ResourceTypeImage)
	Media       = Resource(network.ResourceTypeMedia) // audio and video
	Fonts       = Resource(network.ResourceTypeFont)
	Stylesheets = Resource(network.ResourceTypeStylesheet)
	Scripts     = Resource(network.ResourceTypeScript)
)

// Browser is a [tegenaria.Downloader] that renders pages in Chromium. Make one with [Open] or [Connect], and register it with an engine.
// The Chromium of Open starts with the first download of a run, and ends with the run. A Browser serves one run at a time.
type Browser struct {
	options  Options
	path     string
	remote   *url.URL      // of a Chromium that runs already; nil: one is started
	maxPages int           // of a Chromium
	tabs     chan struct{} // has room for those that may make a page
	closing  chan struct{} // has room for those that may be closing beside these
	ownCalls atomic.Int64
	refused  atomic.Int64
	losses   losses
	alone    chan struct{} // has room for one: a page after recent losses

	running  sync.WaitGroup // what is to end with the run
	starting chan struct{}  // has room for one: who has put something in may use the field below
	chromium *chromium      // that makes the next page; nil: none was started

	mu    sync.Mutex // guards the fields below
	inUse bool
	proxy *proxy // nil outside a run
	err   error  // why there is none in a run
}

var (
	_ tegenaria.Downloader        = (*Browser)(nil)
	_ tegenaria.Opener            = (*Browser)(nil)
	_ tegenaria.Closer            = (*Browser)(nil)
	_ tegenaria.NetworkUser       = (*Browser)(nil)
	_ tegenaria.LimitedDownloader = (*Browser)(nil)
)

// Open looks for Chromium and returns a Browser. The errors are a [*NotInstalledError] and, in a program that runs as root, a
// [*RootError].
func Open(o Options) (*Browser, error) {
	path, err := find(o.Path)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "linux" && os.Geteuid() == 0 && !o.DangerouslyWithoutSandbox {
		return nil, &RootError{}
	}
	b := newBrowser(o)
	b.path = path
	return b, nil
}

// newBrowser fills in the defaults of the options.
func newBrowser(o Options) *Browser {
	if o.Tabs <= 0 {
		o.Tabs = runtime.GOMAXPROCS(0)
	}
	if o.Block == nil {
		o.Block = []Resource{Images, Media, Fonts}
	}
	if o.Settle <= 0 {
		o.Settle = 10 * time.Second
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = 1<<30 + int64(o.Tabs)<<28
	}
	return &Browser{options: o, maxPages: maxPages, tabs: make(chan struct{}, o.Tabs), closing: make(chan struct{}, o.Tabs), starting: make(chan struct{}, 1), alone: make(chan struct{}, 1)}
}

// Open begins a run. A second run at the same time is an [*InUseError].
func (b *Browser) Open(context.Context, tegenaria.SpiderInterface) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inUse {
		return &InUseError{}
	}
	b.inUse = true
	b.losses = losses{}
	return nil
}

// UseNetwork is called by the engine: pages reach the network by n alone, except those of [Connect].
func (b *Browser) UseNetwork(n tegenaria.Network) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.remote != nil {
		b.proxy = silentProxy(n)
		return
	}
	b.proxy, b.err = newProxy(n, &b.ownCalls)
}

// Close ends the run: Chromium is gone when it returns, and so is its temporary folder.
func (b *Browser) Close(context.Context, string) error {
	b.mu.Lock()
	p := b.proxy
	b.proxy, b.err = nil, nil
	b.mu.Unlock()
	if p != nil {
		p.end()
	}
	b.running.Wait()
	b.chromium = nil
	if p != nil {
		p.close()
	}
	b.mu.Lock()
	b.inUse = false
	b.mu.Unlock()
	return nil
}

// OwnCalls returns how many calls Chromium has made of its own accord, to look for updates and the like. All were refused.
func (b *Browser) OwnCalls() int64 { return b.ownCalls.Load() }

// Refused returns how many sub-requests of pages were not sent because robots.txt forbids them, or because their host has asked for a
// pause. The pages got none of what they asked for.
func (b *Browser) Refused() int64 { return b.refused.Load() }

// Capacity returns [Options].Tabs: the engine gives the Browser no more requests for pages at once.
func (b *Browser) Capacity() int { return b.options.Tabs }

// CheckStatus allows codes below 400 and those of the list.
func (b *Browser) CheckStatus(statusCode uint64, allowStatus []uint64) bool {
	return statusCode < http.StatusBadRequest || slices.Contains(allowStatus, statusCode)
}

// Download renders the page of a request. Its body is the tree of the page, serialised in UTF-8 when the page is ready. A document that is
// not HTML is delivered as it is, and so is a redirect. A page that sends the tab elsewhere, by script or meta refresh, before it
// is ready is delivered as a redirect with status 302, if the request allows redirects; otherwise it stays where it is. In place of a page
// that sends a form by itself, into a window of its own too, the page behind the form is delivered.
func (b *Browser) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	resp, err := b.download(ctx)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
	if err != nil {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, err, tegenaria.ErrorWithRequest(ctx.Request),
			tegenaria.ErrorWithResponse(resp), tegenaria.ErrorWithStage(tegenaria.StageDownload))
	}
	result <- ctx
}

// download makes a page. If Chromium is lost before the site was asked for the document, the page is made by another one: once, since
// with more than one lost Chromium the machine is to blame.
func (b *Browser) download(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	asked, err := newQuery(ctx.Request)
	if err != nil {
		return nil, err
	}
	resp, sent, err := b.try(ctx, asked)
	if _, lost := errors.AsType[*LostError](err); lost && !sent {
		resp, sent, err = b.try(ctx, asked)
	}
	switch {
	case err == nil:
		b.losses.made()
	case isLoss(err) && b.losses.lost(asked.url, err, sent):
		return nil, tegenaria.CloseSpider(fmt.Sprintf("Chromium is lost page after page: %v; it may need more memory, or "+
			"fewer Options.Tabs", err))
	}
	return resp, err
}

// try makes a page by the Chromium that is current. It also reports whether the request for the document may have been sent.
func (b *Browser) try(ctx *tegenaria.Context, asked *query) (_ *tegenaria.Response, sent bool, _ error) {
	leave := func() {}
	if !strings.HasSuffix(asked.url, "/robots.txt") { // for which the pages in all places may wait
		select {
		case b.tabs <- struct{}{}:
			leave = func() { <-b.tabs }
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
		if b.losses.areRecent() {
			select {
			case b.alone <- struct{}{}:
				leave = func() { <-b.alone; <-b.tabs }
			case <-ctx.Done():
				leave()
				return nil, false, context.Cause(ctx)
			}
		}
	}
	p, err := b.enter()
	if err != nil {
		leave()
		return nil, false, err
	}
	c, err := b.current(ctx, p, asked.url)
	if err != nil {
		b.running.Done()
		leave()
		return nil, false, err
	}
	if b.remote != nil && asked.agent == "" {
		asked.agent = p.network.UserAgent()
	}
	t := &tab{browser: b, chromium: c, visit: p.admit(), asked: asked,
		made: func() {
			select {
			case b.closing <- struct{}{}:
				leave()
				leave = func() { <-b.closing }
			default: // too many pages do not let go
			}
		},
		closed: func() {
			c.give()
			leave()
			b.running.Done()
		},
	}
	resp, err := t.download(ctx)
	switch {
	case err == nil:
		return resp, t.sent, nil
	case ctx.Err() != nil:
		return nil, t.sent, context.Cause(ctx)
	case c.isLost():
		return nil, t.sent, c.lostError(asked.url, err)
	case isLoss(err):
		c.retire() // where memory is short, a new one takes less
	}
	return resp, t.sent, err
}

// enter begins a download, unless no run is on. Close waits for it.
func (b *Browser) enter() (*proxy, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return nil, b.err
	case b.proxy == nil:
		return nil, &NoRunError{}
	}
	b.running.Add(1)
	return b.proxy, nil
}

// current takes the Chromium of a run that makes pages. It starts one if there is none, or if another is to take its place.
func (b *Browser) current(ctx context.Context, p *proxy, url string) (*chromium, error) {
	select {
	case b.starting <- struct{}{}:
		defer func() { <-b.starting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if b.chromium != nil && b.chromium.take() {
		return b.chromium, nil
	}
	b.mu.Lock()
	closed := b.proxy != p
	b.mu.Unlock()
	if closed {
		return nil, &NoRunError{}
	}
	start := b.start
	if b.remote != nil {
		start = b.connect
	}
	c, err := start(ctx, p)
	if err == nil {
		b.chromium = c
		if !c.take() {
			err = c.lostError(url, errors.New("it has ended right after its start"))
		}
	}
	return c, err
}
