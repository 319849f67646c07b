package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tegenaria/tegenaria/httpcache/internal/store"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// files lists the files below a directory.
func files(t *testing.T, fs vfs.FS, dir string) (names []string) {
	t.Helper()
	list, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		name = path.Join(dir, name)
		if info, err := fs.Stat(name); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			names = append(names, files(t, fs, name)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// change rewrites a file, or removes it if how is nil.
func change(t *testing.T, fs vfs.FS, name string, how func(data []byte) []byte) {
	t.Helper()
	if how == nil {
		if err := fs.Remove(name); err != nil {
			t.Fatal(err)
		}
		return
	}
	file, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if file, err = fs.Create(name, vfs.WriteCategoryUnspecified); err == nil {
		_, err = file.Write(how(data))
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// damagedPage is a page of the store that is damaged: some in tables, some in the log, some as files.
func damagedPage(i int) (store.Key, []byte) {
	return keyOf(fmt.Sprintf("http://a/%02d", i)), damagedBodies()[i]
}

var damagedBodies = sync.OnceValue(func() (bodies [damagedPages][]byte) {
	for i := range bodies {
		bodies[i] = noiseOf(i, 3000)
		if i%20 == 0 {
			bodies[i] = noiseOf(i, large)
		}
	}
	return bodies
})

const damagedPages = 40

// damagedStores make file systems with a store that was closed, and with one that was killed.
func damagedStores(t *testing.T) (closed, killed func() *vfs.MemFS) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	copyOf := func(fs *vfs.MemFS) *vfs.MemFS {
		return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	}
	s, err := store.Open("/cache", store.Options{}.WithFS(fs))
	if err != nil {
		t.Fatal(err)
	}
	for i := range damagedPages {
		key, body := damagedPage(i)
		commit(t, s, page(t, s, key, body))
		if i == damagedPages/2 {
			if err := s.Compact(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.SyncLog(); err != nil {
		t.Fatal(err)
	}
	left := copyOf(fs)
	closeStore(t, s)
	return func() *vfs.MemFS { return copyOf(fs) }, func() *vfs.MemFS { return copyOf(left) }
}

// checkDamaged reads each page, which must be what was stored or missing, and then stores all of them again.
func checkDamaged(t *testing.T, fs vfs.FS) (missing int, stats store.Stats) {
	t.Helper()
	s, err := store.Open("/cache", store.Options{}.WithFS(fs))
	if err != nil {
		t.Fatal(err)
	}
	for i := range damagedPages {
		key, want := damagedPage(i)
		switch got := bodyOf(t, s, key); {
		case got == nil:
			missing++
		case !bytes.Equal(got, want):
			t.Errorf("%v: another body than was stored", key)
		}
	}
	for e := range s.List("") {
		if _, ok := s.Read(e); !ok {
			t.Errorf("%s is still listed though it is damaged", e.URL)
		}
	}
	for i := range damagedPages {
		key, body := damagedPage(i)
		if err := s.Commit(page(t, s, key, body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(); err != nil { // which reads all that is left
		t.Error(err)
	}
	stats = s.Stats()
	closeStore(t, s)
	if s, err = store.Open("/cache", store.Options{}.WithFS(fs)); err != nil {
		t.Fatal(err)
	}
	for i := range damagedPages {
		key, want := damagedPage(i)
		if !bytes.Equal(bodyOf(t, s, key), want) {
			t.Errorf("%v was stored again and is not there", key)
		}
	}
	before := s.Stats()
	if after := s.Recount(); before != after || before.Damaged > 0 || before.Entries != damagedPages {
		t.Errorf("after it was stored again: %+v, counted %+v", before, after)
	}
	closeStore(t, s)
	return missing, stats
}

// A flipped bit, a cut, or the loss of any file makes pages missing and nothing else: no error, no other body, and the store takes
// pages as before.
func TestDamage(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	flip := func(at func(n int) int) func([]byte) []byte {
		return func(data []byte) []byte {
			if len(data) > 0 {
				data[at(len(data))] ^= 1 << rng.IntN(8)
			}
			return data
		}
	}
	type damage struct {
		what string
		do   func([]byte) []byte
	}
	always := []damage{{"some byte", flip(rng.IntN)}, {"half", func(data []byte) []byte { return data[:len(data)/2] }}}
	sometimes := []damage{
		{"first byte", flip(func(int) int { return 0 })},
		{"last byte", flip(func(n int) int { return n - 1 })},
		{"missing", nil},
		{"empty", func([]byte) []byte { return nil }},
	}
	harmed, some := 0, 0
	closed, killed := damagedStores(t)
	stores := map[string]func() *vfs.MemFS{"killed": killed}
	if deep.Checks() {
		stores["closed"] = closed
	}
	for which, whole := range stores {
		for _, name := range files(t, whole(), "/cache") {
			for _, d := range append(always, sometimes[rng.IntN(len(sometimes))]) {
				what := d.what
				fs := whole()
				change(t, fs, name, d.do)
				missing, stats := checkDamaged(t, fs)
				if t.Failed() {
					t.Fatalf("%s, %s, %s: %d are missing, %+v", which, name, what, missing, stats)
				}
				if missing > 0 {
					harmed++
					if missing < damagedPages {
						some++
					}
				}
				if missing > 0 && strings.Contains(name, "/files/") && (missing != 1 || stats.Damaged != 1) {
					t.Errorf("%s, %s: %d are missing, %+v", name, what, missing, stats)
				}
			}
		}
	}
	t.Logf("%d times something was missing, %d times not all", harmed, some)
	if harmed < 8 || some < 4 {
		t.Error("the test has not damaged much")
	}
}

// A table that is found damaged while the store is open loses what it held, once, and the store goes on.
func TestDamageWhileOpen(t *testing.T) {
	closed, _ := damagedStores(t)
	fs := closed()
	s := open(t, "/cache", store.Options{}.WithFS(fs))
	tables := 0
	for _, name := range files(t, fs, "/cache/index") {
		if strings.HasSuffix(name, ".sst") {
			overwrite(t, fs, name)
			tables++
		}
	}
	if tables == 0 {
		t.Fatal("there are no tables")
	}
	missing := 0
	for range 2 {
		missing = 0
		for i := range damagedPages {
			key, want := damagedPage(i)
			if got := bodyOf(t, s, key); got == nil {
				missing++
			} else if !bytes.Equal(got, want) {
				t.Errorf("%v: another body", key)
			}
		}
	}
	if stats := s.Stats(); missing == 0 || stats.Damaged == 0 || stats.Failed != nil {
		t.Errorf("%d are missing, %+v", missing, stats)
	}
	key, body := damagedPage(1)
	commit(t, s, page(t, s, key, body))
	if !bytes.Equal(bodyOf(t, s, key), body) {
		t.Error("nothing is stored any more")
	}
	if before, after := s.Stats(), s.Recount(); before != after {
		t.Errorf("%+v, counted %+v", before, after)
	}
}

// overwrite flips a bit in each hundred bytes of a file that is open.
func overwrite(t *testing.T, fs vfs.FS, name string) {
	t.Helper()
	file, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	for at := int64(0); at < info.Size(); at += 100 {
		_, err := file.ReadAt(b[:], at)
		b[0] ^= 4
		if _, writeErr := file.WriteAt(b[:], at); err != nil || writeErr != nil {
			t.Fatal(err, writeErr)
		}
	}
}

// When the disk is full, whichever write is the first to fail, storing fails with the same error from then on, what was stored is
// still read, what is deleted or replaced is not handed out any more, and the next Open writes again.
func TestFullDisk(t *testing.T) {
	failures := 0
	closed, killed := damagedStores(t)
	for at := int32(0); at < 60; at += 5 {
		fs := closed()
		if at%2 == 0 {
			fs = killed()
		}
		var full atomic.Bool
		var writes atomic.Int32
		failing := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			switch op.Kind {
			case errorfs.OpCreate, errorfs.OpRename, errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFilePreallocate,
				errorfs.OpReuseForWrite, errorfs.OpFileSyncTo, errorfs.OpFileSyncData:
				if full.Load() && writes.Add(1) > at {
					return syscall.ENOSPC
				}
			}
			return nil
		}))
		full.Store(at%4 == 1) // from the beginning of Open
		s, err := store.Open("/cache", store.Options{}.WithFS(failing))
		if err != nil {
			t.Fatal(err)
		}
		full.Store(true)
		failed := error(nil)
		for i := 0; failed == nil && i < 400; i++ {
			var p *store.Pending
			length := 20_000
			if i%10 == 9 {
				length = large
			}
			p, failed = tryPage(s, keyOf(fmt.Sprintf("http://new/%d", i)), noiseOf(1000+i, length))
			if failed == nil {
				failed = s.Commit(p)
			}
			if i%50 == 49 {
				_ = s.Compact() // it may be what fails
			}
		}
		var writeError *store.WriteError
		if !errors.As(failed, &writeError) || !errors.Is(failed, syscall.ENOSPC) {
			t.Fatalf("at %d: %v", at, failed)
		}
		failures++
		replaced, _ := damagedPage(1)
		deleted, _ := damagedPage(2)
		byURL, _ := damagedPage(3)
		p, err := tryPage(s, replaced, []byte("new"))
		if err == nil {
			err = s.Commit(p)
		}
		for _, err := range []error{err, s.Delete(deleted), s.DeleteURL(byURL.URL)} {
			if err != failed {
				t.Errorf("at %d: %v", at, err)
			}
		}
		for i := range damagedPages {
			key, want := damagedPage(i)
			if i >= 1 && i <= 3 {
				want = nil
			}
			if got := bodyOf(t, s, key); !bytes.Equal(got, want) {
				t.Errorf("at %d: %v: got %d bytes, want %d", at, key, len(got), len(want))
			}
		}
		if stats := s.Stats(); stats.Failed != writeError || stats.Damaged > 0 || stats.BeganAnew != nil {
			t.Errorf("at %d: %+v", at, stats)
		}
		closeStore(t, s)
		if missing, stats := readAll(t, fs); missing > 0 || stats.Damaged > 0 {
			t.Errorf("at %d: opened again: %d are missing, %+v", at, missing, stats)
		}
	}
	t.Logf("%d times the disk was full", failures)
}

// readAll reads each page, and stores one.
func readAll(t *testing.T, fs vfs.FS) (missing int, stats store.Stats) {
	t.Helper()
	s := open(t, "/cache", store.Options{}.WithFS(fs))
	for i := range damagedPages {
		key, want := damagedPage(i)
		if !bytes.Equal(bodyOf(t, s, key), want) {
			missing++
		}
	}
	commit(t, s, page(t, s, keyOf("http://again/"), []byte("x")))
	stats = s.Stats()
	closeStore(t, s)
	return missing, stats
}
