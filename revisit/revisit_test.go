package revisit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/revisit"
)

// visits are days on which a site is crawled with one history.
type visits struct {
	t       *testing.T
	folder  string
	options revisit.Options
	seeds   []string // paths; nil: "/"
	engine  []tegenaria.EngineOption
	parse   tegenaria.Parser
	spider  string
}

// thing is an item without a key.
type thing struct {
	Name  string `json:"name"`
	Price int    `json:"price"`
}

// body is a page of things.
func body(links []string, things ...thing) string {
	text, _ := json.Marshal(map[string]any{"links": links, "items": things})
	return string(text)
}

func newVisits(t *testing.T) *visits {
	return &visits{t: t, folder: t.TempDir(), options: revisit.Options{KeyField: "name"}, spider: "shop", parse: parserOf[thing]()}
}

// day crawls pages, given by path, and returns what the run has found, and its changes as "op key (proof) old".
func (v *visits) day(pages map[string]enginetest.Answer, more ...tegenaria.EngineOption) (revisit.Run, []string) {
	v.t.Helper()
	h, err := revisit.Open(v.folder, v.options)
	if err != nil {
		v.t.Fatal(err)
	}
	defer h.Close()
	w := enginetest.NewWorld()
	for path, answer := range pages {
		w.Page(site+path, answer)
	}
	seeds := v.seeds
	if seeds == nil {
		seeds = []string{"/"}
	}
	var requests []*tegenaria.Request
	for _, path := range seeds {
		requests = append(requests, tegenaria.NewRequest(site+path, tegenaria.GET, nil))
	}
	e := tegenaria.NewSpiderEngine(slices.Concat([]tegenaria.EngineOption{
		tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithDownloader(w),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithConcurrency(1),
		tegenaria.EngineWithPipelines(h.Changes(feed.JSONL(v.changes()))),
	}, v.engine, more)...)
	e.RegisterSpiders(tegenaria.NewSpiderOf(v.spider, v.parse, requests...))
	before := len(v.lines())
	_ = e.Run(v.t.Context(), v.spider)
	runs, err := h.Runs()
	if err != nil || len(runs) == 0 {
		v.t.Fatalf("the runs: %v, %v", runs, err)
	}
	return runs[len(runs)-1], v.lines()[before:]
}

func (v *visits) changes() string { return filepath.Join(v.folder, "changes.jsonl") }

// lines returns the changes that were written.
func (v *visits) lines() (lines []string) {
	text, err := os.ReadFile(v.changes())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		v.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c revisit.Change
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			v.t.Fatal(err)
		}
		short := fmt.Sprintf("%s %s", c.Op, c.Key)
		if c.Proof != "" {
			short += fmt.Sprintf(" (%s)", c.Proof)
		}
		if len(c.Old) > 0 {
			short += " " + string(c.Old)
		}
		lines = append(lines, short)
	}
	return lines
}

// want fails unless the changes are these, in any order.
func want(t *testing.T, day string, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: the changes are %q, not %q", day, got, want)
	}
}

type pages = map[string]enginetest.Answer

// three pages, one below the other, with a thing each.
func chain() pages {
	return pages{
		"/":  enginetest.Text(body([]string{"/a"}, thing{"root", 1})),
		"/a": enginetest.Text(body([]string{"/b"}, thing{"a", 1})),
		"/b": enginetest.Text(body(nil, thing{"b", 1})),
	}
}

func with(of pages, path string, a enginetest.Answer) pages {
	of = maps.Clone(of)
	if of[path] = a; a == nil {
		delete(of, path)
	}
	return of
}

