package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

// catalogueSite is a site with lists of 50 products. Each product has two prices, of which every third differ, and a
// link to a page of its own that the first edition of the spider leaves out.
type catalogueSite struct {
	products int
	requests atomic.Int64
	robots   atomic.Int64
}

func (s *catalogueSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	w.Header().Set("Content-Type", "text/html")
	kind, text, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	n, _ := strconv.Atoi(text)
	switch kind {
	case "list":
		for i := n; i < min(n+50, s.products); i++ {
			fmt.Fprintf(w, `<a class="product" href="/p/%d">x</a>`, i)
		}
		if n+50 < s.products {
			fmt.Fprintf(w, `<a class="next" href="/list/%d">x</a>`, n+50)
		}
	case "p":
		sale := n
		if n%3 == 0 {
			sale /= 2
		}
		fmt.Fprintf(w, `<b>%d</b><i>%d</i><u>%d</u><a class="review" href="/review/%d">x</a>`, n, n, sale, n)
	case "review":
		_, _ = w.Write([]byte("<p>good</p>"))
	case "robots.txt":
		s.robots.Add(1)
		_, _ = w.Write([]byte("User-agent: *\nDisallow: /review/1\n"))
	default:
		http.NotFound(w, r)
	}
}

type product struct {
	SKU   string `json:"sku" key:"true"`
	Price string `json:"price"`
}

// newCatalogue makes the program whose spider crawls the site. The editions of the spider: "" takes one price and
// "sale" the other one, leaves out some products, and gives two items for others; "reviews" follows other links too,
// and "inline" fetches them in the parser; "again" has a page tried again after an hour.
func newCatalogue(site, edition string) *cli.App {
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[product]) error {
		links, price := "a.product, a.next", "i"
		switch edition {
		case "sale":
			price = "u"
		case "reviews":
			links = "a"
		case "again":
			if resp.CSS("b").Text() == "7" {
				return tegenaria.Retry(time.Hour, errors.New("no price yet"))
			}
		case "inline":
			if review := resp.CSS("a.review").Attr("href"); review != "" {
				if _, err := out.Fetch(tegenaria.NewRequest(site+review, tegenaria.GET, nil)); err != nil {
					return err
				}
			}
		}
		for _, link := range resp.CSS(links).Attrs("href") {
			if err := out.Follow(link); err != nil {
				return err
			}
		}
		sku := resp.CSS("b").Text()
		if sku == "" || edition == "sale" && strings.HasSuffix(sku, "9") {
			return nil
		}
		if edition == "sale" && strings.HasSuffix(sku, "50") {
			if err := out.Item(product{"half " + sku, "1"}); err != nil {
				return err
			}
		}
		return out.Item(product{sku, resp.CSS(price).Text()})
	}
	app := cli.New(tegenaria.NewSpider("catalogue", tegenaria.Handle(parse), site+"/list/0"))
	app.Settings(func(s *tegenaria.Settings) { s.Limits.Attempts = 3 })
	return app
}

// newCatalogueSite starts a site, and works in an empty directory.
func newCatalogueSite(t *testing.T, products int) (*catalogueSite, string) {
	s := &catalogueSite{products: products}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Chdir(t.TempDir())
	return s, server.URL
}

// pricesIn reads the lines of an output.
func pricesIn(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	prices := make(map[string]string)
	for line := range bytes.Lines(text) {
		var one product
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%s: %s: %v", path, line, err)
		}
		if _, twice := prices[one.SKU]; twice {
			t.Errorf("%s has %s twice", path, one.SKU)
		}
		prices[one.SKU] = one.Price
	}
	return prices
}

// differing says how two outputs differ, in lines.
func differing(old, now map[string]string) []string {
	var lines []string
	for sku, price := range now {
		if was, had := old[sku]; !had {
			lines = append(lines, "new "+sku)
		} else if was != price {
			lines = append(lines, "changed "+sku+" "+was+" "+price)
		}
	}
	for sku := range old {
		if _, has := now[sku]; !has {
			lines = append(lines, "removed "+sku)
		}
	}
	slices.Sort(lines)
	return lines
}

