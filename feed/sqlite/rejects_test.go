package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// shared is a cache on whose job a worker of this name works.
type shared struct {
	*enginetest.CrashCache
	worker string
}

func (c shared) WorkerName() string { return c.worker }

// By default the reject file has the name of the worker, so that several workers can use one folder; the name is the
// same when a worker begins again.
func TestRejectsOfWorkers(t *testing.T) {
	for _, tt := range []struct{ name, worker, want string }{
		{"alone", "", "books.db.pair.rejects.jsonl"},
		{"named", "one", "books.db.pair.one.rejects.jsonl"},
		{"named with what no path has", "a/b {c}", "books.db.pair.a%2Fb %7Bc%7D.rejects.jsonl"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder, store := t.TempDir(), enginetest.NewCrashStore()
			for range 2 {
				var cache tegenaria.CacheInterface = &enginetest.CrashCache{CrashStore: store}
				if tt.worker != "" {
					cache = shared{&enginetest.CrashCache{CrashStore: store}, tt.worker}
				}
				found := ""
				s := enginetest.NewSpider("http://a.test/")
				s.Parse = func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
					names, err := filepath.Glob(filepath.Join(folder, "*.rejects.jsonl"))
					for i, name := range names {
						names[i] = filepath.Base(name)
					}
					found = strings.Join(names, ", ")
					if err != nil {
						return err
					}
					return tegenaria.CloseSpider("to be resumed")
				}
				e := enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")), s, tegenaria.EngineWithCache(cache),
					tegenaria.EngineWithPipelines(sqlite.New[pair](filepath.Join(folder, "books.db"))))
				enginetest.WantStopped(t, enginetest.Run(t, e), "to be resumed")
				if found != tt.want {
					t.Errorf("the reject file is %q, want %q", found, tt.want)
				}
			}
		})
	}
}

// The error of a reject file that cannot be written names the option.
func TestRejectsCannotBeWritten(t *testing.T) {
	f := sqlite.New[pair](filepath.Join(t.TempDir(), "books.db"), sqlite.Rejects(t.TempDir()))
	if err := f.Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the option Rejects sets its path") {
		t.Errorf("the error is %v", err)
	}
}
