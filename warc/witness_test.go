package warc_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/warc"
)

// An archive that wget has written is replayed: all pages of the book shop have the items and links that they have on the site.
func TestWget(t *testing.T) {
	if _, err := exec.LookPath("wget"); err != nil {
		t.Skip("wget is not installed, which writes the archive")
	}
	site := demosite.MustStart()
	defer site.Close()
	folder := t.TempDir()
	out, err := exec.Command("wget", "--quiet", "--recursive", "--level=inf", "--no-host-directories", "--directory-prefix="+filepath.Join(folder, "files"),
		"--reject-regex=/flaky/", "--warc-file="+filepath.Join(folder, "shop"), site.URL()+"/").CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !strings.Contains(err.Error(), "exit status 8") { // some pages are missing
		t.Fatalf("%v %v: %s", err, exit, out)
	}
	live := crawl(t, []string{site.URL() + "/"})
	site.Close()
	replay := open(t, filepath.Join(folder, "shop.warc.gz"))
	if n, err := replay.Skipped(); n > 0 {
		t.Errorf("%d records were skipped: %v", n, err)
	}
	again := crawl(t, []string{site.URL() + "/"}, tegenaria.EngineWithDownloader(replay))
	sameCrawl(t, again, live)
}

var pythonDoc = flag.String("pythondoc", "", "a folder of documentation in HTML, such as that of Debian's python3.11-doc, /usr/share/doc/python3.11/html")

// A real documentation tree that was recorded is replayed without a network.
func TestPythonDocs(t *testing.T) {
	if *pythonDoc == "" {
		t.Skip("no documentation to crawl: run this test with -args -pythondoc DIR")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(*pythonDoc)))
	defer server.Close()
	folder := t.TempDir()
	archive := create(t, filepath.Join(folder, "{part}.warc.gz"), warc.Options{Size: 10 << 20})
	urls := []string{server.URL + "/index.html"}
	only := tegenaria.EngineWithAllowedDomains("127.0.0.1")
	live := crawl(t, urls, only, tegenaria.EngineWithDownloaderLayers(archive.Layer))
	server.Close()
	names, _ := filepath.Glob(filepath.Join(folder, "*"))
	t.Log(check(t, names...))
	replay := open(t, folder)
	again := crawl(t, urls, only, tegenaria.EngineWithDownloader(replay))
	sameCrawl(t, again, live)
	if live.stats.Responses < 400 || again.stats.RequestDownloaded > 0 {
		t.Errorf("%d pages, then %d downloads", live.stats.Responses, again.stats.RequestDownloaded)
	}
	t.Logf("%d pages in %s, again in %s", live.stats.Responses, live.took, again.took)
}
