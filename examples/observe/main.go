// Command observe crawls a site while it can be watched: it serves the pages and the API of a dashboard and the metrics for
// Prometheus on loopback, and changes the crawl while it runs. The site is the demo site of this repository, served on loopback
// by the program itself.
//
//	go run ./examples/observe
//
//	watch it at http://127.0.0.1:43127/?token=…
//	paused; /metrics says tegenaria_run_paused 1
//	added http://127.0.0.1:39041/books/: true; again: false
//	127.0.0.1: a delay of 200ms instead of 1s
//	14 pages, 148 items
//	100 % of the time all downloads waited for 127.0.0.1: a delay of 200ms of the crawl's own settings
//	99.7 %  delay           127.0.0.1
//
// The command tegenaria does the same with crawl --listen 127.0.0.1:0, and ctl.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/telemetry"
)

func main() {
	site := demosite.MustStart()
	defer site.Close()
	if err := observe(context.Background(), site.URL(), time.Second, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		os.Exit(1)
	}
}

// host is the slot of the site.
const host = "127.0.0.1"

func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	for _, title := range page.CSS("div.quote span.text, article.product_pod h2 a").All() {
		if err := out.Item(title.Text()); err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}

// observe crawls the quotes of the site. While the crawl runs it adds the books and lowers the delay to a fifth.
func observe(ctx context.Context, site string, delay time.Duration, w io.Writer) error {
	logger := logrus.New()
	logger.SetLevel(logrus.WarnLevel)
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("observed", tegenaria.Handle(parse), site+"/quotes/")),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: delay}),
		tegenaria.EngineWithLogger(logger),
	)
	registry := prometheus.NewRegistry()
	registry.MustRegister(telemetry.NewMetrics(engine, telemetry.Options{Hosts: 50}))
	board := dashboard.New(engine, dashboard.Options{ // it adds events to the engine, so before Run
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	})

	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: board, ReadHeaderTimeout: 10 * time.Second}
	var background sync.WaitGroup
	background.Go(func() { _ = server.Serve(listener) }) // until Close
	address := "http://" + listener.Addr().String()
	fmt.Fprintf(w, "watch it at %s/?token=%s\n", address, board.ControlToken())

	started, over := make(chan struct{}), make(chan struct{})
	tegenaria.EngineWithEvents(tegenaria.Events{Started: func(tegenaria.SpiderInterface) {
		_ = engine.Pause() // so that the crawl is not over before it was changed
		close(started)
	}})(engine)
	var changing error
	background.Go(func() {
		select {
		case <-started:
			changing = change(ctx, engine, site, delay/5, address+"/metrics?token="+board.ViewToken(), w)
		case <-over: // there was a mistake, and it has not begun
		}
	})

	err = engine.Run(ctx, "observed")
	close(over)
	board.Close() // ends the streams of browsers
	err = errors.Join(err, server.Close())
	background.Wait()
	if err = errors.Join(err, changing); err != nil {
		return err
	}
	stats := engine.Stats()
	fmt.Fprintf(w, "%d pages, %d items\n", stats.Responses, stats.ItemScraped)
	writePlaces(w, engine.Places())
	return nil
}

// change changes the paused crawl, and has it go on.
func change(ctx context.Context, engine *tegenaria.SpiderEngine, site string, delay time.Duration, metrics string, w io.Writer) (err error) {
	defer func() { err = errors.Join(err, engine.Resume()) }()
	paused, err := metric(ctx, metrics, "tegenaria_run_paused")
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "paused; /metrics says", paused)

	books := site + "/books/"
	added, err := engine.Add(ctx, tegenaria.NewRequest(books, tegenaria.GET, nil))
	if err != nil {
		return err
	}
	again, err := engine.Add(ctx, tegenaria.NewRequest(books, tegenaria.GET, nil))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "added %s: %t; again: %t\n", books, added, again)

	policy, _ := engine.SlotPolicy(host) // the other values stay
	before := policy.Delay
	policy.Delay = delay
	if err := engine.SetSlot(host, policy); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: a delay of %s instead of %s\n", host, delay, before)
	return nil
}

// metric returns the line of a metric.
func metric(ctx context.Context, url, name string) (line string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, name+" ") {
			return strings.TrimSpace(line), nil
		}
	}
	return "", fmt.Errorf("%s has no metric %s", response.Status, name)
}

// writePlaces writes where the time of the downloads went.
func writePlaces(w io.Writer, p tegenaria.Places) {
	fmt.Fprintln(w, p)
	for _, c := range p.Causes {
		if c.Share >= 0.01 {
			fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%5.1f %%  %-14s  %s", 100*c.Share, c.Cause, c.Of)))
		}
	}
}
