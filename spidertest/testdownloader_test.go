package spidertest_test

import (
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest"
)

// passing is a layer that does nothing but pass on.
type passing struct{ tegenaria.Downloader }

// The engine's own downloader, and one in a layer, pass the suite.
func TestDownloaders(t *testing.T) {
	for name, opts := range map[string][]tegenaria.EngineOption{
		"own": nil,
		"layer": {tegenaria.EngineWithDownloaderLayers(
			func(next tegenaria.Downloader) tegenaria.Downloader { return passing{next} },
			func(next tegenaria.Downloader) tegenaria.Downloader { return &passing{next} })},
	} {
		t.Run(name, func(t *testing.T) {
			spidertest.TestDownloader(t, func(*testing.T) []tegenaria.EngineOption { return opts })
		})
	}
}
