package revisit_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/revisit"
)

// product is an item.
type product struct {
	SKU   string `json:"sku" key:"true"`
	Price int    `json:"price"`
	Token int    `json:"-"`
}

// content is a page: where it leads to and what it gives. Its JSON is its body.
type content struct {
	Links []string  `json:"links"`
	Items []product `json:"items"`
	Token int       `json:"token"` // another one in each run
}

// shop is a site of random pages, which changes between runs.
type shop struct {
	random *rand.Rand
	pages  map[string]*content
	skus   int
}

func newShop(random *rand.Rand) *shop {
	s := &shop{random: random, pages: map[string]*content{"/": {}}}
	for range 12 {
		s.addPage()
	}
	return s
}

// any returns a page.
func (s *shop) any() string { return s.paths()[s.random.IntN(len(s.pages))] }

func (s *shop) paths() []string { return slices.Sorted(maps.Keys(s.pages)) }

// addPage adds a page, to which some others lead.
func (s *shop) addPage() {
	path := fmt.Sprintf("/%d", s.random.IntN(1_000_000))
	if s.pages[path] != nil {
		return
	}
	for range 1 + s.random.IntN(2) {
		from := s.pages[s.any()]
		from.Links = append(from.Links, path)
	}
	s.pages[path] = &content{}
	for range s.random.IntN(4) {
		s.addItem(path)
	}
}

func (s *shop) addItem(path string) {
	s.skus++
	s.pages[path].Items = append(s.pages[path].Items, product{SKU: fmt.Sprint("s", s.skus), Price: s.random.IntN(100)})
}

// edit changes the site in some places.
func (s *shop) edit() {
	for range s.random.IntN(6) {
		path := s.any()
		page := s.pages[path]
		switch s.random.IntN(8) {
		case 0:
			s.addPage()
		case 1: // it is gone; links to it stay, or go
			if path != "/" {
				delete(s.pages, path)
				if s.random.IntN(2) == 0 {
					for _, other := range s.pages {
						other.Links = slices.DeleteFunc(other.Links, func(l string) bool { return l == path })
					}
				}
			}
		case 2:
			page.Links = slices.DeleteFunc(page.Links, func(string) bool { return s.random.IntN(3) == 0 })
		case 3:
			s.addItem(path)
		case 4:
			page.Items = slices.DeleteFunc(page.Items, func(product) bool { return s.random.IntN(2) == 0 })
		case 5: // items move, or stand on two pages
			other := s.pages[s.any()]
			if other == page {
				continue
			}
			for _, one := range page.Items {
				if !slices.ContainsFunc(other.Items, func(p product) bool { return p.SKU == one.SKU }) {
					other.Items = append(other.Items, one)
				}
			}
			if s.random.IntN(2) == 0 {
				page.Items = nil
			}
		case 6:
			s.random.Shuffle(len(page.Items), func(i, k int) { page.Items[i], page.Items[k] = page.Items[k], page.Items[i] })
			s.random.Shuffle(len(page.Links), func(i, k int) { page.Links[i], page.Links[k] = page.Links[k], page.Links[i] })
		case 7:
			if len(page.Items) > 0 { // a price, wherever the product stands
				sku := page.Items[s.random.IntN(len(page.Items))].SKU
				price := s.random.IntN(100)
				for _, other := range s.pages {
					for i := range other.Items {
						if other.Items[i].SKU == sku {
							other.Items[i].Price = price
						}
					}
				}
			}
		}
	}
	for _, page := range s.pages {
		page.Token = s.random.IntN(1000)
	}
}

// world serves the site. Some pages fail, or answer 404 though they are there.
func (s *shop) world(faulty bool) *enginetest.World {
	w := enginetest.NewWorld()
	for path, page := range s.pages {
		body, _ := json.Marshal(page)
		answer := enginetest.Text(string(body))
		if faulty {
			switch s.random.IntN(12) {
			case 0:
				answer = enginetest.Status(500) // a 503 would ask for a pause
			case 1:
				answer = enginetest.Text("{") // its parser fails
			case 2:
				answer = enginetest.Broken(errors.New("broken"))
			}
		}
		w.Page(site+path, answer)
	}
	return w
}

const site = "http://shop.test"

// witness notes how pages have settled, and the items that pipelines get.
type witness struct {
	mu   sync.Mutex
	list []tegenaria.Settlement

	items []any
}

func (w *witness) GetPriority() int { return 0 }

func (w *witness) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.items = append(w.items, item.Item)
	return nil
}

func (w *witness) Settling(list []tegenaria.Settlement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, list...)
}

func (w *witness) Settled() {}

// model is what a history has to know, in maps and by the rules as they are written.
type model struct {
	pages map[string]*known // by URL
	items map[string]*row
}

