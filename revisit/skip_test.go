package revisit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
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

// noting makes the parser note the paths that it is called for, and returns what gives them since the last call.
func (v *visits) noting() (parsed func() []string) {
	var mu sync.Mutex
	var paths []string
	parse := v.parse
	v.parse = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		mu.Lock()
		paths = append(paths, strings.TrimPrefix(ctx.Request.Url, site))
		mu.Unlock()
		return parse(ctx, items, req)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		defer func() { paths = nil }()
		slices.Sort(paths)
		return paths
	}
}

// Which pages are skipped on the second day, after one on which all pages of a chain were read, and what becomes of the table.
func TestSkipUnchanged(t *testing.T) {
	for name, test := range map[string]struct {
		pages  pages
		change func(v *visits)
		parsed []string
		want   []string // changes
		wants  func(r revisit.Run) bool
	}{
		"nothing has changed": {chain(), nil, nil, nil, func(r revisit.Run) bool { return r.Skipped == 3 && r.Pages == 3 && r.Unchanged == 3 && r.Complete }},
		"a price has changed": {with(chain(), "/b", enginetest.Text(body(nil, thing{"b", 2}))), nil, []string{"/b"}, []string{`changed b {"price":1}`},
			func(r revisit.Run) bool { return r.Skipped == 2 && r.Unchanged == 2 }},
		"a page is gone":  {with(chain(), "/b", nil), nil, nil, []string{"removed b (page gone)"}, nil},
		"a page fails":    {with(chain(), "/a", enginetest.Status(500)), nil, nil, nil, func(r revisit.Run) bool { return r.Failed == 1 && r.Skipped == 1 }},
		"another spider":  {chain(), func(v *visits) { v.spider = "other" }, []string{"/", "/a", "/b"}, nil, nil},
		"other arguments": {chain(), func(v *visits) { v.options.Arguments = "x=1" }, []string{"/", "/a", "/b"}, nil, nil},
		"without it":      {chain(), func(v *visits) { v.options.SkipUnchanged = false }, []string{"/", "/a", "/b"}, nil, nil},
		"a thing moves to a page that has changed": {with(chain(), "/a", enginetest.Text(body([]string{"/b"}, thing{"a", 1}, thing{"b", 1}))), nil,
			[]string{"/a"}, nil, func(r revisit.Run) bool { return r.Clashes == 0 && r.Unchanged == 3 }},
		"another page gives a thing otherwise": {with(chain(), "/a", enginetest.Text(body([]string{"/b"}, thing{"a", 1}, thing{"root", 9}))), nil,
			[]string{"/a"}, nil, func(r revisit.Run) bool { return r.Clashes == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVisits(t)
			v.options.SkipUnchanged = true
			parsed := v.noting()
			first := &settling{url: site + "/", begun: make(chan struct{})} // of two items with one key the first that settles counts
			v.day(chain())
			if got := parsed(); len(got) != 3 {
				t.Fatalf("on the first day %q were parsed", got)
			}
			if test.change != nil {
				test.change(v)
			}
			next := maps.Clone(test.pages)
			if answer := next["/a"]; answer != nil {
				next["/a"] = first.before(answer)
			}
			run, changes := v.day(next, tegenaria.EngineWithPipelines(first))
			want(t, "the second day", changes, test.want...)
			if got := parsed(); !slices.Equal(got, test.parsed) {
				t.Errorf("on the second day %q were parsed, not %q", got, test.parsed)
			}
			if test.wants != nil && !test.wants(run) {
				t.Errorf("the second day: %+v", run)
			}
		})
	}
}

// A product that comes back is found, although the pages that link to it have not changed.
func TestSkippedLinksComeBack(t *testing.T) {
	v := newVisits(t)
	v.options.SkipUnchanged = true
	v.day(chain())
	v.day(with(chain(), "/b", nil))
	_, changes := v.day(chain())
	want(t, "the third day", changes, "new b")
}

