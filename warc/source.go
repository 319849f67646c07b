package warc

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// source is a file of an archive. It is opened when something is read, and stays open until close.
type source struct {
	name   string
	member string // of a package, "" for a file that is an archive itself
	begin  int64  // where the archive begins in the file
	size   int64  // of the archive; 0: up to the end of the file

	mu    sync.Mutex  // guards the fields below
	file  *os.File    // nil: closed
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
		if err != nil || !d.Type().IsRegular() || !strings.Contains(base, ".warc") && !isPackage(base) || strings.HasPrefix(base, ".") {
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

// open returns the file.
func (s *source) open() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		return s.file, nil
	}
	file, err := os.Open(s.name)
	if err == nil {
		s.file = file
	}
	return file, err
}

func (s *source) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
}

// records reads all records.
func (s *source) records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		file, err := s.open()
		if err != nil {
			yield(nil, err)
			return
		}
		for r, err := range Read(s.section(file, 0)) {
			if !yield(r, err) {
				return
			}
		}
	}
}

// at reads the record at a place by a reader that is not in use.
func (s *source) at(r *reader, p place) (*Record, error) {
	file, err := s.open()
	if err != nil {
		return nil, err
	}
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
