package warc

import (
	"errors"
	"math/rand/v2"
)

// ErrPower is the error of a disk after its machine has stopped.
var ErrPower = errors.New("the machine has stopped")

// StopAfter has the machine of an archive stop in the n-th operation of its disk from now on: half of what that writes is written.
// It returns how to learn whether that has come.
func (a *Archive) StopAfter(n int, random *rand.Rand) (stopped func() bool) {
	d := &stopping{fileSystem: disk{}, left: n, random: random}
	a.fs = d
	if a.files != nil {
		a.files.fs = d
		if a.files.open != nil {
			a.files.open.file = stoppingFile{a.files.open.file, d}
		}
	}
	return func() bool { return d.left <= 0 }
}

// stopping is a disk whose machine stops.
type stopping struct {
	fileSystem
	left   int
	random *rand.Rand
}

// step counts an operation. before says whether the machine stops before it is done, or when it is.
func (d *stopping) step() (before, after bool) {
	d.left--
	if d.left > 0 {
		return false, false
	}
	if d.left < 0 || d.random.IntN(2) == 0 {
		return true, true
	}
	return false, true
}

func (d *stopping) do(f func() error) error {
	before, after := d.step()
	if !before {
		if err := f(); err != nil {
			return err
		}
	}
	if after {
		return ErrPower
	}
	return nil
}

// opened opens a file, of which nothing is left open when the machine stops.
func (d *stopping) opened(open func() (file, error)) (f file, err error) {
	err = d.do(func() (err error) {
		f, err = open()
		return err
	})
	if err != nil && f != nil {
		err = errors.Join(err, f.Close())
	}
	return stoppingFile{f, d}, err
}

func (d *stopping) Create(name string) (file, error) {
	return d.opened(func() (file, error) { return d.fileSystem.Create(name) })
}

func (d *stopping) Open(name string) (file, error) {
	return d.opened(func() (file, error) { return d.fileSystem.Open(name) })
}

func (d *stopping) Rename(from, to string) error {
	return d.do(func() error { return d.fileSystem.Rename(from, to) })
}

func (d *stopping) Remove(name string) error {
	return d.do(func() error { return d.fileSystem.Remove(name) })
}

type stoppingFile struct {
	file
	disk *stopping
}

func (f stoppingFile) WriteAt(p []byte, offset int64) (int, error) {
	before, after := f.disk.step()
	if before && f.disk.left == 0 {
		_, _ = f.file.WriteAt(p[:len(p)/2], offset)
	}
	if !before {
		if n, err := f.file.WriteAt(p, offset); err != nil {
			return n, err
		}
	}
	if after {
		return 0, ErrPower
	}
	return len(p), nil
}

func (f stoppingFile) Truncate(size int64) error {
	return f.disk.do(func() error { return f.file.Truncate(size) })
}

func (f stoppingFile) Sync() error { return f.disk.do(f.file.Sync) }

func (f stoppingFile) Close() error { return f.file.Close() }

// Surt is the key of a URL in an index.
var Surt = surt

// SortLines sorts lines, of which so many bytes are in memory.
func SortLines(most int, lines []string) (sorted []string, err error) {
	s := &sorter{most: most}
	for _, line := range lines {
		err = errors.Join(err, s.add([]byte(line)))
	}
	err = errors.Join(err, s.sorted(func(line []byte) error {
		sorted = append(sorted, string(line))
		return nil
	}))
	return sorted, errors.Join(err, s.close())
}

// NearestOf is the place of the capture that is nearest to a time, of captures of these times.
func NearestOf(dates []int64, date int64) int {
	found := make([]capture, len(dates))
	for i := range found {
		found[i].date = dates[i]
	}
	return nearest(found, date)
}