// What a page has sent is sent again as it was: to another parser, with its values, and in spite of a filter of the first day.
func TestSkippedRequests(t *testing.T) {
	v := newVisits(t)
	v.options.SkipUnchanged = true
	var mu sync.Mutex
	var told []string
	detail := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, _ *tegenaria.Output[thing]) error {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprint(r.Request().Method, r.Request().Url, string(r.Request().Body), r.Request().Meta["n"], r.Request().Depth, r.Request().Priority))
		return nil
	})
	var more tegenaria.EngineOption = tegenaria.EngineWithMiddlewares(refusing("/refused"))
	root := v.parse
	v.parse = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		if ctx.Request.Url != site+"/" {
			return detail(ctx, items, req)
		}
		told = append(told, "root")
		req <- tegenaria.NewContext(tegenaria.NewRequest(site+"/form", tegenaria.POST, nil, tegenaria.RequestWithBody([]byte("a=1")),
			tegenaria.RequestWithRequestMeta(map[string]any{"n": 7}), tegenaria.RequestWithPriority(3)))
		req <- tegenaria.NewContext(tegenaria.NewRequest(site+"/same", tegenaria.GET, nil, tegenaria.RequestWithSameDepth()))
		return root(ctx, items, req)
	}
	all := pages{"/": enginetest.Text(body([]string{"/refused", "/plain", "mailto:a@b.test"}))}
	for _, path := range []string{"/form", "/same", "/refused", "/plain"} {
		all[path] = enginetest.Text(path)
	}
	v.day(all, more)
	first := slices.Sorted(slices.Values(told))
	told = nil
	for path := range all { // all but the first page have changed
		if path != "/" {
			all[path] = enginetest.Text(path + " is another one")
		}
	}
	v.day(all)
	slices.Sort(told)
	expected := slices.DeleteFunc(append(first, "GET"+site+"/refused<nil> 1 0"), func(line string) bool { return line == "root" })
	if slices.Sort(expected); !slices.Equal(told, expected) || len(told) != 4 {
		t.Errorf("on the second day the parser got %q, not %q", told, expected)
	}
}

// A page is not skipped if what its parser gives may depend on more than the page, or cannot be sent again.
func TestNeverSkipped(t *testing.T) {
	type parser = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error
	for name, also := range map[string]parser{
		"a parser without a name": func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			req <- tegenaria.NewContext(tegenaria.NewRequest(site+"/b", tegenaria.GET, tegenaria.Handle(
				func(context.Context, *tegenaria.Response, *tegenaria.Output[thing]) error { return nil })))
			return nil
		},
		"Fetch": func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			_, err := ctx.Fetch(tegenaria.NewRequest(site+"/b", tegenaria.GET, nil))
			return err
		},
		"two items with one key": func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			items <- tegenaria.NewItem(ctx, thing{"a", 1})
			items <- tegenaria.NewItem(ctx, thing{"a", 2})
			return nil
		},
		"an item that is lost": func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			items <- tegenaria.NewItem(ctx, thing{"", 1})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVisits(t)
			v.options.SkipUnchanged = true
			v.parse = also
			parsed := v.noting()
			days := pages{"/": enginetest.Text("a"), "/b": enginetest.Text("b")}
			v.day(days)
			parsed()
			if run, _ := v.day(days); !slices.Contains(parsed(), "/") || run.Skipped != 0 {
				t.Errorf("the page was skipped: %+v", run)
			}
		})
	}
}

// html is a page whose token is another one each day.
func html(main string, token int) enginetest.Answer {
	return enginetest.Text(fmt.Sprintf("<html><body><nav>Menu</nav><article><h1>A loom</h1>%s</article><form><input name=token value=%d></form></body></html>", main, token))
}

