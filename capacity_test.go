package tegenaria_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// tabs is a downloader made of a func that makes so many downloads at once.
type tabs struct {
	tegenaria.DownloaderFunc
	capacity int
}

func (b tabs) Capacity() int { return b.capacity }

// openTabs returns a downloader whose pages take 10 s each, and counts in crowd those that it makes at once.
func openTabs(crowd *throng, name string, capacity int) tabs {
	return tabs{func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
		defer crowd.enter(name)()
		if r.Proxy != nil {
			defer crowd.enter(r.Proxy.ProxyUrl)()
		}
		if err := enginetest.Wait(ctx, 10*time.Second); err != nil {
			return nil, err
		}
		return tegenaria.NewResponse(r, 200, nil, []byte("x")), nil
	}, capacity}
}

// passing is a layer that passes downloads on, and has no capacity.
type passing struct{ tegenaria.Downloader }

// A downloader is given no more requests than it makes at once, and timeouts count from when it is given them: 20 pages of 10 s
// come in pairs, though each may take 15 s only.
func TestCapacity(t *testing.T) {
	named := tegenaria.RequestWithDownloader("browser")
	proxyOf := func(n int) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: fmt.Sprintf("http://proxy%d.test:80", n)})
	}
	tests := []struct {
		name       string
		capacities []int
		parts      func(c *throng) []tegenaria.EngineOption
		options    func(page int) []tegenaria.RequestOption
		inline     bool
		peaks      map[string]int
		took       time.Duration
	}{
		{name: "of a named one", capacities: []int{2}, peaks: map[string]int{"tabs 0": 2}, took: 100 * time.Second},
		{name: "of the default one", peaks: map[string]int{"default": 2}, took: 100 * time.Second,
			parts: func(c *throng) []tegenaria.EngineOption {
				return []tegenaria.EngineOption{tegenaria.EngineWithDownloader(openTabs(c, "default", 2))}
			},
			options: func(int) []tegenaria.RequestOption { return nil }},
		{name: "of two with one name", capacities: []int{1, 3}, peaks: map[string]int{"tabs 0": 1, "tabs 1": 3}, took: 50 * time.Second},
		{name: "with one of the name that has none", capacities: []int{2, 0}, took: 20 * time.Second},
		{name: "within layers", capacities: []int{2}, peaks: map[string]int{"tabs 0": 2}, took: 100 * time.Second,
			parts: func(*throng) []tegenaria.EngineOption {
				return []tegenaria.EngineOption{tegenaria.EngineWithDownloaderLayers(
					func(next tegenaria.Downloader) tegenaria.Downloader { return passing{next} })}
			}},
		{name: "chosen by a middleware", capacities: []int{2}, peaks: map[string]int{"tabs 0": 2}, took: 100 * time.Second,
			parts: func(*throng) []tegenaria.EngineOption {
				return []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(&enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
					named(ctx.Request)
					return nil
				}})}
			},
			options: func(int) []tegenaria.RequestOption { return nil }},
		{name: "of Fetch", capacities: []int{2}, inline: true, peaks: map[string]int{"tabs 0": 2}, took: 100 * time.Second},
		{name: "beside PerProxy", capacities: []int{3}, peaks: map[string]int{"tabs 0": 3, "http://proxy0.test:80": 2, "http://proxy1.test:80": 2}, took: 70 * time.Second,
			options: func(page int) []tegenaria.RequestOption { return []tegenaria.RequestOption{named, proxyOf(page % 2)} }},
		{name: "above PerProxy", capacities: []int{9}, peaks: map[string]int{"tabs 0": 4, "http://proxy0.test:80": 2, "http://proxy1.test:80": 2}, took: 50 * time.Second,
			options: func(page int) []tegenaria.RequestOption { return []tegenaria.RequestOption{named, proxyOf(page % 2)} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const pages = 20
				crowd := newThrong()
				opts := []tegenaria.EngineOption{tegenaria.EngineWithConcurrency(16),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerProxy: 2})}
				if tt.parts != nil {
					opts = append(opts, tt.parts(crowd)...)
				}
				w, s := enginetest.NewWorld(), enginetest.NewSpider()
				s.Parse = enginetest.Nothing
				optionsOf := tt.options
				if optionsOf == nil {
					optionsOf = func(int) []tegenaria.RequestOption { return []tegenaria.RequestOption{named} }
				}
				limit := tegenaria.RequestWithTimeout(15 * time.Second)
				send := func(i int) *tegenaria.Context {
					return enginetest.Send(fmt.Sprintf("http://h%d.test/%d", i%7, i), append(optionsOf(i), limit)...)
				}
				s.Start = func(req chan<- *tegenaria.Context) {
					for i := range pages {
						if !tt.inline {
							req <- send(i)
							continue
						}
						url := fmt.Sprintf("http://from.test/%d", i)
						w.Page(url, enginetest.Text("x"))
						req <- enginetest.Send(url)
					}
				}
				if tt.inline {
					s.Parse = parserOf(func(ctx *tegenaria.Context) error {
						var i int
						fmt.Sscanf(ctx.Request.Url, "http://from.test/%d", &i)
						_, err := ctx.Fetch(send(i).Request)
						return err
					})
				}
				e := enginetest.NewEngine(w, s, opts...)
				for i, capacity := range tt.capacities {
					e.RegisterDownloader("browser", openTabs(crowd, fmt.Sprint("tabs ", i), capacity))
				}
				began := time.Now()
				want := map[tegenaria.Outcome]int64{tegenaria.Fetched: pages}
				if tt.inline {
					want[tegenaria.Fetched] *= 2
				}
				enginetest.WantOutcomes(t, enginetest.MustRun(t, e), want)
				for place, peak := range tt.peaks {
					if crowd.peak[place] != peak {
						t.Errorf("%s made up to %d pages at once, want %d", place, crowd.peak[place], peak)
					}
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// Requests that wait for their downloader hold up no others: neither do they keep workers, nor the slots of other hosts.
func TestCapacityHoldsUpNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range 12 {
				req <- enginetest.Send(fmt.Sprintf("http://tab%d.test/", i), tegenaria.RequestWithDownloader("browser"), tegenaria.RequestWithPriority(1))
			}
			for i := range 12 {
				url := fmt.Sprintf("http://plain%d.test/", i)
				w.Page(url, enginetest.After(time.Second, enginetest.Text("x")))
				req <- enginetest.Send(url)
			}
		}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(4), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
		e.RegisterDownloader("browser", openTabs(newThrong(), "tabs", 2))
		began := time.Now()
		enginetest.WantOutcomes(t, enginetest.MustRun(t, e), map[tegenaria.Outcome]int64{tegenaria.Fetched: 24})
		for _, v := range w.Visits() { // two workers are left to them
			if at := v.At.Sub(began); at > 5*time.Second {
				t.Errorf("%s was downloaded after %v, want 5 s at most", v.Url, at)
			}
		}
	})
}

