package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
)

// shop is a site whose products change from crawl to crawl. Each page has an ETag; the answers are counted.
type shop struct {
	mu      sync.Mutex
	prices  map[string]int // by article number
	answers map[int]int    // by status
	broken  string         // the path of a page whose answer is 500
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	sku := strings.TrimPrefix(r.URL.Path, "/p/")
	price, sold := s.prices[sku]
	switch {
	case r.URL.Path == s.broken:
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	case r.URL.Path == "/":
		for sku := range maps.Keys(s.prices) {
			text.WriteString(`<a href="/p/` + sku + `">x</a>`)
		}
	case sold:
		fmt.Fprintf(&text, `<b id="sku">%s</b><i>%d</i>`, sku, price)
	default:
		http.NotFound(w, r)
		return
	}
	tag := fmt.Sprintf(`"%x-%d"`, len(s.prices), price)
	status := http.StatusOK
	if w.Header().Set("ETag", tag); r.Header.Get("If-None-Match") == tag {
		status = http.StatusNotModified
	}
	s.answers[status]++
	w.Header().Set("Content-Type", "text/html")
	if w.WriteHeader(status); status == http.StatusOK {
		_, _ = w.Write([]byte(text.String()))
	}
}

// counted returns how many answers there were with a status since the last call.
func (s *shop) counted(status int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.answers[status] = 0 }()
	return s.answers[status]
}

func (s *shop) edit(do func(prices map[string]int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.prices)
}

type article struct {
	SKU   string `json:"sku" key:"true"`
	Price string `json:"price"`
}

// newShop starts a shop with articles a00 to a19, and returns the command of its spider.
func newShop(t *testing.T) (*shop, *httptest.Server, *cli.App) {
	s := &shop{prices: make(map[string]int), answers: make(map[int]int)}
	for i := range 20 {
		s.prices[fmt.Sprintf("a%02d", i)] = 100 + i
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[article]) error {
		if sku := resp.CSS("#sku").Text(); sku != "" {
			return out.Item(article{sku, resp.CSS("i").Text()})
		}
		for _, link := range resp.CSS("a").Attrs("href") {
			if err := out.Follow(link); err != nil {
				return err
			}
		}
		return nil
	}
	app := cli.New(tegenaria.NewSpider("shop", tegenaria.Handle(parse), server.URL+"/"))
	app.Settings(func(s *tegenaria.Settings) { s.Politeness.IgnoreRobots = true })
	t.Chdir(t.TempDir())
	return s, server, app
}

// command runs a command, and returns what it prints.
func command(t *testing.T, app *cli.App, want int, line string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if code := app.Run(t.Context(), strings.Fields(line), nil, &out, &err); code != want {
		t.Fatalf("%s: exit code %d, not %d\n%s%s", line, code, want, out.String(), err.String())
	}
	return out.String(), err.String()
}

func matches(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(text) {
			t.Errorf("nothing fits %s in\n%s", p, text)
		}
	}
}

