package feed

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// straighten writes a CSV file anew if columns came after its header was written: then all rows have all of them.
//
// A crash leaves either the old file or the new one, see straightened.
func (p *part) straighten(f *Feed) error {
	doc, ok := p.doc.(*csvDocument)
	if !ok || !doc.isRagged() {
		return nil
	}
	if f.mover == nil {
		return fmt.Errorf("feed: %s has columns that came after its header, and its file system cannot rename files: name "+
			"all columns with feed.Columns", p.path)
	}
	name := p.path + ".new"
	if err := f.fs.Remove(name); err != nil {
		return err
	}
	file, err := f.fs.Open(name)
	if err != nil {
		return err
	}
	whole := *doc
	fresh := &part{path: name, file: file, stream: newStream(f.packing), doc: &whole}
	err = fresh.copyPadded(p, newPadder(doc), f.packing)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := errors.Join(p.file.Close(), f.mover.Rename(name, p.path)); err != nil {
		return err
	}
	if p.file, err = f.fs.Open(p.path); err != nil {
		return err
	}
	if err := claim(p.file); err != nil {
		return err
	}
	doc.header = len(doc.columns)
	if p.tally != nil {
		p.tally.bytes.Add(fresh.size - p.size)
	}
	p.offset, p.size, p.stream, p.changed = fresh.size, fresh.size, newStream(f.packing), false
	return p.readTail()
}

// copyPadded writes what a padder makes of another part's text.
func (p *part) copyPadded(from *part, pad *padder, packing compression) error {
	text, err := unpacked(io.NewSectionReader(from.file, 0, from.size), packing)
	if err != nil {
		return err
	}
	defer text.Close()
	p.write(pad.pad(nil))
	buf := make([]byte, 64<<10)
	for {
		n, err := text.Read(buf)
		p.write(pad.pad(buf[:n]))
		if len(p.rest) >= maxAppend {
			if err := p.pack(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := p.end(0); err != nil {
		return err
	}
	return p.file.Sync()
}

// unpacked reads the text of a file.
func unpacked(r io.Reader, packing compression) (io.ReadCloser, error) {
	switch packing {
	case gzipped:
		return gzip.NewReader(r)
	case zstandard:
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

// straightened reports whether a file is what straighten has made of the one that a checkpoint is about, and takes it as it is then.
func (p *part) straightened(s partState, packing compression) (bool, error) {
	doc, ok := p.doc.(*csvDocument)
	if !ok || !doc.isRagged() {
		return false, nil
	}
	size, err := p.file.Size()
	if err != nil {
		return false, err
	}
	text, err := unpacked(io.NewSectionReader(p.file, 0, size), packing)
	if err != nil {
		return false, nil //nolint:nilerr // it is no such file
	}
	defer text.Close()
	rows := csv.NewReader(text)
	rows.Comma, rows.ReuseRecord, rows.FieldsPerRecord = rune(doc.format.separator()), true, len(doc.columns)
	for n := int64(-1); ; n++ {
		row, err := rows.Read()
		switch {
		case err == io.EOF && n == s.Items:
			doc.header = len(doc.columns)
			p.offset, p.size, p.items, p.text = size, size, s.Items, s.Text
			return true, p.readTail()
		case err != nil:
			return false, nil //nolint:nilerr // it is no such file
		case n < 0:
			row[0] = string(bytes.TrimPrefix([]byte(row[0]), []byte("\uFEFF")))
			if !slices.Equal(row, doc.columns) {
				return false, nil
			}
		}
	}
}
