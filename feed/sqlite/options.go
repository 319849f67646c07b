package sqlite

import (
	"time"

	"github.com/tegenaria/tegenaria"
)

// Option changes a feed. A nil one is a mistake that ends the run before its first request.
type Option func(s *settings)

// Table names the table.
func Table(name string) Option { return func(s *settings) { s.name = name } }

// Upsert names the key, the columns in which no two rows have the same values: an item replaces the row that was written with its key
// before. They are the primary key of a table that the feed makes; one that is there needs a unique index on them. An item whose key is
// NULL is refused.
func Upsert(columns ...string) Option {
	return func(s *settings) {
		if len(columns) == 0 {
			s.mistake("Upsert without a column; leave it out")
		}
		s.store.key = columns
	}
}

// Append lets a new job add to a table that is not empty. A job that is resumed goes on where it was in any case.
func Append() Option {
	return func(s *settings) { s.store.append, s.sink.Overwrite = true, false }
}

// Overwrite lets a new job empty its table, and its reject file. A job that is resumed goes on where it was in any case.
func Overwrite() Option {
	return func(s *settings) { s.store.append, s.sink.Overwrite = false, true }
}

// Patience sets for how long a batch waits for another program that writes to the database (default 1 minute). Then the crawl ends with
// an [*Error], and the same job can go on later.
func Patience(d time.Duration) Option {
	return func(s *settings) {
		if d <= 0 {
			s.mistake("Patience(%s): it must be above 0", d)
		}
		s.store.patience = d
	}
}

// Rejects sets the path of the reject file: items with a value that the table refuses are its lines, each with the error. By default it
// is called after the database and the table, "books.db.books.rejects.jsonl", and in a job of several workers after the
// worker too; one without a line is removed at the end.
func Rejects(path string) Option { return func(s *settings) { s.sink.Rejects = path } }

// JobKey sets the name under which the job remembers this feed: by default "sqlite:", the path as it was given, and the table. Set it
// where the path may be spelled in another way when the job is resumed.
func JobKey(key string) Option { return func(s *settings) { s.sink.Key = key } }

// Priority sets the feed's place among those pipelines that are tegenaria.Committers (default 0).
func Priority(priority int) Option { return func(s *settings) { s.sink.Priority = priority } }

// Select takes those items alone for which wanted is true. It is called concurrently.
func Select(wanted func(item tegenaria.ItemInterface) bool) Option {
	return func(s *settings) { s.sink.Wanted = func(item any) bool { return wanted(item) } }
}

// StageBytes sets how much memory the rows of requests that are not settled yet may take (default 16 MiB). Beyond that they go to a
// temporary file.
func StageBytes(n int) Option { return func(s *settings) { s.sink.StageBytes = n } }