// TestReparse tries another selector on stored pages: nothing is asked for, and the difference is that of a crawl with the new spider.
func TestReparse(t *testing.T) {
	s, site := newCatalogueSite(t, 300)
	before, sale := newCatalogue(site, ""), newCatalogue(site, "sale")
	command(t, before, 0, "crawl catalogue --history h -O old.jsonl")
	asked := s.requests.Load()

	outside := filepath.Join(t.TempDir(), "outside.jsonl") // the program has it in its code
	sale.Engine(func(*cli.Run) ([]tegenaria.EngineOption, error) {
		return []tegenaria.EngineOption{
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Hour}),
			tegenaria.EngineWithPipelines(feed.JSONL(outside)),
		}, nil
	})
	lines, stderr := command(t, sale, 0, "reparse h catalogue -O new.jsonl -O new.csv --format jsonl")
	matches(t, stderr, "compared with run 1 of the history h: 181 same, 89 changed, 3 new, 30 missing")
	table, _ := command(t, sale, 0, "reparse h catalogue")
	matches(t, table, `^OP +FIELD +ITEMS +SUCH AS$`, `^changed +price +89 +\d+: \d+ → \d+$`, `^new +3 +half \d*50$`, `^missing +30 +\d+9$`)
	if strings.Count(table, "\n") != 4 {
		t.Errorf("the table has other lines:\n%s", table)
	}
	if table, stderr = command(t, before, 0, "reparse h catalogue"); table != "" {
		t.Errorf("the spider as it was differs:\n%s", table)
	}
	matches(t, stderr, "300 same, 0 changed, 0 new, 0 missing")
	if n := s.requests.Load() - asked; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if _, err := os.Stat(outside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the output of the program was written: %v", err)
	}
	if left, err := filepath.Glob(".reparse*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %s (%v)", left, err)
	}
	if text, err := os.ReadFile("new.csv"); err != nil || bytes.Count(text, []byte("\n")) != 274 {
		t.Errorf("new.csv has %d lines, not 274 (%v)", bytes.Count(text, []byte("\n")), err)
	}

	fresh := newCatalogue(site, "sale")
	command(t, fresh, 0, "crawl catalogue -O fresh.jsonl")
	if !maps.Equal(pricesIn(t, "fresh.jsonl"), pricesIn(t, "new.jsonl")) {
		t.Error("the items are not those of a crawl")
	}
	want := differing(pricesIn(t, "old.jsonl"), pricesIn(t, "fresh.jsonl"))
	if got := told(t, lines); !slices.Equal(got, want) {
		t.Errorf("the difference is %q, not %q", got, want)
	}

	// The history is as it was, until it is to keep the items.
	if _, stderr = command(t, before, 0, "changes h"); !strings.Contains(stderr, "run 1 of the history h: 300 new") {
		t.Errorf("the history has changed: %s", stderr)
	}
	asked = s.requests.Load()
	table, stderr = command(t, newCatalogue(site, "sale"), 0, "reparse h catalogue --keep")
	matches(t, stderr, "run 2 of the history h: 3 new, 89 changed, 181 unchanged, 0 removed; pages that keep their items: 0 failed, 30 read")
	matches(t, table, `^changed +price +89 `, `^new +3 `)
	shown, _ := command(t, before, 0, "changes h --format jsonl")
	kept := slices.DeleteFunc(want, func(line string) bool { return strings.HasPrefix(line, "removed ") }) // their pages give nothing
	if got := told(t, shown); !slices.Equal(got, kept) {
		t.Errorf("the changes are %q, not %q", got, kept)
	}
	if n := s.requests.Load() - asked; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// told are the lines of differences in the form of differing.
