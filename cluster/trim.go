package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
)

// CheckpointError is the refusal of [Trim] to cut an output of which the worker has stored no checkpoint.
type CheckpointError struct{ Worker, Key string }

// Error says what to do.
func (e *CheckpointError) Error() string {
	return fmt.Sprintf("cluster: the worker %s has stored no checkpoint of %q: it died before it began to write, and "+
		"there is nothing to cut, or Trim has to be given the outputs of its program, with the same paths and keys", e.Worker, e.Key)
}

// Trim cuts the outputs of a worker that has died, and that is not to be started again, back to what it has settled:
// what it wrote after that is in the files of others, which have fetched those pages again. dir is its [Options].Dir;
// outputs are made as its program made them:
//
//	err := cluster.Trim(ctx, job, "one.state", feed.JSONL("one.jsonl"))
//
// The session of the worker is expired, so that others have its hosts at once. It may be started again nevertheless;
// once the job has finished it touches none of its files if Trim was given all of them. Files that the worker itself
// has closed after the end of the job are as they should be, and Trim touches none of them. While the process of the
// worker is alive the error is an [*InUseError], and nothing is changed; a [*CheckpointError] says that an output is
// none of the worker's, or that the worker died before it wrote anything: nothing is changed then either.
func Trim(ctx context.Context, job *Job, dir string, outputs ...tegenaria.Committer) (err error) {
	of, err := openFolder(dir, job.server.job, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, of.close()) }()
	// With the lock of its folder this is the worker, as far as the database knows: connecting ends what the server
	// still does for it.
	own, err := job.serverOf(ctx, of.state.Worker)
	if err != nil {
		return err
	}
	config := job.server.config
	if own > 0 {
		config = job.others[own-1].server.config
	}
	s := &server{
		config: config.Copy(), member: member{job: job.server.job, worker: of.state.Worker, ttl: job.server.ttl}, patience: job.server.patience, lock: of.state.Lock,
	}
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	if err := s.endSession(ctx); err != nil {
		return err
	}
	l := newLoaded(0)
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT name, value FROM checkpoint WHERE worker = $1`, s.worker)
		if err != nil {
			return err
		}
		return l.readCheckpoints(rows)
	})
	if err != nil {
		return err
	}
	for _, output := range outputs {
		if _, ok := l.state.Checkpoints[output.CommitKey()]; !ok {
			return &CheckpointError{Worker: s.worker, Key: output.CommitKey()}
		}
	}
	if note, ok := l.state.Checkpoints[notClosed]; ok && len(note) == 0 {
		return nil // the worker or Trim has closed them
	}
	for _, output := range outputs {
		err = errors.Join(err, cut(ctx, output, l.state.Checkpoints[output.CommitKey()]))
	}
	if err == nil && !l.hasMore(outputs) {
		err = s.execute(ctx, `UPDATE checkpoint SET value = '' WHERE worker = $1 AND name = $2`, s.worker, []byte(notClosed))
	}
	return err
}

// notClosed is the checkpoint by which the engine notes that the outputs of a worker are not closed yet. It is empty
// when they are.
const notClosed = "tegenaria/closing"

// hasMore reports whether there are checkpoints of other outputs than these.
func (l *loaded) hasMore(outputs []tegenaria.Committer) bool {
	for key := range l.state.Checkpoints {
		isOf := func(output tegenaria.Committer) bool { return output.CommitKey() == key }
		if !strings.HasPrefix(key, "tegenaria/") && !slices.ContainsFunc(outputs, isOf) {
			return true
		}
	}
	return false
}

// cut cuts an output back to its checkpoint, and closes it.
func cut(ctx context.Context, output tegenaria.Committer, checkpoint []byte) error {
	if err := output.Restore(ctx, checkpoint); err != nil {
		return fmt.Errorf("cluster: cutting %s: %w", output.CommitKey(), err)
	}
	if closer, ok := output.(tegenaria.Closer); ok {
		if err := closer.Close(ctx, "trimmed"); err != nil {
			return fmt.Errorf("cluster: closing %s: %w", output.CommitKey(), err)
		}
	}
	return nil
}
