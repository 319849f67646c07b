package warc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// files are the files that an archive is written to, one after the other. A file is called after its name with ".open" added until it is
// finished. The names follow from the state, so no crash leaves a file that the next run does not know of.
//
//	begin → Write … → commit → … → seal: finished, and said so in the checkpoint → next commit: renamed
type files struct {
	fs       fileSystem
	template *template
	limit    int64 // bytes, from which on the next file is begun
	lazy     bool  // nothing can be resumed
	spider   string
	first    func(name string) ([]byte, error) // makes the record that each file begins with

	start  time.Time
	part   int       // of the newest file
	next   *openFile // the first, which is empty, so that nobody else begins it; nil: it has begun, or was there before
	open   *openFile
	sealed []partState // since the last commit
	last   state       // of the last commit
	broken bool        // something was written that is not in last, and never will be
}

// openFile is the file that is being written.
type openFile struct {
	name   string // when it is finished
	file   file
	buf    []byte
	offset int64        // of the end of buf
	tail   outfile.Tail // the last bytes before offset
}

// state is what a job remembers of the files. It is stored: a field keeps its meaning.
type state struct {
	Start  time.Time   `json:"start"`
	Part   int         `json:"part,omitempty"`
	Open   *partState  `json:"open,omitempty"`
	Sealed []partState `json:"sealed,omitempty"`
}

type partState struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"` // bytes that count
	Tail   uint32 `json:"tail"`   // CRC-32C of the last 4,096 of them, or of all if there are fewer
}

const (
	openEnding = ".open"   // of a file until it is finished
	mostBuffer = 256 << 10 // bytes that are written at once
)

// restore goes on where the job was, or begins if there is no state.
func (f *files) restore(s *state) error {
	if err := f.fs.MakeFolder(f.template.Root()); err != nil {
		return &WriteError{f.template.Root(), err}
	}
	if s == nil {
		f.start = time.Now().UTC().Truncate(time.Second)
		f.last = state{Start: f.start}
		return f.claimFirst()
	}
	f.start, f.part, f.last = s.Start, s.Part, *s
	f.open, f.sealed, f.broken = nil, nil, false
	for _, p := range s.Sealed {
		if err := f.checkSealed(p); err != nil {
			return err
		}
		if err := f.finish(p); err != nil {
			return err
		}
	}
	if s.Open != nil {
		if err := f.resume(*s.Open); err != nil {
			return err
		}
	}
	if err := f.removeLater(); err != nil || f.part > 0 {
		return err
	}
	return f.claimFirst()
}

// claimFirst makes the first file before there is anything to write, so that a second crawl with this name is refused at its beginning.
func (f *files) claimFirst() (err error) {
	f.next, err = f.create()
	return err
}

// create makes the next file, which is empty.
func (f *files) create() (*openFile, error) {
	name := f.template.name(f.spider, f.start, f.part+1)
	if err := f.fs.MakeFolder(filepath.Dir(name)); err != nil {
		return nil, &WriteError{name, err}
	}
	if there, err := f.fs.Exists(name); err != nil {
		return nil, &WriteError{name, err}
	} else if there {
		return nil, &ExistsError{name}
	}
	file, err := f.fs.Create(name + openEnding)
	if errors.Is(err, os.ErrExist) {
		return nil, &ExistsError{name + openEnding}
	} else if err != nil {
		return nil, unopened(name+openEnding, err)
	}
	return &openFile{name: name, file: file}, nil
}

// unopened is the failure to open a file.
func unopened(path string, err error) error {
	if used := (*InUseError)(nil); errors.As(err, &used) {
		return used
	}
	return &WriteError{path, err}
}

