// Package cluster keeps the queue of a crawl in a PostgreSQL database: the crawl survives kill -9, its queue may be larger than memory and
// disk of the machine it runs on, and may go on on another one.
//
//	cache, err := cluster.Open(ctx, "postgres://crawler@db/crawls", "news", cluster.Options{Worker: "one"})
//	if err != nil {
//		return err
//	}
//	defer cache.Close()
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(cache), …)
//
// One worker at a time has a job. A second one is refused with an [*InUseError], or stands by with [Options].Wait: it begins when the first
// one has ended or died. A crawl of one machine is better off with cache/disk, which needs no server.
//
// A job is a schema of the database. It can be asked while the crawl runs, and is deleted by DROP SCHEMA … CASCADE:
//
//	SELECT outcome, reason, count(*) FROM news.outcome GROUP BY 1, 2 ORDER BY 3 DESC;
//	SELECT url, reason FROM news.outcome WHERE outcome = 'failed';
//	SELECT convert_from(name, 'UTF8'), count(*) FROM news.queue JOIN news.slot ON id = slot GROUP BY 1 ORDER BY 2 DESC;
//
// # How it works
//
// What changes between two transactions is gathered in memory and written in one of them, which is one message to the server:
//
//	Accept               asks for keys that memory does not know, gathers    accept.go
//	Due, Return          gather                                              due.go, settle.go
//	Settle               writes, and returns when that is durable            settle.go, write.go
//	Next                 answers from memory, which it fills in bulk         next.go, list.go
//
// Anything is written after a second at the latest, or when 4 MiB have been gathered. A request leaves its queue when it is settled, not when
// it is handed out: after a crash the requests that were in flight wait again.
//
// A worker writes over one connection, and one goroutine at a time talks over it, so that the database does not change between a question and
// the use of its answer. Each transaction ends with the fence: it is undone unless the row of the worker says that the job is still its own, and
// that the batch is the next one. While the database is away the crawl waits for it ([Options].Patience). Then the same batch is written
// again, unless the row of the worker has its number already.
//
// # When a worker dies
//
// Over a second connection a worker beats: it changes a row of its own four times in [Options].TTL. A standby reads that row, and buries the
// worker when it has not changed over a TTL of the standby's own clock. Times in which the database did not answer do not count, so a
// database that is away, or fails over, has nobody buried; neither has a clock that is set. Whoever buries a worker ends its
// connection, so that one that stands still in the middle of a transaction holds no rows. If it goes on later its next batch is refused, and
// its run ends with a [*FencedError]. A worker whose [Cache.Close] has written everything gives the job up: a standby begins a fraction of a
// second later. A worker that is started again under its name, after its process has died, begins at once.
//
// A worker whose beats are not answered starts no download when three quarters of the TTL are over. It goes on when one is answered, as long as
// nobody has buried it. If a download is in flight when the TTL is over, the run ends with an [*Error]: set a TTL that is longer than the
// failures which a crawl should outlast. The new owner begins with the whole delay of each host that has requests.
//
// What a job has is kept whoever goes on with it: its queue, the keys it has seen, its outcomes and dead letters, its counters, and the
// loopback addresses that its seeds allow. Checkpoints belong to the name of a worker: those of its files, its cookies and whatever else its
// program stores. A worker goes on with its own, and one of another name begins its files anew. So the items of a job are those of the files of all
// its workers: each file has an item once up to its last checkpoint. What a dead worker has written after that is in another file again; it
// is cut when that worker is started again under its name, before the job is finished. robots.txt is read anew.
//
// The workers of a job connect as the same user of the database, or as users that may end each other's connections (pg_signal_backend).
//
// # What it does not promise
//
// After a crash some requests may be fetched again: those in flight, and those whose batch was not written. Their items are still in a feed
// only once, if the feed is a tegenaria.Committer such as feed.JSONL, and the worker that goes on has the same name and the same disk. The cache does not record which requests were in flight when the
// process died, so that a page that kills the process is tried again in each run.
package cluster
