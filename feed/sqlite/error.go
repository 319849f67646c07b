package sqlite

import (
	"fmt"
)

// Error is the failure of a database to do what a feed wanted. The same job goes on where it was once the cause is gone.
type Error struct {
	Path   string
	Table  string
	Doing  string // "opening", "writing" or "closing"
	Remedy string // "" if none is known
	Err    error
}

// Error names the file, the table and the remedy.
func (e *Error) Error() string {
	text := fmt.Sprintf("sqlite: %s table %s of %s: %v", e.Doing, e.Table, e.Path, e.Err)
	if e.Remedy != "" {
		text += "; " + e.Remedy + ", and start the same job again"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// busy is SQLITE_BUSY: another program writes.
const busy = 5

// cannotOpen is SQLITE_CANTOPEN.
const cannotOpen = 14

// remedies say what to do about result codes of SQLite.
var remedies = map[int]string{
	busy:       "wait for the other program that writes to the database, or set a longer Patience",
	6:          "wait for the other program that writes to the database", // SQLITE_LOCKED
	8:          "make the file and its folder writable",                  // SQLITE_READONLY
	10:         "look after the disk",                                    // SQLITE_IOERR
	11:         "put back the file from a backup",                        // SQLITE_CORRUPT
	13:         "make room on the disk",                                  // SQLITE_FULL
	cannotOpen: ", and let this user write there",                        // after the name of the folder
	26:         "choose another path: the file is no SQLite database",    // SQLITE_NOTADB
}

// isRefusal reports whether a result code means that the row cannot be in the table, rather than that the database has a problem:
// SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH.
func isRefusal(code int) bool {
	switch code & 0xFF {
	case 18, 19, 20:
		return true
	}
	return false
}