// What a second day does to the table, after one on which all pages of a chain were read.
func TestSecondDay(t *testing.T) {
	broken := enginetest.Broken(errors.New("broken"))
	for name, test := range map[string]struct {
		pages  pages
		change func(v *visits)
		want   []string
		wants  func(r revisit.Run) bool
	}{
		"nothing":                       {chain(), nil, nil, func(r revisit.Run) bool { return r.Unchanged == 3 && r.Pages == 3 && r.Complete }},
		"a price":                       {with(chain(), "/b", enginetest.Text(body(nil, thing{"b", 2}))), nil, []string{`changed b {"price":1}`}, nil},
		"another thing":                 {with(chain(), "/b", enginetest.Text(body(nil, thing{"b", 1}, thing{"c", 1}))), nil, []string{"new c"}, nil},
		"a thing gives way to another":  {with(chain(), "/b", enginetest.Text(body(nil, thing{"c", 1}))), nil, []string{"new c", "removed b (not on page)"}, nil},
		"a thing moves":                 {with(with(chain(), "/b", enginetest.Text(body(nil, thing{"c", 1}))), "/a", enginetest.Text(body([]string{"/b"}, thing{"a", 1}, thing{"b", 1}))), nil, []string{"new c"}, nil},
		"a page gives nothing any more": {with(chain(), "/b", enginetest.Text(body(nil))), nil, nil, func(r revisit.Run) bool { return r.Kept == 1 }},
		"a page is gone":                {with(chain(), "/b", nil), nil, []string{"removed b (page gone)"}, nil},
		"a page is gone for good":       {with(chain(), "/b", enginetest.Status(410)), nil, []string{"removed b (page gone)"}, nil},
		"nothing leads to a page":       {with(chain(), "/a", enginetest.Text(body(nil, thing{"a", 1}))), nil, []string{"removed b (unreachable)"}, nil},
		"a page fails":                  {with(chain(), "/a", broken), nil, nil, func(r revisit.Run) bool { return r.Failed == 1 && r.Complete }},
		"the first page fails":          {with(chain(), "/", broken), nil, nil, nil},
		"a page leads elsewhere":        {with(chain(), "/b", enginetest.Redirect(302, "/")), nil, nil, func(r revisit.Run) bool { return r.Kept == 1 }},
		"a parser fails":                {with(chain(), "/a", enginetest.Text("{")), nil, nil, func(r revisit.Run) bool { return r.Failed == 1 }},
		"other seeds":                   {chain(), func(v *visits) { v.seeds = []string{"/b"} }, nil, nil},
		"other arguments":               {with(chain(), "/a", enginetest.Text(body(nil, thing{"a", 1}))), func(v *visits) { v.options.Arguments = "x=1" }, nil, nil},
		"another spider":                {with(chain(), "/a", enginetest.Text(body(nil, thing{"a", 1}))), func(v *visits) { v.spider = "other" }, nil, nil},
		"another spider gives other things": {with(chain(), "/b", enginetest.Text(body(nil, thing{"c", 1}))), func(v *visits) { v.spider = "other" }, []string{"new c"},
			func(r revisit.Run) bool { return r.Kept == 1 }},
		"other arguments, a page is gone":   {with(chain(), "/b", nil), func(v *visits) { v.options.Arguments = "x=1" }, []string{"removed b (page gone)"}, nil},
		"less deep":                         {chain(), limits(tegenaria.Limits{Depth: 1}), nil, nil},
		"fewer pages":                       {chain(), limits(tegenaria.Limits{Pages: 1}), nil, func(r revisit.Run) bool { return !r.Complete }},
		"another domain":                    {chain(), func(v *visits) { v.engine = append(v.engine, tegenaria.EngineWithAllowedDomains("other.test")) }, nil, nil},
		"a filter of links, which are seen": {chain(), func(v *visits) { v.engine = append(v.engine, tegenaria.EngineWithMiddlewares(refusing("/b"))) }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVisits(t)
			run, changes := v.day(chain())
			want(t, "the first day", changes, "new root", "new a", "new b")
			if run.New != 3 || !run.Complete || run.Number != 1 {
				t.Errorf("the first day: %+v", run)
			}
			if test.change != nil {
				test.change(v)
			}
			run, changes = v.day(test.pages)
			want(t, "the second day", changes, test.want...)
			if test.wants != nil && !test.wants(run) {
				t.Errorf("the second day: %+v", run)
			}
			v.options.Arguments, v.seeds, v.engine, v.spider = "", nil, nil, "shop"
			if _, changes = v.day(test.pages); test.change == nil {
				want(t, "the third day, on which nothing has changed", changes)
			}
		})
	}
}

