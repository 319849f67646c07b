package table

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/filename"
	"github.com/tegenaria/tegenaria/internal/staging"
)

// Job is where a job is in a table.
type Job struct {
	ID    string
	Feed  string // its CommitKey
	Batch int64  // the last one that the cache knows
	New   bool   // nothing was stored yet
	Lazy  bool   // it cannot be resumed
}

// Database is the side of a feed that is not the same for all of them.
type Database interface {
	// Open connects, checks or makes the table, and takes back a batch after job.Batch.
	Open(ctx context.Context, job Job) error
	// Encode appends a row. Called concurrently, between Open and Close. Its error is a *feed.RefusedError for a value that the table
	// cannot hold.
	Encode(dst []byte, item reflect.Value) ([]byte, error)
	// Decode returns the values of a row for JSON, in the order of the columns.
	Decode(row []byte) ([]any, error)
	// Write stores rows as a batch, in one transaction with its number, and returns those that the database refused.
	Write(ctx context.Context, batch int64, rows [][]byte) ([]Refused, error)
	// Close disconnects. It may be called again, and without Open.
	Close(ctx context.Context, complete bool) error
}

// Refused is a row that a database refused.
type Refused struct {
	Row int // its index
	Err *feed.RefusedError
}

// Sink is a feed into a table.
type Sink struct {
	Database   Database
	Type       reflect.Type // of the items, no pointer
	Columns    []Column
	Key        string // CommitKey
	Priority   int
	Rejects    string // path of the reject file; "": it is Beside, the name of the worker where a job has several, and ".rejects.jsonl"
	Beside     string
	Overwrite  bool // also the reject file
	Wanted     func(item any) bool
	StageBytes int
	Mistake    error // in the options

	job       Job
	open      bool
	staged    staging.Items
	rejects   *feed.Feed
	rejectsIn string          // its path
	rejectsAt json.RawMessage // its newest checkpoint
	batch     []byte          // of take, used again
	rejected  atomic.Int64
	written   atomic.Int64
	failed    atomic.Int64
	others    atomic.Int64

	mu      sync.Mutex     // guards refused
	refused map[string]int // items of requests that are not settled, by id
}

// state is the checkpoint of a Sink.
type state struct {
	Job     string          `json:"job"`
	Batch   int64           `json:"batch"`
	Rejects json.RawMessage `json:"rejects"`
}

// refusal is a line of the reject file.
type refusal struct {
	Error  string          `json:"error"`
	Column string          `json:"column,omitempty"`
	Item   json.RawMessage `json:"item"`
}

// Stats returns what was done in this run. Failed are the items that went to the reject file, and those that JSON cannot hold.
func (s *Sink) Stats() tegenaria.FeedStats {
	return tegenaria.FeedStats{Name: s.Key, Written: s.written.Load(), Failed: s.rejected.Load() + s.failed.Load(), Others: s.others.Load()}
}

// rows are used again: what they hold is copied.
var rows = sync.Pool{New: func() any { return new([]byte) }}

// valueOf returns the struct of an item of the type, or of a pointer to it.
func (s *Sink) valueOf(item any) (reflect.Value, bool) {
	v := reflect.ValueOf(item)
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return v, v.IsValid() && v.Type() == s.Type
}

// ProcessItem stages an item of the type; others are not for this table.
func (s *Sink) ProcessItem(item *tegenaria.ItemMeta) error {
	v, ok := s.valueOf(item.Item)
	if !ok || s.Wanted != nil && !s.Wanted(item.Item) {
		s.others.Add(1)
		return nil
	}
	buf := rows.Get().(*[]byte)
	defer rows.Put(buf)
	row, err := s.Database.Encode((*buf)[:0], v)
	*buf = row
	var refused *feed.RefusedError
	if errors.As(err, &refused) {
		text, cause := json.Marshal(item.Item)
		if cause != nil {
			s.failed.Add(1)
			return errors.Join(err, cause)
		}
		s.note(item.CtxId, 1)
		return s.reject(item.CtxId, refused, text)
	}
	if err != nil {
		s.failed.Add(1)
		return err
	}
	return s.staged.Add(item.CtxId, row)
}

func (s *Sink) reject(id string, refused *feed.RefusedError, item json.RawMessage) error {
	return s.rejects.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: id, Item: refusal{refused.Err.Error(), refused.Column, item}})
}

