package cluster

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/tegenaria/tegenaria"
)

// wire is what the connections of a process to PostgreSQL have in common: a process that dies closes them all without a
// word.
type wire struct {
	*link
	alive context.Context // until the process dies
	die   context.CancelFunc
	conns []net.Conn // guarded by the mutex of the link
}

// dial connects, as the DialFunc of pgx.
func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, errors.Join(errors.New("the process has died"), conn.Close())
	}
	w.conns = append(w.conns, conn)
	return conn, nil
}

// cut ends everything.
func (w *wire) cut() {
	w.die()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.conns {
		_ = conn.Close()
	}
}

// ask does something with a server, until the process dies.
func ask[T any](ctx context.Context, w *wire, doing string, do func(ctx context.Context) (T, error)) (result T, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.alive, cancel)()
	err = w.through(ctx, doing, func() (err error) {
		result, err = do(ctx)
		return err
	})
	return result, err
}

// tell is ask without an answer.
func tell(ctx context.Context, w *wire, doing string, do func(ctx context.Context) error) error {
	_, err := ask(ctx, w, doing, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	return err
}

// linkedServer is the server of a worker in PostgreSQL, over its link.
type linkedServer struct {
	*server
	wire *wire
	all  *databases
}

var _ store = (*linkedServer)(nil)

func (d *linkedServer) begin(ctx context.Context, job tegenaria.Job, dead death) (l *loaded, sent time.Time, err error) {
	err = tell(ctx, d.wire, "opening", func(ctx context.Context) (err error) {
		before := d.all.stopped()
		l, sent, err = d.server.begin(ctx, job, dead)
		d.all.began(before)
		return err
	})
	return l, sent, err
}

func (d *linkedServer) heartbeatSender() heartbeatSender {
	return linkedHeartbeats{d.server.heartbeatSender(), d.wire}
}

func (d *linkedServer) endSession(ctx context.Context) error {
	return tell(ctx, d.wire, "closing", d.server.endSession)
}

func (d *linkedServer) view(ctx context.Context) (*view, error) {
	return ask(ctx, d.wire, "reading", d.server.view)
}

func (d *linkedServer) counts(ctx context.Context) (tegenaria.JobCounts, error) {
	return ask(ctx, d.wire, "reading", d.server.counts)
}

func (d *linkedServer) expire(ctx context.Context, o *session) error {
	return tell(ctx, d.wire, "reading", func(ctx context.Context) error { return d.server.expire(ctx, o) })
}

func (d *linkedServer) rebalance(ctx context.Context) (*view, error) {
	return ask(ctx, d.wire, "writing", d.server.rebalance)
}

func (d *linkedServer) takePartitions(ctx context.Context, has []int) (*loaded, error) {
	return ask(ctx, d.wire, "reading", func(ctx context.Context) (*loaded, error) { return d.server.takePartitions(ctx, has) })
}

func (d *linkedServer) finished(ctx context.Context, told bool) (over bool, read int64, err error) {
	err = tell(ctx, d.wire, "reading", func(ctx context.Context) (err error) {
		over, read, err = d.server.finished(ctx, told)
		return err
	})
	return over, read, err
}

func (d *linkedServer) reservePages(ctx context.Context, limit, had, total int64, holds bool) (reserved int64, over bool, err error) {
	err = tell(ctx, d.wire, "writing", func(ctx context.Context) (err error) {
		reserved, over, err = d.server.reservePages(ctx, limit, had, total, holds)
		return err
	})
	return reserved, over, err
}

func (d *linkedServer) requestLease(ctx context.Context, t *hostLease) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.requestLease(ctx, t) })
}

func (d *linkedServer) grantLease(ctx context.Context, id int64) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.grantLease(ctx, id) })
}

func (d *linkedServer) endLease(ctx context.Context, id int64) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.endLease(ctx, id) })
}

func (d *linkedServer) lookUp(ctx context.Context, keys [][]byte) (map[tegenaria.Key]int, error) {
	return ask(ctx, d.wire, "reading", func(ctx context.Context) (map[tegenaria.Key]int, error) { return d.server.lookUp(ctx, keys) })
}

func (d *linkedServer) read(ctx context.Context, from order, id int64, most, bytes int, partitions []int) (rows, error) {
	return ask(ctx, d.wire, "reading", func(ctx context.Context) (rows, error) { return d.server.read(ctx, from, id, most, bytes, partitions) })
}

func (d *linkedServer) messages(ctx context.Context, partitions []int) ([]message, error) {
	return ask(ctx, d.wire, "reading", func(ctx context.Context) ([]message, error) { return d.server.messages(ctx, partitions) })
}

func (d *linkedServer) nextOutboxBatch(ctx context.Context, to int) (*outboxBatch, error) {
	return ask(ctx, d.wire, "writing", func(ctx context.Context) (*outboxBatch, error) { return d.server.nextOutboxBatch(ctx, to) })
}

func (d *linkedServer) confirmOutboxBatch(ctx context.Context, p *outboxBatch) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.confirmOutboxBatch(ctx, p) })
}

func (d *linkedServer) moveTo(ctx context.Context, to int) (bool, error) {
	return ask(ctx, d.wire, "writing", func(ctx context.Context) (bool, error) { return d.server.moveTo(ctx, to) })
}

func (d *linkedServer) status(ctx context.Context) (*serverStatus, error) {
	return ask(ctx, d.wire, "reading", d.server.status)
}

func (d *linkedServer) follow(ctx context.Context, server int, s *serverStatus) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.follow(ctx, server, s) })
}

func (d *linkedServer) conclude(ctx context.Context, read int64, stopped string) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.conclude(ctx, read, stopped) })
}

func (d *linkedServer) write(ctx context.Context, b *batch) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.write(ctx, b) })
}

// linkedHeartbeats sends the heartbeats of a worker over its link.
type linkedHeartbeats struct {
	heartbeatSender
	wire *wire
}

func (p linkedHeartbeats) send(ctx context.Context) error {
	return tell(ctx, p.wire, "keeping", p.heartbeatSender.send)
}

// linkedPeer is another server in PostgreSQL, over the link of a worker.
type linkedPeer struct {
	*peer
	wire *wire
}

var _ remoteServer = linkedPeer{}

func (d linkedPeer) receive(ctx context.Context, p *outboxBatch) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.peer.receive(ctx, p) })
}

func (d linkedPeer) status(ctx context.Context) (*serverStatus, error) {
	return ask(ctx, d.wire, "reading", d.peer.status)
}

func (d linkedPeer) counts(ctx context.Context) (tegenaria.JobCounts, error) {
	return ask(ctx, d.wire, "reading", d.peer.counts)
}

func (d linkedPeer) expire(ctx context.Context, o *session) error {
	return tell(ctx, d.wire, "reading", func(ctx context.Context) error { return d.peer.expire(ctx, o) })
}

func (d linkedPeer) stop(ctx context.Context, reason string) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.peer.stop(ctx, reason) })
}

func (d linkedPeer) requestLease(ctx context.Context, t *hostLease) (granted, attended bool, err error) {
	err = tell(ctx, d.wire, "writing", func(ctx context.Context) (err error) {
		granted, attended, err = d.peer.requestLease(ctx, t)
		return err
	})
	return granted, attended, err
}

func (d linkedPeer) endLease(ctx context.Context, id int64) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.peer.endLease(ctx, id) })
}

func (d linkedPeer) report(ctx context.Context, from int, r *serverReport) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.peer.report(ctx, from, r) })
}
