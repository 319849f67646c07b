package media

import (
	"fmt"
	"reflect"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// FileError is the failure of an item whose required file could not be downloaded.
type FileError struct {
	URL   string
	Field string
	Text  string // Result.Error
}

// Error names the file and the field.
func (e *FileError) Error() string {
	return fmt.Sprintf("media: the required file %s of field %s: %s", urlx.Redact(e.URL), e.Field, e.Text)
}

// LimitError is the failure of a file that is beyond a bound.
type LimitError struct {
	What   string // "bytes", "pixels", "pixels wide", "pixels high", "scans", "bytes of memory to decode it", "milliseconds to decode it"
	Got    int64  // 0 if it is not known
	Limit  int64
	Option string // that has the bound: "Options.Size"; "" if none has it
}

// Error names the bound and its option.
func (e *LimitError) Error() string {
	relation, see := "more than", ""
	if e.Option == "Options.Min" {
		relation = "less than"
	}
	if e.Option != "" {
		see = ", see " + e.Option
	}
	if e.Got == 0 {
		return fmt.Sprintf("%s %d %s%s", relation, e.Limit, e.What, see)
	}
	return fmt.Sprintf("%d %s, %s %d%s", e.Got, e.What, relation, e.Limit, see)
}

// TypeError is the failure of a file whose content is not of an allowed type.
type TypeError struct {
	Type   string // of the content: "text/html; charset=utf-8"
	Images bool   // a picture was wanted
}

// Error says what the content is.
func (e *TypeError) Error() string {
	if e.Images {
		return fmt.Sprintf("the content is %s, and no JPEG, PNG, GIF or WebP", e.Type)
	}
	return fmt.Sprintf("the content is %s, which Options.Types does not allow", e.Type)
}

// ImageError is the failure of a picture that cannot be decoded: it is cut or damaged.
type ImageError struct {
	Type string
	Err  error
}

// Error says what the decoder found.
func (e *ImageError) Error() string {
	return fmt.Sprintf("the picture (%s) is damaged: %v", e.Type, e.Err)
}

// Unwrap returns the error of the decoder.
func (e *ImageError) Unwrap() error { return e.Err }

// StoreError is the failure of a disk or a [Store]. It ends the run; the items whose files could not be kept are not settled.
type StoreError struct {
	Path string
	Err  error
}

// Error names the remedy.
func (e *StoreError) Error() string {
	return fmt.Sprintf("media: storing %s: %v; see that there is room, and that it may be written to, and run the job "+
		"again: it goes on where it was", e.Path, e.Err)
}

// Unwrap returns the error of the system or of the Store.
func (e *StoreError) Unwrap() error { return e.Err }

// TagError is a mistake in the tags of a type of items. It ends the run.
type TagError struct {
	Type  reflect.Type
	Field string
	Text  string
}

// Error says which tag and how to write it.
func (e *TagError) Error() string {
	return fmt.Sprintf("media: %s.%s: %s; write media:\"image,into=FIELD\" or media:\"file,into=FIELD\" at a string or []string", e.Type, e.Field, e.Text)
}
