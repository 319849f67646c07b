package cluster

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// CheckServer is checkServer, for servers that are not here.
var CheckServer = checkServer

// PartitionOf is partitionOf.
var PartitionOf = partitionOf

// Abandon gives a cache up as the death of its process would: nothing more is written, and the connection breaks.
func (c *Cache) Abandon() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil && c.timer.Stop() {
		c.writes.Done()
	}
	c.mu.Unlock()
	c.cancel()
	c.writes.Wait()
	c.Cut()
}

// Cut breaks the connection.
func (c *Cache) Cut() {
	c.turn <- struct{}{}
	defer c.give()
	if c.server.conn != nil {
		_ = c.server.conn.PgConn().Conn().Close()
	}
}

// Lock takes the turn, and returns what gives it back.
func (c *Cache) Lock() (give func()) {
	_ = c.take(context.Background())
	return c.give
}

// Trace has the statements of the next connection traced, which is made now.
func (c *Cache) Trace(tracer pgx.QueryTracer) {
	c.server.config.Tracer = tracer
	c.Cut()
}

// Waiting returns how many calls of Accept wait for an answer.
func (c *Cache) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.questions)
}
