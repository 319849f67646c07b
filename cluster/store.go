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
	session int64 // 0 before Begin; changed by whoever has the turn
}

// store is where a job lies: server is one in PostgreSQL. Whoever has the turn calls its methods, but prepare. Each does all that it says or
// nothing, waits while the store is away, and says so with an [*Error] when it has waited long enough. A [*FencedError] says that the
// session is buried.
type store interface {
	// begin begins a session, and takes partitions as gain does. It waits while another process has the name of the worker.
	// sent is when the session began, at the latest. It stores which requests were in flight at a death.
	begin(ctx context.Context, job tegenaria.Job, d death) (l *loaded, sent time.Time, err error)
	// pulse returns what beats for the session.
	pulse() pulse
	// giveUp ends the session: others may have its partitions at once.
	giveUp(ctx context.Context) error
	close(ctx context.Context) error

	// view reads how the job is doing.
	view(ctx context.Context) (*view, error)
	// bury ends another session, unless it has beaten since it was read.
	bury(ctx context.Context, o *session) error
	// assign has each partition wanted by the session that is to have it, and returns what there is then.
	assign(ctx context.Context) (*view, error)
	// gain takes some of the partitions that the session is to have and that nobody has, those with the smallest numbers: at least one if there is
	// any, and more only as long as they have few slots. The cache has some already; one that it does not know to
	// have was taken by a call that got no answer, and is taken again.
	gain(ctx context.Context, has []int) (*loaded, error)
	// counts returns what the workers of the server have done, and what waits there.
	counts(ctx context.Context) (tegenaria.JobCounts, error)
	// finished reports whether nothing of the job is left to do, unless it is told so, and how many pages its runs have read.
	finished(ctx context.Context, told bool) (over bool, read int64, err error)

	// draw has the session have drawn so many of the pages that the job may begin, instead of had, as far as others leave so many. It notes
	// whether it has some that it has not begun or that are in flight: holds, or more than it had. It returns how many it has drawn, and
	// whether the limit is reached and nobody has any.
	draw(ctx context.Context, limit, had, total int64, holds bool) (drawn int64, over bool, err error)

	// askTurn, grantTurn and endTurn store a turn, that this session has granted it, and that it is over. They may be called twice.
	askTurn(ctx context.Context, t *turn) error
	grantTurn(ctx context.Context, id int64) error
	endTurn(ctx context.Context, id int64) error

	// look returns which of these keys were accepted before, and at which depth.
	look(ctx context.Context, keys [][]byte) (map[tegenaria.Key]int, error)
	// read returns requests of a slot, or those that are delayed if id is 0, from a place on: at most so many of them, and about so many bytes.
	read(ctx context.Context, from order, id int64, most, bytes int, partitions []int) (rows, error)
	// letters returns letters to some partitions, those that were written first.
	letters(ctx context.Context, partitions []int) ([]letter, error)
	// deadLetters returns requests that have failed, with a larger number than after.
	deadLetters(ctx context.Context, after int64) ([]tegenaria.Settled, error)

	// pack returns the next letters for another server, nil if there are none: the same ones until it is said that they have arrived.
	pack(ctx context.Context, to int) (*parcel, error)
	arrived(ctx context.Context, p *parcel) error
	// moveTo has the worker begin its next run on another server, unless somebody has moved there just now. It reports whether it has done that. It is
	// called without the turn if the first server, which notes it, is another one.
	moveTo(ctx context.Context, to int) (moved bool, err error)
	// stand reads how the job is doing on this server.
	stand(ctx context.Context) (*stand, error)
	// follow stores what another server says: how many workers there are, and the first one how the job is doing.
	follow(ctx context.Context, server int, s *stand) error
	// conclude stores on the first server that nothing is left to do, after so many pages, or that the job was stopped.
	conclude(ctx context.Context, read int64, stopped string) error

	// prepare is called before write, with the mutex of the cache held: it copies from a batch what other goroutines may change.
	prepare(b *batch)
	// write writes a batch, once: it may be called again after an error.
	write(ctx context.Context, b *batch) error
}

// pulse beats for a session. One goroutine calls it.
type pulse interface {
	beat(ctx context.Context) error
	close()
}

var _ store = (*server)(nil)
