package cluster

import (
	"context"
	"time"

	"github.com/tegenaria/tegenaria"
)

// member is a worker in a job.
type member struct {
	job     string
	worker  string
	ttl     time.Duration
	session int64 // 0 before Begin; changed by whoever holds the store
}

// store is where a job is stored: server is one in PostgreSQL. Whoever holds the store calls its methods, except
// prepare. Each does all that it says or nothing, waits while the store is away, and says so with an [*Error] when it
// has waited long enough. A [*FencedError] says that the session is expired.
type store interface {
	// begin begins a session, and takes partitions as takePartitions does. It waits while another process has the name
	// of the worker. sent is when the session began, at the latest. It stores which requests were in flight at a death.
	begin(ctx context.Context, job tegenaria.Job, d death) (l *loaded, sent time.Time, err error)
	// heartbeatSender returns what sends the heartbeats of the session.
	heartbeatSender() heartbeatSender
	// endSession ends the session: others may take its partitions at once.
	endSession(ctx context.Context) error
	close(ctx context.Context) error

	// view reads how the job is doing.
	view(ctx context.Context) (*view, error)
	// expire ends another session, unless a heartbeat has come since it was read.
	expire(ctx context.Context, o *session) error
	// rebalance assigns each partition to a session, and returns how the job is doing then.
	rebalance(ctx context.Context) (*view, error)
	// takePartitions takes some of the partitions that are assigned to the session and have no owner, those with the
	// smallest numbers: at least one if there is any, and more only as long as they have few slots. The cache has some
	// already; one that it does not know to have was taken by a call that got no answer, and is taken again.
	takePartitions(ctx context.Context, has []int) (*loaded, error)
	// counts returns what the workers of the server have done, and what waits there.
	counts(ctx context.Context) (tegenaria.JobCounts, error)
	// finished reports whether nothing of the job is left to do, unless it is told so, and how many pages its runs have
	// read.
	finished(ctx context.Context, told bool) (over bool, read int64, err error)

	// reservePages changes how many pages of the limit the session has reserved from had to total, or to as many as the
	// others leave. holds says that some of them are not begun or are in flight; that is stored, and also when it gets
	// more than it had. It returns how many are reserved, and whether the limit is reached and no worker holds a page.
	reservePages(ctx context.Context, limit, had, total int64, holds bool) (reserved int64, over bool, err error)

	// requestLease, grantLease and endLease store a host lease, that this session has granted it, and that it has
	// ended. They may be called twice.
	requestLease(ctx context.Context, t *hostLease) error
	grantLease(ctx context.Context, id int64) error
	endLease(ctx context.Context, id int64) error

	// lookUp returns which of these keys were accepted before, and at which depth.
	lookUp(ctx context.Context, keys [][]byte) (map[tegenaria.Key]int, error)
	// read returns requests of a slot, or those that are delayed if id is 0, from a place on: at most so many of them,
	// and about so many bytes.
	read(ctx context.Context, from order, id int64, most, bytes int, partitions []int) (rows, error)
	// messages returns messages to some partitions, those that were written first.
	messages(ctx context.Context, partitions []int) ([]message, error)
	// deadLetters returns requests that have failed, with a larger number than after.
	deadLetters(ctx context.Context, after int64) ([]tegenaria.Settled, error)

	// nextOutboxBatch returns the next messages for another server, nil if there are none: the same ones until
	// confirmOutboxBatch says that they have arrived.
	nextOutboxBatch(ctx context.Context, to int) (*outboxBatch, error)
	confirmOutboxBatch(ctx context.Context, p *outboxBatch) error
	// moveTo has the worker begin its next run on another server, unless somebody has moved there just now. It reports
	// whether it has done that. It is called without the store if the first server, which notes it, is another one.
	moveTo(ctx context.Context, to int) (moved bool, err error)
	// status reads how the job is doing on this server.
	status(ctx context.Context) (*serverStatus, error)
	// follow stores what another server says: how many workers there are, and the first one how the job is doing.
	follow(ctx context.Context, server int, s *serverStatus) error
	// conclude stores on the first server that nothing is left to do, after so many pages, or that the job was stopped.
	conclude(ctx context.Context, read int64, stopped string) error

	// prepare is called before write, with the mutex of the cache held: it copies from a batch what other goroutines
	// may change.
	prepare(b *batch)
	// write writes a batch, once: it may be called again after an error.
	write(ctx context.Context, b *batch) error
}

// heartbeatSender sends the heartbeats of a session. One goroutine calls it.
type heartbeatSender interface {
	send(ctx context.Context) error
	close()
}

var _ store = (*server)(nil)