type known struct {
	read  int
	lost  bool // in the run that is checked
	links []string
	items map[string]bool
}

type row struct {
	price int
	pages map[string]bool
}

// settle enters the pages of a run. dropped are the items that a pipeline has dropped.
func (m *model) settle(run int, s *shop, list []tegenaria.Settlement, dropped map[string]bool) {
	for i := range list {
		one := &list[i]
		p := m.pages[one.URL]
		if p == nil {
			p = &known{items: make(map[string]bool)}
		}
		if one.Status == 404 {
			for sku := range p.items {
				delete(m.items[sku].pages, one.URL)
			}
			delete(m.pages, one.URL)
			continue
		}
		m.pages[one.URL] = p
		if one.Outcome != tegenaria.Fetched {
			p.lost = true
			continue
		}
		page := s.pages[strings.TrimPrefix(one.URL, site)]
		p.read, p.links = run, nil
		for _, link := range page.Links {
			p.links = append(p.links, site+link)
		}
		lost, now := false, make(map[string]bool)
		for _, product := range page.Items {
			if dropped[product.SKU] {
				lost = true
				continue
			}
			now[product.SKU] = true
			r := m.items[product.SKU]
			if r == nil {
				r = &row{pages: make(map[string]bool)}
				m.items[product.SKU] = r
			}
			r.price = product.Price
			r.pages[one.URL] = true
		}
		if lost || len(now) == 0 {
			maps.Copy(now, p.items)
		}
		for sku := range p.items {
			if !now[sku] {
				delete(m.items[sku].pages, one.URL)
			}
		}
		p.items = now
	}
}

// finish enters that a run has come to its end.
func (m *model) finish(run int) {
	var lost []*known
	mark := func(url string) {
		if p := m.pages[url]; p != nil && p.read != run && !p.lost {
			p.lost = true
			lost = append(lost, p)
		}
	}
	for url, p := range m.pages {
		if p.lost {
			lost = append(lost, p)
		}
		if url == site+"/" {
			mark(url)
		}
		if p.read == run {
			for _, link := range p.links {
				mark(link)
			}
		}
	}
	for len(lost) > 0 {
		p := lost[0]
		lost = lost[1:]
		for _, link := range p.links {
			mark(link)
		}
	}
	for url, p := range m.pages {
		if p.read != run && !p.lost {
			for sku := range p.items {
				delete(m.items[sku].pages, url)
			}
			delete(m.pages, url)
		}
	}
	for sku, r := range m.items {
		if len(r.pages) == 0 {
			delete(m.items, sku)
		}
	}
}

// follow checks that the links of the stored pages of those that have failed were followed in a run that came to its
// end, and that nothing else was asked for than what the read pages and these link to. Then it stores the pages of the
// run.
func (s stored) follow(t *testing.T, shop *shop, list []tegenaria.Settlement, complete bool) {
	t.Helper()
	settled, linked := make(map[string]bool), map[string]bool{site + "/": true}
	for i := range list {
		settled[list[i].URL] = true
	}
	now := maps.Clone(s)
	for i := range list {
		one := &list[i]
		text, has := "", false
		switch {
		case one.Status == 404:
			delete(now, one.URL)
		case one.Outcome == tegenaria.Fetched:
			body, _ := json.Marshal(shop.pages[strings.TrimPrefix(one.URL, site)])
			text, now[one.URL] = string(body), string(body)
		case one.Outcome != tegenaria.Filtered:
			if text, has = s[one.URL]; complete && one.StoredRead != has {
				t.Errorf("%s has ended as %s: a stored page was read: %t; there is one: %t", one.URL, one.Outcome, one.StoredRead, has)
			}
			if one.Failed == tegenaria.StageParse {
				now[one.URL] = "{"
			}
		}
		var page content
		_ = json.Unmarshal([]byte(text), &page) // a stored page may be one that its parser cannot read
		for _, link := range page.Links {
			if linked[site+link] = true; complete && !settled[site+link] {
				t.Errorf("%s links to %s, which was not asked for; the page was stored: %t", one.URL, link, has)
			}
		}
	}
	for url := range settled {
		if !linked[url] {
			t.Errorf("nothing leads to %s, which was asked for", url)
		}
	}
	clear(s)
	maps.Copy(s, now)
}

// table is what the items are.
func (m *model) table() map[string]string {
	table := make(map[string]string)
	for sku, r := range m.items {
		table[sku] = fmt.Sprintf(`{"price":%d,"sku":%q}`, r.price, sku)
	}
	return table
}