// TestSameText: a page whose token has changed has the same text, and one with other text or links has not.
func TestSameText(t *testing.T) {
	const text = "<p>The loom reads a pattern, line by line, and weaves it; a pattern may name other patterns, which are read too. <a href=/b>More</a></p>"
	for _, of := range []revisit.Text{revisit.MainText, "article"} {
		t.Run(string(of), func(t *testing.T) {
			v := newVisits(t)
			v.options.Text, v.options.SkipUnchanged = of, true
			var told []string
			v.parse = tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[thing]) error {
				told = append(told, r.Change().String())
				return out.Item(thing{"loom", 1})
			})
			for day, test := range []struct {
				page enginetest.Answer
				skip bool
				told []string // with the parser running
			}{
				{html(text, 1), false, []string{"new"}},
				{html(text, 2), true, []string{"same text"}},
				{html(text+"<p>And there is another paragraph, which says something new of looms.</p>", 2), false, []string{"unknown"}},
				{html(text, 3), false, []string{"unknown"}},
				{html(strings.Replace(text, "/b", "/c", 1), 4), false, []string{"unknown"}},
			} {
				told = nil
				run, _ := v.day(pages{"/": test.page})
				if skipped := run.Skipped == 1; skipped != test.skip || !skipped && !slices.Equal(told, test.told) {
					t.Errorf("day %d: skipped: %t; told %q, not %q", day+1, skipped, told, test.told)
				}
			}
			v.options.SkipUnchanged = false
			for _, token := range []int{5, 6} {
				told = nil
				v.day(pages{"/": html(text, token)})
			}
			if !slices.Equal(told, []string{"same text"}) {
				t.Errorf("without SkipUnchanged: %q", told)
			}
		})
	}
	if _, err := revisit.Open(t.TempDir(), revisit.Options{Text: "a[["}); err == nil {
		t.Error("a selector that is none is no mistake")
	}
}

// Items without a key are counted where their page is skipped, and those with one are not.
func TestSkippedKeyless(t *testing.T) {
	for _, field := range []string{"", "name"} {
		v := newVisits(t)
		v.options = revisit.Options{SkipUnchanged: true, KeyField: field}
		all := pages{"/": enginetest.Text(body([]string{"/a"}, thing{"x", 1}, thing{"y", 1})), "/a": enginetest.Text(body(nil, thing{"z", 1}))}
		first, _ := v.day(all)
		second, _ := v.day(all)
		if keyless := first.Keyless; (keyless == 2) != (field == "") || second.Keyless != keyless || second.Skipped != 2 {
			t.Errorf("the key is the field %q: on the first day %+v, on the second %+v", field, first, second)
		}
	}
}

// TestOutputBeside: a feed of all items would lack those of pages that are skipped.
func TestOutputBeside(t *testing.T) {
	for _, skips := range []bool{true, false} {
		v := newVisits(t)
		h, err := revisit.Open(v.folder, revisit.Options{SkipUnchanged: skips})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithEmptyOK(),
			tegenaria.EngineWithDownloader(enginetest.NewWorld().Page(site+"/", enginetest.Text(body(nil)))),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(v.folder, "all.jsonl")), h.Changes(feed.JSONL(v.changes()))))
		e.RegisterSpiders(tegenaria.NewSpiderOf("shop", v.parse, tegenaria.NewRequest(site+"/", tegenaria.GET, nil)))
		beside := &tegenaria.OutputBesideError{}
		if err := e.Run(t.Context(), "shop"); errors.As(err, &beside) != skips || !skips && err != nil {
			t.Errorf("SkipUnchanged %t: %v", skips, err)
		}
	}
}

// TestRandomSkips: a shop is edited and crawled again and again, with SkipUnchanged and without. Pages fail, parsers
// too, and a pipeline drops items. Both histories have the same table, the feeds make it, and the same pages are
// visited. Some pages have a token that changes each day.
func TestRandomSkips(t *testing.T) {
	seed := deep.Seed()
	skipped, pages := int64(0), int64(0)
	for i := range deep.Rounds(25, 10_000) {
		t.Run(fmt.Sprint("seed ", seed+uint64(i)), func(t *testing.T) {
			s, p := randomSkips(t, seed+uint64(i))
			skipped, pages = skipped+s, pages+p
		})
		if t.Failed() {
			return
		}
	}
	if skipped < pages/10 {
		t.Errorf("of %d pages %d were skipped", pages, skipped)
	}
}

