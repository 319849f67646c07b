// Package postgres writes items to a table of a PostgreSQL database, each item once.
//
//	pool, err := pgxpool.New(ctx, "postgres:///books")
//	engine := tegenaria.NewSpiderEngine(
//		tegenaria.EngineWithCache(cache), // of disk.Open: then kill -9 repeats and loses nothing
//		tegenaria.EngineWithPipelines(postgres.New[Book](pool, postgres.Table("books"), postgres.Upsert("sku"))))
//
// The table has a column for each field of the struct, by the rules and names of encoding/json. It is made if it is not there; if it is,
// columns that it lacks are added, and nothing else is changed: see [feed.TableError]. Integers are bigint, unsigned ones of 64 bits
// numeric(20), times timestamptz, which has microseconds, bytes bytea, lists and objects jsonb; what a nil pointer leaves out is NULL.
//
// The rows of a batch of requests are copied in one transaction, which also notes the batch in a table of the feed's own, called
// tegenaria_batches. After a crash the rows of a batch that the cache does not know are deleted, and their requests run again. To know
// these rows, a table without [Upsert] has one more column, called tegenaria_row. With [Upsert] a row takes the place of an older one.
//
// While the database is away, the crawl waits for it: see [Patience]. A batch whose fate is not known, because the connection broke after
// its COMMIT was sent, is looked up in tegenaria_batches before it is sent again. A row that the database refuses goes to the
// reject file alone, and the rest of its batch to the table: see [Rejects].
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

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
	mistakes []error
}

// mistake notes what is wrong with the options.
func (s *settings) mistake(format string, args ...any) {
	s.mistakes = append(s.mistakes, fmt.Errorf(format, args...))
}

const (
	defaultStageBytes = 16 << 20
	defaultPatience   = 5 * time.Minute
)

// New makes a feed that writes items of type T, or pointers to them, to a table. Items of other types are not for it. T is a struct. The
// table is called after T, in lower case, unless [Table] names it. The feed takes one connection of the pool for each batch, and
// never closes the pool. A new job refuses a table that is not empty with a [*feed.NotEmptyError], unless it has the option [Append] or
// [Overwrite].
func New[T any](pool *pgxpool.Pool, opts ...Option) *Feed {
	t := reflect.TypeFor[T]()
	f := new(Feed)
	s := settings{sink: &f.sink, store: &store{pool: pool, table: strings.ToLower(t.Name()), patience: defaultPatience}}
	s.sink.Type, s.sink.Database, s.sink.StageBytes = t, s.store, defaultStageBytes
	if pool == nil {
		s.mistake("New without a pool of connections; make one with pgxpool.New")
	}
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

// The bounds of PostgreSQL.
const (
	longestName = 63   // bytes
	mostColumns = 1599 // without the feed's own
)

// systemColumns are in every table (PostgreSQL: 5.6 System Columns). Names in upper case are others.
var systemColumns = []string{"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}

// finish sets what depends on several options.
func (s *settings) finish() {
	if !isName(s.store.table) || s.store.table == notes || s.store.table == counters {
		s.mistake("%q is no name of a table: choose one of 1 to %d bytes with Table", s.store.table, longestName)
	}
	if s.store.schema != "" && !isName(s.store.schema) {
		s.mistake("%q is no name of a schema: choose one of 1 to %d bytes with Schema", s.store.schema, longestName)
	}
	list, err := table.Of(s.sink.Type)
	if err != nil {
		s.mistake("%w", err)
	}
	if len(list) > mostColumns {
		s.mistake("type %s has %d fields: a table has at most %d columns; give some of them the tag json:\"-\"", s.sink.Type, len(list), mostColumns)
	}
	s.sink.Columns, s.store.columns = list, list
	for _, c := range list {
		if !isName(c.Name) || c.Name == rowColumn {
			s.mistake("type %s: the field %q is no name of a column of 1 to %d bytes, or one of the feed's own: give it "+
				"another one by its json tag", s.sink.Type, c.Name, longestName)
		} else if slices.Contains(systemColumns, c.Name) {
			s.mistake("type %s: the field %s has the name of a column that PostgreSQL has in each table: give it another one "+
				"by its json tag", s.sink.Type, c.Name)
		}
	}
	if len(list) > 0 {
		if s.store.isKey, err = table.KeyOf(list, s.store.key); err != nil {
			s.mistake("type %s: %w", s.sink.Type, err)
		}
	}
	for i, err := range s.mistakes {
		s.mistakes[i] = fmt.Errorf("postgres: table %s: %w", s.store.table, err)
	}
	s.sink.Mistake = errors.Join(s.mistakes...)
	s.store.overwrite = s.sink.Overwrite
	name := s.store.table
	if s.store.schema != "" {
		name = s.store.schema + "." + name
	}
	s.sink.Key = cmp.Or(s.sink.Key, "postgres:"+name)
	s.sink.Beside = strings.ReplaceAll(name, string(filepath.Separator), "_")
}

func isName(s string) bool { return s != "" && len(s) <= longestName && !strings.Contains(s, "\x00") }

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

// Restore connects to the database, and takes back what the checkpoint does not know.
func (f *Feed) Restore(ctx context.Context, checkpoint []byte) error {
	return f.sink.Restore(ctx, checkpoint)
}

// Prepare writes the items of these requests, in one transaction.
func (f *Feed) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	return f.sink.Prepare(ctx, ids)
}

// Discard forgets what a request has staged.
func (f *Feed) Discard(id string) { f.sink.Discard(id) }

// Close ends the run. Items of requests that were not settled are forgotten: they will be fetched again.
func (f *Feed) Close(ctx context.Context, reason string) error { return f.sink.Close(ctx, reason) }
