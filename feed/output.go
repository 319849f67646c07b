package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/tegenaria/tegenaria/internal/remedy"
)

// output is where items end up.
type output interface {
	// prepare is called before the items of a batch: the checkpoint of the one before is stored.
	prepare(ctx context.Context) error
	// add writes an item that was staged.
	add(staged []byte) error
	// commit makes durable what was added, and returns what to resume from.
	commit() (checkpoint []byte, err error)
	// end writes what is left to be written when the run is over. finished says that the job is.
	end(ctx context.Context, finished bool) error
	io.Closer
}

// NotEmptyError is the failure of a new job whose file has content already.
// Packages feed/sqlite and feed/postgres return it for a table that has rows.
type NotEmptyError struct {
	Path  string
	Table string // "" for a file
}

// Error says what to do.
func (e *NotEmptyError) Error() string {
	if e.Table != "" {
		return fmt.Sprintf("feed: table %s is not empty, and this is a new job: remove the table, or %s", e.Table, remedy.Overwrite)
	}
	return fmt.Sprintf("feed: %s is not empty, and this is a new job: remove the file, or %s", e.Path, remedy.Overwrite)
}

// InUseError is the failure of a feed whose file another process is writing. On Windows this is not detected.
type InUseError struct{ Path string }

// Error says what to do.
func (e *InUseError) Error() string {
	return fmt.Sprintf("feed: %s is being written by another process: wait until that one ends, or name another file", e.Path)
}

// CorruptError says that the file of a resumed job is not as the job left it.
type CorruptError struct {
	Path string
	Err  error
}

// Error says what to do.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("feed: %s is not as this job has left it: %v; put the file back, or start the job over with "+
		"another file", e.Path, e.Err)
}

// Unwrap returns what was found.
func (e *CorruptError) Unwrap() error { return e.Err }

// fileOutput is one regular file.
type fileOutput struct {
	part
	feed *Feed
}

func (o *fileOutput) prepare(context.Context) error { return nil }

// restore begins the file, or goes on where the job was.
func (o *fileOutput) restore(checkpoint []byte) (err error) {
	f := o.feed
	var s partState
	if checkpoint != nil {
		if err := json.Unmarshal(checkpoint, &s); err != nil || s.Offset < 0 {
			return &CorruptError{o.path, fmt.Errorf("its checkpoint is %q", checkpoint)}
		}
	}
	if o.doc, err = f.format.open(s.Doc); err != nil {
		return &CorruptError{o.path, err}
	}
	if checkpoint == nil {
		if f.existing == refuse {
			if err := o.clearBlank(); err != nil {
				return fmt.Errorf("feed: %w", err)
			}
		}
		return o.begin(f.existing, f.packing)
	}
	return o.resume(s, f.packing)
}

func (o *fileOutput) commit() ([]byte, error) {
	s, err := o.part.commit(mostRest)
	if err != nil || o.lazy {
		return nil, err
	}
	return json.Marshal(s)
}

func (o *fileOutput) end(_ context.Context, finished bool) error {
	err := o.part.end(0)
	if err != nil || !finished && !o.lazy {
		return err
	}
	if !o.lazy { // else Close syncs
		if err := o.part.sync(); err != nil { // the rest of a packed file was in the checkpoint alone
			return err
		}
	}
	if err := o.straighten(o.feed); err != nil {
		return fmt.Errorf("feed: writing %s anew: %w", o.path, err)
	}
	return nil
}

// streamOutput is something that cannot be cut.
type streamOutput struct {
	w      io.Writer
	doc    document
	stream stream
	text   []byte
}

func newStreamOutput(w io.Writer, doc document, s stream) *streamOutput {
	return &streamOutput{w: w, doc: doc, stream: s, text: doc.begin(nil)}
}

func (o *streamOutput) add(staged []byte) (err error) {
	if o.text, err = o.doc.add(o.text, staged); err != nil || len(o.text) < maxAppend {
		return err
	}
	return o.write(nil)
}

// write writes the text, and what is packed behind it.
func (o *streamOutput) write(ending []byte) error {
	err := o.stream.write(o.text)
	if err == nil {
		err = o.stream.flush()
	}
	o.text = o.text[:0]
	if p := append(o.stream.packed(), ending...); err == nil && len(p) > 0 {
		_, err = o.w.Write(p)
	}
	if err != nil {
		return fmt.Errorf("feed: writing the output: %w", err)
	}
	return nil
}

func (o *streamOutput) prepare(context.Context) error { return nil }

func (o *streamOutput) commit() ([]byte, error) { return nil, o.write(nil) }

func (o *streamOutput) end(context.Context, bool) error {
	if err := o.write(nil); err != nil {
		return err
	}
	return o.write(o.stream.ending(o.doc.end(nil)))
}

// Close is part of output.
func (o *streamOutput) Close() error {
	if c, ok := o.w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
