package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// part is one file of a feed: a document, packed. What lies behind offset does not count: it ends the document and the stream for those
// who read the file before the next commit.
type part struct {
	path    string
	file    File
	doc     document
	stream  stream
	offset  int64 // bytes that count
	size    int64 // of the file
	tail    outfile.Tail
	rest    []byte // of the document, not packed yet
	items   int64
	text    int64  // bytes of the document
	tally   *tally // nil: it is not counted
	lazy    bool   // it is synced when it is closed, not before
	changed bool   // since the last sync
}

const (
	// maxAppend is how many bytes are appended at a time.
	maxAppend = 1 << 20
	// mostRest is how many bytes of a document stay unpacked at a commit, in the checkpoint and at the end of the file: each flush costs a
	// packed file some size, so that many small ones would make it large.
	mostRest = 32 << 10
)

// partState is what a job remembers of a file. It is stored: a field keeps its meaning.
type partState struct {
	Offset int64           `json:"offset"`         // bytes of the file that count
	Tail   uint32          `json:"tail,omitempty"` // CRC-32C of the last 4,096 of them, or of all if there are fewer
	Items  int64           `json:"items,omitempty"`
	Text   int64           `json:"text,omitempty"` // bytes of the document
	Doc    json.RawMessage `json:"doc,omitempty"`
	Stream *streamState    `json:"stream,omitempty"` // of a packed file
	Rest   []byte          `json:"rest,omitempty"`   // of the document, behind the bytes that count
}

// begin starts a new file.
func (p *part) begin(what existing, packing compression) error {
	size, err := p.file.Size()
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	p.size = size
	if size > 0 && what == drop {
		if err := errors.Join(p.file.Truncate(0), p.file.Sync()); err != nil {
			return fmt.Errorf("feed: %w", err)
		}
		p.size = 0
	}
	switch {
	case p.size == 0:
		p.write(p.doc.begin(nil))
		return p.pack()
	case what == refuse:
		return &NotEmptyError{Path: p.path}
	}
	return p.adopt(packing)
}

// adopt goes on behind what somebody else has written to the file. The error is an [*AppendError] if that cannot be.
func (p *part) adopt(packing compression) error {
	text, err := p.survey(packing)
	if err != nil {
		return &AppendError{p.path, err}
	}
	p.offset = p.size
	if packing != uncompressed {
		if end := p.doc.end(nil); len(end) > 0 {
			return &AppendError{p.path, fmt.Errorf("it is packed, and ends in %q", end)}
		}
	}
	cut, err := p.doc.adopt(text)
	if err != nil {
		return &AppendError{p.path, err}
	}
	p.offset -= int64(cut)
	if err := p.readTail(); err != nil {
		return fmt.Errorf("feed: reading %s: %w", p.path, err)
	}
	if n := len(text.tail); n > 0 && text.tail[n-1] != '\n' && len(p.doc.end(nil)) == 0 { // the last line was not ended
		p.write([]byte{'\n'})
	}
	return p.pack() // in the next member, if it is packed
}

// survey reads a file that somebody else has written, as far as it has to be known: its two ends, all of a packed one,
// which has to be whole, and all rows of CSV.
func (p *part) survey(packing compression) (foreign, error) {
	var f foreign
	all := io.NewSectionReader(p.file, 0, p.size)
	if packing == uncompressed {
		if _, err := io.Copy(&f, io.LimitReader(all, outfile.TailBytes)); err != nil {
			return f, err
		}
		if isPacked(f.head) {
			return f, errors.New("it is packed, and its name does not say so")
		}
	}
	doc, isCSV := p.doc.(*csvDocument)
	if !isCSV && packing == uncompressed {
		_, err := all.Seek(max(int64(len(f.head)), p.size-outfile.TailBytes), io.SeekStart)
		if err == nil {
			_, err = io.Copy(&f, all)
		}
		f.size = p.size
		return f, err
	}
	f = foreign{}
	text, err := unpacked(io.NewSectionReader(p.file, 0, p.size), packing)
	if err != nil {
		return f, fmt.Errorf("it is not packed as its name says: %w", err)
	}
	defer text.Close()
	seen := io.TeeReader(text, &f)
	if isCSV {
		if p.items, err = doc.readHeader(seen); err != nil {
			return f, err
		}
	}
	if _, err = io.Copy(io.Discard, seen); err != nil {
		return f, fmt.Errorf("it cannot be read to its end: %w", err)
	}
	return f, nil
}

