package revisit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/revisit"
)

// TestOtherKeys: a run with other keys than those of the history does not begin, and the history stays as it is.
func TestOtherKeys(t *testing.T) {
	v := newVisits(t)
	v.day(chain())
	key := func(item any) string { return item.(thing).Name }
	for _, o := range []revisit.Options{{KeyField: "price"}, {Key: key}, {}} {
		h, err := revisit.OpenExisting(v.folder, o)
		if err != nil {
			t.Fatal(err)
		}
		before := tableOf(t, h)
		for _, part := range []tegenaria.PipelinesInterface{h.Changes(feed.JSONL(v.changes())), h.Compare(nothing)} {
			e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithPipelines(part),
				tegenaria.EngineWithDownloader(enginetest.NewWorld()))
			e.RegisterSpiders(tegenaria.NewSpiderOf("shop", v.parse, tegenaria.NewRequest(site+"/", tegenaria.GET, nil)))
			other := &revisit.KeysError{}
			if err := e.Run(t.Context(), "shop"); !errors.As(err, &other) || other.Stored != `the field "name"` || other.Now == other.Stored {
				t.Errorf("%T with %+v: %v", part, o, err)
			}
		}
		runs, err := h.Runs()
		if len(runs) != 1 || err != nil || len(tableOf(t, h)) != len(before) {
			t.Errorf("the history has changed: %+v, %v", runs, err)
		}
		h.Close()
	}
	if run, changes := v.day(chain()); run.Number != 2 || len(changes) != 0 {
		t.Errorf("with the keys as before: %+v, %q", run, changes)
	}
}

// TestOtherVersion: a history that another version has written is not opened, and stays as it is.
func TestOtherVersion(t *testing.T) {
	v := newVisits(t)
	v.day(chain())
	set := func(text string) {
		t.Helper()
		db, err := pebble.Open(filepath.Join(v.folder, "table"), &pebble.Options{FormatMajorVersion: pebble.FormatValueSeparation})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Set([]byte("m"), []byte(text), pebble.Sync), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	set(`{"format":99,"run":1}`)
	for range 2 {
		other := &revisit.VersionError{}
		if _, err := revisit.Open(v.folder, v.options); !errors.As(err, &other) || other.Stored != 99 || !strings.Contains(err.Error(), v.folder) {
			t.Errorf("another version: %v", err)
		}
	}
	set("{")
	if _, err := revisit.Open(v.folder, v.options); !enginetest.IsA[*revisit.DamagedError](err) {
		t.Errorf("damaged: %v", err)
	}
}

// TestWithoutItsCache: if the pages of a history are gone, they are asked for without validators, and nothing has changed.
func TestWithoutItsCache(t *testing.T) {
	for _, skips := range []bool{false, true} {
		var sent, asked atomic.Int64
		shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if asked.Add(1); r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			sent.Add(1)
			w.Write([]byte(body(nil, thing{"a", 1})))
		}))
		folder, cacheFolder := t.TempDir(), t.TempDir()
		for day, want := range []int64{1, 0, 1} {
			if day == 2 {
				if err := os.RemoveAll(cacheFolder); err != nil {
					t.Fatal(err)
				}
			}
			sent.Store(0)
			asked.Store(0)
			cache, err := httpcache.Open(cacheFolder, httpcache.Options{Policy: httpcache.Refresh})
			if err != nil {
				t.Fatal(err)
			}
			h, err := revisit.Open(folder, revisit.Options{KeyField: "name", SkipUnchanged: skips})
			if err != nil {
				t.Fatal(err)
			}
			e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithDownloaderLayers(cache.Layer),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
				tegenaria.EngineWithPipelines(h.Changes(feed.JSONL(filepath.Join(folder, "changes.jsonl")))))
			e.RegisterSpiders(tegenaria.NewSpiderOf("shop", parserOf[thing](), tegenaria.NewRequest(shop.URL+"/", tegenaria.GET, nil)))
			err = e.Run(t.Context(), "shop")
			runs, failed := h.Runs()
			if err := errors.Join(err, failed, h.Close(), cache.Close()); err != nil {
				t.Fatal(err)
			}
			last := runs[len(runs)-1]
			if asked.Load() != 1 || sent.Load() != want || day > 0 && (last.Unchanged != 1 || last.New+last.Changed+last.Removed != 0) {
				t.Errorf("day %d: asked for %d pages, %d were sent: %+v", day+1, asked.Load(), sent.Load(), last)
			}
		}
		shop.Close()
	}
}

// TestKeyBeforeRedirects: an item without a key has the URL that its page was first asked for with, whichever redirects
// have led on from it.
func TestKeyBeforeRedirects(t *testing.T) {
	v := newVisits(t)
	v.options = revisit.Options{}
	to := func(path string) pages {
		return pages{"/": enginetest.Redirect(302, "/moved"), "/moved": enginetest.Redirect(302, path), path: enginetest.Text(body(nil, thing{"a", 1}))}
	}
	_, changes := v.day(to("/v1"))
	want(t, "the first day", changes, "new "+site+"/")
	found, told, err := v.compare(to("/v2"), nothing)
	if err != nil || found != (revisit.Difference{Same: 1}) {
		t.Errorf("compared: %+v, %q (%v)", found, told, err)
	}
	run, changes := v.day(to("/v2"))
	if want(t, "the second day", changes); run.Unchanged != 1 {
		t.Errorf("the second day: %+v", run)
	}
}

// TestForbiddenIsUnreached: a page that robots.txt forbids has not failed, neither in the run nor in the list of unread pages.
func TestForbiddenIsUnreached(t *testing.T) {
	v := newVisits(t)
	v.day(chain())
	run, changes := v.day(with(chain(), "/robots.txt", enginetest.Text("User-agent: *\nDisallow: /a")),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{}))
	want(t, "the second day", changes)
	if run.Failed != 0 || run.Pages != 1 || !run.Complete {
		t.Errorf("the run: %+v", run)
	}
	h, err := revisit.OpenExisting(v.folder, v.options)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	unread := 0
	for page, err := range h.Unread() {
		if unread++; err != nil || page.Op != revisit.Unreached {
			t.Errorf("%+v, %v", page, err)
		}
	}
	if unread != 2 {
		t.Errorf("%d pages are unread, not 2", unread)
	}
}