func told(t *testing.T, stdout string) []string {
	t.Helper()
	var lines []string
	for text := range strings.Lines(stdout) {
		var line struct {
			Op, Key   string
			Item, Old map[string]string
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		one := line.Op + " " + line.Key
		if line.Op == "changed" {
			one += " " + line.Old["price"] + " " + line.Item["price"]
		}
		lines = append(lines, one)
	}
	slices.Sort(lines)
	return lines
}

// TestReparseNotStored: pages that are not stored are counted and named, and asked for on request, as robots.txt allows.
func TestReparseNotStored(t *testing.T) {
	s, site := newCatalogueSite(t, 20)
	command(t, newCatalogue(site, ""), 0, "crawl catalogue --history h -O old.jsonl")
	asked, reviews := s.requests.Load(), newCatalogue(site, "reviews")
	_, stderr := command(t, reviews, 0, "reparse h catalogue")
	matches(t, stderr, `20 pages not stored; with --fetch the sites`, `not stored: GET `+site+`/review/\d+$`, `and 10 more$`, "20 same, 0 changed",
		"filtered.*not stored")
	if n := strings.Count(stderr, ": not stored: "); n != 10 {
		t.Errorf("%d pages are named, not 10:\n%s", n, stderr)
	}
	if n := s.requests.Load() - asked; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	s.robots.Store(0)
	_, stderr = command(t, reviews, 0, "reparse h catalogue --fetch")
	matches(t, stderr, "20 same, 0 changed, 0 new, 0 missing")
	if n := s.requests.Load() - s.robots.Load() - asked; n != 9 { // 1 and 10 to 19 are disallowed
		t.Errorf("%d pages were asked for, not 9", n)
	}
	_, stderr = command(t, reviews, 0, "reparse h catalogue")
	matches(t, stderr, "11 pages not stored")

	// Nothing at all is stored of another spider.
	other := cli.New(tegenaria.NewSpider("other", tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[product]) error {
		return out.Item(product{"x", "1"})
	}), site+"/other"))
	if err := os.WriteFile("kept.jsonl", []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr = command(t, other, 1, "reparse h other -O kept.jsonl")
	matches(t, stderr, "1 page not stored")
	if text, err := os.ReadFile("kept.jsonl"); err != nil || string(text) != "old\n" {
		t.Errorf("the output was replaced: %q (%v)", text, err)
	}
}

// TestReparseParsers: nothing is tried again, and a page whose parser needs a page that is not stored is no failure.
func TestReparseParsers(t *testing.T) {
	s, site := newCatalogueSite(t, 20)
	command(t, newCatalogue(site, ""), 0, "crawl catalogue --history h -O old.jsonl")
	asked := s.requests.Load()
	_, stderr := command(t, newCatalogue(site, "again"), 0, "reparse h catalogue")
	matches(t, stderr, "19 same, 0 changed, 0 new, 1 missing", "1 given up")
	_, stderr = command(t, newCatalogue(site, "inline"), 0, "reparse h catalogue")
	matches(t, stderr, "20 pages not stored", "0 same, 0 changed, 0 new, 20 missing")
	if n := s.requests.Load() - asked; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestReparseRefusals: what cannot be done is said before anything is done.
func TestReparseRefusals(t *testing.T) {
	_, site := newCatalogueSite(t, 5)
	app := newCatalogue(site, "")
	app.With(database{Part: &part{}})
	command(t, app, 0, "crawl catalogue --history h -O old.jsonl")
	command(t, app, 0, "crawl catalogue --history elsewhere --cache pages -O old.jsonl")
	if err := os.MkdirAll("folder.jsonl", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, want string }{
		{"none catalogue", "none is no history; crawl --history none makes one"},
		{"elsewhere catalogue", "there are no stored pages in elsewhere/pages: .*--cache"},
		{"h nobody", "nobody"},
		{"h " + site, "reparse takes the name of a spider"},
		{"h", "needs the directory of a history, and the name of a spider"},
		{"h catalogue -O -", "-O -: the standard output cannot be replaced"},
		{"h catalogue -O x.store", "-O x.store: a database is not replaced"},
		{"h catalogue -O x.warc", "-O x.warc: an archive"},
		{"h catalogue -O {start}.jsonl", "without braces"},
		{"h catalogue -O x.what", "no format belongs to the ending"},
		{"h catalogue -O x.csv -O x.csv", `"x.csv" is given twice`},
		{"h catalogue -O folder.jsonl", "folder.jsonl: it is no file that could be replaced"},
		{"h catalogue --format xml", `--format is "xml": it is table or jsonl`},
		{"h catalogue -a x=1", "x"},
		{"h catalogue --key price", "choose the key as before"},
	} {
		stdout, stderr := command(t, app, 2, "reparse "+tt.line)
		if matches(t, stderr, tt.want); stdout != "" {
			t.Errorf("%s prints %s", tt.line, stdout)
		}
	}
	if _, err := os.Stat("none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a history was made: %v", err)
	}
	_, stderr := command(t, app, 0, "reparse elsewhere catalogue --cache pages")
	matches(t, stderr, "5 same, 0 changed")
	_, stderr = command(t, app, 0, "reparse h catalogue --quiet -O link.jsonl")
	if strings.Contains(stderr, "compared") {
		t.Errorf("a quiet command says more: %s", stderr)
	}
}

// database is a part with a format that is one.
type database struct{ cli.Part }

func (database) Endings() []cli.Ending {
	return []cli.Ending{{Suffix: ".store", Help: "a database", IsDatabase: true}}
}

