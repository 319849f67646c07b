package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/sqlite"
)

// lock has another program write to a database until it is told to end.
func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	conn, err := open(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		conn.Close()
	}
}

// A feed waits for another program that writes, until it is stopped, or its patience is over; then the same job goes on.
func TestBusyDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.db")
	f := sqlite.New[pair](path)
	feedtest.Restore(t, f, nil)
	feedtest.Put(t, f, "a", pair{ID: 1})
	unlock := lock(t, path)
	timer := time.AfterFunc(20*time.Millisecond, unlock)
	defer timer.Stop()
	stored := feedtest.Prepare(t, f, "a")

	unlock = lock(t, path)
	feedtest.Put(t, f, "b", pair{ID: 2})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := f.Prepare(ctx, []string{"b"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	feedtest.End(t, f)

	f = sqlite.New[pair](path, sqlite.Patience(20*time.Millisecond))
	err := f.Restore(t.Context(), stored)
	var busy *sqlite.Error
	if !errors.As(err, &busy) || busy.Path != path || !strings.Contains(err.Error(), "wait for the other program") {
		t.Errorf("%v", err)
	}
	unlock()
	feedtest.Restore(t, f, stored)
	feedtest.Put(t, f, "b", pair{ID: 2})
	feedtest.Prepare(t, f, "b")
	feedtest.End(t, f)
	if got := fmt.Sprint(read(t, path, "SELECT id FROM pair ORDER BY rowid")); got != "[1 2]" {
		t.Error(got)
	}
}

// A database whose file was removed or replaced under the feed ends the run: what is written would be lost.
func TestFileThatIsGone(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "pairs.db")
		f := sqlite.New[pair](path)
		feedtest.Restore(t, f, nil)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if replaced {
			write(t, path, "")
		}
		feedtest.Put(t, f, "a", pair{ID: 1})
		_, err := f.Prepare(t.Context(), []string{"a"})
		var corrupt *feed.CorruptError
		if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v", err)
		}
	}
}

// A database that was damaged ends the run with an error that names it.
func TestDamagedDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "books.db")
	f := sqlite.New[feedtest.Product](path)
	stored := feedtest.Restore(t, f, nil)
	for i, p := range feedtest.Products(0, 1000) {
		feedtest.Put(t, f, fmt.Sprint(i/100), p)
	}
	for i := range 9 {
		stored = feedtest.Prepare(t, f, fmt.Sprint(i))
	}
	feedtest.Prepare(t, f, "9") // which is not stored
	feedtest.End(t, f)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []struct {
		name string
		to   func() []byte
	}{
		{"cut", func() []byte { return whole[:len(whole)/2] }},
		{"empty", func() []byte { return nil }},
		{"no header", func() []byte { return append(make([]byte, 100), whole[100:]...) }},
		{"no first page", func() []byte {
			return append(append(append([]byte(nil), whole[:100]...), make([]byte, 3996)...), whole[4096:]...)
		}},
	} {
		write(t, path, string(damage.to()))
		err := sqlite.New[feedtest.Product](path).Restore(t.Context(), stored)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", damage.name, err)
		}
		t.Log(err)
		if err := errors.Join(os.RemoveAll(path+"-wal"), os.RemoveAll(path+"-shm")); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path, string(whole))
	f = sqlite.New[feedtest.Product](path)
	feedtest.Restore(t, f, stored)
	feedtest.End(t, f)
	if got := read(t, path, "SELECT count(*) FROM product"); got[0] != "900" {
		t.Error(got)
	}
}
