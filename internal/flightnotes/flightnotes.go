// Package flightnotes keeps a small file that says which requests network and user code are seeing, so that a process that dies leaves a
// trace of what may have killed it. A request that was noted as running when the process died is a suspect from then on: its crash is
// counted, and the count stays in the file until the request gets through.
//
//	Read → List → Record … → Close
//
// The file is mapped into memory. What the process writes there is in the file at once, without a system call, and outlives
// the process. It need not outlive the machine: nothing is synced, and a note that is torn, cut off or garbage is
// forgotten. Where a file cannot be mapped, each note is a write.
//
//	notes := flightnotes.Read(folder, "the job x", jobID)
//	suspects, counts, unread := notes.List()
//	err := notes.Record(&key, priority, flightnotes.Begun)
package flightnotes

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
)

// Folder is where the file lies.
type Folder interface {
	// Read returns at most limit bytes of a file. Its error is [fs.ErrNotExist] if there is none.
	Read(name string, limit int64) ([]byte, error)
	// Write replaces a file in one step.
	Write(name string, content []byte) error
	// Open opens a file for writing, and makes it if there is none.
	Open(name string) (File, error)
	// Remove removes a file.
	Remove(name string) error
}

// File is an open file.
type File interface {
	io.WriterAt
	io.Closer
	Fd() uintptr // of the system, or [NoFd]
}

// NoFd is the Fd of a file that cannot be mapped.
const NoFd = ^uintptr(0)

// Key is that of a request.
type Key = [16]byte

// Flight is how far a request is.
type Flight uint8

// The flights, with the numbers that the engine gives them.
const (
	Begun  Flight = iota + 1 // network and user code work on it
	Paused                   // it waits, and no code works on it
	Over                     // it has got through
)

// FileName is the name of the file in its folder.
const FileName = "FLIGHTS"

// Notes are the notes of one process. Their methods may be called concurrently.
type Notes struct {
	folder   Folder
	of       string // what the notes belong to, for errors
	seed     uint32 // checksum of the job's id: the notes of another job are not valid here
	suspects atomic.Int32

	mu     sync.Mutex // guards the fields below
	notes  map[Key]note
	passed []Key    // whose marks an earlier process has left
	free   []uint32 // places without a note
	places int      // that the file has
	file   File     // nil until the first note
	memory [][]byte // the chunks of the file, if it is mapped
	closed bool
	buf    [noteLen]byte
	unread error // why an earlier run's notes, or some of them, were forgotten
}

// note is what the file says of one request. One that neither runs nor has crashes is the mark of [Notes.Mark].
type note struct {
	priority int64
	place    uint32
	crashes  uint8
	running  bool
}

const (
	noteLen   = 32
	chunkLen  = 64 << 10 // a multiple of the size of a page of memory on all systems
	chunkHas  = chunkLen / noteLen
	maxPlaces = 64 * chunkHas // requests in flight that are noted; the engine's own bounds are far below
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errClosed = errors.New("the notes are closed")

// append writes a note as the file has it: key, priority, crashes, running, two bytes that are zero, checksum.
func (n note) append(dst []byte, key *Key, seed uint32) []byte {
	start := len(dst)
	running := byte(0)
	if n.running {
		running = 1
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, key[:]...), uint64(n.priority))
	dst = append(dst, n.crashes, running, 0, 0)
	return binary.LittleEndian.AppendUint32(dst, crc32.Update(seed, castagnoli, dst[start:]))
}

// parseNote reads a note; ok reports whether it is whole.
func parseNote(p []byte, seed uint32) (key Key, n note, ok bool) {
	copy(key[:], p)
	n = note{priority: int64(binary.LittleEndian.Uint64(p[16:])), crashes: p[24], running: p[25] == 1}
	return key, n, binary.LittleEndian.Uint32(p[28:]) == crc32.Update(seed, castagnoli, p[:28])
}

