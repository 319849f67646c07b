package cluster

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/tegenaria/tegenaria"
)

// wire is what the connections of a process to PostgreSQL have in common: a process that dies closes them all without a word.
type wire struct {
	*way
	alive context.Context // until the process dies
	die   context.CancelFunc
	conns []net.Conn // guarded by the mutex of the way
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

// serverDoor is the way of a worker to its server in PostgreSQL.
type serverDoor struct {
	*server
	wire *wire
	all  *databases
}

var _ store = (*serverDoor)(nil)

func (d *serverDoor) begin(ctx context.Context, job tegenaria.Job, dead death) (l *loaded, sent time.Time, err error) {
	err = tell(ctx, d.wire, "opening", func(ctx context.Context) (err error) {
		before := d.all.stopped()
		l, sent, err = d.server.begin(ctx, job, dead)
		d.all.began(before)
		return err
	})
	return l, sent, err
}

func (d *serverDoor) pulse() pulse { return pulseDoor{d.server.pulse(), d.wire} }

func (d *serverDoor) giveUp(ctx context.Context) error {
	return tell(ctx, d.wire, "closing", d.server.giveUp)
}

func (d *serverDoor) view(ctx context.Context) (*view, error) {
	return ask(ctx, d.wire, "reading", d.server.view)
}

func (d *serverDoor) counts(ctx context.Context) (tegenaria.JobCounts, error) {
	return ask(ctx, d.wire, "reading", d.server.counts)
}

func (d *serverDoor) bury(ctx context.Context, o *session) error {
	return tell(ctx, d.wire, "reading", func(ctx context.Context) error { return d.server.bury(ctx, o) })
}

func (d *serverDoor) assign(ctx context.Context) (*view, error) {
	return ask(ctx, d.wire, "writing", d.server.assign)
}

func (d *serverDoor) gain(ctx context.Context, has []int) (*loaded, error) {
	return ask(ctx, d.wire, "reading", func(ctx context.Context) (*loaded, error) { return d.server.gain(ctx, has) })
}

func (d *serverDoor) finished(ctx context.Context, told bool) (over bool, read int64, err error) {
	err = tell(ctx, d.wire, "reading", func(ctx context.Context) (err error) {
		over, read, err = d.server.finished(ctx, told)
		return err
	})
	return over, read, err
}

func (d *serverDoor) draw(ctx context.Context, limit, had, total int64, holds bool) (drawn int64, over bool, err error) {
	err = tell(ctx, d.wire, "writing", func(ctx context.Context) (err error) {
		drawn, over, err = d.server.draw(ctx, limit, had, total, holds)
		return err
	})
	return drawn, over, err
}

func (d *serverDoor) askTurn(ctx context.Context, t *turn) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.askTurn(ctx, t) })
}

func (d *serverDoor) grantTurn(ctx context.Context, id int64) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.grantTurn(ctx, id) })
}

func (d *serverDoor) endTurn(ctx context.Context, id int64) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.endTurn(ctx, id) })
}

func (d *serverDoor) look(ctx context.Context, keys [][]byte) (map[tegenaria.Key]int, error) {
	return ask(ctx, d.wire, "reading", func(ctx context.Context) (map[tegenaria.Key]int, error) { return d.server.look(ctx, keys) })
}

func (d *serverDoor) read(ctx context.Context, from order, id int64, most, bytes int, partitions []int) (rows, error) {
	return ask(ctx, d.wire, "reading", func(ctx context.Context) (rows, error) { return d.server.read(ctx, from, id, most, bytes, partitions) })
}

func (d *serverDoor) letters(ctx context.Context, partitions []int) ([]letter, error) {
	return ask(ctx, d.wire, "reading", func(ctx context.Context) ([]letter, error) { return d.server.letters(ctx, partitions) })
}

func (d *serverDoor) pack(ctx context.Context, to int) (*parcel, error) {
	return ask(ctx, d.wire, "writing", func(ctx context.Context) (*parcel, error) { return d.server.pack(ctx, to) })
}

func (d *serverDoor) arrived(ctx context.Context, p *parcel) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.arrived(ctx, p) })
}

func (d *serverDoor) moveTo(ctx context.Context, to int) (bool, error) {
	return ask(ctx, d.wire, "writing", func(ctx context.Context) (bool, error) { return d.server.moveTo(ctx, to) })
}

func (d *serverDoor) stand(ctx context.Context) (*stand, error) {
	return ask(ctx, d.wire, "reading", d.server.stand)
}

func (d *serverDoor) follow(ctx context.Context, server int, s *stand) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.follow(ctx, server, s) })
}

func (d *serverDoor) conclude(ctx context.Context, read int64, stopped string) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.conclude(ctx, read, stopped) })
}

func (d *serverDoor) write(ctx context.Context, b *batch) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.server.write(ctx, b) })
}

// pulseDoor is the way on which a worker beats.
type pulseDoor struct {
	pulse
	wire *wire
}

func (p pulseDoor) beat(ctx context.Context) error { return tell(ctx, p.wire, "keeping", p.pulse.beat) }

// peerDoor is the way of a worker to another server in PostgreSQL.
type peerDoor struct {
	*peer
	wire *wire
}

var _ abroad = peerDoor{}

func (d peerDoor) receive(ctx context.Context, p *parcel) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.peer.receive(ctx, p) })
}

func (d peerDoor) stand(ctx context.Context) (*stand, error) {
	return ask(ctx, d.wire, "reading", d.peer.stand)
}

func (d peerDoor) counts(ctx context.Context) (tegenaria.JobCounts, error) {
	return ask(ctx, d.wire, "reading", d.peer.counts)
}

func (d peerDoor) bury(ctx context.Context, o *session) error {
	return tell(ctx, d.wire, "reading", func(ctx context.Context) error { return d.peer.bury(ctx, o) })
}

func (d peerDoor) stop(ctx context.Context, reason string) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.peer.stop(ctx, reason) })
}

func (d peerDoor) askTurn(ctx context.Context, t *turn) (granted, attended bool, err error) {
	err = tell(ctx, d.wire, "writing", func(ctx context.Context) (err error) {
		granted, attended, err = d.peer.askTurn(ctx, t)
		return err
	})
	return granted, attended, err
}

func (d peerDoor) endTurn(ctx context.Context, id int64) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.peer.endTurn(ctx, id) })
}

func (d peerDoor) tell(ctx context.Context, from int, r *roll) error {
	return tell(ctx, d.wire, "writing", func(ctx context.Context) error { return d.peer.tell(ctx, from, r) })
}
