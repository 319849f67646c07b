package httpcache_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/httpcache"

	"github.com/tegenaria/tegenaria"
)

var mounts = flag.Bool("mounts", false, "this process may mount file systems: a disk that is full is tried")

// The disk of the cache becomes full in the middle of a crawl: the crawl goes on, the statistics say once why nothing is stored any
// more, and when there is room again the next crawl has each page right, asks for those alone that are not stored, and stores them.
func TestDiskFull(t *testing.T) {
	if !*mounts {
		t.Skip("it needs -mounts, and root")
	}
	const pages = 300
	disk := t.TempDir()
	if err := syscall.Mount("tegenaria", disk, "tmpfs", 0, "size=3m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := newSite(func(w http.ResponseWriter, r *http.Request) {
		var n uint64
		fmt.Sscanf(path.Base(r.URL.Path), "%d", &n)
		text := make([]byte, 20_000) // which cannot be compressed
		random := rand.New(rand.NewPCG(n, 1))
		for i := range text {
			text[i] = byte('A' + random.IntN(50))
		}
		fmt.Fprintf(w, "<pre>%s</pre><a href=/%d>next</a>", text, (n+1)%pages)
	})
	crawlOnce := func() (string, tegenaria.Stats, int) {
		cache := opened(t, disk, httpcache.Options{})
		defer cache.Close()
		spider := crawler(follow, "http://a.test/0")
		stats := crawl(t, s, cache, spider, tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Millisecond}))
		return spider.items(), stats, len(s.take())
	}

	first, stats, asked := crawlOnce()
	problems := strings.Join(stats.Cache.Problems, "\n")
	if strings.Count(first, "\n")+1 != pages || asked < pages || stats.Cache.Stored == 0 || stats.Cache.Stored >= pages ||
		len(stats.Cache.Problems) != 1 || !strings.Contains(problems, syscall.ENOSPC.Error()) {
		t.Fatalf("%d requests, %d stored: %q", asked, stats.Cache.Stored, problems)
	}
	if err := syscall.Mount("tegenaria", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	second, stats, asked := crawlOnce()
	if second != first || stats.Cache.Hits == 0 || int64(asked) > pages+2-stats.Cache.Hits || len(stats.Cache.Problems) > 0 {
		t.Errorf("%d hits, %d requests, equal items: %t, %q", stats.Cache.Hits, asked, second == first, stats.Cache.Problems)
	}
	third, stats, asked := crawlOnce()
	if third != first || asked > 0 {
		t.Errorf("%d hits, %d requests, equal items: %t", stats.Cache.Hits, asked, third == first)
	}
}
