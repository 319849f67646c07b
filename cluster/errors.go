package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/pgretry"
)

// InUseError is the failure to begin a job under the name of a worker that is at work, or to open the folder of one.
type InUseError struct {
	Job, Worker string
	Dir         string // the folder that is in use, as [Options].Dir says it; "" if it is the name
}

// Error says what to do.
func (e *InUseError) Error() string {
	if e.Dir != "" {
		return fmt.Sprintf("cluster: another process uses the folder %s: give each worker an Options.Dir of its own, or stop that process", e.Dir)
	}
	return fmt.Sprintf("cluster: a worker named %q is at work on the job %s: give each worker a name of its own by "+
		"Options.Worker, or stop that one",
		e.Worker, e.Job)
}

// MismatchError is the failure to resume a job with another program: one with another spider, other rules for keys,
// another number of partitions, other servers, other tables, or another list of public suffixes while workers with the
// list of the job are alive.
type MismatchError struct {
	Job string
	// What is "spider", "key version", "number of partitions", "number of servers", "place of the server among them",
	// "schema version" or "list of public suffixes".
	What          string
	Stored, Asked string
}

// Error says what to do.
func (e *MismatchError) Error() string {
	if e.What == suffixList {
		return fmt.Sprintf("cluster: the job %s is divided by the %s %q, not %q: end its workers before one with the other "+
			"list begins, or build all of them with the same version of golang.org/x/net",
			e.Job, e.What, e.Stored, e.Asked)
	}
	return fmt.Sprintf("cluster: the job %s has the %s %q, not %q: resume it with the program and the options it was "+
		"begun with, or choose another name for the job",
		e.Job, e.What, e.Stored, e.Asked)
}

// DirError is the refusal of a folder that is another worker's.
type DirError struct {
	Dir         string
	Job, Worker string // to which it belongs
}

// Error says what to do.
func (e *DirError) Error() string {
	return fmt.Sprintf("cluster: the folder %s belongs to the worker %q of the job %s: give each worker of each job an "+
		"Options.Dir of its own", e.Dir, e.Worker, e.Job)
}

// MissingError is the failure of [Dial] to find a job, or of [Job.Drain] to find a worker that is at work on it.
type MissingError struct {
	Job    string
	Worker string // "" if it is the job
}

// Error says what to do.
func (e *MissingError) Error() string {
	if e.Worker != "" {
		return fmt.Sprintf("cluster: no worker named %q is at work on the job %s: compare the name with those of Job.Status", e.Worker, e.Job)
	}
	return fmt.Sprintf("cluster: the database has no job %s: compare its name and the address of the database with those "+
		"of the workers, the first of which makes the job", e.Job)
}

// AloneError ends a run in which a callback has sent a request (Fetch) to a host that lies on a server of the job on
// which no worker has been for eight TTL. The page of the callback is not settled. [Run] begins anew.
type AloneError struct {
	Job    string
	Server int    // as numbered in the DSN of [Open]: 0 is the first
	Slot   string // the host
}

// Error says what to do.
func (e *AloneError) Error() string {
	return fmt.Sprintf("cluster: a callback waits to ask %s, and nobody works on server %d of the job %s, on which it "+
		"lies; start as many workers as there are servers",
		e.Slot, e.Server, e.Job)
}

// AddressError is the refusal of a DSN. It says nothing of what is in it, since that may be a password.
type AddressError struct {
	Server int // whose address it is, as numbered in the DSN of [Open]: 0 is the first
}

// Error says what to do.
func (e *AddressError) Error() string {
	return fmt.Sprintf("cluster: the address of the database (number %d of those that the DSN has) cannot be read, and "+
		"is not shown since it may have a password: "+
		"write it as postgres://user:password@host:5432/database, with the special characters of the password as in a URL "+
		"(@ is %%40, / is %%2F), and several with a comma between them", e.Server+1)
}

// ServerError is the refusal of a server that cannot keep what it says it keeps.
type ServerError struct {
	What  string // "version" or "fsync"
	Value string // as the server has it
}

// Error says what to do.
func (e *ServerError) Error() string {
	if e.What == "fsync" {
		return "cluster: the server has fsync = off, and may lose everything when its machine crashes: set fsync = on"
	}
	return fmt.Sprintf("cluster: the server has the version %s: use PostgreSQL %d or newer", e.Value, oldestServer/10000)
}

// RightsError is the failure to do what the user of the connection may not do.
type RightsError struct {
	Job   string
	Doing string
	Err   error
}

// Error says what to do.
func (e *RightsError) Error() string {
	return fmt.Sprintf("cluster: %s the job %s: %v; the owner of a job needs CREATE on the database, the others USAGE on "+
		"the schema and SELECT, INSERT, UPDATE, DELETE on its tables",
		e.Doing, e.Job, e.Err)
}

// Unwrap returns the error of the server.
func (e *RightsError) Unwrap() error { return e.Err }

// FencedError ends a run whose session has expired, because the others saw no heartbeat for [Options].TTL, or because
// another process has begun under the name of this worker. What this run had not yet written is done again by others.
type FencedError struct{ Job, Worker string }

// Error says what to do.
func (e *FencedError) Error() string {
	return fmt.Sprintf("cluster: the worker %s does not have the job %s any more, another one has begun with its part, "+
		"because this one was not heard of or there are two of its name: give each process a name of its own, and start this one again",
		e.Worker, e.Job)
}

// Error is another failure of a database. The same job goes on where it was once the cause is gone.
type Error struct {
	Job   string
	Doing string        // "opening", "reading", "writing", "closing"; or "keeping", when it could not be said in time that the worker is alive
	Away  time.Duration // for which it was tried while the database was away; 0 if the database answered
	Err   error
}

// Error says what to do.
func (e *Error) Error() string {
	if e.Away > 0 {
		option := "Patience"
		if e.Doing == "keeping" {
			option = "TTL"
		}
		return fmt.Sprintf("cluster: %s the job %s: the database was away for %s: %v; when it is back, start the same job "+
			"again, or set a longer Options.%s",
			e.Doing, e.Job, e.Away.Round(time.Second/10), e.Err, option)
	}
	return fmt.Sprintf("cluster: %s the job %s: %v; start the same job again when the cause is gone", e.Doing, e.Job, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// The codes of errors that have a meaning here: https://www.postgresql.org/docs/15/errcodes-appendix.html
const (
	noRights  = "42501"
	noDivisor = "22012" // only the fence divides
)

// passing are errors that pass, beside those that pgretry knows. 25P03 and 25P04 end a transaction in which this process
// stood still for too long. 23505, a key that is there already, is what a batch meets that the server is still writing
// for a connection that broke.
var passing = []string{"25P03", "25P04", "23505"}

// isAway reports whether an error says that the database cannot be used for now.
func isAway(err error) bool {
	var fenced *FencedError
	return !errors.As(err, &fenced) && (pgretry.IsAway(err) || pgretry.IsCode(err, passing...))
}