// Read takes over what an earlier process has left. It never fails: what cannot be read is forgotten, and List says
// why. The notes are valid for the job of this id alone.
func Read(folder Folder, of string, id [16]byte) *Notes {
	f := &Notes{folder: folder, of: of, seed: crc32.Checksum(id[:], castagnoli), notes: make(map[Key]note)}
	content, err := folder.Read(FileName, maxPlaces*noteLen)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f
	case err != nil:
		f.unread = fmt.Errorf("%s: %s was ignored: %w", of, FileName, err)
	}
	damaged := len(content)%noteLen != 0
	var none [noteLen]byte
	for ; len(content) >= noteLen; content = content[noteLen:] {
		if [noteLen]byte(content) == none {
			continue
		}
		key, n, ok := parseNote(content, f.seed)
		if !ok {
			damaged = true
			continue
		}
		if !n.running && n.crashes == 0 {
			f.passed = append(f.passed, key)
		}
		if n.running && n.crashes < math.MaxUint8 {
			n.crashes++ // the process died while it ran
		}
		n.running = false
		if n.crashes > f.notes[key].crashes {
			f.notes[key] = n
		}
	}
	if damaged && f.unread == nil {
		f.unread = fmt.Errorf("%s: a part of %s is damaged and was ignored: a request that has killed the process may run "+
			"beside others again", of, FileName)
	}
	f.suspects.Store(int32(len(f.notes)))
	f.rewrite()
	return f
}

// rewrite replaces the file by one that holds the counts alone, in one step: so a crash is counted once.
func (f *Notes) rewrite() {
	if len(f.notes) == 0 {
		f.remove()
		return
	}
	var content []byte
	for key, n := range f.notes {
		n.place = uint32(len(content) / noteLen)
		f.notes[key] = n
		content = n.append(content, &key, f.seed)
	}
	content = append(content, make([]byte, -len(content)&(chunkLen-1))...)
	f.places = len(content) / noteLen
	for place := f.places; place > len(f.notes); place-- {
		f.free = append(f.free, uint32(place-1))
	}
	if err := f.folder.Write(FileName, content); err != nil && f.unread == nil {
		f.unread = fmt.Errorf("%s: crashes are not counted: %w", f.of, err)
	}
}

func (f *Notes) remove() {
	err := f.folder.Remove(FileName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && f.unread == nil {
		f.unread = fmt.Errorf("%s: %w", f.of, err)
	}
}

// Record notes how far a request is. It takes no lock but its own.
func (f *Notes) Record(key *Key, priority int64, now Flight) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	n, known := f.notes[*key]
	switch {
	case now == Begun && !known:
		place, err := f.take()
		if err != nil {
			return fmt.Errorf("%s: noting that a request is in flight: %w", f.of, err)
		}
		n.place = place
	case now == Begun:
	case !known:
		return nil
	case now == Over || n.crashes == 0:
		return f.forget(key, n)
	}
	n.priority, n.running = priority, now == Begun
	f.notes[*key] = n
	return f.write(n.place, n.append(f.buf[:0], key, f.seed))
}

// forget takes a note out of the file. The caller holds mu.
func (f *Notes) forget(key *Key, n note) error {
	if n.crashes > 0 {
		f.suspects.Add(-1)
	}
	delete(f.notes, *key)
	f.free = append(f.free, n.place)
	clear(f.buf[:])
	return f.write(n.place, f.buf[:])
}

// take finds a place for a note; the file grows when there is none. The caller holds mu.
func (f *Notes) take() (place uint32, err error) {
	if err := f.open(); err != nil {
		return 0, err
	}
	if len(f.free) == 0 {
		if err := f.grow(); err != nil {
			return 0, err
		}
	}
	last := len(f.free) - 1
	place, f.free = f.free[last], f.free[:last]
	return place, nil
}

// open opens the file, and makes it if there is none. The caller holds mu.
func (f *Notes) open() (err error) {
	if f.file != nil {
		return nil
	}
	if f.file, err = f.folder.Open(FileName); err != nil {
		return err
	}
	for at := 0; at < f.places; at += chunkHas {
		f.mapChunk(at)
	}
	return nil
}

// grow adds a chunk. It is written before it is mapped: memory for which the disk has no room would kill the process that
// writes there. The caller holds mu.
func (f *Notes) grow() error {
	if f.places >= maxPlaces {
		return fmt.Errorf("more than %d requests are in flight", maxPlaces)
	}
	if _, err := f.file.WriteAt(make([]byte, chunkLen), int64(f.places)*noteLen); err != nil {
		return err
	}
	f.mapChunk(f.places)
	for place := f.places + chunkHas; place > f.places; place-- {
		f.free = append(f.free, uint32(place-1))
	}
	f.places += chunkHas
	return nil
}

