package revisit_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/revisit"
)

// compare crawls pages with a comparison, and returns what it has found, the differences as day has them, and the error of the run.
func (v *visits) compare(
	pages map[string]enginetest.Answer, to func(revisit.Change) error, more ...tegenaria.EngineOption,
) (revisit.Difference, []string, error) {
	v.t.Helper()
	h, err := revisit.OpenExisting(v.folder, v.options)
	if err != nil {
		v.t.Fatal(err)
	}
	defer h.Close()
	runs, err := h.Runs()
	if err != nil {
		v.t.Fatal(err)
	}
	before := tableOf(v.t, h)
	var told []string
	comparison := h.Compare(func(c revisit.Change) error {
		if c.Run != runs[len(runs)-1].Number || c.Time.IsZero() || c.Proof != "" {
			v.t.Errorf("%+v", c)
		}
		told = append(told, string(c.Op)+" "+c.Key+" "+string(c.Old)+" "+c.URL)
		return to(c)
	})
	w := enginetest.NewWorld()
	for path, answer := range pages {
		w.Page(site+path, answer)
	}
	e := tegenaria.NewSpiderEngine(slices.Concat([]tegenaria.EngineOption{
		tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithDownloader(w), tegenaria.EngineWithConcurrency(1),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithPipelines(comparison),
	}, more)...)
	e.RegisterSpiders(tegenaria.NewSpiderOf(v.spider, v.parse, tegenaria.NewRequest(site+"/", tegenaria.GET, nil)))
	err = e.Run(v.t.Context(), v.spider)
	after, failed := h.Runs()
	if failed != nil || len(after) != len(runs) || !maps.Equal(tableOf(v.t, h), before) {
		v.t.Errorf("the history has changed: %+v (%v)", after, failed)
	}
	slices.Sort(told)
	return comparison.Found(), told, err
}

func nothing(revisit.Change) error { return nil }

// settling waits until a page settles. Batches do not overlap, so a page that is answered after it settles in a later one.
type settling struct {
	url   string
	begun chan struct{} // closed then
	once  sync.Once
}

func (s *settling) GetPriority() int { return 0 }

func (s *settling) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error { return nil }

func (s *settling) Settling(list []tegenaria.Settlement) {
	if slices.ContainsFunc(list, func(one tegenaria.Settlement) bool { return one.URL == s.url }) {
		s.once.Do(func() { close(s.begun) })
	}
}

func (s *settling) Settled() {}

// before is an answer that comes after the page has settled.
func (s *settling) before(answer enginetest.Answer) enginetest.Answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		select {
		case <-s.begun:
			return answer(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// TestCompare: the items of a run are compared as a run that the history keeps would compare them, and the history stays as it is.
func TestCompare(t *testing.T) {
	v := newVisits(t)
	v.day(pages{
		"/":  enginetest.Text(body([]string{"/1", "/2", "/3"}, thing{"same", 1}, thing{"other price", 1})),
		"/1": enginetest.Text(body(nil, thing{"gone", 1})),
		"/2": enginetest.Text(body(nil, thing{"failing", 1})),
		"/3": enginetest.Text(body(nil, thing{"moved", 1})),
	})
	next := pages{
		"/":  enginetest.Text(body([]string{"/1", "/2", "/3"}, thing{"same", 1}, thing{"other price", 2}, thing{"moved", 1})),
		"/2": enginetest.Status(500),
		"/3": enginetest.Text(body(nil, thing{"same", 1})),
	}
	// Of two items with one key the first that settles counts, and a page may settle before the one that has led to it.
	first := &settling{url: site + "/", begun: make(chan struct{})}
	next["/1"] = first.before(enginetest.Text(body(nil, thing{"new", 1}, thing{"other price", 3})))
	found, told, err := v.compare(next, nothing, tegenaria.EngineWithPipelines(first))
	want := revisit.Difference{Same: 2, New: 1, Changed: 1, Missing: 2, Clashes: 1}
	if err != nil || found != want {
		t.Errorf("found %+v, not %+v (%v)", found, want, err)
	}
	lines := []string{
		`changed other price {"price":1} ` + site + "/",
		"new new  " + site + "/1",
		"removed failing  " + site + "/2",
		"removed gone  " + site + "/1",
	}
	if !slices.Equal(told, lines) {
		t.Errorf("told %q, not %q", told, lines)
	}
	if run, _ := v.day(next); run.New != found.New || run.Changed != found.Changed || run.Unchanged != found.Same || run.Clashes != found.Clashes {
		t.Errorf("a run that is kept finds %+v, and the comparison %+v", run, found)
	}
}

// TestUnread: pages that the last run has not read say why.
func TestUnread(t *testing.T) {
	v := newVisits(t)
	links := body([]string{"/fails", "/breaks", "/gone", "/ignored", "/unlinked", "/read"})
	all := pages{"/": enginetest.Text(links)}
	for _, path := range []string{"/fails", "/breaks", "/gone", "/ignored", "/unlinked", "/read"} {
		all[path] = enginetest.Text(body(nil, thing{path, 1}, thing{path + "+", 1}))
	}
	v.day(all)
	all["/"] = enginetest.Text(body([]string{"/fails", "/breaks", "/gone", "/ignored", "/read", "/new"}))
	all["/fails"], all["/breaks"], all["/new"] = enginetest.Status(500), enginetest.Text("{"), enginetest.Status(500)
	all["/gone"] = enginetest.Status(404)
	ignoring := tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "ignoring", Request: func(ctx *tegenaria.Context) error {
		if ctx.Request.Url == site+"/ignored" {
			return tegenaria.ErrIgnoreRequest
		}
		return nil
	}}, tegenaria.MiddlewareFuncs{Name: "stopping", Priority: 1, Request: func(ctx *tegenaria.Context) error {
		if ctx.Request.Url == site+"/read" {
			return tegenaria.CloseSpider("enough") // so that what is unlinked is not removed
		}
		return nil
	}})
	v.day(all, ignoring)
	h, err := revisit.OpenExisting(v.folder, v.options)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	got := make(map[string]revisit.Unread)
	for page, err := range h.Unread() {
		if err != nil {
			t.Fatal(err)
		}
		got[page.URL[len(site):]] = page
	}
	want := make(map[string]revisit.Unread)
	for path, one := range map[string]revisit.Unread{
		"/fails": {Op: revisit.Failed, Run: 1, Items: 2}, "/breaks": {Op: revisit.Failed, Run: 1, Items: 2},
		"/ignored": {Op: revisit.Unreached, Run: 1, Items: 2}, "/unlinked": {Op: revisit.Unreached, Run: 1, Items: 2},
	} {
		one.URL = site + path
		want[path] = one
	}
	delete(got, "/read")
	delete(got, "/new")
	if !maps.Equal(got, want) {
		t.Errorf("unread are %+v, not %+v", got, want)
	}
	for range h.Unread() { // a list may be left
		break
	}
	for range h.Items() {
		break
	}
}

