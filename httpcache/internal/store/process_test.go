//go:build unix

package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tegenaria/tegenaria/httpcache/internal/store"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

func TestMain(m *testing.M) { killtest.Main(m) }

// plan is what a child does.
type plan struct {
	Folder string
	Seed   uint64
	KillAt int32 // before the how manieth operation of the file system it kills itself; 0 never
	Wait   bool  // only open the store, say so, and wait
}

const killMaxBytes = 8 << 20

// storing uses a store as a plan says.
var storing = killtest.NewProgram("storing", func(p plan) error {
	var ops atomic.Int32
	fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpCreate, errorfs.OpRemove, errorfs.OpRename, errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync,
			errorfs.OpFileSyncData:
			if ops.Add(1) == p.KillAt {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		return nil
	}))
	s, err := store.Open(p.Folder, store.Options{MaxBytes: killMaxBytes}.WithFS(fs))
	if err != nil {
		return err
	}
	if p.Wait {
		fmt.Println("open")
		select {}
	}
	rng := rand.New(rand.NewPCG(p.Seed, 0))
	for range 100 {
		var pages []*store.Pending
		for range 3 {
			key, body := killPage(rng.IntN(300))
			page, err := tryPage(s, key, body)
			if err != nil {
				return err
			}
			pages = append(pages, page)
		}
		if err := s.Commit(pages...); err != nil {
			return err
		}
		key, _ := killPage(rng.IntN(300))
		if err := s.Delete(key); err != nil {
			return err
		}
	}
	return s.Close()
})

// killPage is the page of a number: each eighth is a file.
func killPage(n int) (store.Key, []byte) {
	length := 10_000 + 300*n
	if n%8 == 0 {
		length = large
	}
	return keyOf(fmt.Sprintf("http://a/%d", n)), noiseOf(n/2, length) // two have the same beginning
}

// A process that is killed while it opens, writes or evicts leaves a store in which each page is whole or absent, the totals fit, and
// no file is left over; the next process goes on with it.
func TestKills(t *testing.T) {
	folder := t.TempDir()
	killed, found := 0, int64(0)
	rounds := deep.Rounds(10, 25)
	loop := &killtest.Loop{Seed: deep.Seed(), Log: t.Logf}
	loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		at := 1 + random.Int32N(60) // while it opens
		if start%2 == 0 {
			at = 60 + random.Int32N(600)
		}
		return storing.Command(plan{Folder: folder, Seed: random.Uint64(), KillAt: at}), nil
	}
	loop.Judge = func(e killtest.Exit) (again bool, err error) {
		if e.Killed() {
			killed++
		} else if _, err := killtest.Finished(e); err != nil {
			return false, err
		}
		again = e.Start+1 < rounds
		if e.Start%5 != 4 {
			return again, nil // it is the next child that finds it
		}
		s := open(t, folder, store.Options{MaxBytes: killMaxBytes})
		before := s.Stats()
		var wantFiles = make(map[string]bool)
		for e := range s.List("") {
			var n int
			if _, err := fmt.Sscanf(e.URL, "http://a/%d", &n); err != nil {
				t.Fatal(err)
			}
			_, want := killPage(n)
			if body, ok := s.Read(e); !ok || !bytes.Equal(body, want) {
				t.Errorf("%s: another body than was stored", e.URL)
			}
			if len(want) == large {
				wantFiles[fmt.Sprintf("%x", e.Digest)] = true
			}
		}
		found += before.Entries
		if after := s.Recount(); after != before || before.BeganAnew != nil || before.Damaged > 0 {
			t.Errorf("%+v, counted %+v", before, after)
		}
		names, err := os.ReadDir(filepath.Join(folder, "files"))
		if err != nil || len(names) != len(wantFiles) {
			t.Errorf("%d files, want %d, %v", len(names), len(wantFiles), err)
		}
		if names, err := os.ReadDir(filepath.Join(folder, "pending")); err != nil || len(names) > 0 {
			t.Errorf("%d pending files are left, %v", len(names), err)
		}
		closeStore(t, s)
		return again, nil
	}
	if _, err := loop.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d killed, %d entries found", killed, found)
	if killed < rounds/2 || found == 0 {
		t.Error("the test has not killed while something was stored")
	}
}

// A folder that another process has open is refused, with the number of that process, and can be opened when that has died.
func TestInUse(t *testing.T) {
	folder := t.TempDir()
	cmd := storing.Command(plan{Folder: folder, Wait: true})
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = out.Read(make([]byte, 1))
	_, err = store.Open(folder, store.Options{})
	var inUse *store.InUseError
	if !errors.As(err, &inUse) || inUse.PID != cmd.Process.Pid || !strings.Contains(err.Error(), fmt.Sprint(inUse.PID)) {
		t.Errorf("in use by %d: %v", cmd.Process.Pid, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	open(t, folder, store.Options{})
}

// All of a folder is its owner's alone, whatever the umask, also what was there with wider modes.
func TestModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	folder := filepath.Join(t.TempDir(), "above", "cache")
	check := func() {
		t.Helper()
		files := 0
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			} else {
				files++
			}
			if info, err := d.Info(); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
			return nil
		})
		if err != nil || files < 6 {
			t.Errorf("%d files, %v", files, err)
		}
	}
	s := open(t, folder, store.Options{})
	commit(t, s, page(t, s, keyOf("http://a/"), textOf(1, 100)), page(t, s, keyOf("http://b/"), noiseOf(1, large)))
	check()
	closeStore(t, s)
	check()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		mode := fs.FileMode(0o644)
		if d.IsDir() {
			mode = 0o755
		}
		return errors.Join(err, os.Chmod(path, mode))
	})
	if err != nil {
		t.Fatal(err)
	}
	open(t, folder, store.Options{})
	check()
}

// Opening a folder again in a process gives the same store, by whatever name, until each user has closed it.
func TestSharedStore(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	a := open(t, folder, store.Options{})
	b, err := store.Open(link, store.Options{})
	if err != nil || a != b {
		t.Fatalf("two stores: %v", err)
	}
	closeStore(t, b)
	commit(t, a, page(t, a, keyOf("http://a/"), []byte("x")))
	closeStore(t, a)
	if err := a.Delete(keyOf("http://a/")); err == nil || a.Get(keyOf("http://a/")) != nil {
		t.Error("a closed store is used")
	}
	if c := open(t, folder, store.Options{}); c == a || string(bodyOf(t, c, keyOf("http://a/"))) != "x" {
		t.Error("the page is not there")
	}
}

// A folder of another version is refused and stays as it is, and so is one that holds something else.
func TestOtherFolders(t *testing.T) {
	folder := t.TempDir()
	closeStore(t, open(t, folder, store.Options{}))
	name := filepath.Join(folder, "CACHE")
	text := store.FormatText(7)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(folder, store.Options{})
	var version *store.VersionError
	if !errors.As(err, &version) || version.Stored != 7 || version.Own != 2 {
		t.Errorf("a folder of the format 7: %v", err)
	}
	if after, err := os.ReadFile(name); err != nil || string(after) != text {
		t.Errorf("now it is %q, %v", after, err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(other, store.Options{}); err == nil || !strings.Contains(err.Error(), "letter.txt") {
		t.Errorf("a folder with a letter: %v", err)
	}
	if names, err := os.ReadDir(other); err != nil || len(names) != 1 {
		t.Errorf("something was made there: %v, %v", names, err)
	}
}
