//go:build unix

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

// shop is a crawl with two parsers: lists, and products, of which a list knows the price.
type shop struct{ URL, Dir string }

const (
	shopLists    = 12
	shopProducts = 8 // of each list
)

// card is what a list knows of a product.
type card struct{ Price int }

// product is an item.
type product struct {
	Path  string
	Price int
}

func (s *shop) run() (err error) {
	cache, err := disk.Open(filepath.Join(s.Dir, jobDir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	spider := tegenaria.NewSpiderOf("shop", tegenaria.Handle(s.list), tegenaria.NewRequest(s.URL+"/list/0", "POST", nil)).
		On("detail", tegenaria.Handle(s.detail))
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithConcurrency(childConcurrency),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: childConcurrency}),
		tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(s.Dir, itemsFile))))
	return engine.Run(context.Background(), "shop")
}

func (s *shop) list(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	for _, a := range page.CSS("a.product").All() {
		price := 0
		if _, err := fmt.Sscan(a.Attr("data-price"), &price); err != nil {
			return err
		}
		err := out.Follow(a.Attr("href"), tegenaria.RequestWithParser(tegenaria.Handle(s.detail)), tegenaria.RequestWithData(card{price}))
		if err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("a.next").Attr("href"))
}

func (s *shop) detail(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	known, err := tegenaria.Data[card](page)
	if err != nil {
		return err
	}
	return out.Item(product{page.URL[len(s.URL):], known.Price})
}

// shopSite serves the shop. The product with a number that 5 divides is behind a redirect.
func shopSite(asked func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var list, n int
		switch path := r.URL.Path; {
		case path == "/robots.txt":
			http.NotFound(w, r)
			return
		case strings.HasPrefix(path, "/list/"):
			_, _ = fmt.Sscanf(path, "/list/%d", &list)
			for n = list * shopProducts; n < (list+1)*shopProducts; n++ {
				fmt.Fprintf(w, `<a class="product" href="/product/%d" data-price="%d">p</a>`, n, 100+n)
			}
			if list+1 < shopLists {
				fmt.Fprintf(w, `<a class="next" href="/list/%d">next</a>`, list+1)
			}
		case strings.HasPrefix(path, "/product/"):
			if _, _ = fmt.Sscanf(path, "/product/%d", &n); n%5 == 0 {
				http.Redirect(w, r, fmt.Sprintf("/moved/%d", n), http.StatusFound)
			}
		}
		asked()
	})
}

// A job with two parsers is killed again and again, and goes on each time in a new process: each product is in the file once, with the
// price that its list knew.
func TestTwoParsersAreKilled(t *testing.T) {
	const asks = shopLists + shopLists*shopProducts
	var loop killtest.Loop
	site := httptest.NewServer(shopSite(func() { loop.Count() }))
	defer site.Close()
	dir := t.TempDir()
	loop.Next = func(start int, _ *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		var faults []killtest.Fault
		if start < 3 {
			faults = []killtest.Fault{{Count: asks / (6 - start)}}
		}
		return shopProgram.Command(&shop{site.URL, dir}), faults
	}
	if starts, err := loop.Run(t.Context()); starts != 4 || err != nil {
		t.Fatalf("%d starts, want 4: %v", starts, err)
	}
	got := readItems[product](t, filepath.Join(dir, itemsFile))
	for n := range shopLists * shopProducts {
		p := product{fmt.Sprintf("/product/%d", n), 100 + n}
		if n%5 == 0 {
			p.Path = fmt.Sprintf("/moved/%d", n)
		}
		if !got[p] {
			t.Errorf("%v is missing", p)
		}
		delete(got, p)
	}
	if len(got) > 0 {
		t.Errorf("more items: %v", got)
	}
}
