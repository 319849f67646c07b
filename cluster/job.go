package cluster

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Job is a job as it is seen and steered from outside, by a program that is none of its workers. Its methods may be
// called concurrently. They wait for a database that is away, until their context ends.
type Job struct {
	mu     sync.Mutex // guards the servers
	server *server    // the first one, on which the job is steered
	others []*peer
}

// Status says how a job is doing.
type Status struct {
	Workers []WorkerStatus // all that there have been, by name
	Started bool           // StartRequest has ended
	Paused  bool
	// Finished and Stopped are the reasons for which the job has ended; "" if it has not. One that was stopped goes on
	// when workers begin again.
	Finished, Stopped string

	Queued   int64            // requests that wait or are in flight
	Delayed  int64            // requests that wait for their time
	Messages int64            // requests that were sent to the worker which owns their host, and that it has not accepted yet
	Outcomes map[string]int64 // how many requests have ended in which way: "fetched", "duplicate" …
}

// WorkerStatus says how a worker is doing.
type WorkerStatus struct {
	Name       string
	Server     int           // on which it works, as numbered in the DSN of [Dial]: 0 is the first
	Alive      bool          // its last heartbeat is not older than its TTL
	Expired    bool          // its session has ended, or was expired because no heartbeat came for its TTL: it takes no part any more
	Silent     time.Duration // since its last heartbeat; 0 if it is expired
	Partitions int           // that it owns, or owned when it expired and nobody has taken over
}

// Dial connects to a database and finds a job in it, which a worker has made before. If there is none the error is a
// [*MissingError]; the others are those of [Open].
func Dial(ctx context.Context, dsn, job string) (*Job, error) {
	configs, err := configsOf(dsn, job)
	if err != nil {
		return nil, err
	}
	at := location{suffixes: builtIn, servers: len(configs)}
	s := &server{config: configs[0], member: member{job: job, worker: "dial", ttl: defaultTTL}, location: at, patience: defaultPatience, lock: rand.Int32()}
	if at.partitions, err = s.open(ctx, madeBefore); err != nil {
		return nil, err
	}
	j := &Job{server: s}
	for at.ownServer = 1; at.ownServer < at.servers; at.ownServer++ {
		j.others = append(j.others, newPeer(s, configs[at.ownServer], at))
	}
	return j, nil
}

// Close ends the connection.
func (j *Job) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), longestClose)
	defer cancel()
	err := j.server.close(ctx)
	for _, p := range j.others {
		err = errors.Join(err, p.close(ctx))
	}
	return err
}

// Status returns how the job is doing. It reads counts that each transaction keeps, and is as fast in a large job as in
// a small one.
func (j *Job) Status(ctx context.Context) (s Status, err error) {
	err = j.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) (err error) {
		s, err = readStatus(ctx, conn)
		return err
	})
	for _, p := range j.others {
		err = errors.Join(err, p.with(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
			there, err := readStatus(ctx, conn)
			if err == nil {
				s.add(&there, p.server.ownServer)
			}
			return err
		}))
	}
	return s, err
}

// add adds what was read of another server than the first.
func (s *Status) add(there *Status, server int) {
	for i := range there.Workers {
		there.Workers[i].Server = server
	}
	s.Workers = append(s.Workers, there.Workers...)
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
	s.Queued, s.Delayed, s.Messages = s.Queued+there.Queued, s.Delayed+there.Delayed, s.Messages+there.Messages
	for outcome, n := range there.Outcomes {
		s.Outcomes[outcome] += n
	}
}

