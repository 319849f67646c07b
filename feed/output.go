package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// output is where lines end up.
type output interface {
	// Write appends lines.
	io.Writer
	// commit makes them durable, and returns what to resume from.
	commit() (checkpoint []byte, err error)
	io.Closer
}

// NotEmptyError is the failure of a new job that finds lines in its file which are not its own.
type NotEmptyError struct {
	Path string
}

// Error says what to do.
func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("feed: %s is not empty, and this is a new job: remove the file, or choose feed.Append or feed.Overwrite", e.Path)
}

// CorruptError is the failure of a job to find its file as it was left.
type CorruptError struct {
	Path string
	Err  error
}

// Error says what to do.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("feed: %s is not as this job has left it: %v; put the file back, or start the job over with another file", e.Path, e.Err)
}

// Unwrap returns what was found.
func (e *CorruptError) Unwrap() error { return e.Err }

// fileOutput is a regular file. What lies behind offset does not count.
type fileOutput struct {
	path    string
	file    File
	offset  int64
	lazy    bool   // it is synced when it is closed, not before
	written bool   // since the last sync
	tail    []byte // the last bytes before offset
}

// tailBytes is how much of a file's end is compared when a job is resumed.
const tailBytes = 4096

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkpoint is what a job remembers of its file. It is stored: a field keeps its meaning.
type checkpoint struct {
	Offset int64  `json:"offset"`         // length of the file
	Tail   uint32 `json:"tail,omitempty"` // CRC-32C of its last 4,096 bytes, or of all if it has fewer
}

// begin starts a new job's file. A crash between this and the first checkpoint leaves a file that begin takes for what
// it was.
func (o *fileOutput) begin(what existing) error {
	size, err := o.file.Size()
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	if size > 0 && what == refuse {
		return &NotEmptyError{o.path}
	}
	if size > 0 && what == drop {
		if err := errors.Join(o.file.Truncate(0), o.file.Sync()); err != nil {
			return fmt.Errorf("feed: %w", err)
		}
		size = 0
	}
	o.offset = size
	if err := o.readTail(); err != nil {
		return fmt.Errorf("feed: reading %s: %w", o.path, err)
	}
	if n := len(o.tail); n > 0 && o.tail[n-1] != '\n' { // the last line was not ended
		_, err = o.Write([]byte{'\n'})
	}
	return err
}

// resume goes on where a job was.
func (o *fileOutput) resume(stored []byte) error {
	var c checkpoint
	if err := json.Unmarshal(stored, &c); err != nil || c.Offset < 0 {
		return &CorruptError{o.path, fmt.Errorf("its checkpoint is %q", stored)}
	}
	size, err := o.file.Size()
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	if size < c.Offset {
		return &CorruptError{o.path, fmt.Errorf("it has %d bytes, there were %d", size, c.Offset)}
	}
	o.offset = c.Offset
	if err := o.readTail(); err != nil {
		return fmt.Errorf("feed: reading %s: %w", o.path, err)
	}
	if crc32.Checksum(o.tail, castagnoli) != c.Tail {
		return &CorruptError{o.path, fmt.Errorf("the %d bytes before byte %d have changed", len(o.tail), c.Offset)}
	}
	if size == c.Offset {
		return nil
	}
	if err := errors.Join(o.file.Truncate(c.Offset), o.file.Sync()); err != nil {
		return fmt.Errorf("feed: cutting %s: %w", o.path, err)
	}
	return nil
}

func (o *fileOutput) readTail() error {
	o.tail = make([]byte, min(o.offset, tailBytes))
	n, err := o.file.ReadAt(o.tail, o.offset-int64(len(o.tail)))
	if n == len(o.tail) {
		return nil
	}
	return err
}

// Write is part of output.
func (o *fileOutput) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := o.file.WriteAt(p, o.offset)
	if err != nil {
		return n, fmt.Errorf("feed: writing %s: %w", o.path, err)
	}
	o.offset += int64(n)
	o.written = true
	if len(p) >= tailBytes {
		o.tail = append(o.tail[:0], p[len(p)-tailBytes:]...)
	} else {
		o.tail = append(o.tail, p...)
		o.tail = append(o.tail[:0], o.tail[max(0, len(o.tail)-tailBytes):]...)
	}
	return n, nil
}

func (o *fileOutput) commit() ([]byte, error) {
	if o.lazy {
		return nil, nil
	}
	if err := o.sync(); err != nil {
		return nil, err
	}
	return json.Marshal(checkpoint{o.offset, crc32.Checksum(o.tail, castagnoli)})
}

func (o *fileOutput) sync() error {
	if !o.written {
		return nil
	}
	if err := o.file.Sync(); err != nil {
		return fmt.Errorf("feed: syncing %s: %w", o.path, err)
	}
	o.written = false
	return nil
}

// Close is part of output.
func (o *fileOutput) Close() error {
	if o.lazy {
		return errors.Join(o.sync(), o.file.Close())
	}
	return o.file.Close()
}

// streamOutput is something that cannot be cut.
type streamOutput struct{ w io.Writer }

// Write is part of output.
func (o streamOutput) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		return n, fmt.Errorf("feed: writing the output: %w", err)
	}
	return n, nil
}

func (o streamOutput) commit() ([]byte, error) { return nil, nil }

// Close is part of output.
func (o streamOutput) Close() error {
	if c, ok := o.w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
