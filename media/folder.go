package media

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/filelock"
	"github.com/tegenaria/tegenaria/internal/outfile"
)

// folder is Options.Dir.
type folder struct {
	dir  string
	lock *os.File

	mu    sync.Mutex      // guards dirty
	dirty map[string]bool // folders with names that are not durable yet: at most 256 for each kind of file
}

// The folders in Options.Dir that are not for the files of items.
const (
	tempDir  = ".tmp"
	indexDir = ".index"
)

func openFolder(dir string) (*folder, error) {
	f := &folder{dir: filepath.Clean(dir), dirty: make(map[string]bool)}
	temporary := filepath.Join(f.dir, tempDir)
	if err := os.MkdirAll(temporary, 0o777); err != nil {
		return nil, fmt.Errorf("media: the folder of Options.Dir cannot be made: %w; name another one, or let this user write there", err)
	}
	lock, err := filelock.Share(filepath.Join(f.dir, ".lock"), func() error {
		left, err := os.ReadDir(temporary)
		for _, one := range left {
			err = errors.Join(err, os.Remove(filepath.Join(temporary, one.Name())))
		}
		return err
	})
	if err != nil {
		return nil, &StoreError{Path: f.dir, Err: err}
	}
	f.lock = lock
	return f, nil
}

func (f *folder) close() error { return f.lock.Close() }

// tempFile is a file that is being written, until keep gives it its name.
type tempFile struct {
	path string // "" once it has a name
	file *os.File
}

// newTempFile makes one.
func (f *folder) newTempFile() (*tempFile, error) {
	path := filepath.Join(f.dir, tempDir, rand.Text())
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, &StoreError{Path: path, Err: err}
	}
	return &tempFile{path: path, file: file}, nil
}

// drop closes a temporary file, and removes it unless keep has given it its name.
func (d *tempFile) drop() {
	_ = d.file.Close() // what counts was synced
	if d.path != "" {
		_ = os.Remove(d.path) // or else the next run does
	}
}

// keep makes a temporary file durable and gives it its name.
func (f *folder) keep(d *tempFile, name string, hit func(string)) error {
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := f.rename(d, path, hit); err != nil {
		return &StoreError{Path: path, Err: err}
	}
	return nil
}

func (f *folder) rename(d *tempFile, path string, hit func(string)) error {
	if err := d.file.Sync(); err != nil {
		return err
	}
	hit("synced")
	dir := filepath.Dir(path)
	err := os.Rename(d.path, path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o777); err == nil {
			err = os.Rename(d.path, path)
		}
	}
	if err != nil {
		return err
	}
	d.path = ""
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; len(dir) >= len(f.dir) && !f.dirty[dir]; dir = filepath.Dir(dir) {
		f.dirty[dir] = true
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return nil
}

// sync makes all names durable.
func (f *folder) sync() error {
	f.mu.Lock()
	dirty := f.dirty
	f.dirty = make(map[string]bool)
	f.mu.Unlock()
	for dir := range dirty {
		if err := outfile.SyncFolder(dir); err != nil {
			return &StoreError{Path: dir, Err: err}
		}
	}
	return nil
}

// entry is what the index has of a URL.
type entry struct {
	Result   Result    `json:"result"`
	Size     int64     `json:"size"` // of the file as it came
	Recipe   string    `json:"recipe"`
	Time     time.Time `json:"time"`               // when the server was asked
	Run      string    `json:"run"`                // that has asked
	Tag      string    `json:"tag,omitempty"`      // ETag
	Modified string    `json:"modified,omitempty"` // Last-Modified
}

// keyOf returns the name of a URL in the index.
func keyOf(kind, url string) string {
	sum := sha256.New()
	sum.Write([]byte(kind + " "))
	for len(url) > 0 { // without a copy of a long one
		n := min(len(url), 8<<10)
		sum.Write([]byte(url[:n]))
		url = url[n:]
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (f *folder) entryPath(key string) string {
	return filepath.Join(f.dir, indexDir, key[:2], key+".json")
}

// entry returns what became of a URL, if that is known. An entry that cannot be read is not known.
func (f *folder) entry(key string) (e entry, ok bool) {
	text, err := os.ReadFile(f.entryPath(key))
	return e, err == nil && json.Unmarshal(text, &e) == nil
}

// note writes an entry in the place of the one that was there. It need not be durable: without it the server is asked
// again.
func (f *folder) note(key string, e *entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return &StoreError{Path: f.entryPath(key), Err: err}
	}
	d, err := f.newTempFile()
	if err != nil {
		return err
	}
	defer d.drop()
	path := f.entryPath(key)
	if _, err = d.file.Write(text); err == nil {
		if err = os.Rename(d.path, path); errors.Is(err, fs.ErrNotExist) {
			if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
				err = os.Rename(d.path, path)
			}
		}
	}
	if err != nil {
		return &StoreError{Path: path, Err: err}
	}
	d.path = ""
	return nil
}

// holds reports whether the files of an entry are there.
func (f *folder) holds(e *entry) bool {
	info, err := os.Stat(filepath.Join(f.dir, filepath.FromSlash(e.Result.Path)))
	if err != nil || info.Size() != e.Result.Size {
		return false
	}
	for _, name := range e.Result.Thumbs {
		if info, err := os.Stat(filepath.Join(f.dir, filepath.FromSlash(name))); err != nil || info.Size() == 0 {
			return false
		}
	}
	return true
}

// ask makes a request one that is answered by 304 if nothing has changed. It reports whether it could (RFC 9110 §13.1).
func (e *entry) ask(r *tegenaria.Request) bool {
	header := make(map[string]string, 2)
	if e.Tag != "" {
		header["If-None-Match"] = e.Tag
	}
	if e.Modified != "" {
		header["If-Modified-Since"] = e.Modified
	}
	if len(header) > 0 {
		tegenaria.RequestWithRequestHeader(header)(r)
	}
	return len(header) > 0
}
