package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria/internal/privatefs"
)

// What is in a folder.
const (
	formatFile = "CACHE"
	lockFile   = "LOCK"
	pidFile    = "PID"
	indexDir   = "index"
	filesDir   = "files"
	pendingDir = "pending"

	newSuffix = ".new" // of a file that is being written
)

// format is the number of what formatFile says. Each change of what is stored gets another one.
const format = 2

// folder is a folder that this process has locked.
type folder struct {
	fs   vfs.FS
	path string // absolute
	lock io.Closer
}

func (f folder) join(names ...string) string {
	return f.fs.PathJoin(append([]string{f.path}, names...)...)
}

// lockFolder makes a folder if there is none, and locks it.
func lockFolder(fs vfs.FS, path string) (f folder, err error) {
	f = folder{fs: fs, path: path}
	if err := fs.MkdirAll(path, 0o700); err != nil {
		return f, fmt.Errorf("httpcache: %w", err)
	}
	names, err := fs.List(path)
	if err != nil {
		return f, fmt.Errorf("httpcache: %w", err)
	}
	if i := slices.IndexFunc(names, func(name string) bool { return !isOurs(name) }); i >= 0 {
		return f, fmt.Errorf("httpcache: %s holds something else than a cache, such as %s: choose another folder", path, names[i])
	}
	f.lock, err = fs.Lock(f.join(lockFile))
	var of *os.PathError
	switch {
	case errors.As(err, &of):
		return f, fmt.Errorf("httpcache: %w", err)
	case err != nil:
		return f, &InUseError{Folder: path, PID: f.readPID(), Err: err}
	}
	if privatefs.Is(fs) {
		err = privatefs.Narrow(path)
	}
	if err == nil {
		err = f.checkFormat()
	}
	if err != nil {
		return f, errors.Join(err, f.lock.Close())
	}
	_ = f.write(pidFile, strconv.Itoa(os.Getpid())) // for messages alone
	return f, nil
}

// isOurs reports whether a file belongs to a cache.
func isOurs(name string) bool {
	switch strings.TrimSuffix(name, newSuffix) {
	case formatFile, lockFile, pidFile, indexDir, filesDir, pendingDir:
		return true
	}
	return false
}

// readPID returns the process that has the folder open, 0 if it is not known.
func (f folder) readPID() int {
	pid, err := strconv.Atoi(f.read(pidFile))
	if err != nil {
		return 0
	}
	return pid
}

// formatText is what formatFile holds: a damaged one must not be taken for that of another version.
func formatText(number int) string {
	line := fmt.Sprintf("tegenaria http cache, format %d\n", number)
	return fmt.Sprintf("%s%08x\n", line, crc32.ChecksumIEEE([]byte(line)))
}

// checkFormat refuses a folder of another version. A new folder gets its file, and one whose file is damaged a new one.
func (f folder) checkFormat() error {
	text := f.read(formatFile)
	var number int
	if _, err := fmt.Sscanf(text, "tegenaria http cache, format %d\n", &number); err == nil && text == formatText(number) {
		if number != format {
			return &VersionError{Folder: f.path, Stored: number, Own: format}
		}
		return nil
	}
	return f.write(formatFile, formatText(format))
}

// read returns the beginning of a small file, "" if it cannot be read.
func (f folder) read(name string) string {
	file, err := f.fs.Open(f.join(name))
	if err != nil {
		return ""
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, 1000))
	if err != nil {
		return ""
	}
	return string(data)
}

// write writes a small file, which is whole or not there.
func (f folder) write(name, text string) error {
	path := f.join(name)
	file, err := f.fs.Create(path+newSuffix, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = io.WriteString(file, text)
		err = errors.Join(err, file.Close())
	}
	if err == nil {
		err = f.fs.Rename(path+newSuffix, path)
	}
	if err != nil {
		return fmt.Errorf("httpcache: writing %s: %w", path, err)
	}
	return nil
}
