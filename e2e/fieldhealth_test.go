package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

// fieldsChild makes this program a crawl of the site of TestFieldsAfterKill.
var fieldsChild = flag.String("fieldschild", "", "URL of a site; internal")

const fieldPages = 600

// fieldPage returns a page of the site: one in three has no price, one in seven a price that is no number, one in five no stock.
func fieldPage(n int) string {
	page := fmt.Sprintf("<title>%d</title><h1>Book %d</h1>", n, n)
	switch {
	case n%7 == 0:
		page += "<p class=price>dear</p>"
	case n%3 != 0:
		page += fmt.Sprintf("<p class=price>%d.50</p>", n)
	}
	if n%5 != 0 {
		page += "<p class=stock>3</p>"
	}
	for _, to := range []int{2*n + 1, 2*n + 2} { // a tree
		if to < fieldPages {
			page += fmt.Sprintf("<a href=/%d>next</a>", to)
		}
	}
	return page
}

type healthItem struct {
	Title string  `css:"h1" json:"title"`
	Price float64 `css:".price" json:"price"`
	Stock int     `css:".stock" json:"stock" default:"0"`
}

// fieldsMain crawls the site as a durable job in the working directory, and prints the counts of the job's fields.
func fieldsMain() int {
	store, err := disk.Open("job")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer store.Close()
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[healthItem]) error {
		var item healthItem
		err := page.Unmarshal(&item)
		if err := out.FollowLinks(); err != nil {
			return err
		}
		return errors.Join(err, out.Item(item))
	}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithCache(store), tegenaria.EngineWithFieldCounts(true),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", tegenaria.Handle(parse), *fieldsChild+"/0")))
	if err := engine.Run(context.Background(), "books"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(engine.JobStats().Fields); err != nil {
		return 1
	}
	return 0
}

// A job that is killed at several moments, and resumed, has counted each page once: the counts of its fields are those
// of the pages that the server has served. It fails if what was in flight counts twice or not at all.
func TestFieldsAfterKill(t *testing.T) {
	loop := &killtest.Loop{Limit: 2 * time.Minute}
	var mu sync.Mutex // guards served
	served := make(map[string]int)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		served[r.URL.Path]++
		mu.Unlock()
		loop.Count()
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(fieldPage(n))) // a killed client gets no answer
	}))
	defer site.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var stdout bytes.Buffer
	// Each process gets past the requests that were in flight when the one before it died: a page with three crashes would be given up.
	counts := []int{1, 7, 60, 130}
	loop.Next = func(start int, _ *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		cmd := exec.Command(self, "-fieldschild", site.URL)
		stdout.Reset()
		cmd.Dir, cmd.Stdout = dir, &stdout
		var faults []killtest.Fault
		if start < len(counts) {
			faults = []killtest.Fault{{Count: counts[start]}}
		}
		return cmd, faults
	}
	starts, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kills := starts - 1
	var got map[string]tegenaria.FieldStats
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, &stdout)
	}
	want := map[string]tegenaria.FieldStats{}
	mu.Lock()
	again := 0
	for path, times := range served {
		var n int
		_, _ = fmt.Sscanf(path, "/%d", &n) // it was read before
		again += times - 1
		title, price, stock := want["healthItem.title"], want["healthItem.price"], want["healthItem.stock"]
		for _, f := range []*tegenaria.FieldStats{&title, &price, &stock} {
			f.LookedFor++
			f.Items++
		}
		title.Filled++
		switch {
		case n%7 == 0:
			price.Failed++
		case n%3 == 0:
			price.Missing++
		default:
			price.Filled++
		}
		if n%5 == 0 {
			stock.Defaulted++
		} else {
			stock.Filled++
		}
		want["healthItem.title"], want["healthItem.price"], want["healthItem.stock"] = title, price, stock
	}
	pages := len(served)
	mu.Unlock()
	t.Logf("%d kills, %d pages, %d of them served again", kills, pages, again)
	if kills == 0 || pages != fieldPages {
		t.Errorf("%d kills, %d pages", kills, pages)
	}
	for key, w := range want {
		if got[key] != w {
			t.Errorf("%s: got %+v, want %+v", key, got[key], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v in %s", got, filepath.Base(dir))
	}
}