// readStatus reads how the job is doing on a server.
func readStatus(ctx context.Context, conn *pgx.Conn) (s Status, err error) {
	s = Status{Outcomes: make(map[string]int64)}
	var batch pgx.Batch
	batch.Queue(`SELECT started, paused, coalesce(finished, ''), coalesce(stopped, ''),
		w.queued, w.delayed, w.messages + (SELECT coalesce(sum(messages), 0)::bigint FROM peer) FROM job,
			(SELECT coalesce(sum(queued), 0)::bigint AS queued,
		coalesce(sum(delayed), 0)::bigint AS delayed, coalesce(sum(messages), 0)::bigint AS messages FROM worker) AS w`).
		QueryRow(func(row pgx.Row) error {
			return row.Scan(&s.Started, &s.Paused, &s.Finished, &s.Stopped, &s.Queued, &s.Delayed, &s.Messages)
		})
	batch.Queue(`SELECT w.name, w.expired, coalesce(b.ttl, 0),
		coalesce((extract(epoch FROM clock_timestamp() - b.at) * 1000000)::bigint, 0),
			(SELECT count(*) FROM partition WHERE owner = w.session) FROM worker AS w
				LEFT JOIN heartbeat AS b ON b.session = w.session ORDER BY w.name`).Query(s.readWorkers)
	batch.Queue(`SELECT substr(name, 9), sum(value)::bigint FROM counter
		WHERE name LIKE 'outcome/%' GROUP BY 1`).Query(func(rows pgx.Rows) error {
		var name string
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error {
			s.Outcomes[name] = n
			return nil
		})
		return err
	})
	err = conn.SendBatch(ctx, &batch).Close()
	return s, err
}

// readWorkers reads the workers.
func (s *Status) readWorkers(rows pgx.Rows) error {
	var w WorkerStatus
	var ttl, silent int64
	_, err := pgx.ForEachRow(rows, []any{&w.Name, &w.Expired, &ttl, &silent, &w.Partitions}, func() error {
		w.Silent = time.Duration(silent) * time.Microsecond
		w.Alive = !w.Expired && w.Silent < time.Duration(ttl)
		s.Workers = append(s.Workers, w)
		return nil
	})
	return err
}

// serverOf returns the number of the server on which a worker works.
func (j *Job) serverOf(ctx context.Context, worker string) (own int, err error) {
	err = j.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT coalesce((SELECT server FROM worker_server WHERE worker = $1), 0)`, clean(worker)).Scan(&own)
	})
	return own, err
}

// connectionTo returns the connection to the server on which a worker works.
func (j *Job) connectionTo(ctx context.Context, worker string) (with talk, err error) {
	own, err := j.serverOf(ctx, worker)
	if own == 0 {
		return j.patiently, err
	}
	return j.others[own-1].with, err
}

// talk talks to a server when nobody else does.
type talk func(ctx context.Context, doing string, do func(ctx context.Context, conn *pgx.Conn) error) error

// Pause has the workers start no download from a fraction of a second on, also those that begin later. Downloads that
// are in flight go on.
func (j *Job) Pause(ctx context.Context) error { return j.write(ctx, `UPDATE job SET paused = true`) }

// Resume ends Pause.
func (j *Job) Resume(ctx context.Context) error { return j.write(ctx, `UPDATE job SET paused = false`) }

// Stop has the run of each worker end gracefully, with a StoppedError of this reason, or "stopped" if it is empty. When
// the workers begin again the job goes on.
func (j *Job) Stop(ctx context.Context, reason string) error {
	return j.write(ctx, `UPDATE job SET stopped = coalesce(stopped, nullif($1, ''), 'stopped')`, clean(reason))
}

// Drain has one worker end, as a signal does: from a fraction of a second on it starts no download, those that are in
// flight settle, other workers have its hosts, and its run ends gracefully with a StoppedError "drained". A job whose
// last worker is drained rests. When the worker is started again it takes part again. If no worker of this name is at
// work the error is a [*MissingError].
func (j *Job) Drain(ctx context.Context, worker string) error {
	with, err := j.connectionTo(ctx, worker)
	if err != nil {
		return err
	}
	var tag pgconn.CommandTag
	err = with(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) (err error) {
		tag, err = conn.Exec(ctx, `UPDATE worker SET drained = true WHERE name = $1 AND NOT expired`, clean(worker))
		return err
	})
	if err == nil && tag.RowsAffected() == 0 {
		err = &MissingError{Job: j.server.job, Worker: worker}
	}
	return err
}

// write steers the job on the first server. Workers on the others follow that one; they are told as well, because one
// may begin before it has done so.
func (j *Job) write(ctx context.Context, sql string, args ...any) error {
	err := j.patiently(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
	for _, p := range j.others {
		if err == nil {
			_ = p.briefly(ctx, func(ctx context.Context) error { return p.execute(ctx, sql, args...) })
		}
	}
	return err
}

// patiently talks to the server when nobody else does.
func (j *Job) patiently(ctx context.Context, doing string, do func(ctx context.Context, conn *pgx.Conn) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.server.patiently(ctx, doing, do)
}
