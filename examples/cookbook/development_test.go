package cookbook_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/warc"
)

// pagesIn records a crawl in a folder that is not there yet. Later crawls have their pages from the folder.
func pagesIn(folder string) (tegenaria.EngineOption, error) {
	replay, err := warc.Open(folder)
	if !errors.Is(err, fs.ErrNotExist) {
		return tegenaria.EngineWithDownloader(replay), err
	}
	archive, err := warc.Create(filepath.Join(folder, "{spider}-{start}-{part}.warc.gz"), warc.Options{})
	if err != nil {
		return nil, err
	}
	return tegenaria.EngineWithDownloaderLayers(archive.Layer), nil
}

// The second crawl has its pages without a network. It fails if it asks the site, which is no longer there.
func TestPagesForDevelopment(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	folder := filepath.Join(t.TempDir(), "pages")
	for range 2 {
		pages, err := pagesIn(folder)
		if err != nil {
			t.Fatal(err)
		}
		if found := crawl[quote](t, quotes(site), pages); len(found) != 100 {
			t.Errorf("%d quotes, want 100", len(found))
		}
		if err := site.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