// resume opens the file that was being written, and cuts it to what counts.
func (f *files) resume(p partState) error {
	path := p.Name + openEnding
	there, err := f.fs.Exists(path)
	if err == nil && !there { // it was finished, and the end of the job was not stored
		err = f.fs.Rename(p.Name, path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return &CorruptError{p.Name, err}
	} else if err != nil {
		return &WriteError{path, err}
	}
	file, err := f.fs.Open(path)
	if err != nil {
		return unopened(path, err)
	}
	o := &openFile{name: p.Name, file: file, offset: p.Offset}
	if err := o.check(p); err != nil {
		return errors.Join(err, file.Close())
	}
	f.open = o
	return nil
}

// check compares a file with what is known of it, and cuts off what is behind that.
func (o *openFile) check(p partState) error {
	path := p.Name + openEnding
	size, err := o.known(path, p)
	if err != nil || size == p.Offset {
		return err
	}
	if err := errors.Join(o.file.Truncate(p.Offset), o.file.Sync()); err != nil {
		return &WriteError{path, err}
	}
	return nil
}

// known compares the bytes of a file that count with what is known of them, and returns how many bytes it has.
func (o *openFile) known(path string, p partState) (size int64, err error) {
	if size, err = o.file.Size(); err != nil {
		return 0, &WriteError{path, err}
	}
	if size < p.Offset {
		return 0, &CorruptError{path, fmt.Errorf("it has %d bytes, there were %d", size, p.Offset)}
	}
	if o.tail, err = outfile.ReadTail(o.file, p.Offset); err != nil {
		return 0, &WriteError{path, err}
	}
	if err := o.tail.Check(p.Offset, p.Tail); err != nil {
		return 0, &CorruptError{path, err}
	}
	return size, nil
}

// checkSealed compares a file that is finished with what is known of it.
func (f *files) checkSealed(p partState) error {
	path := p.Name + openEnding
	there, err := f.fs.Exists(path)
	if err == nil && !there {
		path = p.Name
		there, err = f.fs.Exists(path)
	}
	if err != nil {
		return &WriteError{path, err}
	}
	if !there {
		return &CorruptError{path, os.ErrNotExist}
	}
	file, err := f.fs.Open(path)
	if err != nil {
		return unopened(path, err)
	}
	size, err := (&openFile{file: file}).known(path, p)
	if err == nil && size > p.Offset {
		err = &CorruptError{path, fmt.Errorf("it has %d bytes, there were %d", size, p.Offset)}
	}
	return errors.Join(err, file.Close())
}

// removeLater removes the files that no checkpoint knows. The last one goes first: if that is interrupted, the next run finds the others.
func (f *files) removeLater() error {
	last := f.part
	for f.part == 0 && last == 0 || f.template.Has(outfile.Part) {
		there, err := f.fs.Exists(f.template.name(f.spider, f.start, last+1) + openEnding)
		if err != nil {
			return &WriteError{f.template.path, err}
		}
		if !there {
			break
		}
		last++
	}
	for ; last > f.part; last-- {
		name := f.template.name(f.spider, f.start, last)
		file, err := f.fs.Open(name + openEnding) // which fails if another crawl is writing it
		if err != nil {
			return unopened(name+openEnding, err)
		}
		if err := f.remove(&openFile{name: name, file: file}); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file that is open.
func (f *files) remove(o *openFile) error {
	path := o.name + openEnding
	err := f.fs.Remove(path) // while it is claimed, so that it is not another crawl's
	closing := o.file.Close()
	if err != nil { // where open files cannot be removed
		err = f.fs.Remove(path)
	}
	if err = errors.Join(err, closing); err != nil {
		return &WriteError{path, err}
	}
	return nil
}

// room makes sure that there is a file to write to: the next one if the last is full.
func (f *files) room() error {
	if f.open != nil && f.open.offset >= f.limit && f.template.Has(outfile.Part) {
		if err := f.seal(); err != nil {
			return err
		}
	}
	if f.open != nil {
		return nil
	}
	f.broken = true // until the commit
	next := f.next
	if f.next = nil; next == nil {
		var err error
		if next, err = f.create(); err != nil {
			return err
		}
	}
	f.part++
	f.open = next
	record, err := f.first(filepath.Base(next.name))
	if err != nil {
		return err
	}
	_, err = f.Write(record)
	return err
}

// Write adds bytes to the open file.
func (f *files) Write(p []byte) (int, error) {
	f.broken = true // until the commit
	o := f.open
	o.buf = append(o.buf, p...)
	o.offset += int64(len(p))
	if len(o.buf) >= mostBuffer {
		if err := o.flush(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// flush writes what is in the buffer.
func (o *openFile) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	if _, err := o.file.WriteAt(o.buf, o.offset-int64(len(o.buf))); err != nil {
		return &WriteError{o.name + openEnding, err}
	}
	o.tail.Append(o.buf)
	o.buf = o.buf[:0]
	return nil
}

// state returns what to remember of a file that was flushed.
func (o *openFile) state() partState {
	return partState{o.name, o.offset, o.tail.Sum()}
}

// seal finishes the open file. It gets its name when that is in the checkpoint.
func (f *files) seal() error {
	o := f.open
	if err := o.flush(); err != nil {
		return err
	}
	if !f.lazy {
		if err := o.file.Sync(); err != nil {
			return &WriteError{o.name + openEnding, err}
		}
	}
	if err := o.file.Close(); err != nil {
		return &WriteError{o.name + openEnding, err}
	}
	f.sealed, f.open = append(f.sealed, o.state()), nil
	return nil
}

// finish gives a sealed file its name, unless it has it.
func (f *files) finish(p partState) error {
	path := p.Name + openEnding
	there, err := f.fs.Exists(path)
	if err != nil {
		return &WriteError{path, err}
	}
	if there {
		if err := f.fs.Rename(path, p.Name); err != nil {
			return &WriteError{path, err}
		}
		return nil
	}
	if there, err = f.fs.Exists(p.Name); err != nil {
		return &WriteError{p.Name, err}
	} else if !there {
		return &CorruptError{p.Name, os.ErrNotExist}
	}
	return nil
}

// commit makes durable what was written, and returns what to resume from. The files that the last commit had sealed get their names:
// that commit is stored.
func (f *files) commit() (state, error) {
	for _, p := range f.last.Sealed {
		if err := f.finish(p); err != nil {
			return state{}, err
		}
	}
	s := state{Start: f.start, Part: f.part, Sealed: f.sealed}
	if o := f.open; o != nil {
		if err := o.flush(); err != nil {
			return state{}, err
		}
		if f.broken && !f.lazy {
			if err := o.file.Sync(); err != nil {
				return state{}, &WriteError{o.name + openEnding, err}
			}
		}
		p := o.state()
		s.Open = &p
	}
	f.last, f.sealed, f.broken = s, nil, false
	return s, nil
}

// close closes the open file. If nothing will come any more, it is finished.
func (f *files) close(complete bool) error {
	err := f.leave()
	if err != nil || !complete && !f.lazy {
		return err
	}
	if f.broken { // a commit has failed: what it wrote goes
		last := f.last
		if err := f.restore(&last); err != nil {
			_ = f.leave() // the first error says more
			return err
		}
		if err := f.leave(); err != nil {
			return err
		}
	}
	for _, p := range f.last.Sealed {
		if err := f.finish(p); err != nil {
			return err
		}
	}
	if p := f.last.Open; p != nil {
		return f.finish(*p)
	}
	return nil
}

// leave closes the open file as it is.
func (f *files) leave() error {
	if next := f.next; next != nil {
		f.next = nil
		return f.remove(next)
	}
	o := f.open
	if f.open = nil; o == nil {
		return nil
	}
	var err error
	if f.lazy && !f.broken {
		err = o.file.Sync()
	}
	if err = errors.Join(err, o.file.Close()); err != nil {
		return &WriteError{o.name + openEnding, err}
	}
	return nil
}

var _ io.Writer = (*files)(nil)
