package disk_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

// throttled crawls with AutoThrottle until limit, and returns the level that the host had when its first download began.
func throttled(t *testing.T, dir, url string, limit int) (first time.Duration) {
	t.Helper()
	cache := open(t, dir)
	defer cache.Close()
	var e *tegenaria.SpiderEngine
	told := false
	e = tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(&linear{&tegenaria.BaseSpider{Name: "linear", FeedUrls: []string{url + "/1", url + "/2", url + "/3", url + "/4"}}}),
		tegenaria.EngineWithCache(cache), tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, PerSlot: 1, AutoThrottle: &tegenaria.AutoThrottle{Start: 160 * time.Millisecond},
		}),
		tegenaria.EngineWithLimits(tegenaria.Limits{Pages: limit}),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestStarted: func(*tegenaria.Request) {
			if !told {
				told = true
				first = e.Slots()[0].AutoThrottle
			}
		}}),
	)
	if err := e.Run(t.Context(), "linear"); err != nil && limit == 0 {
		t.Fatal(err)
	}
	return first
}

// linear is a spider without output.
type linear struct{ *tegenaria.BaseSpider }

func (*linear) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

// AutoThrottle goes on with the very level that the job has stored. It fails when storeSlot leaves it out.
func TestThrottleIsStored(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	dir := t.TempDir()
	if start := throttled(t, dir, server.URL, 2); start != 160*time.Millisecond {
		t.Fatalf("it began with %v", start)
	}
	stored := open(t, dir)
	info := statusOf(t, stored)
	closed(t, stored)
	i := slices.IndexFunc(info.Hosts, func(s tegenaria.SlotState) bool { return s.Name == "127.0.0.1" })
	if i < 0 || info.Hosts[i].AutoThrottle <= 0 || info.Hosts[i].AutoThrottle == 160*time.Millisecond {
		t.Fatalf("stored are %+v", info.Hosts)
	}
	if got := throttled(t, dir, server.URL, 0); got != info.Hosts[i].AutoThrottle {
		t.Errorf("it goes on with %v, stored is %v", got, info.Hosts[i].AutoThrottle)
	}
}
