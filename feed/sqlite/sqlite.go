// Package sqlite writes items to a table of an SQLite database, each item once.
//
//	engine := tegenaria.NewSpiderEngine(
//		tegenaria.EngineWithCache(cache), // of disk.Open: then kill -9 repeats and loses nothing
//		tegenaria.EngineWithPipelines(sqlite.New[Book]("books.db", sqlite.Table("books"))))
//
// The table has a column for each field of the struct, by the rules and names of encoding/json. It is made if it is not there; if it is,
// columns that it lacks are added, and nothing else is changed: see [feed.TableError]. Numbers and booleans are stored as such, times as
// text in UTC like 2006-01-02T15:04:05.000000000Z, lists and objects as JSON, and what a nil pointer leaves out as NULL.
//
// The rows of a batch of requests are written in one transaction, which also notes the batch in a table of the feed's own, called
// tegenaria_batches. After a crash the rows of a batch that the cache does not know are deleted, and their requests run again. To know
// these rows, a table without [Upsert] has one more column, called tegenaria_row. With [Upsert] a row takes the place of an older one.
package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed/internal/table"
)

// Feed is a pipeline that writes items of one type to a table. It comes after all other pipelines, whatever its priority. One feed
// serves one run at a time.
type Feed struct{ sink table.Sink }

var (
	_ tegenaria.PipelinesInterface = (*Feed)(nil)
	_ tegenaria.Committer          = (*Feed)(nil)
	_ tegenaria.Closer             = (*Feed)(nil)
)

// settings are what options change.
type settings struct {
	sink     *table.Sink
	store    *store
	name     string
	mistakes []error
}

// mistake notes what is wrong with the options.
func (s *settings) mistake(format string, args ...any) {
	s.mistakes = append(s.mistakes, fmt.Errorf(format, args...))
}

// New makes a feed that writes items of type T, or pointers to them, to a table of the database in a file. Items of other types are not
// for it. T is a struct. The table is called after T, in lower case, unless [Table] names it. A new job refuses a table that is not empty
// with a [*feed.NotEmptyError], unless it has the option [Append] or [Overwrite].
func New[T any](path string, opts ...Option) *Feed {
	t := reflect.TypeFor[T]()
	f := new(Feed)
	s := settings{sink: &f.sink, store: &store{path: path, patience: defaultPatience}, name: strings.ToLower(t.Name())}
	s.sink.Type, s.sink.Database, s.sink.StageBytes = t, s.store, defaultStageBytes
	for i, opt := range opts {
		if opt == nil {
			s.mistake("option %d is nil; leave it out", i+1)
			continue
		}
		opt(&s)
	}
	s.finish()
	return f
}

const (
	defaultStageBytes = 16 << 20
	defaultPatience   = time.Minute
	mostColumns       = 1999 // of SQLite, without the feed's own
)

// finish sets what depends on several options.
func (s *settings) finish() {
	switch {
	case s.store.path == "" || strings.Contains(s.store.path, "\x00"):
		s.mistake("%q is no path of a file: name one", s.store.path)
	case s.name == "" || strings.Contains(s.name, "\x00"):
		s.mistake("%q is no name of a table: choose one with Table", s.name)
	case strings.HasPrefix(strings.ToLower(s.name), "sqlite_") || strings.EqualFold(s.name, notes):
		s.mistake("the table %s belongs to the database: choose another name with Table", s.name)
	}
	list, err := table.Of(s.sink.Type)
	if err != nil {
		s.mistake("%w", err)
	}
	if len(list) > mostColumns {
		s.mistake("type %s has %d fields: a table has at most %d columns; give some of them the tag json:\"-\"", s.sink.Type, len(list), mostColumns)
	}
	s.sink.Columns, s.store.columns, s.store.table = list, list, s.name
	seen := make(map[string]string)
	for _, c := range list {
		lower := asciiLower(c.Name)
		if old, twice := seen[lower]; twice {
			s.mistake("type %s: the fields %s and %s would be one column, since SQLite does not tell upper from lower case: "+
				"give one of them another name by its json tag", s.sink.Type, old, c.Name)
		}
		seen[lower] = c.Name
		if lower == rowColumn {
			s.mistake("type %s: the field %s has the name of a column of the feed's own: give it another one by its json tag", s.sink.Type, c.Name)
		}
	}
	if len(list) > 0 {
		if s.store.isKey, err = table.KeyOf(list, s.store.key); err != nil {
			s.mistake("type %s: %w", s.sink.Type, err)
		}
	}
	for i, err := range s.mistakes {
		s.mistakes[i] = fmt.Errorf("sqlite: table %s of %s: %w", s.name, s.store.path, err)
	}
	s.sink.Mistake = errors.Join(s.mistakes...)
	s.store.overwrite = s.sink.Overwrite
	s.sink.Key = cmp.Or(s.sink.Key, "sqlite:"+s.store.path+":"+s.name)
	s.sink.Beside = s.store.path + "." + s.name
}

// ExactlyOnce reports whether each item is written once, provided that the cache is durable.
func (f *Feed) ExactlyOnce() bool { return true }

// FeedStats returns what the feed has done in its run; Failed are the items that went to the reject file, see
// [Rejects]. It is called for [tegenaria.Summary], at any time.
func (f *Feed) FeedStats() tegenaria.FeedStats { return f.sink.Stats() }

// Mistake returns what is wrong with the options, nil if nothing is. It is part of tegenaria.PipelinesInterface: the mistakes of all
// outputs are reported before the first request.
func (f *Feed) Mistake() error { return f.sink.Mistake }

// GetPriority is part of tegenaria.PipelinesInterface.
func (f *Feed) GetPriority() int { return f.sink.Priority }

// CommitKey is part of tegenaria.Committer.
func (f *Feed) CommitKey() string { return f.sink.Key }

// ProcessItem makes an item a row, and keeps it until its request is settled.
func (f *Feed) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	return f.sink.ProcessItem(item)
}

// Restore opens the database, and takes back what the checkpoint does not know.
func (f *Feed) Restore(ctx context.Context, checkpoint []byte) error {
	return f.sink.Restore(ctx, checkpoint)
}

// Prepare writes the items of these requests, in one transaction.
func (f *Feed) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	return f.sink.Prepare(ctx, ids)
}

// Discard forgets what a request has staged.
func (f *Feed) Discard(id string) { f.sink.Discard(id) }

// Close closes the database. Items of requests that were not settled are forgotten: they will be fetched again.
func (f *Feed) Close(ctx context.Context, reason string) error { return f.sink.Close(ctx, reason) }
