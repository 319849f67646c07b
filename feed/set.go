package feed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/feed/internal/filename"
)

// Rotation says when a file is finished and the next one begins: at the first bound that is reached; 0 is no bound. A file has at least
// one item.
type Rotation struct {
	Items int64         // items in a file
	Bytes int64         // of a file as it is written, packed if it is; the last batch may go beyond it
	Every time.Duration // age of the file, checked when items are written
}

// fileSet is the files of a feed whose path is a template. A file is called after its name with ".part" added until it is finished.
//
//	add → open → commit → … → seal: whole, and said so in the checkpoint → next commit: renamed
//
// Each name is in the journal, or in a checkpoint, before the file has a byte: so no crash leaves a file that nobody knows of.
type fileSet struct {
	feed    *Feed
	lazy    bool
	spider  string
	start   time.Time
	number  int              // of the newest file
	files   int              // that were begun
	open    map[string]*open // by the values of its item fields
	sealed  []sealedFile     // since the last commit
	sending []sealedFile     // finished, and not known to be sent
	sender  *sender          // nil: the files stay

	committed bool // since Restore
	journal   journal
	clock     func() time.Time
}

// open is a file that is being written.
type open struct {
	part
	name  string // when it is finished
	key   string // in fileSet.open
	begun time.Time
	state partState // of the last commit
	used  int       // number of the newest file when an item came last
	dirty bool      // since the last commit
}

// setState is what a job remembers of its files. It is stored: a field keeps its meaning.
type setState struct {
	Start  time.Time    `json:"start"`
	Number int          `json:"number"`
	Files  int          `json:"files,omitempty"`
	Open   []openFile   `json:"open,omitempty"`
	Sealed []sealedFile `json:"sealed,omitempty"`
}

type openFile struct {
	partState
	Name  string    `json:"name"`
	Key   string    `json:"key,omitempty"`
	Begun time.Time `json:"begun"`
}

// defaultMostFiles is how many files a feed whose path has {item.NAME} begins by default.
const defaultMostFiles = 100_000

// ManyFilesError ends a run whose feed has begun as many files as it may, because the field of its path has many values or its files are
// short: see [MostFiles].
type ManyFilesError struct {
	Path string // with its fields
	Most int
}

// Error names the remedies.
func (e *ManyFilesError) Error() string {
	return fmt.Sprintf("feed: %s has begun %d files, and may begin no more: name the files by a field with fewer values, "+
		"or raise feed.MostFiles", e.Path, e.Most)
}

// mostOpen is how many files are written at the same time.
const mostOpen = 256

// partEnding is added to the name of a file until it is finished.
const partEnding = ".part"

// restore goes on where the job was, or begins.
func (s *fileSet) restore(checkpoint []byte) error {
	var state setState
	if checkpoint == nil {
		s.start = s.clock()
	} else if err := json.Unmarshal(checkpoint, &state); err != nil || state.Start.IsZero() {
		return &CorruptError{s.feed.path, fmt.Errorf("its checkpoint is %q", checkpoint)}
	} else {
		s.start, s.number, s.files = state.Start, state.Number, state.Files
	}
	if s.feed.target != nil {
		s.sender = newSender(s.feed)
	}
	names, sent, err := s.journal.read()
	if err != nil {
		return err
	}
	for _, f := range state.Sealed {
		if delete(names, f.Name); sent[f.Name] {
			if err := s.feed.fs.Remove(f.Name); err != nil { // the crash may have come before that
				return fmt.Errorf("feed: %w", err)
			}
			continue
		}
		if err := s.check(f); err != nil {
			return err
		}
		if err := s.finish(f); err != nil {
			return err
		}
	}
	for _, f := range state.Open {
		if delete(names, f.Name); sent[f.Name] {
			if err := s.feed.fs.Remove(f.Name); err != nil { // the crash may have come before that
				return fmt.Errorf("feed: %w", err)
			}
			continue
		}
		if err := s.resume(f); err != nil {
			return err
		}
	}
	for name := range names { // no checkpoint knows them
		if err := s.feed.fs.Remove(name + partEnding); err != nil {
			return fmt.Errorf("feed: %w", err)
		}
	}
	return nil
}

