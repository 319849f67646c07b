package feed

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// sealedFile is a file that is finished. It is stored: a field keeps its meaning.
type sealedFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Tail uint32 `json:"tail"` // CRC-32C of the last 4,096 bytes, or of all if there are fewer
}

// seal ends a file, which is not changed any more.
func (s *fileSet) seal(o *open) error {
	delete(s.open, o.key)
	err := o.end(0)
	if err == nil {
		err = o.sync()
	}
	if err == nil {
		err = o.straighten(s.feed)
	}
	var tail outfile.Tail
	if err == nil {
		tail, err = outfile.ReadTail(o.file, o.size)
	}
	if err := errors.Join(err, o.file.Close()); err != nil {
		return fmt.Errorf("feed: finishing %s: %w", o.name, err)
	}
	s.sealed = append(s.sealed, sealedFile{o.name, o.size, tail.Sum()})
	return nil
}

// check compares a sealed file with what the job remembers of it.
func (s *fileSet) check(f sealedFile) error {
	path := f.Name + partEnding
	there, err := s.feed.mover.Exists(path)
	if err == nil && !there {
		path = f.Name
		there, err = s.feed.mover.Exists(path)
	}
	if err != nil || !there {
		return &CorruptError{f.Name, cmp.Or(err, errNotThere)}
	}
	file, err := s.feed.fs.Open(path)
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	size, err := file.Size()
	if err == nil && size != f.Size {
		err = &CorruptError{path, fmt.Errorf("it has %d bytes, there were %d", size, f.Size)}
	}
	var tail outfile.Tail
	if err == nil {
		tail, err = outfile.ReadTail(file, size)
	}
	if err == nil {
		if changed := tail.Check(size, f.Tail); changed != nil {
			err = &CorruptError{path, changed}
		}
	}
	return errors.Join(err, file.Close())
}

// finish gives a file that is sealed its name.
func (s *fileSet) finish(f sealedFile) error {
	open, err := s.feed.mover.Exists(f.Name + partEnding)
	if err == nil && open {
		err = s.feed.mover.Rename(f.Name+partEnding, f.Name)
	}
	if err != nil {
		return fmt.Errorf("feed: finishing %s: %w", f.Name, err)
	}
	if !open {
		if done, err := s.feed.mover.Exists(f.Name); err != nil || !done {
			return &CorruptError{f.Name, cmp.Or(err, errNotThere)}
		}
	}
	s.feed.tally.parts.Add(1)
	if s.sender != nil {
		s.sending = append(s.sending, f)
		s.sender.add(f)
	}
	return nil
}

// removeSent removes the files that were sent.
func (s *fileSet) removeSent() error {
	left := s.sending[:0]
	for _, f := range s.sending {
		if !s.sender.takeSent(f.Name) {
			left = append(left, f)
			continue
		}
		if err := s.journal.add(entry{Sent: f.Name}); err != nil {
			return err
		}
		if err := s.feed.fs.Remove(f.Name); err != nil {
			return fmt.Errorf("feed: %w", err)
		}
	}
	s.sending = left
	return nil
}

var errNotThere = errors.New("it is not there")

// finishSealed names the files that the checkpoint of before says are sealed.
func (s *fileSet) finishSealed() error {
	for _, f := range s.sealed {
		if err := s.finish(f); err != nil {
			return err
		}
	}
	s.sealed = nil
	return nil
}
