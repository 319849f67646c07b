// Package filelock claims files, so that two processes, or two parts of one, do not write the same file. The system
// ends the lock of a process that dies.
//
//	open → Lock → write … → close, which ends the lock
//
// With LockForProcess the process itself may have the file several times; with Share any number of processes have it.
//
// A short example:
//
//	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
//	if err == nil && errors.Is(filelock.Lock(file), filelock.ErrHeld) {
//		err = errors.Join(&InUseError{name}, file.Close())
//	}
package filelock

import "errors"

// ErrHeld says that somebody else has the file.
var ErrHeld = errors.New("another process has locked it")
