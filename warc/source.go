package warc

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// source is a file of an archive. It is open only while something is read: an archive may have more files than a process may open.
type source struct {
	name   string
	member string // of a package, "" for a file that is an archive itself
	begin  int64  // where the archive begins in the file
	size   int64  // of the archive; 0: up to the end of the file

	mu    sync.Mutex  // guards the fields below
	dict  *dictionary // nil: there is none
	asked bool        // whether the file has a dictionary
}

// sourcesOf finds the files of an archive, by name. In a folder, files count if their names contain .warc or end in .wacz.
func sourcesOf(path string) (list []*source, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return sourcesOfFile(path)
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		base := filepath.Base(name)
		if err != nil || d.IsDir() || !strings.Contains(base, ".warc") && !isPackage(base) || strings.HasPrefix(base, ".") {
			return err
		}
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() { // a link is what it leads to
			return err
		}
		some, err := sourcesOfFile(name)
		list = append(list, some...)
		return err
	})
	if err == nil && len(list) == 0 {
		err = errors.New(path + " has no file with .warc in its name, or that ends in .wacz")
	}
	slices.SortStableFunc(list, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	return list, err
}

func sourcesOfFile(name string) ([]*source, error) {
	if isPackage(name) {
		return sourcesOfPackage(name)
	}
	return []*source{{name: name}}, nil
}

// base returns the last part of the name of the archive.
func (s *source) base() string { return filepath.Base(cmp.Or(s.member, s.name)) }

// section returns what of the file is the archive, from a place in it on.
func (s *source) section(file *os.File, from int64) *io.SectionReader {
	return io.NewSectionReader(file, s.begin+from, cmp.Or(s.size, 1<<62)-from)
}

// each calls do for all records, with a record or the error of one that cannot be read. The error is that of the file, of which the rest
// was not read then, or of do.
func (s *source) each(do func(r *Record, err error) error) (err error) {
	file, err := os.Open(s.name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	from := &watched{ReadSeeker: s.section(file, 0)}
	for r, err := range Read(from) {
		if from.err != nil {
			break
		}
		if err := do(r, err); err != nil {
			return err
		}
	}
	return from.err
}

// watched notes why a file could not be read.
type watched struct {
	io.ReadSeeker
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// at reads the record at a place of the open file by a reader that is not in use.
func (s *source) at(file *os.File, r *reader, p place) (*Record, error) {
	dict, err := s.dictionary(file)
	if err != nil {
		return nil, err
	}
	r.reset(s.section(file, p.offset))
	r.dict = dict
	for {
		one, err := r.next()
		if err != nil || one.inner >= p.inner {
			return one, err
		}
		if err := r.skip(one); err != nil {
			return nil, err
		}
	}
}

// dictionary returns the dictionary of the file, nil if it has none.
func (s *source) dictionary(file *os.File) (*dictionary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked {
		return s.dict, nil
	}
	begin := s.section(file, 0)
	var head [8]byte
	_, err := io.ReadFull(begin, head[:])
	if err == nil && bytes.Equal(head[:4], dictionaryMagic) {
		s.dict, err = readDictionary(io.LimitReader(begin, int64(binary.LittleEndian.Uint32(head[4:]))))
	}
	if err != nil {
		return nil, noEOF(err)
	}
	s.asked = true
	return s.dict, nil
}
