package browser_test

import (
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// counter is a layer that counts the downloads that are under way at once.
type counter struct {
	tegenaria.Downloader
	mu        sync.Mutex // guards the fields below
	now, peak int
}

func (c *counter) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	c.mu.Lock()
	c.now++
	c.peak = max(c.peak, c.now)
	c.mu.Unlock()
	c.Downloader.Download(ctx, result)
	c.mu.Lock()
	c.now--
	c.mu.Unlock()
}

// The engine gives a browser no more requests than it has tabs, so that no timeout passes while one waits for a tab.
func TestNoMoreRequestsThanTabs(t *testing.T) {
	temporary(t)
	b := openBrowser(t, browser.Options{Tabs: 2})
	s, _ := site(t)
	var urls []string
	for _, path := range []string{"/list", "/state", "/target", "/cookies", "/outer", "/json"} {
		urls = append(urls, s.URL+path)
	}
	count := new(counter)
	pages, failed := crawl(t, b, urls, nil, tegenaria.EngineWithConcurrency(16), tegenaria.EngineWithDownloaderLayers(
		func(next tegenaria.Downloader) tegenaria.Downloader {
			count.Downloader = next
			return count
		}))
	if len(pages) != len(urls) || len(failed) > 0 || count.peak > 2 {
		t.Errorf("%d pages, up to %d at once; want %d, 2 at once: %v", len(pages), count.peak, len(urls), failed)
	}
}