// resume opens a file that was being written.
func (s *fileSet) resume(f openFile) error {
	there, err := s.feed.mover.Exists(f.Name + partEnding)
	if err == nil && !there { // it was finished, and the end of the job was not stored
		err = s.feed.mover.Rename(f.Name, f.Name+partEnding)
	}
	if err != nil {
		return &CorruptError{f.Name, err}
	}
	o, err := s.newOpen(f.Name, f.Key, f.Begun)
	if err != nil {
		return err
	}
	if o.doc, err = s.feed.format.open(f.Doc); err != nil {
		return &CorruptError{o.path, err}
	}
	o.state = f.partState
	if err := o.part.resume(f.partState, s.feed.packing); err != nil {
		return errors.Join(err, o.file.Close())
	}
	s.open[f.Key] = o
	return nil
}

func (s *fileSet) newOpen(name, key string, begun time.Time) (*open, error) {
	file, err := s.feed.fs.Open(name + partEnding)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return &open{
		part: part{path: name + partEnding, file: file, stream: newStream(s.feed.packing), lazy: s.lazy, tally: &s.feed.tally},
		name: name, key: key, begun: begun, used: s.number,
	}, nil
}

// add writes an item to the file of its values.
func (s *fileSet) add(staged []byte) error {
	size, n := binary.Uvarint(staged)
	key, item := string(staged[n:n+int(size)]), staged[n+int(size):]
	o := s.open[key]
	if o != nil && s.isFull(o) {
		if err := s.seal(o); err != nil {
			return err
		}
		o = nil
	}
	if o == nil {
		var err error
		if o, err = s.begin(key); err != nil {
			return err
		}
	}
	o.used, o.dirty = s.number, true
	return o.part.add(item)
}

func (s *fileSet) isFull(o *open) bool {
	r := s.feed.rotation
	if r == nil {
		return false
	}
	return r.Items > 0 && o.items >= r.Items || r.Bytes > 0 && o.offset+int64(len(o.rest)) >= r.Bytes ||
		r.Every > 0 && s.clock().Sub(o.begun) >= r.Every
}

// begin begins a file for these values.
func (s *fileSet) begin(key string) (*open, error) {
	if most := s.feed.mostFiles; s.files >= most && len(s.feed.template.ItemFields()) > 0 {
		return nil, &ManyFilesError{s.feed.path, most}
	}
	if len(s.open) >= mostOpen {
		oldest := slices.MinFunc(slices.Collect(maps.Values(s.open)), func(a, b *open) int { return cmp.Compare(a.used, b.used) })
		if err := s.seal(oldest); err != nil {
			return nil, err
		}
	}
	now := s.clock()
	name, err := s.nextName(key, now)
	if err != nil {
		return nil, err
	}
	if err := s.journal.add(entry{Name: name}); err != nil {
		return nil, err
	}
	if err := s.feed.mover.MakeFolder(filepath.Dir(name)); err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	o, err := s.newOpen(name, key, now)
	if err != nil {
		return nil, err
	}
	if o.doc, err = s.feed.format.open(nil); err == nil {
		err = o.part.begin(drop, s.feed.packing)
	}
	if err != nil {
		return nil, errors.Join(err, o.file.Close())
	}
	s.open[key] = o
	s.files++
	return o, nil
}

// nextName returns the name of the next file. A file of another job may have it: that is an error, or replaced when
// this one is finished; a feed that appends takes the next number whose name is free.
func (s *fileSet) nextName(key string, now time.Time) (string, error) {
	a := filename.About{Spider: s.spider, Start: s.start, Time: now}
	if key != "" {
		a.Items = strings.Split(key, "\x00")
	}
	for last := ""; ; {
		s.number++
		a.Part = s.number
		name := s.feed.template.Name(a)
		taken, err := s.feed.mover.Exists(name)
		switch {
		case err != nil:
			return "", fmt.Errorf("feed: %w", err)
		case !taken || s.feed.existing == drop:
			return name, nil
		case s.feed.existing != keep || name == last: // the number is not in the name
			return "", &NotEmptyError{Path: name}
		}
		last = name
	}
}

// prepare is called before the items of a batch are added: the checkpoint of the last one is stored.
func (s *fileSet) prepare(ctx context.Context) error {
	if err := errors.Join(s.clearJournal(), s.finishSealed()); err != nil || s.sender == nil {
		return err
	}
	if err := s.removeSent(); err != nil {
		return err
	}
	return s.sender.wait(ctx, s.feed.delivery.Bytes)
}

// clearJournal forgets what the checkpoint has that is stored by now. After Restore that is the one of before, until another is made.
func (s *fileSet) clearJournal() error {
	if !s.committed && s.sender != nil { // it says which files of that checkpoint were sent
		return nil
	}
	return s.journal.clear()
}

