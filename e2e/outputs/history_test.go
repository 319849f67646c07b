//go:build unix

package outputs_test

import (
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/postgres"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/internal/pgtest"
	"github.com/tegenaria/tegenaria/revisit"
)

// day is a crawl with a history, in a process that is killed.
type day struct{ Feed, Site, Folder, Job, Database string }

var dayOfChild = flag.String("history.day", "", "the `day` that TestHistory crawls in another process")

// stock is a page of the shop: the prices of articles.
type stock struct {
	Links  []string       `json:"links"`
	Prices map[string]int `json:"prices"`
}

type article struct {
	SKU   string `json:"sku" key:"true"`
	Price int    `json:"price"`
}

func (d day) crawl(ctx context.Context) (err error) {
	h, err := revisit.Open(d.Folder, revisit.Options{MaxRemoved: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	queue, err := disk.Open(d.Job)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	var to revisit.Feed
	switch d.Feed {
	case "csv":
		to = feed.CSV(filepath.Join(d.Folder, "changes.csv"))
	case "sqlite":
		to = sqlite.New[revisit.Change](filepath.Join(d.Folder, "changes.db"))
	case "postgres":
		pool, err := pgxpool.New(ctx, d.Database)
		if err != nil {
			return err
		}
		defer pool.Close()
		to = postgres.New[revisit.Change](pool, postgres.Table("changes"))
	}
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[article]) error {
		var page stock
		if err := json.Unmarshal(r.Bytes(), &page); err != nil {
			return err
		}
		for sku, price := range page.Prices {
			if err := out.Item(article{sku, price}); err != nil {
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
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithCache(queue), tegenaria.EngineWithPipelines(h.Changes(to)),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
	e.RegisterSpiders(tegenaria.NewSpiderOf("stock", parser, tegenaria.NewRequest(d.Site+"/", tegenaria.GET, nil)))
	return e.Run(ctx, "stock")
}

// A crawl with a history whose changes go to a CSV file, SQLite or PostgreSQL is killed on several days. Read by
// others, the changes of each day make the stock of the day before into that of the day.
func TestHistory(t *testing.T) {
	if *dayOfChild != "" {
		var d day
		if err := errors.Join(json.Unmarshal([]byte(*dayOfChild), &d), d.crawl(t.Context())); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range []string{"csv", "sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) { historyIn(t, name) })
	}
}

func historyIn(t *testing.T, name string) {
	loop := &killtest.Loop{Seed: deep.Seed(), Log: t.Logf, Limit: time.Minute}
	random := rand.New(rand.NewPCG(loop.Seed, 55))
	pages := make(map[string]*stock)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loop.Count()
		page := pages[r.URL.Path]
		if page == nil {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(page)
	}))
	defer server.Close()
	d := day{Feed: name, Site: server.URL, Folder: t.TempDir()}
	if name == "postgres" {
		d.Database = pgtest.Another(t).DSN("postgres")
	}
	told, seen := make(map[string]int), 0
	for n := range deep.Rounds(2, 12) {
		d.Job = filepath.Join(t.TempDir(), fmt.Sprint("job", n))
		pages["/"] = &stock{Prices: map[string]int{"root": n}}
		truth := map[string]int{"root": n}
		for i := range 40 {
			path := fmt.Sprint("/", i)
			if pages[path] == nil || random.IntN(3) == 0 {
				pages[path] = &stock{Prices: map[string]int{path: random.IntN(5), path + "b": random.IntN(5)}}
			}
			switch random.IntN(5) {
			case 0: // it is gone
				delete(pages, path)
				pages["/"].Links = append(pages["/"].Links, path)
			case 1: // nothing leads to it
			default:
				pages["/"].Links = append(pages["/"].Links, path)
				maps.Copy(truth, pages[path].Prices)
			}
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		const kills = 2 // a page that is in flight at three deaths in a row is taken for their cause, and given up
		loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestHistory$", "-history.day="+string(text))
			if start >= kills {
				return cmd, nil
			}
			return cmd, []killtest.Fault{{Count: 1 + random.IntN(20), After: time.Duration(random.IntN(5_000)) * time.Microsecond}}
		}
		if _, err := loop.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		loop.Seed++
		changes := changesIn(t, d)
		for _, c := range changes[seen:] {
			switch _, known := told[c.Key]; {
			case c.Op == revisit.Removed && known:
				delete(told, c.Key)
			case (c.Op == revisit.Changed) == known:
				var is article
				if err := json.Unmarshal(c.Item, &is); err != nil || is.SKU != c.Key {
					t.Errorf("%+v: %v", c, err)
				}
				told[c.Key] = is.Price
			default:
				t.Errorf("day %d: %+v does not follow from the day before", n, c)
			}
		}
		if seen = len(changes); !maps.Equal(told, truth) {
			maps.DeleteFunc(told, func(sku string, price int) bool { // what is right
				is, has := truth[sku]
				delete(truth, sku)
				return has && is == price
			})
			t.Fatalf("day %d: the changes have %v too many or wrong, and lack %v", n, told, truth)
		}
	}
}

// changesIn reads the changes of a feed as another program does.
func changesIn(t *testing.T, d day) (changes []revisit.Change) {
	t.Helper()
	var rows [][]string
	const query = "SELECT op, key, item FROM %s ORDER BY %s"
	switch d.Feed {
	case "csv":
		file, err := os.Open(filepath.Join(d.Folder, "changes.csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		all, err := csv.NewReader(file).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		at := func(name string) int { return slices.Index(all[0], name) }
		for _, row := range all[1:] {
			rows = append(rows, []string{row[at("op")], row[at("key")], row[at("item")]})
		}
	case "sqlite":
		db, err := sql.Open("sqlite", filepath.Join(d.Folder, "changes.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		found, err := db.QueryContext(t.Context(), fmt.Sprintf(query, "change", "rowid"))
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		for found.Next() {
			row := make([]string, 3)
			if err := found.Scan(&row[0], &row[1], &row[2]); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
	case "postgres":
		out, err := exec.Command("psql", "-AtF", "\t", "-c", fmt.Sprintf(query, "changes", "ctid"), d.Database).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	for _, row := range rows {
		changes = append(changes, revisit.Change{Op: revisit.Op(row[0]), Key: row[1], Item: json.RawMessage(row[2])})
	}
	return changes
}
