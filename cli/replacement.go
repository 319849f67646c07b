package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// replacement is an output that is written beside a file, and takes its place when it is complete: whoever looks sees
// the old file or the new one.
type replacement struct {
	path, beside string
	ending       Ending
}

type replacements []replacement

// replacements checks the files of -O.
func (a *App) replacements(paths []string) (list replacements, err error) {
	var errs []error
	known := make(map[string]bool)
	for _, path := range paths {
		r, err := a.replacement(path)
		if err == nil && known[r.path] {
			err = fmt.Errorf("-O: %q is given twice", path)
		}
		known[r.path] = true
		errs = append(errs, err)
		list = append(list, r)
	}
	return list, errors.Join(errs...)
}

func (a *App) replacement(path string) (r replacement, err error) {
	if path == "-" {
		return r, errors.New("-O -: the standard output cannot be replaced, and has the differences; name a file")
	}
	if r.ending, err = a.ending(path); err != nil {
		return r, fmt.Errorf("-O: %w", err)
	}
	switch {
	case r.ending.IsDatabase:
		return r, fmt.Errorf("-O %s: a database is not replaced; write a file such as items.jsonl, and crawl into the database", path)
	case strings.HasPrefix(r.ending.Suffix, ".warc"):
		return r, fmt.Errorf("-O %s: an archive has what was sent and received, and a crawl on stored pages sends nothing", path)
	case strings.ContainsAny(path, "{}"):
		return r, fmt.Errorf("-O %s: one file is replaced; name it without braces", path)
	}
	r.path = path
	if target, err := filepath.EvalSymlinks(path); err == nil { // the file, and not the link to it
		r.path = target
	}
	if info, err := os.Stat(r.path); err == nil && !info.Mode().IsRegular() {
		return r, fmt.Errorf("-O %s: it is no file that could be replaced", path)
	}
	r.beside = filepath.Join(filepath.Dir(r.path), ".reparse-"+filepath.Base(path)) // with the ending of path
	return r, nil
}

// open gives the run its outputs. A file has the mode of the one whose place it takes.
func (list replacements) open(run *Run) error {
	for _, r := range list {
		if err := r.prepare(); err != nil {
			return err
		}
		option, err := r.ending.Open(run, Output{Path: r.beside, Overwrite: true})
		if err != nil {
			return err
		}
		run.Add(option)
	}
	return nil
}

// prepare makes the file beside, unless there is none whose mode it has. One that a process has left which was killed goes.
func (r *replacement) prepare() error {
	if err := (outfile.Disk{}).Remove(r.beside); err != nil {
		return err
	}
	info, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	file, err := os.OpenFile(r.beside, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(info.Mode().Perm()), file.Close())
}

// replace puts the files in their places, each in one step.
func (list replacements) replace() error {
	for _, r := range list {
		if err := (outfile.Disk{}).Rename(r.beside, r.path); err != nil {
			return err
		}
	}
	return nil
}

// remove removes what has not taken its place.
func (list replacements) remove() error {
	var errs []error
	for _, r := range list {
		errs = append(errs, outfile.Disk{}.Remove(r.beside))
	}
	return errors.Join(errs...)
}
