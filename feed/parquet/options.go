package parquet

import (
	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
)

// Option changes a feed. A nil one is a mistake that ends the run before its first request.
type Option func(f *Feed)

// Append lets a new job write beside the files of other jobs: a number whose file is there already is left out. The path needs the field
// {part}. A job that is resumed goes on where it was in any case.
func Append() Option { return func(f *Feed) { f.existing = keep } }

// Overwrite lets a new job replace files that have the names of its own. A job that is resumed goes on where it was in any case.
func Overwrite() Option { return func(f *Feed) { f.existing = drop } }

// Rotate sets when a file is finished and the next one begins: at the first bound that is reached. Bytes are those of rows in the spool,
// which are more than those of the file. Without it a file has 1,000,000 rows or 128 MiB. Bounds are looked at after each batch of
// requests, so that the last one may go beyond. The path needs the field {part}.
func Rotate(r feed.Rotation) Option {
	return func(f *Feed) {
		if r.Items < 0 || r.Bytes < 0 || r.Every < 0 || r == (feed.Rotation{}) {
			f.wrong("Rotate(%+v): set Items, Bytes or Every, and none below 0", r)
		}
		f.rotation, f.rotates = r, true
	}
}

// KeepEmpty has a job without items write a file without rows. A path without the field {part} has one in any case.
func KeepEmpty() Option { return func(f *Feed) { f.keepEmpty = true } }

// Key sets the name under which the job remembers this feed: by default "parquet:" and the path as it was given. Set it where the path
// may be spelled in another way when the job is resumed.
func Key(key string) Option { return func(f *Feed) { f.key = key } }

// Priority sets the feed's place among those pipelines that are tegenaria.Committers (default 0).
func Priority(priority int) Option { return func(f *Feed) { f.priority = priority } }

// Select takes those items alone for which wanted is true. It is called concurrently.
func Select(wanted func(item tegenaria.ItemInterface) bool) Option {
	return func(f *Feed) { f.wanted = wanted }
}

// StageBytes sets how much memory the rows of requests that are not settled yet may take (default 16 MiB). Beyond that they go to a
// temporary file beside the feed's.
func StageBytes(n int) Option { return func(f *Feed) { f.bound = n } }

// WithFS keeps the files in another file system.
func WithFS(fs feed.MoverFS) Option { return func(f *Feed) { f.builder.fs = fs } }