// TestHistory crawls a shop on four days.
func TestHistory(t *testing.T) {
	s, server, app := newShop(t)
	const crawl = "crawl shop --history h -O items.jsonl"
	_, stderr := command(t, app, 0, crawl)
	matches(t, stderr, "run 1 of the history h: 20 new, 0 changed, 0 unchanged, 0 removed")
	s.counted(http.StatusOK)

	s.edit(func(prices map[string]int) {
		prices["a03"], prices["b00"] = 7, 8
		delete(prices, "a05")
		delete(prices, "a06")
	})
	_, stderr = command(t, app, 0, crawl)
	matches(t, stderr, "run 2 of the history h: 1 new, 1 changed, 17 unchanged, 2 removed")
	stdout, _ := command(t, app, 0, "changes h")
	matches(t, stdout, `^OP +KEY +FIELDS +URL$`, `^new +b00 +http://.*/p/b00$`, `^changed +a03 +price: 103 → 7 +http://.*/p/a03$`,
		`^removed +a05 +unreachable +http://.*/p/a05$`)
	if n := strings.Count(stdout, "\n"); n != 5 {
		t.Errorf("the table has %d lines, not 5:\n%s", n, stdout)
	}
	stdout, _ = command(t, app, 0, "changes h --format jsonl")
	matches(t, stdout, `^\{"op":"changed","key":"a03","url":"[^"]+/p/a03","item":\{"price":"7","sku":"a03"\},"old":\{"price":"103"\},"run":2,`)

	// Nothing has changed: each page is asked for, and none is sent.
	s.counted(http.StatusOK)
	s.counted(http.StatusNotModified)
	_, stderr = command(t, app, 0, crawl)
	matches(t, stderr, "run 3 of the history h: 0 new, 0 changed, 19 unchanged, 0 removed")
	if ok, same := s.counted(http.StatusOK), s.counted(http.StatusNotModified); ok != 0 || same != 20 {
		t.Errorf("%d pages were sent and %d not modified, not 0 and 20", ok, same)
	}
	if items, err := os.ReadFile("items.jsonl"); err != nil || bytes.Count(items, []byte("\n")) != 19 {
		t.Errorf("the output has %d items, not all 19 (%v)", bytes.Count(items, []byte("\n")), err)
	}

	// Most articles are gone at once.
	s.edit(func(prices map[string]int) {
		maps.DeleteFunc(prices, func(sku string, _ int) bool { return sku > "a02" })
	})
	_, stderr = command(t, app, 0, crawl+" --quiet")
	matches(t, stderr, "16 items would be removed, more than a run may remove: .* changes h --accept-removed removes them")
	if strings.Count(stderr, "\n") != 1 {
		t.Errorf("a quiet crawl says more:\n%s", stderr)
	}
	stdout, stderr = command(t, app, 0, "changes h")
	matches(t, stderr, "16 items would be removed")
	if stdout != "" {
		t.Errorf("withheld changes are shown:\n%s", stdout)
	}
	stdout, stderr = command(t, app, 0, "changes h --accept-removed")
	matches(t, stderr, "0 new, 0 changed, 3 unchanged, 16 removed")
	if n := strings.Count(stdout, "\nremoved "); n != 16 {
		t.Errorf("%d items are removed, not 16:\n%s", n, stdout)
	}
	command(t, app, 2, "changes h --accept-removed")

	// Lines of a run that the history does not have are not shown: its process was killed before it could count them.
	file, err := os.OpenFile(filepath.Join("h", "changes.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(`{"op":"new","key":"zz","url":"` + server.URL + `/zz","run":5}` + "\n" + `{"op":"ne`)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if stdout, _ = command(t, app, 0, "changes h --since 0"); strings.Contains(stdout, "zz") {
		t.Errorf("a change that the history does not have is shown:\n%s", stdout)
	}
	_, stderr = command(t, app, 0, crawl)
	matches(t, stderr, "run 5 of the history h: 0 new, 0 changed, 3 unchanged, 0 removed")
}

// TestHistoryFollowsStored: on the second day the list of the articles fails. They are found by the stored list all the same.
func TestHistoryFollowsStored(t *testing.T) {
	s, _, app := newShop(t)
	const crawl = "crawl shop --history h -O items.jsonl -s limits.attempts=1"
	command(t, app, 0, crawl)
	s.edit(func(prices map[string]int) { prices["a03"], s.broken = 7, "/" })
	_, stderr := command(t, app, 0, crawl)
	matches(t, stderr, "run 2 of the history h: 0 new, 1 changed, 19 unchanged, 0 removed; pages that keep their items: 1 failed, 0 read",
		"the links of 1 page that failed were followed as they were stored")
	if items, err := os.ReadFile("items.jsonl"); err != nil || bytes.Count(items, []byte("\n")) != 20 {
		t.Errorf("the output has %d items, not 20 (%v)", bytes.Count(items, []byte("\n")), err)
	}
}

// TestChangesAll: the pages that the last run has not read are shown on request, with why.
func TestChangesAll(t *testing.T) {
	s, server, app := newShop(t)
	command(t, app, 0, "crawl shop --history h -O items.jsonl")
	stdout, _ := command(t, app, 0, "changes h --all --format jsonl")
	if n := strings.Count(stdout, "\n"); n != 20 || strings.Contains(stdout, "unreached") {
		t.Errorf("of a run that has read everything %d lines are shown:\n%s", n, stdout)
	}
	s.edit(func(prices map[string]int) { s.broken = "/p/a04" })
	command(t, app, 0, "crawl shop --history h -O items.jsonl -s limits.attempts=1")
	stdout, _ = command(t, app, 0, "changes h --all")
	matches(t, stdout, `^OP +KEY +FIELDS +URL$`, `^failed +read last in run 1, 1 item +`+server.URL+`/p/a04$`)
	if strings.Count(stdout, "\n") != 2 {
		t.Errorf("other pages are shown:\n%s", stdout)
	}
	if stdout, _ = command(t, app, 0, "changes h"); stdout != "" {
		t.Errorf("they are shown unasked:\n%s", stdout)
	}
	command(t, app, 0, "crawl shop --history h -O items.jsonl --limit pages=1 --stop-ok")
	stdout, _ = command(t, app, 0, "changes h --all --format jsonl")
	matches(t, stdout, `^\{"op":"unreached","url":"`+server.URL+`/p/a04","run":1,"items":1\}$`, `^\{"op":"unreached","url":"`+server.URL+`/p/a05","run":2,"items":1\}$`)
	if n := strings.Count(stdout, "unreached"); n != 20 {
		t.Errorf("%d pages are unreached, not 20:\n%s", n, stdout)
	}
}

// TestHistoryOfURL: without a spider, the pages are the items, and their URLs the keys.
func TestHistoryOfURL(t *testing.T) {
	s, server, app := newShop(t)
	crawl := "crawl " + server.URL + "/ --allow-private --ignore-robots --history h -O pages.jsonl"
	_, stderr := command(t, app, 0, crawl)
	matches(t, stderr, "run 1 of the history h: 21 new,")
	s.edit(func(prices map[string]int) { delete(prices, "a07") })
	_, stderr = command(t, app, 0, crawl)
	matches(t, stderr, "run 2 of the history h: 0 new, 1 changed, 19 unchanged, 1 removed")
	stdout, _ := command(t, app, 0, "changes h")
	matches(t, stdout, `^changed +`+server.URL+`/ +.*links: 20 → 19`, `^removed +`+server.URL+`/p/a07 +unreachable`)
}

// TestHistoryClashes: two items with one key and other contents are named with their pages.
func TestHistoryClashes(t *testing.T) {
	s, _, app := newShop(t)
	s.edit(func(prices map[string]int) {
		maps.DeleteFunc(prices, func(sku string, _ int) bool { return sku > "a01" })
		prices["a01"] = 100
	})
	_, stderr := command(t, app, 0, "crawl shop --history h --key price -O items.jsonl")
	matches(t, stderr, "1 new, ", "1 time another item of the run has the key, with other contents", "key 100: http://.*/p/a0[01] and http://.*/p/a0[01]$")
}