// TestCompareWithoutKeys: an item has the URL of its page as its key, and is its key where the page gives several.
func TestCompareWithoutKeys(t *testing.T) {
	v := newVisits(t)
	v.options = revisit.Options{}
	v.day(pages{"/": enginetest.Text(body([]string{"/1"}, thing{"a", 1})), "/1": enginetest.Text(body(nil, thing{"b", 1}, thing{"c", 1}))})
	found, told, err := v.compare(
		pages{"/": enginetest.Text(body([]string{"/1"}, thing{"a", 2})), "/1": enginetest.Text(body(nil, thing{"b", 1}, thing{"c", 2}))}, nothing)
	if want := (revisit.Difference{Same: 1, New: 1, Changed: 1, Missing: 1}); err != nil || found != want {
		t.Errorf("found %+v, not %+v: %q (%v)", found, want, told, err)
	}
}

// TestCompareCutShort: of a run that does not come to its end nothing is missing.
func TestCompareCutShort(t *testing.T) {
	v := newVisits(t)
	all := pages{"/": enginetest.Text(body([]string{"/1"}, thing{"a", 1})), "/1": enginetest.Text(body(nil, thing{"b", 1}))}
	v.day(all)
	limited := tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1})
	if found, told, err := v.compare(all, nothing, limited); !enginetest.IsA[*tegenaria.StoppedError](err) || found != (revisit.Difference{Same: 1}) {
		t.Errorf("found %+v: %q (%v)", found, told, err)
	}
}

// TestCompareFails: a comparison without a func, one whose func fails, and one with a job that is resumed.
func TestCompareFails(t *testing.T) {
	v := newVisits(t)
	all := pages{"/": enginetest.Text(body(nil, thing{"a", 1}))}
	v.day(all)
	full := errors.New("the disk is full")
	failing := func(revisit.Change) error { return full }
	if _, _, err := v.compare(pages{"/": enginetest.Text(body(nil, thing{"b", 1}))}, failing); !errors.Is(err, full) {
		t.Errorf("the error of the func: %v", err)
	}
	h, err := revisit.OpenExisting(v.folder, v.options)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Compare(nil).Mistake(); err == nil {
		t.Error("a nil func is no mistake")
	}
	folder := t.TempDir()
	for i := range 2 {
		job, err := disk.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		w := enginetest.NewWorld()
		w.Page(site+"/", enginetest.Text(body([]string{"/1"})))
		w.Page(site+"/1", enginetest.Text(body(nil)))
		e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithDownloader(w), tegenaria.EngineWithCache(job),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1}),
			tegenaria.EngineWithPipelines(h.Compare(nothing)))
		e.RegisterSpiders(tegenaria.NewSpiderOf(v.spider, v.parse, tegenaria.NewRequest(site+"/", tegenaria.GET, nil)))
		err = errors.Join(e.Run(context.WithoutCancel(t.Context()), v.spider), job.Close())
		if stopped := enginetest.IsA[*tegenaria.StoppedError](err); stopped != (i == 0) {
			t.Errorf("run %d: %v", i, err)
		}
	}
}