func limits(l tegenaria.Limits) func(v *visits) {
	return func(v *visits) { v.engine = append(v.engine, tegenaria.EngineWithLimits(l)) }
}

// refusing is a middleware that refuses requests for a path when they are sent.
func refusing(path string) tegenaria.MiddlewaresInterface {
	return &enginetest.FilterHooks{Accept: func(_ *tegenaria.Response, r *tegenaria.Request) error {
		if strings.HasSuffix(r.Url, path) {
			return tegenaria.ErrIgnoreRequest
		}
		return nil
	}}
}

// What an attempt has given that runs again is given once.
func TestRetry(t *testing.T) {
	v := newVisits(t)
	parse := v.parse
	v.parse = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		if ctx.Request.Attempt == 0 {
			items <- tegenaria.NewItem(ctx, thing{"half", 1})
			return tegenaria.Retry(0, errors.New("once more"))
		}
		return parse(ctx, items, req)
	}
	run, changes := v.day(pages{"/": enginetest.Text(body(nil, thing{"a", 1}, thing{"b", 1}))})
	want(t, "the day", changes, "new a", "new b")
	if run.Pages != 1 || run.New != 2 {
		t.Errorf("the run: %+v", run)
	}
}

// The keys of items.
func TestKeys(t *testing.T) {
	type tagged struct {
		Number int `json:"number" key:"true"`
		Price  int `json:"price"`
	}
	items := func(list ...any) tegenaria.Parser {
		return func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			for _, one := range list {
				items <- tegenaria.NewItem(ctx, one)
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		options       revisit.Options
		first, second []any
		want          []string // changes of both days
		wants         func(second revisit.Run) bool
	}{
		"a tag": {revisit.Options{}, []any{tagged{1, 1}, &tagged{2, 1}}, []any{tagged{1, 2}, &tagged{2, 1}}, []string{"new 1", "new 2", `changed 1 {"price":1}`}, nil},
		"the page": {revisit.Options{}, []any{thing{"a", 1}}, []any{thing{"b", 1}},
			[]string{"new http://shop.test/", `changed http://shop.test/ {"name":"a"}`}, nil},
		"the whole item": {revisit.Options{}, []any{thing{"a", 1}, thing{"b", 1}}, []any{thing{"a", 2}, thing{"b", 1}},
			[]string{`new {"name":"a","price":1}`, `new {"name":"b","price":1}`, `new {"name":"a","price":2}`, `removed {"name":"a","price":1} (not on page)`},
			func(r revisit.Run) bool { return r.Keyless == 2 }},
		"a func": {revisit.Options{Key: func(item any) string { return strings.ToUpper(item.(thing).Name) }}, []any{thing{"a", 1}}, []any{thing{"a", 2}},
			[]string{"new A", `changed A {"price":1}`}, nil},
		"a field that an item lacks": {revisit.Options{KeyField: "name"}, []any{thing{"a", 1}, thing{"b", 1}}, []any{thing{"a", 1}, thing{"", 1}},
			[]string{"new a", "new b"}, func(r revisit.Run) bool { return r.Kept == 1 }},
		"a field of maps": {revisit.Options{KeyField: "n"}, []any{map[string]any{"n": 7, "x": []int{1}}}, []any{map[string]any{"x": []int{1, 2}, "n": 7, "y": "new"}},
			[]string{"new 7", `changed 7 {"x":[1],"y":null}`}, nil},
		"an item that is no object": {revisit.Options{}, []any{"a <b>"}, []any{3}, []string{"new http://shop.test/", `changed http://shop.test/ "a <b>"`}, nil},
		"a key with another type":   {revisit.Options{KeyField: "n"}, []any{map[string]any{"n": 7}}, []any{map[string]any{"n": "7"}}, []string{"new 7", `changed 7 {"n":7}`}, nil},
		"two items with a key": {revisit.Options{KeyField: "name"}, []any{thing{"a", 1}}, []any{thing{"a", 1}, thing{"a", 2}, thing{"a", 1}}, []string{"new a"},
			func(r revisit.Run) bool {
				return r.Clashes == 1 && r.Unchanged == 1 && slices.Equal(r.Examples, []revisit.Clash{{Key: "a", First: site + "/", Other: site + "/"}})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVisits(t)
			v.options, v.parse = test.options, items(test.first...)
			v.day(pages{"/": enginetest.Text("x")})
			v.parse = items(test.second...)
			run, _ := v.day(pages{"/": enginetest.Text("x")})
			want(t, "both days", v.lines(), test.want...)
			if test.wants != nil && !test.wants(run) {
				t.Errorf("the second day: %+v", run)
			}
		})
	}
}

// A run that would remove too much removes nothing, until somebody accepts it.
func TestWithheld(t *testing.T) {
	v := newVisits(t)
	many := func(n int) pages {
		all := pages{}
		var links []string
		for i := range n {
			path := fmt.Sprint("/", i)
			links = append(links, path)
			all[path] = enginetest.Text(body(nil, thing{path, 1}))
		}
		all["/"] = enginetest.Text(body(links))
		return all
	}
	v.day(many(30))
	if run, changes := v.day(many(20)); run.Removed != 10 || len(changes) != 10 {
		t.Errorf("10 of 30 are gone: %+v, %q", run, changes)
	}
	for range 2 {
		if run, changes := v.day(many(9)); run.Removed != 0 || run.Withheld != 11 || len(changes) != 0 {
			t.Errorf("11 of 20 are gone: %+v, %q", run, changes)
		}
	}
	accept := func() (int64, error) {
		h, err := revisit.OpenExisting(v.folder, revisit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		return h.AcceptRemoved(t.Context(), feed.JSONL(v.changes()))
	}
	before := len(v.lines())
	if n, err := accept(); n != 11 || err != nil || len(v.lines())-before != 11 {
		t.Errorf("accepted %d, %v, %q", n, err, v.lines()[before:])
	}
	if n, err := accept(); n != 0 || err == nil {
		t.Errorf("accepted again: %d, %v", n, err)
	}
	if run, changes := v.day(many(9)); run.Removed != 0 || run.Withheld != 0 || run.Unchanged != 9 || len(changes) != 0 {
		t.Errorf("the day after: %+v, %q", run, changes)
	}
}

// What cannot be opened says why.
func TestOpen(t *testing.T) {
	folder := t.TempDir()
	if _, err := revisit.OpenExisting(folder, revisit.Options{}); !enginetest.IsA[*revisit.NotFoundError](err) {
		t.Errorf("no history: %v", err)
	}
	for _, o := range []revisit.Options{{MaxRemoved: -1}, {MaxRemoved: 1.5}, {KeyField: "a", Key: func(any) string { return "a" }}} {
		if h, err := revisit.Open(folder, o); err == nil {
			t.Errorf("%+v is no mistake", o)
			h.Close()
		}
	}
	h, err := revisit.Open(folder, revisit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := revisit.Open(folder, revisit.Options{}); !enginetest.IsA[*revisit.InUseError](err) {
		t.Errorf("twice: %v", err)
	}
	if err := errors.Join(h.Close(), h.Close()); err != nil {
		t.Error(err)
	}
	if _, err := h.Runs(); err == nil {
		t.Error("a closed history has runs")
	}
	if info, err := os.Stat(filepath.Join(folder, "table")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the table: %v, %v", info, err)
	}
}

// A job whose history another run has changed, or which an older copy of it has, is not gone on with.
func TestJobOfAnotherHistory(t *testing.T) {
	v := newVisits(t)
	job := filepath.Join(t.TempDir(), "job")
	begin := func(limit int) error {
		h, err := revisit.Open(v.folder, v.options)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		queue, err := disk.Open(job)
		if err != nil {
			t.Fatal(err)
		}
		defer queue.Close()
		w := enginetest.NewWorld()
		for path, answer := range chain() {
			w.Page(site+path, answer)
		}
		e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithCache(queue), tegenaria.EngineWithDownloader(w),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: limit}),
			tegenaria.EngineWithPipelines(h.Changes(feed.JSONL(v.changes()))))
		e.RegisterSpiders(tegenaria.NewSpiderOf("shop", v.parse, tegenaria.NewRequest(site+"/", tegenaria.GET, nil)))
		return e.Run(t.Context(), "shop")
	}
	if err := begin(1); !enginetest.IsA[*tegenaria.StoppedError](err) {
		t.Fatalf("the first start: %v", err)
	}
	v.day(chain())
	older := &revisit.OlderError{}
	if err := begin(0); !errors.As(err, &older) || older.Batch >= older.Known {
		t.Errorf("after another run: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(v.folder, "table")); err != nil {
		t.Fatal(err)
	}
	if err := begin(0); !errors.As(err, &older) || older.Batch <= older.Known {
		t.Errorf("with an older history: %v", err)
	}
}

// A pipeline without a feed is a mistake.
func TestMistakes(t *testing.T) {
	h, err := revisit.Open(t.TempDir(), revisit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, to := range []revisit.Feed{nil, feed.JSONL("")} {
		e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithPipelines(h.Changes(to)))
		e.RegisterSpiders(enginetest.NewSpider(site + "/"))
		if err := e.Run(t.Context(), "test"); err == nil {
			t.Errorf("a run with the feed %v", to)
		}
	}
}

// What the parser of a page is told of it.
func TestPageChange(t *testing.T) {
	v := newVisits(t)
	var mu sync.Mutex
	parse, told := v.parse, make(map[string]string)
	v.parse = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		mu.Lock()
		defer mu.Unlock()
		told[strings.TrimPrefix(ctx.Request.Url, site)] = ctx.Response().Change().String()
		return parse(ctx, items, req)
	}
	notModified := func(text string) enginetest.Answer {
		return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			resp := tegenaria.NewResponse(ctx.Request, 200, nil, []byte(text))
			resp.SetCached(tegenaria.CacheStatus{State: tegenaria.CacheRevalidated}, nil)
			return resp, nil
		}
	}
	root, b := body([]string{"/a", "/b"}, thing{"root", 1}), body(nil, thing{"b", 1})
	for day, test := range []struct {
		pages pages
		want  map[string]string
	}{
		{pages{"/": enginetest.Text(root), "/a": enginetest.Text("{"), "/b": enginetest.Text(b)}, map[string]string{"/": "new", "/a": "new", "/b": "new"}},
		// A page that another crawl has stored, or whose parser has failed, is new to the history.
		{pages{"/": notModified(root), "/a": notModified("{"), "/b": enginetest.Text(b)},
			map[string]string{"/": "not modified", "/a": "new", "/b": "unknown"}},
		{pages{"/": notModified(root), "/b": enginetest.Text("{")}, map[string]string{"/": "not modified", "/b": "unknown"}},
		// What the site calls not modified is the page of the third day, which was not read.
		{pages{"/": notModified(root), "/b": notModified(b)}, map[string]string{"/": "not modified", "/b": "unknown"}},
		{pages{"/": notModified(root), "/b": notModified(b)}, map[string]string{"/": "not modified", "/b": "not modified"}},
		{pages{"/": notModified(root)}, map[string]string{"/": "not modified"}}, // b is gone
		{pages{"/": notModified(root), "/b": notModified(b)}, map[string]string{"/": "not modified", "/b": "new"}},
	} {
		clear(told)
		if v.day(test.pages); !maps.Equal(told, test.want) {
			t.Errorf("day %d: the pages are %v, not %v", day+1, told, test.want)
		}
	}
}

