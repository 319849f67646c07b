package parquet

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/tegenaria/tegenaria/feed"
)

// ValueError is the failure of an item that has a value which its column cannot hold. It is lost to this feed alone, and the crawl goes
// on.
type ValueError struct {
	Type  string // of the item
	Field string // "offers.price"
	Err   error
}

// Error names the field.
func (e *ValueError) Error() string {
	return fmt.Sprintf("parquet: an item of type %s cannot be stored: field %s: %v", e.Type, e.Field, e.Err)
}

// Unwrap returns the reason.
func (e *ValueError) Unwrap() error { return e.Err }

// Error is the failure to write or to read a file. The rows are in the spool: the same job goes on once the cause is gone.
type Error struct {
	Path   string
	Doing  string // "writing", "reading back", "renaming", …
	Remedy string // "" if none is known
	Err    error
}

// Error names the file and the remedy.
func (e *Error) Error() string {
	text := fmt.Sprintf("parquet: %s %s: %v", e.Doing, e.Path, e.Err)
	if e.Remedy != "" {
		text += "; " + e.Remedy + ", and start the same job again"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// failed says what could not be done with a file, and what to do about it where that is known.
func failed(doing, path string, err error) error {
	if err == nil {
		return nil
	}
	switch err.(type) {
	case *Error, *feed.CorruptError, *feed.NotEmptyError:
		return err // which says it all
	}
	remedy := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		remedy = "make room on the disk"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		remedy = "let this user write there"
	case errors.Is(err, errDiffers):
		remedy = "look after the memory and the disk of this machine"
	}
	return &Error{Path: path, Doing: doing, Remedy: remedy, Err: err}
}
