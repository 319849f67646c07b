package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria/internal/wire"
)

// witness says what a file of the store holds at least.
type witness struct {
	name   string
	length int64
	sum    uint32 // CRC-32C of that many bytes
}

// wrote adds what was written at the end.
func (w *witness) wrote(p []byte) {
	w.length += int64(len(p))
	w.sum = crc32.Update(w.sum, castagnoli, p)
}

// check compares a file with its witness.
func (w *witness) check(fs vfs.FS, dir string) error {
	file, err := fs.Open(fs.PathJoin(dir, w.name))
	if err != nil {
		return err
	}
	defer file.Close()
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, io.NewSectionReader(file, 0, w.length))
	switch {
	case err != nil:
		return err
	case n < w.length:
		return fmt.Errorf("it has %d bytes, there were %d", n, w.length)
	case sum.Sum32() != w.sum:
		return errors.New("its checksum is wrong")
	}
	return nil
}

// closedLogs has a witness of each log of the store that is complete. The store goes on without what is missing
// at the end of a log, be it the newest one or not: then there is an unnoticed hole in the history.
//
// The witness is stored when a log is closed, before the next one is begun, and forgotten before the log is
// removed. The newest log has none; what is missing at its end is found by the mark.
type closedLogs struct {
	fs  vfs.FS
	dir string // of the store

	mu    sync.Mutex // guards known and the file, which says the same
	known []witness
}

const (
	logsFile  = "CLOSED" // in the store's directory
	logsMagic = "tegenaria logs 1"
)

// readClosedLogs reads the witnesses and compares the logs with them.
func readClosedLogs(fs vfs.FS, dir string) (*closedLogs, error) {
	l := &closedLogs{fs: fs, dir: dir}
	file, err := fs.Open(fs.PathJoin(dir, logsFile))
	if errors.Is(err, os.ErrNotExist) {
		return l, nil // no log was closed yet
	}
	if err != nil {
		return nil, damage(fs.PathDir(dir), storeDir+"/"+logsFile, err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err == nil {
		l.known, err = parseWitnesses(content)
	}
	if err != nil {
		return nil, damage(fs.PathDir(dir), storeDir+"/"+logsFile, err)
	}
	for _, w := range l.known {
		if err := w.check(fs, dir); err != nil {
			return nil, damage(fs.PathDir(dir), storeDir+"/"+w.name, err)
		}
	}
	return l, nil
}

func appendWitnesses(dst []byte, all []witness) []byte {
	start := len(dst)
	dst = append(dst, logsMagic...)
	for _, w := range all {
		dst = binary.AppendUvarint(wire.AppendText(dst, w.name), uint64(w.length))
		dst = binary.BigEndian.AppendUint32(dst, w.sum)
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

func parseWitnesses(content []byte) (all []witness, err error) {
	end := len(content) - crc32.Size
	if end < len(logsMagic) || string(content[:len(logsMagic)]) != logsMagic ||
		crc32.Checksum(content[:end], castagnoli) != binary.BigEndian.Uint32(content[end:]) {
		return nil, errors.New("its checksum is wrong")
	}
	r := reader{wire.Decoder{Rest: content[len(logsMagic):end]}}
	for len(r.Rest) > 0 {
		w := witness{name: r.Text(), length: int64(r.Uint())}
		if sum := r.Take(crc32.Size); sum != nil {
			w.sum = binary.BigEndian.Uint32(sum)
		}
		all = append(all, w)
	}
	return all, r.Err()
}

// add stores the witness of a log that is complete and durable.
func (l *closedLogs) add(w witness) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = append(l.known, w)
	return l.store()
}

// forget gives up the witnesses of logs that are about to be removed; other names are nothing to it.
func (l *closedLogs) forget(names []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.known)
	l.known = slices.DeleteFunc(l.known, func(w witness) bool { return slices.Contains(names, w.name) })
	if len(l.known) == n {
		return nil
	}
	return l.store()
}

// store writes the file. The caller holds mu.
func (l *closedLogs) store() error {
	return writeFile(l.fs, l.dir, logsFile, func(w io.Writer) error {
		_, err := w.Write(appendWitnesses(nil, l.known))
		return err
	})
}
