// Package cluster keeps the queue of a crawl in a PostgreSQL database. Several programs, the workers of a job, crawl it
// together: each owns some of the hosts, no host is asked by two workers at a time, and nothing is lost by kill -9.
//
//	cache, err := cluster.Open(ctx, "postgres://crawler@db/crawls", "news", cluster.Options{Worker: "one"})
//	if err != nil {
//		return err
//	}
//	defer cache.Close()
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(cache), …)
//
// The same program joins from another machine under another worker name. [Run] begins anew when the database ended a
// run. [Dial] observes and steers a job from outside. A job is a schema of the database, which SQL can query; DROP
// SCHEMA … CASCADE deletes it. The guide docs/guides/cluster.md says how to use it, docs/scale.md how large a job can be.
//
// # Hosts have one owner
//
// Hosts are divided into partitions by their registrable domain, and each partition is owned by one worker. The owner
// keeps queue, delays, page budgets and robots.txt of its hosts. When workers join or end, all of them compute the same
// new assignment, which moves as few partitions as possible (rebalance, membership.go). A partition changes its owner
// once nothing of it is in flight.
//
// A link to a host of another worker becomes a message in the inbox of its partition, in the transaction that settles
// the page; the owner decides whether the URL is new (inbox.go). A Fetch to such a host first gets a host lease: the
// owner holds the slot until the request is over (hostlease.go). The job is finished when one statement sees no request
// in any queue or inbox: a request leaves its queue when it is settled, not when it is handed out.
//
// # Transactions
//
// Changes are gathered in memory and written as a batch: when Settle asks for it, after a second, or from 4 MiB on. A
// batch is one transaction and one round trip. Its last statement, the fence, undoes it unless the worker's session has
// not expired and the batch is the next one of that session. While the database is away the crawl waits
// ([Options].Patience), and writes the same batch again unless the database already has it (write.go).
//
// # Heartbeats
//
// A worker sends four heartbeats in a TTL, over a second connection (heartbeat.go). The others expire its session when
// they have seen none for a TTL by their own clocks; time in which the database did not answer does not count. An
// expired session can write nothing more: its run ends with a [*FencedError]. A worker whose heartbeats are not
// acknowledged starts no download after three quarters of the TTL.
//
// With [Options].Dir a worker that died starts again at once, and each request that was in flight counts a crash; after
// three crashes it is given up. Checkpoints belong to the name of a worker: one that starts again under its name cuts
// its files to what it has settled. [Trim] does that for a worker that does not come back. [Items] stores items in the
// database, and [Collect] writes those of all workers to one file.
//
// # Limits
//
// Limits.Pages and Limits.Pending count for the whole job. Workers reserve pages of the limit in blocks; a worker that
// dies loses its block (reservepages.go). Each worker counts the other limits for itself. A limit or CloseSpider stops
// all workers, a signal only one. A stopped job goes on when its workers begin again, once all of them have ended.
//
// # Several servers
//
// A job may be stored on several servers, whose URLs are separated by commas. Each stores some of the partitions, and a
// worker works on one of them (ownserver.go). A message to another server is stored in the outbox; the oldest worker
// carries outbox batches to the other server, each once (remote.go). The first server steers the job. A server
// without workers gets one from a server that can spare it.
//
// # What it does not promise
//
//   - Requests in flight or not yet settled at a crash are fetched again. Their items are in a feed once if the feed is
//     a tegenaria.Committer and its worker starts again with the same name and disk.
//   - Without [Options].Dir nobody counts crashes: a page that kills its process is tried again and again.
//   - A request whose callback was given up runs again, at the worker that owns its host then.
//   - With more workers than PerIP or PerProxy, each still has one request in flight at an address.
//   - A Fetch to a host of another worker obeys the robots.txt that its own worker has read. With PerSlot above 1 the
//     owner's next request may follow sooner than the delay, by the fifth of a second that a lease can take.
//   - A URL that two owners accept in two slots (RequestWithSlot) may be fetched twice.
//   - Each server has an equal part of Limits.Pages; what one does not need the others do not get. A job needs as many
//     workers as servers: with fewer, a Fetch to a server without workers ends the run with an [*AloneError].
package cluster
