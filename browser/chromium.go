package browser

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	startTimeout = 30 * time.Second       // for Chromium to answer for the first time
	callTimeout  = 30 * time.Second       // for the answer to a command
	openTimeout  = 10 * time.Second       // for a tab to be there
	openGrace    = time.Second            // for a tab to be there after its request was given up
	idleTime     = 500 * time.Millisecond // without requests: then a page that has loaded is ready
	removalTime  = 5 * time.Second        // for processes that are being killed to end, and to leave the profile alone
	removalPause = 20 * time.Millisecond
	crashTime    = time.Second // for the end of a page's process to be told after its navigation was broken off
)

// names are those of the program, in the order in which they are tried: first those without windows, which take half the CPU.
var names = []string{
	"chromium-headless-shell", "chrome-headless-shell",
	"chromium", "chromium-browser", "google-chrome-stable", "google-chrome",
	"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// find returns the path of Chromium.
func find(path string) (string, error) {
	tried := names
	if path != "" {
		tried = []string{path}
	}
	var first error
	for _, name := range tried {
		found, err := exec.LookPath(name)
		if err == nil {
			return filepath.Abs(found)
		}
		if first == nil {
			first = err
		}
	}
	return "", &NotInstalledError{Path: path, Err: first}
}

// chromium is a process of Chromium, or the connection to one that runs elsewhere.
type chromium struct {
	ctx      context.Context // of chromedp
	kill     context.CancelFunc
	process  int             // its number, which is that of its group too; 0: it runs elsewhere
	lost     <-chan struct{} // closed when the connection to it is lost
	idle     chan struct{}   // closed when it is retired and has no page in hand
	judge    *judge
	maxPages int

	mu      sync.Mutex // guards the fields below
	pages   int        // that were begun
	inHand  int        // of these
	greedy  int        // processes that were ended for their memory, and whose pages do not know it yet
	retired bool
	since   time.Time // when it was retired
	reason  string    // why it was killed; "": it was not
}

// flags are those of each Chromium. Without one of the first group there are ways past the proxy; the second group keeps it from
// calls of its own, the third one from slowing down or changing pages that nobody looks at.
var flags = []chromedp.ExecAllocatorOption{
	chromedp.Flag("proxy-bypass-list", "<-loopback>"), // otherwise addresses of this machine are asked directly
	chromedp.Flag("webrtc-ip-handling-policy", "disable_non_proxied_udp"),
	chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
	chromedp.Flag("disable-quic", true),
	chromedp.Flag("dns-prefetch-disable", true),
	chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), // the proxy looks names up, at 127.0.0.1

	chromedp.Flag("disable-background-networking", true),
	chromedp.Flag("disable-client-side-phishing-detection", true),
	chromedp.Flag("disable-component-update", true),
	chromedp.Flag("disable-default-apps", true),
	chromedp.Flag("disable-domain-reliability", true),
	chromedp.Flag("disable-extensions", true),
	chromedp.Flag("disable-sync", true),
	chromedp.Flag("disable-breakpad", true),
	chromedp.Flag("disable-features", "Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,HttpsUpgrades,AsyncDns,"+
		// processes that each page would have beside its own: one for the next page of its browser context, of which there is none,
		// and one for suggestions below an address bar that nobody sees, which takes several times the CPU of the page
		"SpareRendererForSitePerProcess,WebUIOmniboxPopup,WebUIOmniboxAimPopup"),
	chromedp.Flag("no-pings", true),
	chromedp.Flag("metrics-recording-only", true),
	chromedp.Flag("safebrowsing-disable-auto-update", true),
	chromedp.Flag("password-store", "basic"),
	chromedp.Flag("use-mock-keychain", true),

	chromedp.Headless,
	// A headless shell neither blocks popups by itself, nor keeps the sites of a page in processes of their own.
	chromedp.Flag("block-new-web-contents", true),
	chromedp.Flag("site-per-process", true),
	chromedp.NoFirstRun,
	chromedp.NoDefaultBrowserCheck,
	chromedp.Flag("disable-background-timer-throttling", true),
	chromedp.Flag("disable-backgrounding-occluded-windows", true),
	chromedp.Flag("disable-renderer-backgrounding", true),
	chromedp.Flag("disable-hang-monitor", true),
	chromedp.Flag("disable-dev-shm-usage", true), // containers have little of it
}

// start starts Chromium, which asks for nothing but through a proxy that refuses everything: each tab has another one. When it has
// ended, whatever the cause, what is left of it is removed.
func (b *Browser) start(ctx context.Context, p *proxy) (*chromium, error) {
	own, err := newFolder()
	if err != nil {
		return nil, &StartError{b.path, err}
	}
	var cmd *exec.Cmd // set before the process starts
	options := append(flags[:len(flags):len(flags)],
		chromedp.ExecPath(b.path),
		chromedp.UserDataDir(filepath.Join(own.path, "profile")),
		chromedp.Env("TMPDIR="+own.path),
		chromedp.ProxyServer("http://"+p.nowhere),
		chromedp.Flag("no-sandbox", b.options.DangerouslyWithoutSandbox),
		chromedp.ModifyCmdFunc(func(c *exec.Cmd) {
			cmd = c
			ownGroup(c)
		}),
		chromedp.UserAgent(p.network.UserAgent()),
	)
	quiet := func(string, ...any) {}
	life, _ := chromedp.NewExecAllocator(context.Background(), options...)
	life, cancel := chromedp.NewContext(life, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	c := b.newChromium(life, cancel)
	err = b.begin(ctx, p, c, func() error {
		err := chromedp.Do(life)
		if err == nil {
			c.process = cmd.Process.Pid
		}
		return err
	}, func() {
		c.kill()
		if cmd != nil && cmd.Process != nil {
			killGroup(cmd.Process.Pid) // what it has left behind
			awaitEnd(cmd.Process.Pid)
		}
		own.remove()
	})
	if err != nil && ctx.Err() == nil {
		err = &StartError{b.path, err}
	}
	return c, err
}

// newChromium returns a Chromium that has not answered yet. cancel ends life, waits for what that takes, and can be called once only.
func (b *Browser) newChromium(life context.Context, cancel context.CancelFunc) *chromium {
	return &chromium{ctx: life, kill: sync.OnceFunc(cancel), idle: make(chan struct{}), maxPages: b.maxPages}
}

// begin waits until a Chromium answers, which open does, and watches it from then on. When it has ended, whatever the cause, clean is
// called.
func (b *Browser) begin(ctx context.Context, p *proxy, c *chromium, open func() error, clean func()) error {
	tooLate := time.AfterFunc(startTimeout, c.kill)
	defer tooLate.Stop()
	defer context.AfterFunc(ctx, c.kill)()
	err := open()
	if err == nil {
		c.judge, err = newJudge(b, c.ctx, p.network)
	}
	if err != nil {
		clean()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !tooLate.Stop():
			return fmt.Errorf("it did not answer within %v", startTimeout)
		}
		return err
	}
	c.lost = chromedp.FromContext(c.ctx).Browser.LostConnection
	end := c.kill
	if c.process == 0 { // tabs elsewhere end by commands, for which they need the connection
		end = c.retire
	}
	b.running.Go(func() {
		defer context.AfterFunc(p.run, end)()
		c.watch(b.options.MaxMemory)
		clean()
	})
	return nil
}

// isLost reports whether Chromium is gone, or is being killed.
func (c *chromium) isLost() bool {
	select {
	case <-c.lost:
		return true
	default:
		return c.ctx.Err() != nil
	}
}