// resume goes on where a job was.
func (p *part) resume(s partState, packing compression) error {
	if done, err := p.straightened(s, packing); done || err != nil {
		return err
	}
	size, err := p.file.Size()
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	if size < s.Offset {
		return &CorruptError{p.path, fmt.Errorf("it has %d bytes, there were %d", size, s.Offset)}
	}
	p.size, p.offset, p.items, p.text = size, s.Offset, s.Items, s.Text
	if err := p.readTail(); err != nil {
		return fmt.Errorf("feed: reading %s: %w", p.path, err)
	}
	if err := p.tail.Check(s.Offset, s.Tail); err != nil {
		return &CorruptError{p.path, err}
	}
	if size > s.Offset {
		if err := errors.Join(p.file.Truncate(s.Offset), p.file.Sync()); err != nil {
			return fmt.Errorf("feed: cutting %s: %w", p.path, err)
		}
		p.size = s.Offset
	}
	if s.Stream != nil {
		if err := p.append(p.stream.resume(*s.Stream)); err != nil {
			return err
		}
	}
	p.rest = append(p.rest[:0], s.Rest...)
	return p.end(mostRest) // the file is whole before the first commit, too
}

func (p *part) readTail() (err error) {
	p.tail, err = outfile.ReadTail(p.file, p.offset)
	return err
}

// add writes an item that was staged.
func (p *part) add(staged []byte) error {
	before := len(p.rest)
	rest, err := p.doc.add(p.rest, staged)
	if err != nil {
		if late := (*LateColumnError)(nil); errors.As(err, &late) {
			late.Path = p.path
		}
		return err
	}
	p.rest = rest
	p.text += int64(len(rest) - before)
	p.items++
	if len(p.rest) >= maxAppend {
		return p.pack()
	}
	return nil
}

func (p *part) write(text []byte) {
	p.rest = append(p.rest, text...)
	p.text += int64(len(text))
}

// pack hands the rest to the stream, and what comes of it to the file.
func (p *part) pack() error {
	if err := p.stream.write(p.rest); err != nil {
		return fmt.Errorf("feed: packing %s: %w", p.path, err)
	}
	p.rest = p.rest[:0]
	return p.append(p.stream.packed())
}

// append adds bytes that count to the file.
func (p *part) append(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if err := p.writeAt(b, p.offset); err != nil {
		return err
	}
	p.offset += int64(len(b))
	if p.tally != nil {
		p.tally.bytes.Add(int64(len(b)))
	}
	p.tail.Append(b)
	return nil
}

func (p *part) writeAt(b []byte, offset int64) error {
	p.changed = true
	n, err := p.file.WriteAt(b, offset)
	p.size = max(p.size, offset+int64(n))
	if err != nil {
		return fmt.Errorf("feed: writing %s: %w", p.path, err)
	}
	return nil
}

// end writes what ends the file where it is. most is how much of the document may stay unpacked for it.
func (p *part) end(most int) error {
	if len(p.rest) > most || p.stream.isDirty() {
		if err := p.stream.write(p.rest); err != nil {
			return fmt.Errorf("feed: packing %s: %w", p.path, err)
		}
		p.rest = p.rest[:0]
		if err := p.stream.flush(); err != nil {
			return fmt.Errorf("feed: packing %s: %w", p.path, err)
		}
		if err := p.append(p.stream.packed()); err != nil {
			return err
		}
	}
	ending := p.stream.ending(p.doc.end(append([]byte(nil), p.rest...)))
	if len(ending) > 0 {
		if err := p.writeAt(ending, p.offset); err != nil {
			return err
		}
	}
	if end := p.offset + int64(len(ending)); p.size > end {
		p.changed = true
		if err := p.file.Truncate(end); err != nil {
			return fmt.Errorf("feed: cutting %s: %w", p.path, err)
		}
		p.size = end
	}
	return nil
}

// commit makes durable what was added, and returns what to resume from.
func (p *part) commit(most int) (partState, error) {
	if err := p.end(most); err != nil {
		return partState{}, err
	}
	if p.lazy {
		return partState{}, nil
	}
	if err := p.sync(); err != nil {
		return partState{}, err
	}
	s := partState{Offset: p.offset, Tail: p.tail.Sum(), Items: p.items, Text: p.text, Doc: p.doc.state()}
	if len(p.rest) > 0 {
		s.Rest = append([]byte(nil), p.rest...)
	}
	if _, plain := p.stream.(*plainStream); !plain {
		state := p.stream.state()
		s.Stream = &state
	}
	return s, nil
}

func (p *part) sync() error {
	if !p.changed {
		return nil
	}
	if err := p.file.Sync(); err != nil {
		return fmt.Errorf("feed: syncing %s: %w", p.path, err)
	}
	p.changed = false
	return nil
}

// Close closes the file. It is as the last commit has left it.
func (p *part) Close() error {
	var err error
	if p.lazy {
		err = p.sync()
	}
	return errors.Join(err, p.file.Close())
}

var _ io.Closer = (*part)(nil)