func randomSkips(t *testing.T, seed uint64) (skipped, pages int64) {
	random := rand.New(rand.NewPCG(seed, 55))
	shop := newShop(random)
	type history struct {
		*revisit.History
		path     string
		lines    int
		replayed map[string]string
	}
	var both []*history
	for _, skip := range []bool{false, true} {
		folder := t.TempDir()
		h, err := revisit.Open(folder, revisit.Options{MaxRemoved: 1, SkipUnchanged: skip})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		both = append(both, &history{h, filepath.Join(folder, "changes.jsonl"), 0, make(map[string]string)})
	}
	for run := 1; run <= 6; run++ {
		for _, path := range shop.paths() {
			if random.IntN(4) > 0 {
				shop.pages[path].Token = 0
			}
		}
		faulty := random.IntN(3) > 0
		dropped := make(map[string]bool)
		if faulty {
			for _, path := range shop.paths() {
				for _, one := range shop.pages[path].Items {
					if random.IntN(20) == 0 {
						dropped[one.SKU] = true
					}
				}
			}
		}
		world := shop.world(faulty)
		var tables []map[string]string
		var visited [][]string
		for _, h := range both {
			w := &witness{}
			err := crawl(t, h.History, h.path, world, w, dropped, false)
			runs, failed := h.Runs()
			if failed != nil {
				t.Fatal(failed)
			}
			if last := runs[len(runs)-1]; last.Number != run || !last.Complete {
				t.Fatalf("run %d: %v, %+v", run, err, last)
			} else if h == both[1] {
				skipped, pages = skipped+last.Skipped, pages+last.Pages
			}
			var urls []string
			for _, one := range w.list {
				urls = append(urls, fmt.Sprint(one.URL, " ", one.Outcome))
			}
			slices.Sort(urls)
			visited, tables = append(visited, urls), append(tables, tableOf(t, h.History))
			h.lines = replay(t, h.path, h.lines, h.replayed)
			if !maps.Equal(h.replayed, tables[len(tables)-1]) {
				t.Errorf("run %d: the lines of the feed do not make the table", run)
			}
		}
		if !maps.Equal(tables[0], tables[1]) {
			t.Errorf("run %d (faulty %t): with SkipUnchanged: %s", run, faulty, difference(tables[1], tables[0]))
		}
		if !slices.Equal(visited[0], visited[1]) {
			t.Errorf("run %d: visited with SkipUnchanged\n%q\nand without\n%q", run, visited[1], visited[0])
		}
		if t.Failed() {
			break
		}
		shop.edit()
	}
	return skipped, pages
}

// An item stands on two pages, and one of them has changed it. When that one does not give it any more, the other page
// is parsed although it has not changed, since it gives the item as it was.
func TestItemOfAnotherPage(t *testing.T) {
	v := newVisits(t)
	v.options.SkipUnchanged = true
	root := enginetest.Text(body([]string{"/a", "/b"}))
	b := enginetest.Text(body(nil, thing{"x", 1}))
	v.day(pages{"/": root, "/a": enginetest.Text(body(nil, thing{"x", 1}, thing{"a", 1})), "/b": b})
	_, changes := v.day(pages{"/": root, "/a": enginetest.Text(body(nil, thing{"x", 2}, thing{"a", 1})), "/b": enginetest.Status(500)})
	want(t, "the second day", changes, `changed x {"price":1}`)
	_, changes = v.day(pages{"/": root, "/a": enginetest.Text(body(nil, thing{"a", 1})), "/b": b})
	want(t, "the third day", changes, `changed x {"price":2}`)
}
