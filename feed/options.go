package feed

import (
	"slices"

	"github.com/tegenaria/tegenaria"
)

// Option changes a feed. A nil one is a mistake that ends the run before its first request.
type Option func(f *Feed)

// Append lets a new job append to a file that is not empty. A resumed job always continues after its last line. In a [JSON] or [XML] file
// items are added before the closing bracket or tag, in a compressed file as another gzip member or Zstandard frame.
// The columns of a [CSV] file are those of its header, which must be equal to the [Columns] if these are given. A file
// of another format, a damaged file and a compressed [JSON] or [XML] file are refused with an [*AppendError]. A feed
// with several files never changes finished ones: it begins with the first number {part} whose name is free; without
// {part} a name that exists already is a [*NotEmptyError].
func Append() Option { return func(f *Feed) { f.existing = keep } }

// Overwrite lets a new job empty its file first. A resumed job always continues after its last line.
func Overwrite() Option { return func(f *Feed) { f.existing = drop } }

// Key sets the name under which the job stores the state of this feed: by default "feed:" and the path as it was given. Set
// it if the path may be spelled in another way when the job is resumed.
func Key(key string) Option { return func(f *Feed) { f.key = key } }

// Priority sets the feed's place among those pipelines that are tegenaria.Committers (default 0).
func Priority(priority int) Option { return func(f *Feed) { f.priority = priority } }

// Select writes only the items for which wanted returns true. wanted is called concurrently.
func Select(wanted func(item tegenaria.ItemInterface) bool) Option {
	return func(f *Feed) { f.wanted = wanted }
}

// StageBytes sets how much memory the items of requests that are not settled yet may take (default 16 MiB). Beyond
// that they go to a temporary file beside the feed's, called after it with ".spool" added, which its owner alone
// can read; where there is no file, they stay in memory.
func StageBytes(n int) Option { return func(f *Feed) { f.bound = n } }

// WithFS keeps the files in another file system.
func WithFS(fs FS) Option { return func(f *Feed) { f.fs = fs } }

// Gzip packs the file with gzip, whatever its name is. The file can be unpacked at any time, also while the crawl goes
// on. An open file takes 1.3 MiB of memory.
func Gzip() Option { return func(f *Feed) { f.packing = gzipped } }

// Zstd packs the file with Zstandard, whatever its name is. The file can be unpacked at any time, also while the crawl
// goes on. An open file takes 2.6 MiB of memory.
func Zstd() Option { return func(f *Feed) { f.packing = zstandard } }

// Unique writes only the first of the items that have the same key: the first one whose request is settled. Failed attempts do not
// count. Items whose key is empty are all written. The keys of a durable job are kept in a file beside the feed's, called after it
// with ".keys" added, and in 22 to 33 bytes of memory each. key is called concurrently.
func Unique(key func(item any) string) Option {
	return func(f *Feed) {
		if key == nil {
			f.wrong("Unique without a func; leave it out")
		}
		f.uniqueKey = key
	}
}

// MostKeys sets how many keys [Unique] may remember (default 50,000,000). One more ends the run with a [*UniqueFullError].
func MostKeys(n int) Option {
	return func(f *Feed) {
		if n <= 0 {
			f.wrong("MostKeys(%d): it must be 1 or more", n)
		}
		f.mostKeys = n
	}
}

// Rotate finishes a file at these bounds and goes on with the next one. The path needs the field {part}.
func Rotate(r Rotation) Option {
	return func(f *Feed) {
		if r.Items < 0 || r.Bytes < 0 || r.Every < 0 || r == (Rotation{}) {
			f.wrong("Rotate(%+v): set Items, Bytes or Every, and none below 0", r)
			return
		}
		f.rotation = &r
	}
}

// MostFiles sets how many files a feed whose path has {item.NAME} may begin (default 100,000), so that a site which gives each item another
// value does not fill a disk with files. One more ends the run with a [*ManyFilesError].
func MostFiles(n int) Option {
	return func(f *Feed) {
		if n <= 0 {
			f.wrong("MostFiles(%d): it must be 1 or more", n)
		}
		f.mostFiles = n
	}
}

// KeepEmpty makes a feed whose path has fields write a file even if there is no item.
func KeepEmpty() Option { return func(f *Feed) { f.keepEmpty = true } }

// Columns names the columns of a [CSV] file, in their order: by the names that fields have in JSON, or in Go. Other
// fields of items are left out. A struct that has none of the columns is refused with a [*NoColumnsError].
func Columns(names ...string) Option {
	return func(f *Feed) {
		if len(names) == 0 {
			f.wrong("Columns without a name; leave it out")
		}
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				f.wrong("Columns has %q twice: name it once", name)
			}
		}
		forCSV("Columns", func(c *csvFormat) { c.fixed = names })(f)
	}
}

// LateFails ends the run with a [*LateColumnError] when an item has a field that is no column of its [CSV] file.
func LateFails() Option { return forCSV("LateFails", func(c *csvFormat) { c.lateFails = true }) }

// Comma sets the character between the cells of a [CSV] file (default ','): ';' or '\t', say. It is one of ASCII, and neither a
// quotation mark nor the end of a line.
func Comma(c rune) Option {
	return func(f *Feed) {
		if c <= 0 || c > 0x7F || c == '"' || c == '\r' || c == '\n' {
			f.wrong("Comma(%q): choose a character of ASCII that is no quotation mark and no line break", c)
			return
		}
		forCSV("Comma", func(f *csvFormat) { f.comma = byte(c) })(f)
	}
}

// CRLF ends the rows of a [CSV] file with a carriage return and a line feed, as RFC 4180 has it. The default is the line feed alone.
func CRLF() Option { return forCSV("CRLF", func(c *csvFormat) { c.crlf = true }) }

// BOM begins a [CSV] file with a byte order mark, by which some spreadsheets know UTF-8.
func BOM() Option { return forCSV("BOM", func(c *csvFormat) { c.bom = true }) }

// NoHeader leaves out the row of names that a [CSV] file begins with. It needs [Columns].
func NoHeader() Option { return forCSV("NoHeader", func(c *csvFormat) { c.headless = true }) }

// SpreadsheetSafe puts an apostrophe before texts in a [CSV] file that a spreadsheet would take for a formula: those that begin with
// =, +, -, @, a tab or a line break; so it does in the header. Without it they are written as they are.
func SpreadsheetSafe() Option { return forCSV("SpreadsheetSafe", func(c *csvFormat) { c.safe = true }) }

// forCSV makes an option for CSV files alone.
func forCSV(name string, set func(c *csvFormat)) Option {
	return func(f *Feed) {
		f.ofCSV = append(f.ofCSV, name)
		set(&f.csv)
	}
}