// A crawl that stops does not wait for a place at a downloader.
func TestStopWithoutCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd := newThrong()
		s := enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range 5 {
				req <- enginetest.Send(fmt.Sprintf("http://h%d.test/", i))
			}
		}
		e := enginetest.NewEngine(openTabs(crowd, "tabs", 1), s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
		began := time.Now()
		var stopping sync.WaitGroup
		stopping.Go(func() {
			enginetest.Sleep(5 * time.Second)
			gated := 0
			for _, slot := range e.Slots() {
				if slot.Gate != "" {
					gated++
				}
			}
			if gated != 4 {
				t.Errorf("%d slots are gated, want 4: %+v", gated, e.Slots())
			}
			e.Stop(t.Context())
		})
		enginetest.WantStopped(t, enginetest.Run(t, e), "stopped")
		stopping.Wait()
		if took := time.Since(began); took != 10*time.Second || crowd.served["tabs"] != 1 {
			t.Errorf("it took %v and %d pages, want the 10 s of the one that was under way", took, crowd.served["tabs"])
		}
	})
}

// A request takes no place of its downloader while the engine asks for its robots.txt: others are downloaded meanwhile.
func TestCapacityWhileRobotsIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var first time.Duration
		tab := tabs{func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			switch r.Url {
			case "http://slow.test/robots.txt":
				if err := enginetest.Wait(ctx, 10*time.Second); err != nil {
					return nil, err
				}
				fallthrough
			case "http://quick.test/robots.txt":
				return tegenaria.NewResponse(r, 404, nil, nil), nil
			case "http://quick.test/":
				first = time.Since(began)
			}
			return tegenaria.NewResponse(r, 200, nil, []byte("x")), nil
		}, 1}
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			for _, url := range []string{"http://slow.test/", "http://quick.test/"} {
				req <- enginetest.Send(url, tegenaria.RequestWithDownloader("browser"))
			}
		}
		s.Parse = enginetest.Nothing
		e := enginetest.NewEngine(nil, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}))
		e.RegisterDownloader("browser", tab)
		enginetest.MustRun(t, e)
		if first >= time.Second {
			t.Errorf("the other page was downloaded after %s", first)
		}
	})
}
