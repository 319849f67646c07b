package warc

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// OptionError says that [Create] cannot make an archive with these options.
type OptionError struct {
	Option string // "template", or the field of Options: "Size"
	Text   string // what is wrong with it, and the remedy
}

// Error names the option and the remedy.
func (e *OptionError) Error() string {
	if e.Option == "template" {
		return "warc: " + e.Text
	}
	return fmt.Sprintf("warc: Options.%s %s", e.Option, e.Text)
}

// ExistsError says that a new job refuses to write to an existing file.
type ExistsError struct{ Path string }

// Error names the remedies.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("warc: %s is there already, and records of another crawl must not be mixed with it: move it away, "+
		"or write {start} into the path", e.Path)
}

// InUseError says that another crawl is writing to a file. On Windows, and on file systems that know no locks, a new
// job that finds such a file gets an [*ExistsError].
type InUseError struct{ Path string }

// Error names the remedies.
func (e *InUseError) Error() string {
	return fmt.Sprintf("warc: %s is being written by another crawl: wait until that one ends, or name another file", e.Path)
}

// CorruptError says that a file of a resumed job is not as the job left it.
type CorruptError struct {
	Path string
	Err  error
}

// Error names the remedy.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("warc: %s is not as the job has left it: %v; put the file back, or begin a new job", e.Path, e.Err)
}

// Unwrap returns what differs.
func (e *CorruptError) Unwrap() error { return e.Err }

// WriteError is a failed write to disk. It ends the run; requests whose records were not written count as not done.
type WriteError struct {
	Path string
	Err  error
}

// Error names the remedy.
func (e *WriteError) Error() string {
	return fmt.Sprintf("warc: writing %s: %v; see that the disk has room and may be written to, and run the job again: "+
		"it goes on where it was", e.Path, e.Err)
}

// Unwrap returns the error of the system.
func (e *WriteError) Unwrap() error { return e.Err }

// NotArchivedError is the failure of a request that has no record in the archive.
type NotArchivedError struct {
	URL    string
	Method string
}

// Error names the remedy.
func (e *NotArchivedError) Error() string {
	return fmt.Sprintf("warc: %s %s is not in the archive; to ask the site for what is missing, give Replay.Layer to "+
		"EngineWithDownloaderLayers", e.Method, urlx.Redact(e.URL))
}

// DamagedError is the failure of a request whose record cannot be read.
type DamagedError struct {
	Path   string
	Offset int64 // of the record
	Err    error
}

// Error says where the record is.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("warc: the record at byte %d of %s cannot be read: %v", e.Offset, e.Path, e.Err)
}

// Unwrap returns what is wrong with the record.
func (e *DamagedError) Unwrap() error { return e.Err }
