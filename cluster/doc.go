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
// One worker at a time can have a job: a second one is refused with an [*InUseError]. A crawl of one machine is better off with cache/disk,
// which needs no server.
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
// A worker has one connection, and one goroutine at a time talks over it, so that the database does not change between a question and the
// use of its answer. The connection holds an advisory lock, and each transaction ends with the fence: it is undone unless the row of the
// worker says that the job is still its own, and that the batch is the next one. While the database is away the crawl waits for it
// ([Options].Patience). Then the same batch is written again, unless the row of the worker has its number already.
//
// # What it does not promise
//
// After a crash some requests may be fetched again: those in flight, and those whose batch was not written. Their items are still in a feed
// only once, if the feed is a tegenaria.Committer such as feed.JSONL. The cache does not record which requests were in flight when the
// process died, so that a page that kills the process is tried again in each run.
package cluster