// stored are the bodies of pages by URL, as an HTTP cache has them.
type stored map[string]string

func (s stored) Stored(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	text, has := s[ctx.Request.Url]
	switch {
	case !has:
		return nil, nil
	case text == "broken":
		return nil, errors.New("the disk is broken")
	case text == "moved":
		return ctx.Respond(302, map[string][]string{"Location": {"/elsewhere"}}, nil)
	}
	return ctx.Respond(200, nil, strings.NewReader(text))
}

// A page fails on the second day, and the links of its stored page are followed. Below it a price has changed.
func TestLinksOfStoredPages(t *testing.T) {
	const text = `{"links":["/b"],"items":[{"name":"a","price":7}]}` // its items are those of another day
	changed := with(chain(), "/b", enginetest.Text(body(nil, thing{"b", 2})))
	seen := []string{`changed b {"price":1}`}
	for name, test := range map[string]struct {
		answer   enginetest.Answer // of the page
		stored   string
		change   func(v *visits)
		want     []string
		followed int64
	}{
		"an error":                    {enginetest.Status(500), text, nil, seen, 1},
		"no answer":                   {enginetest.Broken(errors.New("broken")), text, nil, seen, 1},
		"a parser fails":              {enginetest.Text("{"), text, nil, seen, 1},
		"it is gone":                  {nil, text, nil, []string{"removed a (page gone)", "removed b (unreachable)"}, 0},
		"it is not stored":            {enginetest.Status(500), "", nil, nil, 0},
		"it cannot be read":           {enginetest.Status(500), "broken", nil, nil, 0},
		"a redirect is stored":        {enginetest.Status(500), "moved", nil, nil, 0},
		"its parser fails once more":  {enginetest.Status(500), "{", nil, nil, 1},
		"a filter keeps it away":      {enginetest.Status(500), text, func(v *visits) { v.engine = append(v.engine, tegenaria.EngineWithMiddlewares(refusing("/a"))) }, nil, 0},
		"a middleware fails before":   {enginetest.Status(500), text, failing(errors.New("broken")), nil, 0},
		"a middleware gives up after": {enginetest.Text("captcha"), text, givingUp, seen, 1},
		"it is retried":               {enginetest.InTurn(enginetest.Status(500), enginetest.Text(body(nil, thing{"a", 1}))), text, retrying, []string{"removed b (unreachable)"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVisits(t)
			pages := make(stored)
			if test.stored != "" {
				pages[site+"/a"] = test.stored
			}
			v.options.Pages = pages
			v.day(chain())
			if test.change != nil {
				test.change(v)
			}
			w := &witness{}
			run, changes := v.day(with(changed, "/a", test.answer), tegenaria.EngineWithPipelines(w))
			want(t, "the second day", changes, test.want...)
			if run.Followed != test.followed || !run.Complete {
				t.Errorf("the run: %+v", run)
			}
			if slices.Contains(w.items, any(thing{"a", 7})) {
				t.Error("the pipelines have got an item of the stored page")
			}
			for _, one := range w.list {
				if of := one.URL == site+"/a"; one.StoredRead != (of && test.followed == 1) || of && one.StoredRead && one.Outcome == tegenaria.Fetched {
					t.Errorf("settled: %+v", one)
				}
			}
		})
	}
}

// failing has a middleware fail before the page is asked for.
func failing(err error) func(v *visits) {
	return middleware(tegenaria.MiddlewareFuncs{Name: "failing", Request: func(ctx *tegenaria.Context) error {
		if strings.HasSuffix(ctx.Request.Url, "/a") {
			return err
		}
		return nil
	}})
}

func givingUp(v *visits) {
	middleware(tegenaria.MiddlewareFuncs{Name: "captcha", Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
		if string(ctx.Response().Bytes()) == "captcha" {
			return tegenaria.GiveUp(errors.New("captcha"))
		}
		return nil
	}})(v)
}

func retrying(v *visits) {
	middleware(tegenaria.MiddlewareFuncs{Name: "retrying", Error: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
		return tegenaria.Retry(0, err)
	}})(v)
}

func middleware(m tegenaria.MiddlewareFuncs) func(v *visits) {
	return func(v *visits) { v.engine = append(v.engine, tegenaria.EngineWithMiddlewares(m)) }
}
