package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria/internal/privatefs"
	"github.com/tegenaria/tegenaria/internal/remedy"
)

// InUseError is the failure to open a job that is open already, in this process or in another one.
type InUseError struct {
	Dir string
	Err error
}

// Error says what to do.
func (e *InUseError) Error() string {
	who := "by another process"
	if !errors.Is(e.Err, syscall.EAGAIN) {
		who = fmt.Sprintf("(%v)", e.Err)
	}
	return fmt.Sprintf("disk: the job %s is in use %s; one process has a job at a time: wait until that one ends", e.Dir, who)
}

// Unwrap returns the error of the operating system.
func (e *InUseError) Unwrap() error { return e.Err }

// MismatchError is the failure to resume a job with another program: one with another spider, other rules for keys, or another
// format.
type MismatchError struct {
	Dir           string
	What          string // "format", "spider" or "key version"
	Stored, Asked string
}

// Error says what to do.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("disk: the job %s has the %s %q, not %q: resume it with the program it was begun with, choose another directory, or %s",
		e.Dir, e.What, e.Stored, e.Asked, remedy.StartOver)
}

// DamageError is the failure to open or read a job whose files are damaged or unreadable. Nothing was changed.
type DamageError struct {
	Dir  string
	File string // in Dir; empty: Err says which
	Err  error
}

// Error says what to do.
func (e *DamageError) Error() string {
	file := ""
	if e.File != "" {
		file = e.File + ": "
	}
	return fmt.Sprintf("disk: the job %s is damaged: %s%v; %s saves what can be saved", e.Dir, file, e.Err, remedy.Repair)
}

// Unwrap returns what was found.
func (e *DamageError) Unwrap() error { return e.Err }

// damage says that something is wrong with a job, unless err says so or has another cause.
func damage(dir, file string, err error) error {
	var known *DamageError
	var path *os.PathError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &path) && !errors.Is(err, os.ErrNotExist): // permissions, a full disk …
		return fmt.Errorf("disk: the job %s: %w", dir, err)
	}
	return &DamageError{Dir: dir, File: file, Err: err}
}

// mustExist reports whether a directory holds a job, or what is left of one.
func mustExist(fs vfs.FS, dir string) error {
	for _, name := range []string{formatFile, storeDir, keptDir} {
		if _, err := fs.Stat(fs.PathJoin(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("disk: %s holds no job: %w", dir, os.ErrNotExist)
}

// lockJob makes the directory and locks it. It returns its absolute path.
func lockJob(fs vfs.FS, dir string) (abs string, lock io.Closer, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, fmt.Errorf("disk: %w", err)
	}
	if err := makeDir(fs, dir); err != nil {
		return "", nil, fmt.Errorf("disk: %w", err)
	}
	if info, err := fs.Stat(dir); err == nil && !info.IsDir() {
		return "", nil, fmt.Errorf("disk: %s is a file: choose another directory for the job", dir)
	}
	if names, err := fs.List(dir); err != nil {
		return "", nil, fmt.Errorf("disk: %w", err)
	} else if slices.ContainsFunc(names, func(name string) bool { return !isOurs(name) }) {
		return "", nil, fmt.Errorf("disk: %s holds something else than a job: choose another directory", dir)
	}
	lock, err = fs.Lock(fs.PathJoin(dir, lockFile))
	var path *os.PathError
	switch {
	case errors.As(err, &path):
		return "", nil, fmt.Errorf("disk: %w", err)
	case err != nil:
		return "", nil, &InUseError{Dir: dir, Err: err}
	}
	if privatefs.Is(fs) {
		if err := privatefs.Narrow(dir); err != nil {
			return "", nil, errors.Join(fmt.Errorf("disk: %w", err), lock.Close())
		}
	}
	return dir, lock, nil
}

// isOurs reports whether a file in a job's directory belongs to the job.
func isOurs(name string) bool {
	switch strings.TrimSuffix(name, newSuffix) {
	case formatFile, lockFile, markFile, filterFile, notesFile, taskFile, storeDir, keptDir, foundDir, rebuiltDir:
		return true
	}
	return false
}

// makeDir makes a directory that survives a crash, and those above it.
func makeDir(fs vfs.FS, dir string) error {
	parent := fs.PathDir(dir)
	if _, err := fs.Stat(dir); err == nil || parent == dir {
		return nil
	}
	if err := makeDir(fs, parent); err != nil {
		return err
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDir(fs, parent)
}

// makeJob writes the file that says what the directory is, or reads it.
func makeJob(fs vfs.FS, dir string) (made bool, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return false, fmt.Errorf("disk: %w", err)
	}
	if !slices.Contains(names, formatFile) {
		if slices.ContainsFunc(names, func(name string) bool { return name != lockFile && name != formatFile+newSuffix }) {
			return false, damage(dir, formatFile, errors.New("it is missing"))
		}
		return true, writeFormat(fs, dir)
	}
	file, err := fs.Open(fs.PathJoin(dir, formatFile))
	if err != nil {
		return false, damage(dir, formatFile, err)
	}
	defer file.Close()
	found, err := io.ReadAll(io.LimitReader(file, 1000))
	if err != nil {
		return false, damage(dir, formatFile, err)
	}
	var number int
	if _, err := fmt.Sscanf(string(found), formatPrefix+"%d\n", &number); err == nil && fmt.Sprintf(formatPrefix+"%d\n", number) == string(found) && string(found) != format {
		return false, &MismatchError{Dir: dir, What: "format", Stored: fmt.Sprint(number), Asked: formatNumber}
	}
	if !bytes.Equal(found, []byte(format)) {
		return false, damage(dir, formatFile, fmt.Errorf("it holds %q", found))
	}
	return false, nil
}

func writeFormat(fs vfs.FS, dir string) error {
	return writeFile(fs, dir, formatFile, func(w io.Writer) error {
		_, err := io.WriteString(w, format)
		return err
	})
}

// newSuffix is that of a file that is being written.
const newSuffix = ".new"

// writeFile writes a file that is whole or not there at all, whenever the power fails.
func writeFile(fs vfs.FS, dir, name string, write func(io.Writer) error) error {
	path := fs.PathJoin(dir, name)
	file, err := fs.Create(path+newSuffix, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = fs.Rename(path+newSuffix, path)
	}
	if err == nil {
		err = syncDir(fs, dir)
	}
	if err != nil {
		return fmt.Errorf("disk: writing %s: %w", path, err)
	}
	return nil
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// removeJob removes what a directory holds of a job. The file that says that it is one goes last.
func removeJob(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	slices.SortFunc(names, func(a, b string) int {
		switch {
		case a == formatFile:
			return 1
		case b == formatFile:
			return -1
		}
		return 0
	})
	for _, name := range names {
		if name == lockFile {
			continue
		}
		if name == formatFile {
			if err := syncDir(fs, dir); err != nil {
				return fmt.Errorf("disk: %w", err)
			}
		}
		if err := fs.RemoveAll(fs.PathJoin(dir, name)); err != nil {
			return fmt.Errorf("disk: %w", err)
		}
	}
	return syncDir(fs, dir)
}