// TestReparseManyFields: fields beyond the first thousand are counted together.
func TestReparseManyFields(t *testing.T) {
	_, site := newCatalogueSite(t, 5)
	app := func(value string) *cli.App {
		parse := func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[map[string]string]) error {
			item := make(map[string]string)
			for i := range 1_003 {
				item[fmt.Sprintf("field%04d", i)] = value
			}
			return out.Item(item)
		}
		return cli.New(tegenaria.NewSpider("catalogue", tegenaria.Handle(parse), site+"/list/0"))
	}
	command(t, app("a"), 0, "crawl catalogue --history h -O old.jsonl")
	table, _ := command(t, app("b\x1b\t"), 0, "reparse h catalogue")
	matches(t, table, `^changed +field\d{4} +1 +`+site+`/list/0: a → b\\u001b\\t$`, `^changed +\(others\) +3 +`)
	if n := strings.Count(table, "\nchanged "); n != 1_001 {
		t.Errorf("the table has %d fields, not 1,000 and the others", n)
	}
}

// TestReparseMode: a new file has the mode of the old one, and a link stays one.
func TestReparseMode(t *testing.T) {
	_, site := newCatalogueSite(t, 5)
	app := newCatalogue(site, "")
	command(t, app, 0, "crawl catalogue --history h -O old.jsonl")
	err := errors.Join(
		os.Mkdir("data", 0o700), os.WriteFile("data/items", nil, 0o600), os.Symlink(filepath.Join("data", "items"), "items.jsonl"),
		os.WriteFile(filepath.Join("data", ".reparse-items.jsonl"), []byte("left behind"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	command(t, app, 0, "reparse h catalogue -O items.jsonl")
	if _, err := os.Stat(filepath.Join("data", ".reparse-items.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file beside is still there: %v", err)
	}
	link, err := os.Lstat("items.jsonl")
	file, also := os.Stat("items.jsonl")
	if err = errors.Join(err, also); err != nil {
		t.Fatal(err)
	}
	if link.Mode().Type() != os.ModeSymlink || file.Mode() != 0o600 || len(pricesIn(t, "items.jsonl")) != 5 {
		t.Errorf("the link has the mode %s, the file %s and %d bytes", link.Mode(), file.Mode(), file.Size())
	}
}

// TestReparseKills: a process that is killed leaves the old file or the new one, and nothing behind once it has come to its end.
func TestReparseKills(t *testing.T) {
	_, site := newCatalogueSite(t, 100)
	command(t, newCatalogue(site, ""), 0, "crawl catalogue --history h -O items.jsonl")
	old, err := os.ReadFile("items.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	program := filepath.Join(t.TempDir(), "catalogue")
	if err = errors.Join(err, os.Symlink(self, program)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	reparse := func() *exec.Cmd {
		cmd := exec.Command(program, "reparse", "h", "catalogue", "-O", "items.jsonl")
		cmd.Env = append(os.Environ(), "SITE="+site, "EDITION=sale")
		return cmd
	}
	if text, err := reparse().CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	took, want := time.Since(began), pricesIn(t, "items.jsonl")
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random, replaced := rand.New(rand.NewPCG(seed, 53)), 0
	for i := range deep.Rounds(6, 60) {
		if err := os.WriteFile("items.jsonl", old, 0o644); err != nil {
			t.Fatal(err)
		}
		fault := killtest.Fault{After: time.Duration(random.Int64N(int64(took)))}
		if i%2 == 1 { // when the crawl has come to its end
			fault = killtest.Fault{Line: "finished", After: time.Duration(random.IntN(5_000)) * time.Microsecond}
		}
		p, err := killtest.Start(reparse(), fault)
		if err != nil {
			t.Fatal(err)
		}
		p.Wait()
		text, err := os.ReadFile("items.jsonl")
		switch {
		case err != nil:
			t.Fatal(err)
		case bytes.Equal(text, old):
		case maps.Equal(pricesIn(t, "items.jsonl"), want):
			replaced++
		default:
			t.Fatalf("the file is neither the old one nor the new one:\n%s", text)
		}
	}
	t.Logf("%d files were replaced", replaced)
	if text, err := reparse().CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	left, err := filepath.Glob(".reparse*")
	if err != nil || len(left) > 0 || !maps.Equal(pricesIn(t, "items.jsonl"), want) {
		t.Errorf("left behind: %s (%v)", left, err)
	}
}
