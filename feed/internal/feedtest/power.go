package feedtest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria/feed"
)

// ErrPower is what everything returns when the power is cut.
var ErrPower = errors.New("the power is cut")

// Power is a file system in memory whose power can be cut in any of its operations. What was not synced is then there, or not.
type Power struct {
	mu      sync.Mutex
	random  *rand.Rand
	files   map[string]*memory
	removed map[string]*memory // since the last cut: these may come back
	left    int                // operations until the next cut, 0 for never
	target  string             // the point that these are of, "" for any
	cut     bool
	phase   string
	Points  map[string]int // where the power was cut; to be read when nothing happens
}

// memory is a file: what is durable, and what was done since.
type memory struct {
	durable, now []byte
	pending      []func([]byte) []byte
}

// NewPower makes an empty file system.
func NewPower(random *rand.Rand) *Power {
	return &Power{random: random, files: make(map[string]*memory), removed: make(map[string]*memory), Points: make(map[string]int)}
}

// On switches the power on again, and cuts it after so many operations of a point.
func (p *Power) On(operations int, target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		for name, f := range p.removed {
			if p.random.IntN(2) == 0 && p.files[name] == nil {
				p.files[name] = f
			}
		}
		for _, f := range p.files {
			f.now = f.durable
			for _, do := range f.pending { // in their order, and some are missing
				if p.random.IntN(3) > 0 {
					f.now = do(bytes.Clone(f.now))
				}
			}
			f.durable, f.pending = f.now, nil
		}
	}
	clear(p.removed)
	p.left, p.target, p.cut = operations, target, false
}

// Files returns what is durable of the files whose names end so.
func (p *Power) Files(ending string) map[string][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make(map[string][]byte)
	for name, f := range p.files {
		if strings.HasSuffix(name, ending) {
			list[name] = f.durable
		}
	}
	return list
}

// Names returns the names of all files.
func (p *Power) Names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.files))
}

// step is an operation on a file. It is called with mu held.
func (p *Power) step(operation, name string) error {
	if p.cut {
		return ErrPower
	}
	kind := strings.TrimPrefix(filepath.Ext(name), ".")
	point := p.phase + ": " + operation + " " + kind
	if p.left > 0 && (p.target == "" || p.target == point) {
		if p.left--; p.left == 0 {
			p.cut = true
			p.Points[point]++
			return ErrPower
		}
	}
	return nil
}

// In sets where the next operations come from.
func (p *Power) In(phase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = phase
}

// IsCut reports whether the power is cut.
func (p *Power) IsCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// Open is part of feed.FS.
func (p *Power) Open(name string) (feed.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.step("open", name); err != nil {
		return nil, err
	}
	if p.files[name] == nil {
		p.files[name] = new(memory)
		delete(p.removed, name)
	}
	return &powerFile{p, name, p.files[name]}, nil
}

// Remove is part of feed.FS.
func (p *Power) Remove(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files[name] == nil && !p.cut {
		return nil
	}
	if err := p.step("remove", name); err != nil {
		return err
	}
	p.removed[name] = p.files[name]
	delete(p.files, name)
	return nil
}

// Rename is part of feed.MoverFS.
func (p *Power) Rename(from, to string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.cut
	err := p.step("rename", from)
	if p.files[from] == nil {
		return errors.Join(err, fs.ErrNotExist)
	}
	if err == nil || !was && p.random.IntN(2) == 0 { // the disk was faster than the cut
		p.files[to] = p.files[from]
		delete(p.files, from)
	}
	return err
}

// Exists is part of feed.MoverFS.
func (p *Power) Exists(name string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.files[name] != nil, p.step("look for", name)
}

// MakeFolder is part of feed.MoverFS: there are no folders.
func (p *Power) MakeFolder(string) error { return nil }

type powerFile struct {
	fs   *Power
	name string
	*memory
}

func (f *powerFile) do(operation string, changes ...func([]byte) []byte) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	was := f.fs.cut
	err := f.fs.step(operation, f.name)
	if err == nil || !was && f.fs.random.IntN(2) == 0 {
		for _, change := range changes {
			f.now = change(bytes.Clone(f.now))
		}
		f.pending = append(f.pending, changes...)
	}
	return err
}

func (f *powerFile) WriteAt(data []byte, at int64) (int, error) {
	data = bytes.Clone(data)
	write := func(data []byte, at int64) func(now []byte) []byte {
		return func(now []byte) []byte {
			if end := int(at) + len(data); end > len(now) {
				now = append(now, make([]byte, end-len(now))...)
			}
			copy(now[at:], data)
			return now
		}
	}
	half := len(data) / 2 // of a write a part may be durable
	if err := f.do("write", write(data[:half], at), write(data[half:], at+int64(half))); err != nil {
		return 0, err
	}
	return len(data), nil
}

func (f *powerFile) Truncate(size int64) error {
	return f.do("truncate", func(now []byte) []byte {
		if int(size) < len(now) {
			return now[:size]
		}
		return append(now, make([]byte, int(size)-len(now))...)
	})
}

func (f *powerFile) ReadAt(data []byte, at int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.step("read", f.name); err != nil {
		return 0, err
	}
	return bytes.NewReader(f.now).ReadAt(data, at)
}

func (f *powerFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.now)), f.fs.step("measure", f.name)
}

func (f *powerFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.step("sync", f.name); err != nil {
		return err
	}
	f.durable, f.pending = f.now, nil
	return nil
}

func (f *powerFile) Close() error { return nil }

var _ io.ReaderAt = (*powerFile)(nil)
