// Package journal keeps the state of a pipeline in a file that only grows. The job remembers how many bytes of it
// count; what came after them is cut off when the job is resumed.
//
//	Open → Records … Append → Commit → the checkpoint of the job
//
// A short example:
//
//	file, err := journal.Open(name, "tegenaria near 1\n", checkpoint)
//	err = read(file.Records(len(header)))
//	at := file.Append(record)
//	checkpoint, err = file.Commit()
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// NotEmptyError is the failure to begin a new job with a file that has something in it.
type NotEmptyError struct{ Path string }

// Error names the remedy.
func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("pipeline: %s has the state of another job: remove it, name another file, or resume that job", e.Path)
}

// CorruptError is the failure to resume a job whose file is not what it was.
type CorruptError struct {
	Path string
	Err  error
}

// Error says what is wrong.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("pipeline: %s does not fit to the job: %v", e.Path, e.Err)
}

// Unwrap returns what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

// state is the checkpoint. It is stored: a field keeps its meaning.
type state struct {
	Size int64  `json:"size"` // bytes that count, the header among them
	Tail uint32 `json:"tail"` // CRC-32C of the last 4,096 of them, or of all if there are fewer
}

// File is an open journal. Append and ReadAt may be called concurrently, also while Commit runs; Commit and Close are
// called one after the other.
type File struct {
	path   string
	header string
	temp   bool // it is removed at the end, and need not be synced
	file   *os.File
	tail   outfile.Tail
	mu     sync.Mutex // guards size and fresh
	size   int64      // bytes in the file
	fresh  []byte     // that come behind them
}

// Open opens the file of a job, and cuts it to what the checkpoint says; nil: it must be empty. Nobody else may read
// it. An empty name is that of a temporary file, for a run that cannot be resumed: Close removes it. The header says
// what is in the file.
func Open(name, header string, checkpoint []byte) (*File, error) {
	f := &File{path: name, temp: name == ""}
	var err error
	if f.temp {
		f.file, err = os.CreateTemp("", "tegenaria-*.journal")
	} else if f.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		err = syncFolder(filepath.Dir(name))
	}
	if err != nil {
		if f.file != nil {
			err = errors.Join(err, f.file.Close())
		}
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	if err := f.restore(header, checkpoint); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *File) restore(header string, checkpoint []byte) error {
	f.header = header
	info, err := f.file.Stat()
	if err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	var s state
	if checkpoint != nil {
		if err := json.Unmarshal(checkpoint, &s); err != nil || s.Size < 0 {
			return &CorruptError{f.path, fmt.Errorf("its checkpoint is %q", checkpoint)}
		}
	}
	switch {
	case checkpoint == nil && info.Size() > 0:
		return &NotEmptyError{f.path}
	case info.Size() < s.Size:
		return &CorruptError{f.path, fmt.Errorf("it has %d bytes, there were %d", info.Size(), s.Size)}
	case info.Size() > s.Size:
		if err := errors.Join(f.file.Truncate(s.Size), f.file.Sync()); err != nil {
			return fmt.Errorf("pipeline: cutting %s: %w", f.path, err)
		}
	}
	f.size = s.Size
	if s.Size == 0 {
		return nil
	}
	begin := make([]byte, len(header))
	if f.tail, err = outfile.ReadTail(f.file, s.Size); err != nil {
		return fmt.Errorf("pipeline: reading %s: %w", f.path, err)
	}
	if err := f.tail.Check(s.Size, s.Tail); err != nil {
		return &CorruptError{f.path, err}
	}
	if _, err := f.file.ReadAt(begin, 0); err != nil || string(begin) != header {
		return &CorruptError{f.path, fmt.Errorf("it begins with %q, not with %q", begin, header)}
	}
	return nil
}

// Path is the name of the file, "" for a temporary one.
func (f *File) Path() string { return f.path }

// Records returns what is in the file behind the header of so many bytes. It is asked before anything is appended.
func (f *File) Records(header int) io.Reader {
	return io.NewSectionReader(f.file, int64(header), max(0, f.size-int64(header)))
}

// Append adds a record, and returns where it will be. It is in memory until the next Commit. The header comes with the
// first record: a file that a crash has left behind before that is empty.
func (f *File) Append(record []byte) (at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size == 0 && len(f.fresh) == 0 && len(record) > 0 {
		f.fresh = append(f.fresh, f.header...)
	}
	at = f.size + int64(len(f.fresh))
	f.fresh = append(f.fresh, record...)
	return at
}

// ReadAt reads as io.ReaderAt does, also what was appended and not committed.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	if at >= f.size {
		defer f.mu.Unlock()
		if at-f.size >= int64(len(f.fresh)) {
			return 0, io.EOF
		}
		n := copy(p, f.fresh[at-f.size:])
		if n < len(p) {
			return n, io.EOF
		}
		return n, nil
	}
	f.mu.Unlock()
	return f.file.ReadAt(p, at)
}

// Commit makes durable what was appended, and returns the checkpoint.
func (f *File) Commit() (checkpoint []byte, err error) {
	f.mu.Lock()
	size, fresh := f.size, f.fresh
	f.mu.Unlock()
	if len(fresh) > 0 {
		_, err := f.file.WriteAt(fresh, size)
		if err == nil && !f.temp {
			err = f.file.Sync()
		}
		if err != nil {
			return nil, fmt.Errorf("pipeline: writing %s: %w", f.file.Name(), err)
		}
		f.tail.Append(fresh)
		f.mu.Lock()
		f.size += int64(len(fresh))
		rest := f.fresh[len(fresh):] // came meanwhile
		if len(rest) == 0 && cap(fresh) <= 1<<20 {
			f.fresh = f.fresh[:0]
		} else {
			f.fresh = append([]byte(nil), rest...)
		}
		size = f.size
		f.mu.Unlock()
	}
	return json.Marshal(state{size, f.tail.Sum()})
}

// Close closes the file. What was not committed is forgotten.
func (f *File) Close() error {
	err := f.file.Close()
	if f.temp {
		err = errors.Join(err, os.Remove(f.file.Name()))
	}
	if err != nil {
		return fmt.Errorf("pipeline: closing %s: %w", f.file.Name(), err)
	}
	return nil
}

// syncFolder makes the names in a folder durable.
func syncFolder(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	_ = dir.Sync() // some systems have no such thing
	return dir.Close()
}
