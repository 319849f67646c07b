package feed

import "fmt"

// TableError ends a run whose items do not fit an existing table of a database, for example because a column has another type.
// Missing columns are added; nothing else is changed. It is of packages feed/sqlite and feed/postgres.
type TableError struct {
	Table string // with the path of its file, if it has one
	Why   string
	SQL   string // the statement that corrects the table, "" if there is none
}

// Error says what does not fit, and which statement corrects it.
func (e *TableError) Error() string {
	if e.SQL == "" {
		return fmt.Sprintf("feed: %s: %s", e.Table, e.Why)
	}
	return fmt.Sprintf("feed: %s: %s; to mend it, run: %s", e.Table, e.Why, e.SQL)
}

// RefusedError says that a table cannot hold a value. The item goes to the reject file of the feed; the other items of its batch go
// to the table. It is of packages feed/sqlite and feed/postgres.
type RefusedError struct {
	Table  string // with the path of its file, if it has one
	Column string // "" if it is not known
	Err    error
}

// Error names the table and the column.
func (e *RefusedError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("feed: %s refuses an item: %v", e.Table, e.Err)
	}
	return fmt.Sprintf("feed: %s, column %s, refuses a value: %v", e.Table, e.Column, e.Err)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }
