package store

import (
	"errors"
	"fmt"
)

// InUseError is the failure to open a folder that another process has open.
type InUseError struct {
	Folder string
	PID    int // 0 if it is not known
	Err    error
}

// Error says what to do.
func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("the process %d", e.PID)
	}
	return fmt.Sprintf("httpcache: %s is in use by %s; one process has a cache at a time: wait until that one ends, or choose another folder",
		e.Folder, who)
}

// Unwrap returns the error of the operating system.
func (e *InUseError) Unwrap() error { return e.Err }

// VersionError is the failure to open a folder that another version of this program has made. Nothing was changed.
type VersionError struct {
	Folder      string
	Stored, Own int // formats
}

// Error says what to do.
func (e *VersionError) Error() string {
	return fmt.Sprintf("httpcache: %s was made by another version, in the format %d, not %d: use that version, remove "+
		"the folder, or choose another one",
		e.Folder, e.Stored, e.Own)
}

// WriteError says that writing has failed, and that nothing is stored any more until the folder is opened again. What is stored
// can still be read.
type WriteError struct {
	Folder string
	Err    error // such as syscall.ENOSPC: the disk is full
}

// Error says what to do.
func (e *WriteError) Error() string {
	return fmt.Sprintf("httpcache: nothing more is stored in %s until it is opened again: %v; what is stored is still used", e.Folder, e.Err)
}

// Unwrap returns the error of the file system.
func (e *WriteError) Unwrap() error { return e.Err }

// ErrTooLarge says that a body takes more than a quarter of [Options.MaxBytes] and is not stored.
var ErrTooLarge = errors.New("httpcache: the body takes more than a quarter of the cache: raise MaxBytes to store it")

// errClosed says that the store is closed.
var errClosed = errors.New("httpcache: the cache is closed")
