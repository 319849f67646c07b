package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
	"github.com/tegenaria/tegenaria/httpcache/internal/store"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// open opens a store, and closes it when the test ends.
func open(t testing.TB, folder string, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t testing.TB, s *store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func keyOf(url string) store.Key { return store.Key{URL: url, Method: "GET"} }

// page writes a page. The fields of vary are pairs.
func page(t testing.TB, s *store.Store, key store.Key, body []byte, vary ...string) *store.Pending {
	t.Helper()
	p, err := tryPage(s, key, body, vary...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryPage(s *store.Store, key store.Key, body []byte, vary ...string) (*store.Pending, error) {
	w := s.Create()
	for rest := body; len(rest) > 0; { // as it arrives
		n := min(len(rest), 300_000)
		if _, err := w.Write(rest[:n]); err != nil {
			w.Discard()
			return nil, err
		}
		rest = rest[n:]
	}
	return w.Finish(entry(key, vary...))
}

func entry(key store.Key, vary ...string) *store.Entry {
	e := &store.Entry{Key: key, Run: "run 1", Entry: rfc9111.Entry{Vary: http.Header{}}}
	for i := 0; i < len(vary); i += 2 {
		e.Vary[vary[i]] = []string{vary[i+1]}
	}
	e.Status, e.Header = 200, http.Header{"Content-Type": {"text/html"}, "Set-Cookie": {"a=1", "b=2"}}
	e.Requested = time.Unix(1_700_000_000, 5)
	e.Received = e.Requested.Add(time.Second)
	return e
}

func commit(t testing.TB, s *store.Store, pages ...*store.Pending) {
	t.Helper()
	if err := s.Commit(pages...); err != nil {
		t.Fatal(err)
	}
}

// bodyOf reads the only entry of a key; nil if there is none.
func bodyOf(t testing.TB, s *store.Store, key store.Key) []byte {
	t.Helper()
	entries := s.Get(key)
	if len(entries) == 0 {
		return nil
	}
	if len(entries) > 1 {
		t.Fatalf("%v has %d entries", key, len(entries))
	}
	body, ok := s.Read(entries[0])
	if !ok {
		return nil
	}
	r, ok := s.Open(entries[0])
	if !ok {
		t.Fatalf("%v can be read and not opened", key)
	}
	defer r.Close()
	if again, err := io.ReadAll(r); err != nil || !bytes.Equal(body, again) {
		t.Fatalf("%v: Open and Read differ: %v", key, err)
	}
	return body
}

// textOf is a body that compresses as text does, and noiseOf one that does not.
func textOf(seed, length int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < length; i++ {
		fmt.Fprintf(&b, "<p class=row>%d of %d</p>\n", i*seed%997, seed)
	}
	return b.Bytes()[:length]
}

func noiseOf(seed, length int) []byte {
	body := make([]byte, length)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(body)
	return body
}

const large = 1<<20 + 100_000 // a file

// A page is seen when it is committed, together with those of its batch, with all that was stored of it; a discarded one never is,
// nor one that was pending when the store was closed.
func TestCommit(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, store.Options{})
	a, b, c, d := keyOf("http://a/"), keyOf("http://b/"), keyOf("http://c/"), keyOf("http://d/")
	text, file := textOf(1, 20_000), noiseOf(1, large)
	pa, pb := page(t, s, a, text), page(t, s, b, file)
	page(t, s, c, noiseOf(2, large)).Discard()
	page(t, s, d, noiseOf(3, large))
	for _, key := range []store.Key{a, b, c, d} {
		if len(s.Get(key)) > 0 {
			t.Errorf("%v is seen before it is committed", key)
		}
	}
	commit(t, s, pa, pb)
	for range 2 {
		if !bytes.Equal(bodyOf(t, s, a), text) || !bytes.Equal(bodyOf(t, s, b), file) {
			t.Fatal("other bodies than were stored")
		}
		got, want := s.Get(a)[0], entry(a)
		if got.Key != a || got.Run != want.Run || got.Status != 200 || got.Length != int64(len(text)) ||
			!got.Requested.Equal(want.Requested) || !got.Received.Equal(want.Received) ||
			!maps.EqualFunc(got.Header, want.Header, slices.Equal[[]string]) || len(got.Vary) > 0 {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if len(s.Get(c))+len(s.Get(d)) > 0 {
			t.Error("what was discarded is seen")
		}
		if stats := s.Stats(); stats.Entries != 2 || stats.Bodies != 2 || stats.Damaged != 0 || stats.Bytes < large {
			t.Errorf("%+v", stats)
		}
		closeStore(t, s)
		s = open(t, folder, store.Options{})
	}
}

// The empty body, the largest one in the index and the smallest one that is a file are stored as others are.
func TestSizes(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	for i, length := range []int{0, 1, 1 << 20, 1<<20 + 1} {
		for j, body := range [][]byte{textOf(i+1, length), noiseOf(i+1, length)} {
			key := keyOf(fmt.Sprintf("http://a/%d/%d", i, j))
			commit(t, s, page(t, s, key, body))
			if got := bodyOf(t, s, key); !bytes.Equal(got, body) || len(s.Get(key)) == 0 {
				t.Errorf("%d bytes: got %d", length, len(got))
			}
		}
	}
}

// An entry replaces that with the same Vary and those that it drops; others are variants of it, up to a limit.
func TestVariants(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	key := keyOf("http://a/")
	langs := func() (list []string) {
		for _, e := range s.Get(key) {
			body, ok := s.Read(e)
			if !ok {
				t.Fatal("no body")
			}
			list = append(list, e.Vary.Get("Accept-Language")+"="+string(body))
		}
		slices.Sort(list)
		return list
	}
	want := func(want ...string) {
		t.Helper()
		if got := langs(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	commit(t, s, page(t, s, key, []byte("hello"), "Accept-Language", "en"), page(t, s, key, []byte("hallo"), "Accept-Language", "de"))
	want("de=hallo", "en=hello")
	commit(t, s, page(t, s, key, []byte("hi"), "Accept-Language", "en"))
	want("de=hallo", "en=hi")
	w := s.Create()
	fmt.Fprint(w, "for all")
	p, err := w.Finish(entry(key), s.Get(key)[0].ID, s.Get(key)[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, p)
	want("=for all")
	if err := s.Delete(key, s.Get(key)[0].ID); err != nil {
		t.Fatal(err)
	}
	want()
	for i := range store.MostVariants + 10 {
		commit(t, s, page(t, s, key, []byte("x"), "Accept-Language", fmt.Sprint(i)))
	}
	if n := len(s.Get(key)); n != store.MostVariants {
		t.Errorf("%d variants", n)
	}
	if stats := s.Stats(); stats.Entries != store.MostVariants || stats.Bodies != 1 {
		t.Errorf("%+v", stats)
	}
}

// Keys that differ in one part alone are different, whatever the parts hold; DeleteURL removes all of a URL and nothing else, and List
// finds them by the beginning of the URL.
func TestKeys(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	var keys []store.Key
	for _, url := range []string{"http://a/", "http://a/b", "http://a/\x00", "http://a/\x00\x01", "http://a", "http://a/\xff"} {
		for _, k := range []store.Key{{Method: "GET"}, {Method: "POST"}, {Method: "GET", Body: "1"}, {Method: "GET", Identity: "1"},
			{Method: "GET\x00\x01"}} {
			k.URL = url
			keys = append(keys, k)
			commit(t, s, page(t, s, k, fmt.Append(nil, k)))
		}
	}
	for _, k := range keys {
		if got := bodyOf(t, s, k); string(got) != fmt.Sprint(k) {
			t.Errorf("%q: %q", k, got)
		}
	}
	if err := s.DeleteURL("http://a/"); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if got := s.Get(k); (len(got) == 0) != (k.URL == "http://a/") {
			t.Errorf("%q: %d entries", k, len(got))
		}
	}
	for prefix, want := range map[string]int{"": 25, "http://a/": 20, "http://a/b": 5, "http://b": 0, "http://a/\xff": 5} {
		n := 0
		for e := range s.List(prefix) {
			if n++; !strings.HasPrefix(e.URL, prefix) {
				t.Errorf("%q has not the prefix %q", e.URL, prefix)
			}
		}
		if n != want {
			t.Errorf("%d entries with the prefix %q, want %d", n, prefix, want)
		}
	}
}

// List goes on over many entries while its caller deletes them.
func TestListAndDelete(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	var pages []*store.Pending
	for i := range 1000 {
		pages = append(pages, page(t, s, keyOf(fmt.Sprintf("http://a/%04d", i)), []byte("x")))
	}
	commit(t, s, pages...)
	n := 0
	for e := range s.List("") {
		if want := fmt.Sprintf("http://a/%04d", n); e.URL != want {
			t.Fatalf("got %s, want %s", e.URL, want)
		}
		n++
		if err := s.Delete(e.Key); err != nil {
			t.Fatal(err)
		}
	}
	if stats := s.Stats(); n != 1000 || stats.Entries != 0 || stats.Bodies != 0 || stats.Bytes != 0 {
		t.Errorf("%d, %+v", n, stats)
	}
}

// An update replaces the header and keeps the body; that of an entry which is gone does nothing.
func TestUpdate(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	key := keyOf("http://a/")
	commit(t, s, page(t, s, key, []byte("body")))
	e := s.Get(key)[0]
	e.Header, e.Run, e.Received = http.Header{"Etag": {`"2"`}}, "run 2", e.Received.Add(time.Hour)
	if err := s.Update(e); err != nil {
		t.Fatal(err)
	}
	got := s.Get(key)[0]
	if got.Header.Get("ETag") != `"2"` || len(got.Header) != 1 || got.Run != "run 2" || !got.Received.Equal(e.Received) ||
		string(bodyOf(t, s, key)) != "body" {
		t.Errorf("%+v", got)
	}
	if err := errors.Join(s.Delete(key), s.Update(e)); err != nil || len(s.Get(key)) > 0 {
		t.Errorf("updated though it was deleted: %v", err)
	}
}

// A body that many pages have is stored once, and goes with the last of them, in the index and as a file.
func TestOneCopyOfBody(t *testing.T) {
	for _, length := range []int{20_000, large} {
		mem := vfs.NewMem()
		s := open(t, "/cache", store.Options{}.WithFS(mem))
		body := noiseOf(length, length)
		a, b := keyOf("http://a/"), keyOf("http://b/")
		commit(t, s, page(t, s, a, body), page(t, s, b, body))
		commit(t, s, page(t, s, a, body)) // replaces the first
		if stats := s.Stats(); stats.Bodies != 1 || stats.Entries != 2 || stats.Bytes > int64(length)*3/2 {
			t.Errorf("%+v", stats)
		}
		if err := s.Delete(a); err != nil || !bytes.Equal(bodyOf(t, s, b), body) {
			t.Error("the body went with the first of its pages")
		}
		if err := s.Delete(b); err != nil {
			t.Error(err)
		}
		if stats := s.Stats(); stats.Bodies != 0 || stats.Bytes != 0 {
			t.Errorf("%+v", stats)
		}
		for _, dir := range []string{"files", "pending"} {
			if names, err := mem.List("/cache/" + dir); err != nil || len(names) > 0 {
				t.Errorf("%s has %q, %v", dir, names, err)
			}
		}
	}
}

// A random history leaves what it leaves in a map, and totals that fit the entries, also when the store is opened again.
func TestHistory(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	fs := vfs.NewMem()
	s := open(t, "/cache", store.Options{}.WithFS(fs))
	bodies := [][]byte{nil, []byte("x"), textOf(1, 5000), noiseOf(1, 5000), noiseOf(2, large)}
	model := make(map[store.Key]map[string]int)
	for step := range deep.Rounds(200, 1000) {
		key := keyOf(fmt.Sprintf("http://a/%d", rng.IntN(20)))
		lang, body := fmt.Sprint(rng.IntN(3)), rng.IntN(len(bodies))
		switch n := rng.IntN(20); {
		case n == 0:
			closeStore(t, s)
			s = open(t, "/cache", store.Options{}.WithFS(fs))
		case n < 4:
			if err := s.Delete(key); err != nil {
				t.Fatal(err)
			}
			delete(model, key)
		case n < 5:
			page(t, s, key, bodies[body]).Discard()
		default:
			commit(t, s, page(t, s, key, bodies[body], "Accept-Language", lang))
			if model[key] == nil {
				model[key] = make(map[string]int)
			}
			model[key][lang] = body
		}
		got := make(map[string]int)
		for _, e := range s.Get(key) {
			body, ok := s.Read(e)
			got[e.Vary.Get("Accept-Language")] = slices.IndexFunc(bodies, func(b []byte) bool { return ok && bytes.Equal(b, body) })
		}
		if !maps.Equal(got, model[key]) {
			t.Fatalf("step %d: %v, want %v", step, got, model[key])
		}
	}
	before := s.Stats()
	if after := s.Recount(); before != after || before.Damaged > 0 {
		t.Errorf("%+v, counted %+v", before, after)
	}
}

// The pages that were not used for the longest time go when there is too much, those that were read stay, and MaxBytes holds.
func TestMaxBytes(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1_700_000_000, 0)
	tick := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
	o := store.Options{MaxBytes: 500_000, Now: tick}.WithFS(vfs.NewMem())
	s := open(t, "/cache", o)
	key := func(i int) store.Key { return keyOf(fmt.Sprintf("http://a/%d", i)) }
	for i := range 45 {
		commit(t, s, page(t, s, key(i), noiseOf(i, 10_000)))
	}
	closeStore(t, s)
	s = open(t, "/cache", o)
	for i := range 5 {
		if s.Get(key(i)) == nil {
			t.Fatalf("%d is gone already", i)
		}
	}
	for i := 45; i < 60; i++ {
		commit(t, s, page(t, s, key(i), noiseOf(i, 10_000)))
		s.WaitEvicted()
		if stats := s.Stats(); stats.Bytes > o.MaxBytes {
			t.Errorf("%+v", stats)
		}
	}
	stats := s.Stats()
	if stats.Evicted < 10 || stats.Evicted > 25 || stats.Evicted+stats.Entries != 60 {
		t.Errorf("%+v", stats)
	}
	for i := range 60 {
		want := i < 5 || i >= 5+int(stats.Evicted)
		if got := bodyOf(t, s, key(i)) != nil; got != want {
			t.Errorf("%d is there: %v", i, got)
		}
	}
	if _, err := tryPage(s, key(99), noiseOf(99, 200_000)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a body of nearly half the store: %v", err)
	}
	if after := s.Recount(); after != s.Stats() {
		t.Errorf("%+v, counted %+v", s.Stats(), after)
	}
}

// Several engines use a store at once: whatever one reads is a body that was stored under that key.
func TestManyUsers(t *testing.T) {
	folder := t.TempDir()
	var wg sync.WaitGroup
	for user := range 6 {
		s := open(t, folder, store.Options{MaxBytes: 250_000})
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(user), 0))
			for range 150 {
				n := rng.IntN(30)
				key := keyOf(fmt.Sprintf("http://a/%d", n))
				switch rng.IntN(8) {
				case 0:
					if err := s.Delete(key); err != nil {
						t.Error(err)
					}
				case 1, 2, 3:
					p, err := tryPage(s, key, noiseOf(n%20, 20_000))
					if err == nil {
						err = s.Commit(p)
					}
					if err != nil {
						t.Error(err)
					}
				case 4:
					for e := range s.List("http://a/1") {
						if e.Length != 20_000 {
							t.Error("another length")
						}
					}
				default:
					for _, e := range s.Get(key) {
						if body, ok := s.Read(e); ok && !bytes.Equal(body, noiseOf(n%20, 20_000)) {
							t.Errorf("another body of %v", key)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	s := open(t, folder, store.Options{})
	s.WaitEvicted()
	if stats := s.Stats(); stats.Damaged > 0 || stats.Evicted == 0 || stats.Failed != nil || stats.BeganAnew != nil {
		t.Errorf("%+v", stats)
	}
	before := s.Stats()
	if after := s.Recount(); before != after {
		t.Errorf("%+v, counted %+v", before, after)
	}
}

// Stores can be used in one bubble of testing/synctest after another, for small and for large bodies.
func TestBubbles(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, t.TempDir(), store.Options{})
			for name, body := range map[string][]byte{"small": textOf(1, 2000), "large": textOf(1, 3<<20)} {
				key := keyOf("http://a.test/" + name)
				commit(t, s, page(t, s, key, body))
				if !bytes.Equal(bodyOf(t, s, key), body) {
					t.Errorf("the %s body is another one", name)
				}
			}
		})
	}
}
