package feed_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/feed"
)

// bucket is a target in memory that fails as it is told to.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	fails   func(attempt int) error
	tries   int
	changed []string // objects that were sent twice with other bytes
}

func (b *bucket) Send(ctx context.Context, name string, file io.ReadSeeker, size int64) error {
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries++
	if b.fails != nil {
		if err := b.fails(b.tries); err != nil {
			return err
		}
	}
	if int64(len(data)) != size {
		return fmt.Errorf("%d bytes of %d", len(data), size)
	}
	if before, there := b.objects[name]; there && string(before) != string(data) {
		b.changed = append(b.changed, name)
	}
	if b.objects == nil {
		b.objects = make(map[string][]byte)
	}
	b.objects[name] = data
	return nil
}

// items returns what is in all objects.
func (b *bucket) items(t *testing.T, ending string) (list []record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, data := range b.objects {
		path := filepath.Join(t.TempDir(), "object"+ending)
		write(t, path, string(data))
		list = append(list, parse(t, path)...)
	}
	return list
}

// pass lets time pass.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// A target that is away slows the crawl when too much waits, and ends it when patience is over; the next run sends everything.
func TestTargetAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := plainDir(t)
		away := true
		b := &bucket{fails: func(int) error {
			if away {
				return errors.New("connection refused")
			}
			return nil
		}}
		make := func() *feed.Feed {
			return feed.JSONL(filepath.Join(dir, "{part}.jsonl"), feed.Rotate(feed.Rotation{Items: 1}), feed.To(b, feed.Delivery{Bytes: 100, Patience: time.Hour}))
		}
		f := make()
		checkpoint := restore(t, f, nil)
		var failed *feed.TargetError
		begin := time.Now()
		settled := 0
		for i := range 10 {
			put(t, f, fmt.Sprint(i), strings.Repeat("x", 50))
			stored, err := f.Prepare(t.Context(), []string{fmt.Sprint(i)})
			if errors.As(err, &failed) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			checkpoint, settled = stored, i+1
		}
		if failed == nil || settled > 4 || failed.Since < time.Hour || time.Since(begin) > 2*time.Hour || !strings.Contains(failed.Error(), "connection refused") {
			t.Fatalf("%v after %s and %d items", failed, time.Since(begin), settled)
		}
		f.Close(t.Context(), "failed")
		away = false
		f = make()
		restore(t, f, checkpoint)
		end(t, f)
		if len(b.objects) != settled {
			t.Errorf("%d objects, want %d", len(b.objects), settled)
		}
	})
}

// refusal is an error that no patience mends.
type refusal struct{ error }

func (refusal) Refused() bool { return true }

// A target that refuses ends the run after three attempts; one whose last attempt is cut short by the end of the patience says why the ones
// before have failed.
func TestTargetErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		fails func(attempt int) error
		since time.Duration
	}{
		{"refused", func(int) error { return refusal{errors.New("wrong key")} }, 3 * time.Second},
		{"refused for a moment", func(n int) error {
			if n%3 == 0 {
				return errors.New("wrong key, or away")
			}
			return refusal{errors.New("wrong key")}
		}, 20 * time.Minute},
		{"cut short", func(n int) error {
			if n > 2 {
				return context.DeadlineExceeded
			}
			return errors.New("wrong key")
		}, 20 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := feed.JSONL(filepath.Join(plainDir(t), "{part}.jsonl"), feed.To(&bucket{fails: test.fails}, feed.Delivery{Patience: 20 * time.Minute}))
			restore(t, f, nil)
			put(t, f, "a", "x")
			prepare(t, f, "a")
			var failed *feed.TargetError
			if err := f.Close(t.Context(), "finished"); !errors.As(err, &failed) || !strings.Contains(err.Error(), "wrong key") || failed.Since < test.since || failed.Since > test.since+2*time.Minute {
				t.Errorf("%s: %v", test.name, err)
			}
		})
	}
}