// TestRandomHistories: a shop is edited and crawled again and again. Pages fail, parsers too, a pipeline drops items, and some
// runs are stopped. The links of the stored page are followed where a page has failed. After each run the table is what
// a model says, and the lines of the feed make the table of before into it; after a run without faults it is what the
// shop has.
func TestRandomHistories(t *testing.T) {
	seed := deep.Seed()
	for i := range deep.Rounds(50, 10_000) {
		t.Run(fmt.Sprint("seed ", seed+uint64(i)), func(t *testing.T) { randomHistory(t, seed+uint64(i)) })
		if t.Failed() {
			return
		}
	}
}

func randomHistory(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 53))
	shop := newShop(random)
	folder := t.TempDir()
	feedPath := filepath.Join(folder, "changes.jsonl")
	stored := make(stored)
	h, err := revisit.Open(folder, revisit.Options{MaxRemoved: 1, Pages: stored})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	m := &model{pages: make(map[string]*known), items: make(map[string]*row)}
	replayed := make(map[string]string)
	lines := 0
	for run := 1; run <= 6; run++ {
		faulty, stopped := random.IntN(3) > 0, random.IntN(4) == 0
		dropped := make(map[string]bool)
		if faulty {
			for _, page := range shop.pages {
				for _, one := range page.Items {
					if random.IntN(20) == 0 {
						dropped[one.SKU] = true
					}
				}
			}
		}
		w := &witness{}
		err := crawl(t, h, feedPath, shop.world(faulty), w, dropped, stopped)
		if len(w.list) == 0 {
			t.Logf("run %d: %v", run, err)
			continue
		}
		for _, p := range m.pages {
			p.lost = false
		}
		runs, err := h.Runs()
		if err != nil {
			t.Fatal(err)
		}
		last := runs[len(runs)-1]
		stored.follow(t, shop, w.list, last.Complete)
		m.settle(last.Number, shop, w.list, dropped)
		if last.Complete {
			m.finish(last.Number)
		}
		lines = replay(t, feedPath, lines, replayed)
		if got := tableOf(t, h); !maps.Equal(got, m.table()) {
			t.Errorf("run %d (faulty %t, stopped %t, complete %t): the table is\n%v\nnot\n%v", run, faulty, stopped, last.Complete, got, m.table())
		} else if !maps.Equal(replayed, got) {
			t.Errorf("run %d: the lines of the feed make\n%v\nand the table is\n%v", run, replayed, got)
		}
		if t.Failed() {
			return
		}
		shop.edit()
	}
}

// parserOf returns a parser of pages with items of a type: it sends what their JSON has.
func parserOf[T any]() tegenaria.Parser {
	return tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[T]) error {
		var page struct {
			Links []string
			Items []T
		}
		if err := json.Unmarshal(r.Bytes(), &page); err != nil {
			return err
		}
		for _, one := range page.Items {
			if err := out.Item(one); err != nil {
				return err
			}
		}
		for _, link := range page.Links {
			if err := out.Follow(link); err != nil {
				return err
			}
		}
		return nil
	})
}

// crawl crawls the shop with a history.
func crawl(t *testing.T, h *revisit.History, path string, w *enginetest.World, told *witness, dropped map[string]bool, stops bool) error {
	drop := tegenaria.PipelineFunc(0, func(_ context.Context, p product) (product, error) {
		if dropped[p.SKU] {
			return p, tegenaria.DropItem(errors.New("dropped"))
		}
		return p, nil
	})
	options := []tegenaria.EngineOption{
		tegenaria.EngineWithQuiet(), tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithDownloader(w), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithPipelines(drop, told, h.Changes(feed.JSONL(path))),
	}
	if stops {
		options = append(options, tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 3}))
	}
	e := tegenaria.NewSpiderEngine(options...)
	e.RegisterSpiders(tegenaria.NewSpiderOf("shop", parserOf[product](), tegenaria.NewRequest(site+"/", tegenaria.GET, nil)))
	return e.Run(t.Context(), "shop")
}

// tableOf returns the table of a history.
func tableOf(t *testing.T, h *revisit.History) map[string]string {
	t.Helper()
	table := make(map[string]string)
	for row, err := range h.Items() {
		if err != nil {
			t.Fatal(err)
		}
		table[row.Key] = string(row.Item)
	}
	return table
}

// replay applies the lines of a feed that come after some to a table, and returns how many there are.
func replay(t *testing.T, path string, from int, table map[string]string) (lines int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		if lines++; lines <= from {
			continue
		}
		var c revisit.Change
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		was, known := table[c.Key]
		switch {
		case c.Op == revisit.New && !known, c.Op == revisit.Changed && known && was != string(c.Item):
			table[c.Key] = string(c.Item)
		case c.Op == revisit.Removed && known && c.Proof != "":
			delete(table, c.Key)
		default:
			t.Errorf("line %d does not follow from the table: %s", lines, s.Text())
		}
	}
	return lines
}
