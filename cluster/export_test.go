package cluster

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// CheckServer is checkServer, for servers that are not here.
var CheckServer = checkServer

// PartitionOf is partitionOf by the list of this program.
var PartitionOf = builtIn.partitionOf

// Divide has a cache that has not begun divide slots by another list of public suffixes.
func (c *Cache) Divide(version string, domain func(host string) string) {
	c.suffixes = suffixes{version, domain}
	serverOf(c).suffixes = c.suffixes
}

// Abandon ends a cache as the death of its process would: nothing more is written, and the connection breaks.
func (c *Cache) Abandon() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil && c.timer.Stop() {
		c.writes.Done()
	}
	c.mu.Unlock()
	c.cancel()
	c.writes.Wait()
	c.heartbeats.Load().end()
	c.Cut()
	if c.folder != nil {
		_ = c.folder.lock.Close()
	}
}

// Freeze stops a cache in the middle of a transaction, as a machine that stands still does: its connection holds rows,
// and no heartbeat is sent.
func (c *Cache) Freeze(ctx context.Context, statements string) error {
	c.storeToken <- struct{}{}
	c.heartbeats.Load().end()
	_, err := serverOf(c).conn.Exec(ctx, "SET idle_in_transaction_session_timeout = 0; BEGIN; "+statements, pgx.QueryExecModeSimpleProtocol)
	return err
}

// Thaw lets a frozen cache go on.
func (c *Cache) Thaw() { c.releaseStore() }

// Cut breaks the connection.
func (c *Cache) Cut() {
	c.storeToken <- struct{}{}
	defer c.releaseStore()
	if serverOf(c).conn != nil {
		_ = serverOf(c).conn.PgConn().Conn().Close()
	}
}

// Lock acquires the store, and returns what releases it.
func (c *Cache) Lock() (give func()) {
	_ = c.acquireStore(context.Background())
	return c.releaseStore
}

// ReadsUntilExpired replays what another worker reads of a session with this TTL: after each pause a heartbeat, which
// takes a while to read. It returns after how many reads the session expires, 0 if it does not.
func ReadsUntilExpired(ttl time.Duration, reads []Read) int {
	var w watch
	now := time.Now()
	for i, r := range reads {
		sent := now.Add(r.Pause)
		now = sent.Add(r.Took)
		if w.observe(&session{number: 1, heartbeat: r.Heartbeat, ttl: ttl}, sent, now) {
			return i + 1
		}
	}
	return 0
}

// Read is one read of a heartbeat.
type Read struct {
	Pause, Took time.Duration
	Heartbeat   int64
}

// Trace has the statements of the next connection traced, which is made now.
func (c *Cache) Trace(tracer pgx.QueryTracer) {
	serverOf(c).config.Tracer = tracer
	c.Cut()
}

// Waiting returns how many calls of Accept wait for an answer.
func (c *Cache) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.questions)
}

// Worker returns the name of the worker.
func (c *Cache) Worker() string { return c.worker }

// serverOf returns where the job of a cache lies.
func serverOf(c *Cache) *server { return c.store.(*server) }

// Unlock releases the folder, as the system does for a process that has died.
func (c *Cache) Unlock() { _ = c.folder.lock.Close() }