// Restore opens the table and the reject file as the checkpoint says.
func (s *Sink) Restore(ctx context.Context, checkpoint []byte) error {
	if s.Mistake != nil {
		return s.Mistake
	}
	var old state
	if checkpoint != nil {
		if err := json.Unmarshal(checkpoint, &old); err != nil || old.Job == "" {
			return &feed.CorruptError{Path: s.Key, Err: fmt.Errorf("its checkpoint is %q", checkpoint)}
		}
	}
	s.job = Job{ID: old.Job, Feed: s.Key, Batch: old.Batch, New: checkpoint == nil, Lazy: !tegenaria.Resumable(ctx)}
	if s.job.New {
		s.job.ID = rand.Text()
	}
	s.refused, s.rejectsAt = make(map[string]int), nil
	s.rejected.Store(0)
	s.written.Store(0)
	s.failed.Store(0)
	s.others.Store(0)
	s.staged.Reset(staging.Options{Bound: s.StageBytes, Open: openSpool})
	existing := feed.Append()
	if s.Overwrite {
		existing = feed.Overwrite()
	}
	s.rejectsIn = s.rejectsPath(ctx)
	s.rejects = feed.JSONL(s.rejectsIn, existing, feed.StageBytes(1<<20))
	if err := s.Database.Open(ctx, s.job); err != nil {
		return errors.Join(err, s.Database.Close(ctx, false))
	}
	if err := s.rejects.Restore(ctx, old.Rejects); err != nil {
		return errors.Join(fmt.Errorf("reject file: %w; the option Rejects sets its path", err), s.Database.Close(ctx, false))
	}
	s.open = true
	return nil
}

// rejectsPath returns the path of the reject file. By default workers of one folder have one each.
func (s *Sink) rejectsPath(ctx context.Context) string {
	if s.Rejects != "" {
		return s.Rejects
	}
	path := s.Beside
	if worker := tegenaria.WorkerName(ctx); worker != "" {
		name, _ := filename.Clean(worker)
		path += "." + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(name) // braces are fields in the path of a feed
	}
	return path + ".rejects.jsonl"
}

// openSpool makes a temporary file for rows that wait.
func openSpool() (staging.File, error) {
	file, err := os.CreateTemp("", "tegenaria-*.spool")
	if err != nil {
		return nil, err
	}
	return temporary{file}, nil
}

// temporary is a file that is gone when it is closed.
type temporary struct{ *os.File }

func (t temporary) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }

var errClosed = errors.New("feed: it is not open")

// afterwards is the id under which the reject file stages what the database refused in a batch.
const afterwards = "tegenaria: refused by the database"

// Prepare writes what these requests staged.
func (s *Sink) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	if !s.open {
		return nil, errClosed
	}
	batch, err := s.take(ids)
	if err != nil {
		return nil, err
	}
	if len(batch) > 0 {
		refused, err := s.Database.Write(ctx, s.job.Batch+1, batch)
		if err != nil {
			return nil, err
		}
		s.job.Batch++
		s.written.Add(int64(len(batch) - len(refused)))
		for _, r := range refused {
			text, err := s.jsonOf(batch[r.Row])
			if err == nil {
				err = s.reject(afterwards, r.Err, text)
			}
			if err != nil {
				return nil, err
			}
		}
		if len(refused) > 0 {
			s.note(afterwards, len(refused))
			ids = append(append([]string(nil), ids...), afterwards)
		}
	}
	refused := 0
	for _, id := range ids {
		refused += s.forget(id)
	}
	s.rejected.Add(int64(refused))
	if refused > 0 || s.rejectsAt == nil {
		if s.rejectsAt, err = s.rejects.Prepare(ctx, ids); err != nil {
			return nil, fmt.Errorf("reject file: %w", err)
		}
	}
	if s.job.Lazy {
		return nil, nil
	}
	return json.Marshal(state{s.job.ID, s.job.Batch, s.rejectsAt})
}

// mostKept is how much memory take may keep for the next batch.
const mostKept = 4 << 20

// take returns the rows that these requests staged, in their order. They are valid until the next call.
func (s *Sink) take(ids []string) ([][]byte, error) {
	all := s.batch[:0]
	var ends []int
	err := s.staged.Take(ids, func(row []byte) error {
		all = append(all, row...)
		ends = append(ends, len(all))
		return nil
	})
	batch, begin := make([][]byte, len(ends)), 0
	for i, end := range ends {
		batch[i], begin = all[begin:end:end], end
	}
	s.batch = nil
	if cap(all) <= mostKept {
		s.batch = all
	}
	return batch, err
}

// jsonOf writes a row as a JSON object.
func (s *Sink) jsonOf(row []byte) (json.RawMessage, error) {
	values, err := s.Database.Decode(row)
	if err != nil {
		return nil, err
	}
	text := []byte{'{'}
	for i, v := range values {
		name, err := json.Marshal(s.Columns[i].Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// note counts items of a request that were refused.
func (s *Sink) note(id string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[id] += n
}

// forget returns how many items of a request were refused, and forgets it.
func (s *Sink) forget(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.refused[id]
	delete(s.refused, id)
	return n
}

// Discard forgets what a request has staged.
func (s *Sink) Discard(id string) {
	s.forget(id)
	s.staged.Discard(id)
	if s.rejects != nil {
		s.rejects.Discard(id)
	}
}

// Close disconnects. A reject file without a line goes.
func (s *Sink) Close(ctx context.Context, reason string) error {
	if !s.open {
		return nil
	}
	s.open = false
	_, err := s.staged.Close()
	err = errors.Join(err, s.rejects.Close(ctx, reason), s.Database.Close(ctx, tegenaria.Complete(ctx)))
	if info, gone := os.Stat(s.rejectsIn); gone == nil && info.Mode().IsRegular() && info.Size() == 0 {
		err = errors.Join(err, os.Remove(s.rejectsIn))
	}
	return err
}

var _ io.Closer = temporary{}