// mapChunk maps the chunk that begins with that place, if all before it are mapped and the system can do it.
func (f *Notes) mapChunk(place int) {
	if len(f.memory) != place/chunkHas || f.file.Fd() == NoFd {
		return
	}
	if chunk := mapFile(f.file.Fd(), int64(place)*noteLen, chunkLen); chunk != nil {
		f.memory = append(f.memory, chunk)
	}
}

// write writes a note, or zeros, to its place. The caller holds mu.
func (f *Notes) write(place uint32, data []byte) error {
	if err := f.open(); err != nil {
		return err
	}
	if chunk := int(place / chunkHas); chunk < len(f.memory) {
		if copyMapped(f.memory[chunk][place%chunkHas*noteLen:], data) {
			return nil
		}
	}
	_, err := f.file.WriteAt(data, int64(place)*noteLen)
	return err
}

// copyMapped writes to mapped memory. It returns false if the file behind it is gone, which would end the
// process otherwise.
func copyMapped(dst, src []byte) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil }()
	copy(dst, src)
	return true
}

// settle notes that nothing runs, and that this is in order: what ran is no suspect, and what was counted stays.
// The caller holds mu.
func (f *Notes) settle() (err error) {
	for key, n := range f.notes {
		switch {
		case n.crashes == 0:
			err = errors.Join(err, f.forget(&key, n))
		case n.running:
			n.running = false
			f.notes[key] = n
			err = errors.Join(err, f.write(n.place, n.append(nil, &key, f.seed)))
		}
	}
	return err
}

// Suspect is a request that an earlier process had in flight when it died.
type Suspect struct {
	Key      Key
	Priority int64
	Crashes  int
}

// List returns the suspects, those with the fewest crashes first, the keys whose marks were left, and why others were
// forgotten. Nothing runs yet.
func (f *Notes) List() (suspects []Suspect, passed []Key, unread error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	unread = errors.Join(f.unread, f.settle())
	for key, n := range f.notes {
		suspects = append(suspects, Suspect{key, n.priority, int(n.crashes)})
	}
	slices.SortFunc(suspects, func(a, b Suspect) int {
		return cmp.Or(cmp.Compare(a.Crashes, b.Crashes), slices.Compare(a.Key[:], b.Key[:]))
	})
	return suspects, f.passed, unread
}

// Mark notes, of a request whose crashes are counted elsewhere, that it has got through: they are to be taken back there. Unmark
// forgets that.
func (f *Notes) Mark(key *Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, known := f.notes[*key]
	if !known || f.closed {
		return nil
	}
	n.crashes, n.running = 0, false
	f.notes[*key] = n
	return f.write(n.place, n.append(f.buf[:0], key, f.seed))
}

// Unmark forgets a mark, unless the request runs again. An error would be that of a mark which does no harm.
func (f *Notes) Unmark(key *Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, known := f.notes[*key]; known && !f.closed && !n.running && n.crashes == 0 {
		_ = f.forget(key, n)
	}
}

// Crashes returns how often the process died in a row while this request ran.
func (f *Notes) Crashes(key *Key) int {
	if f.suspects.Load() == 0 {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return int(f.notes[*key].crashes)
}

// Clear forgets a request that is settled, or all of them if the job is finished. An error would be that of a note which
// does no harm: the store does not hand that request out any more.
func (f *Notes) Clear(key *Key) {
	if f.suspects.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, known := f.notes[*key]; known && !f.closed {
		_ = f.forget(key, n)
	}
}

// ClearAll forgets all requests: the job is finished.
func (f *Notes) ClearAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passed = nil
	for key, n := range f.notes {
		_ = f.forget(&key, n)
	}
}

// Close ends the notes in order. The file stays if it has something to say.
func (f *Notes) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	err := f.settle()
	f.closed = true
	for _, chunk := range f.memory {
		unmapFile(chunk)
	}
	f.memory = nil
	if f.file != nil {
		err = errors.Join(err, f.file.Close())
	}
	if len(f.notes) == 0 {
		f.remove()
	}
	return err
}