func (s *fileSet) commit() ([]byte, error) {
	s.committed = true
	rest := min(mostRest, 2*mostRest/max(len(s.open), 1))
	for _, o := range s.open {
		if !o.dirty {
			continue
		}
		var err error
		if o.state, err = o.part.commit(rest); err != nil {
			return nil, err
		}
		o.dirty = false
	}
	if s.lazy {
		return nil, s.finishSealed()
	}
	state := setState{Start: s.start, Number: s.number, Files: s.files, Sealed: slices.Concat(s.sending, s.sealed)}
	for _, key := range slices.Sorted(maps.Keys(s.open)) {
		o := s.open[key]
		state.Open = append(state.Open, openFile{o.state, o.name, key, o.begun})
	}
	return json.Marshal(state)
}

// end finishes all files if the job is over, or cannot be resumed.
func (s *fileSet) end(ctx context.Context, finished bool) error {
	if !finished && !s.lazy {
		return nil
	}
	if s.number == 0 && s.feed.keepEmpty {
		if _, err := s.begin(""); err != nil {
			return err
		}
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(s.open)) {
		errs = append(errs, s.seal(s.open[key]))
	}
	errs = append(errs, s.finishSealed(), s.clearJournal())
	if err := errors.Join(errs...); err != nil || s.sender == nil {
		return err
	}
	return errors.Join(s.sender.wait(ctx, 0), s.removeSent())
}

// Close is part of output.
func (s *fileSet) Close() error {
	var errs []error
	if s.sender != nil {
		s.sender.close()
		errs = append(errs, s.removeSent())
	}
	for _, o := range s.open {
		errs = append(errs, o.part.Close())
	}
	clear(s.open)
	return errors.Join(append(errs, s.journal.close())...)
}

// journal holds what no stored checkpoint has yet.
type journal struct {
	of   string // the path of the feed
	fs   FS
	path string
	file File
	end  int64
}

// entry is a line of the journal. It is stored: a field keeps its meaning.
type entry struct {
	Name string `json:"name,omitempty"` // a file that begins
	Sent string `json:"sent,omitempty"` // a file that is at the target, and removed
}

// add stores an entry.
func (j *journal) add(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		err = j.opened()
	}
	if err == nil {
		_, err = j.file.WriteAt(append(line, '\n'), j.end)
	}
	if err == nil {
		j.end += int64(len(line)) + 1
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("feed: writing %s: %w", j.path, err)
	}
	return nil
}

func (j *journal) opened() (err error) {
	if j.file != nil {
		return nil
	}
	file, err := j.fs.Open(j.path)
	if err != nil {
		return err
	}
	if err := claim(file); err != nil {
		return errors.Join(err, file.Close())
	}
	j.file = file
	return nil
}

// read returns the files that have begun, and those that were sent.
func (j *journal) read() (names, sent map[string]bool, err error) {
	if err := j.opened(); err != nil {
		var used *InUseError
		if errors.As(err, &used) {
			return nil, nil, &InUseError{j.of}
		}
		return nil, nil, fmt.Errorf("feed: %w", err)
	}
	size, err := j.file.Size()
	text := make([]byte, size)
	if n := 0; err == nil && size > 0 {
		if n, err = j.file.ReadAt(text, 0); n == len(text) {
			err = nil
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("feed: reading %s: %w", j.path, err)
	}
	names, sent = make(map[string]bool), make(map[string]bool)
	for line := range bytes.Lines(text) {
		var e entry
		if json.Unmarshal(line, &e) != nil { // the last line may be cut: its file has not begun
			continue
		}
		if names[e.Name] = true; e.Sent != "" {
			sent[e.Sent] = true
		}
	}
	delete(names, "")
	j.end = size
	return names, sent, nil
}

// clear forgets all entries: a checkpoint has them.
func (j *journal) clear() error {
	if j.file == nil || j.end == 0 {
		return nil
	}
	j.end = 0
	if err := j.file.Truncate(0); err != nil {
		return fmt.Errorf("feed: emptying %s: %w", j.path, err)
	}
	return nil
}

// close closes the journal, and removes it if it is empty.
func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	empty := j.end == 0
	err := j.file.Close()
	j.file = nil
	if empty {
		err = errors.Join(err, j.fs.Remove(j.path))
	}
	return err
}
