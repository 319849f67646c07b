package cluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria/internal/filelock"
	"github.com/tegenaria/tegenaria/internal/flightnotes"
	"github.com/tegenaria/tegenaria/internal/outfile"
)

// folder is the Options.Dir of a worker. It belongs to one process at a time, which is proved by a lock. The processes
// that have it one after the other are known to the database by one number: so the next one ends the session of one
// that has died as it would end an earlier session of its own.
type folder struct {
	path  string
	lock  io.Closer
	state folderState
	notes *flightnotes.Notes // nil before the database is known
}

// folderState is what the folder says of its worker.
type folderState struct {
	Job     string `json:"job"`
	Worker  string `json:"worker"`
	Lock    int32  `json:"lock"`    // what the database knows its processes by
	Made    int64  `json:"made"`    // when the job was made: a job of the same name that is made later is another one
	Session int64  `json:"session"` // to which the notes belong
}

// The files of a folder, beside that of the notes.
const (
	folderLock  = "LOCK"
	folderOwner = "WORKER"
	newFileName = ".new" // added to the name of a file that is to take the place of another one
)

// openFolder opens a folder, which is made if there is none. A worker of "" is the one to which it belongs, and it has
// to be there.
func openFolder(path, job, worker string) (f *folder, err error) {
	if path, err = filepath.Abs(path); err == nil && worker != "" {
		err = os.MkdirAll(path, 0o700)
	} else if err == nil {
		_, err = os.Stat(filepath.Join(path, folderOwner))
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: opening the folder of a worker: %w", err)
	}
	lock, err := lockFile(filepath.Join(path, folderLock))
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, &InUseError{Job: job, Worker: worker, Dir: path}
	case err != nil:
		return nil, fmt.Errorf("cluster: locking the folder %s: %w", path, err)
	}
	f = &folder{path: path, lock: lock}
	if err := f.identify(job, worker); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return f, nil
}

// lockFile opens a file that nobody else can lock until it is closed.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = filelock.Lock(file); err == nil {
		return file, nil
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = errors.New("this system has no locks of files: leave Options.Dir empty")
	}
	return nil, errors.Join(err, file.Close())
}

// identify reads what the folder says of its worker, and refuses that of another one.
func (f *folder) identify(job, worker string) error {
	content, err := os.ReadFile(filepath.Join(f.path, folderOwner))
	if errors.Is(err, fs.ErrNotExist) && worker != "" {
		f.state = folderState{Job: job, Worker: worker, Lock: rand.Int32()}
		return nil
	}
	if err == nil {
		err = json.Unmarshal(content, &f.state)
	}
	if err != nil {
		return fmt.Errorf("cluster: %s is not the folder of a worker: %w; name another one", f.path, err)
	}
	if f.state.Job != job || worker != "" && f.state.Worker != worker {
		return &DirError{Dir: f.path, Job: f.state.Job, Worker: f.state.Worker}
	}
	return nil
}

// store writes what the folder says of its worker.
func (f *folder) store() error {
	content, err := json.Marshal(f.state)
	if err == nil {
		err = f.Write(folderOwner, content)
	}
	if err != nil {
		return fmt.Errorf("cluster: the folder %s: %w", f.path, err)
	}
	return nil
}

// matchJob compares the folder with the job in the database, and reads the notes that belong to it.
func (f *folder) matchJob(ctx context.Context, s *server) error {
	var made int64
	err := s.patiently(ctx, "opening", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT (extract(epoch FROM made) * 1000000)::bigint FROM job`, unprepared).Scan(&made)
	})
	if err != nil {
		return err
	}
	if f.state.Made != made {
		f.state.Made, f.state.Session = made, 0
		if err := f.Remove(flightnotes.FileName); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cluster: the folder %s: %w", f.path, err)
		}
		if err := f.store(); err != nil { // before a session has its number
			return err
		}
	}
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:], uint64(made))
	f.notes = flightnotes.Read(f, "cluster: the folder "+f.path, id)
	return nil
}

// sessionBegan notes that a session has begun, whose transaction has stored what the notes said of an earlier one.
func (f *folder) sessionBegan(session int64) error {
	f.notes.ClearAll() // before the session changes: a crash between the two counts once
	f.state.Session = session
	return f.store()
}

// close releases the folder.
func (f *folder) close() (err error) {
	if f == nil {
		return nil
	}
	if f.notes != nil {
		err = f.notes.Close()
	}
	return errors.Join(err, f.lock.Close())
}

// Read is described at [flightnotes.Folder].
func (f *folder) Read(name string, limit int64) ([]byte, error) {
	file, err := os.Open(filepath.Join(f.path, name))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, limit))
	return content, errors.Join(err, file.Close())
}

// Write is described at [flightnotes.Folder].
func (f *folder) Write(name string, content []byte) error {
	path := filepath.Join(f.path, name)
	file, err := os.OpenFile(path+newFileName, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return replace(file, path, err)
}

// Open is described at [flightnotes.Folder].
func (f *folder) Open(name string) (flightnotes.File, error) {
	file, err := os.OpenFile(filepath.Join(f.path, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err // and not a nil *os.File, which is no nil File
	}
	return file, nil
}

// Remove is described at [flightnotes.Folder].
func (f *folder) Remove(name string) error { return os.Remove(filepath.Join(f.path, name)) }

// replace has a file that was written take the place of another one in one step, and makes that durable; unless err is
// an error, which it returns. Then the file is removed.
func replace(file *os.File, path string, err error) error {
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return outfile.SyncFolder(filepath.Dir(path))
}
