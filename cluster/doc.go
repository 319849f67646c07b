// Package cluster keeps the queue of a crawl in a PostgreSQL database. Several programs, the workers of a job, crawl together: each has hosts of
// its own, nothing is lost by kill -9, and no host is asked by two of them at the same time.
//
//	cache, err := cluster.Open(ctx, "postgres://crawler@db/crawls", "news", cluster.Options{Worker: "one"})
//	if err != nil {
//		return err
//	}
//	defer cache.Close()
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(cache), …)
//
// The same program, started on another machine with another name of the worker, joins in. Workers may come and go at any time. [Run] begins anew
// where a run was ended by the database. A crawl of one machine is better off with cache/disk, which needs no server.
//
// A job is a schema of the database. It can be asked while the crawl runs, and is deleted by DROP SCHEMA … CASCADE:
//
//	SELECT outcome, reason, count(*) FROM news.outcome GROUP BY 1, 2 ORDER BY 3 DESC;
//	SELECT url, reason FROM news.outcome WHERE outcome = 'failed';
//	SELECT convert_from(name, 'UTF8'), count(*) FROM news.queue JOIN news.slot ON id = slot GROUP BY 1 ORDER BY 2 DESC;
//
// # Who asks which host
//
// The slots of a job are divided into partitions, by the registrable domain of their host; which that is depends on the version of the list of public
// suffixes, so that a job has one, and the first worker with another one moves the slots (suffixes.go). A partition has one owner: its queue, its delays,
// its robots.txt and its page budgets are that worker's alone, so that no rate is shared between machines. All workers come to the same
// division, which moves as few partitions as possible when one joins or ends. A worker that has to give a partition away takes nothing from its
// queues any more, and gives it away when what was in flight has ended (share.go, partition.go). One that takes partitions over takes a few at a time,
// about 1,000 slots or one partition in each transaction, so that it crawls the first hosts of a large job while it takes the others. A link to a host whose
// partition has not been taken yet waits in its inbox (load.go).
//
// A link to a host of another worker is put into the inbox of its partition, in the transaction that settles the page. The owner decides whether
// it is new and counts it (inbox.go): the counts of all workers together are those of the job.
//
// A request of Fetch to a host of another worker waits for a turn: its owner holds the host's slot for it until the request is over (turn.go).
//
// StartRequest is called by the owner of partition 0. The job is finished when no request waits, is delayed, in an inbox or in flight: one
// statement sees that, because a request leaves its queue when it is settled.
//
// # What ends the job
//
// CloseSpider ends the job, and so does a limit: the reason is stored, the other workers see it a fraction of a second later, and each run
// ends gracefully with a StoppedError of that reason. Limits.Pages is of the job: workers draw pages in blocks before they begin them, so that it
// is never exceeded; what a dead worker had drawn is lost (draw.go). So is Limits.Pending: seeds wait while so many requests wait in all queues and
// inboxes, which the fence of each transaction counts (write.go). Items, Errors, Bytes and Time are counted by every worker for itself, and the
// first to reach one ends the job. A signal, Stop and the end of a context end one worker alone. A job that was stopped goes on
// when its workers begin again. One that begins while another of them has not ended yet is stopped too.
//
// [Dial] gives a job to a program that is none of its workers: it says how the job is doing, pauses, resumes and stops
// it, and drains a worker, so that its machine can be switched off.
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
// Over a second connection a worker beats: it changes a row of its own four times in [Options].TTL. The others read that row, and bury the
// worker when it has not changed over a TTL of their own clocks. Times in which the database did not answer do not count, so a
// database that is away, or fails over, has nobody buried; neither has a clock that is set. Whoever buries a worker ends its
// connection, so that one that stands still in the middle of a transaction holds no rows. If it goes on later its next batch is refused, and
// its run ends with a [*FencedError]. A worker whose [Cache.Close] has written everything gives its partitions up: others have them a fraction
// of a second later. A worker that is started again under its name, after its process has died, begins at once.
// With [Options].Dir that holds however it has died, because the lock of that folder proves it; otherwise a worker whose connection the database
// still has waits until its own earlier session has been silent for the TTL.
//
// The folder also says which requests were in flight (internal/flightnotes). When the worker starts again it stores a death for each of them.
// Whoever owns such a request from then on runs it alone, and gives it up after three deaths (flights.go).
//
// A worker whose beats are not answered starts no download when three quarters of the TTL are over. It goes on when one is answered, as long as
// nobody has buried it. If a download is in flight when the TTL is over, the run ends with an [*Error]: set a TTL that is longer than the
// failures which a crawl should outlast. A new owner begins with the whole delay of each host.
//
// Checkpoints belong to the name of a worker: those of its files, its cookies and whatever else its program stores. A worker goes on with its
// own, and one of another name begins its files anew. So the items of a job are those of the files of all its workers: each file has an item
// once up to its last checkpoint. What a dead worker has written after that is in another file again; it
// is cut when that worker is started again under its name, also after the end of the job, or by [Trim]. A worker that begins after the end completes its
// files unless it has done so before: then it touches none of them, whatever has become of them since. robots.txt is read anew by a new owner.
//
// # Several servers
//
// A job may lie on several servers: give their addresses one after the other, as URLs, separated by commas. Each has the same tables, and a part of the
// partitions; a worker has its home on one of them, chosen when it begins for the first time, and all its partitions lie there (home.go). What was said of
// a job above holds for each server and its workers. Beyond that the oldest worker of a server connects it with the others (abroad.go):
//
//   - A link to a host on another server goes into the outbox of the own one, in the transaction that settles its page, and is carried from there to the
//     inbox of the other, once. No page waits for another server to be settled. While one is away the others go on.
//   - The first server is where a job is steered: the others follow it. It finds out that nothing is left to do, by reading all of them twice.
//   - Workers bury those of other servers too. One goes to a server on which nobody has worked for a TTL, if its own can spare it: its run ends with
//     StoppedError{"moved to another server"}, and the next one begins there; [Run] does that.
//
// # Where items go
//
// A feed such as feed.JSONL writes a file for each worker, on its machine: what lay on a lost disk is lost. [Items] stores items in the job, in the
// transaction that settles their page, and outlives every worker; [Collect] writes those of all workers to one file. It costs the database as much
// again as the pages do. Package feed/postgres writes to a table of another form, and outlives the workers too.
//
// The workers of a job connect as the same user of the database, or as users that may end each other's connections (pg_signal_backend).
//
// # What it does not promise
//
//   - After a crash some requests may be fetched again: those in flight, and those whose batch was not written. Their items are still in a feed
//     only once, if the feed is a tegenaria.Committer such as feed.JSONL and the worker is started again under its name, on the same disk.
//   - Without [Options].Dir nobody records which requests were in flight when the process died, so that a page that kills the process is tried
//     again and again. With it each death is counted when the worker that died starts again.
//   - Each worker counts its limits but Pages and Pending for itself, and has an even part of PerIP and PerProxy, but at least 1:
//     with more workers than PerIP, as many requests may be in flight at one address as there are workers. What is in flight when a worker joins goes on.
//   - A request of Fetch is sent by the worker whose callback waits for it, when the owner of the host has given it the turn, which takes up to a
//     fifth of a second. It obeys the robots.txt that its own worker has read. With PerSlot above 1 the owner's next request may follow it
//     sooner than the delay, by the time that the turn takes.
//   - One URL in two slots (RequestWithSlot) may be fetched twice, if two owners accept it at the same time, or if they lie on two servers.
//   - With several servers each has its part of Limits.Pages, and what one does not need is not used by the others. Start as many workers as there are
//     servers at least: with fewer they go from one to the other, and a run in which a callback waits for a host where nobody is ends with an [*AloneError].
//   - A request whose code was given up runs again, by whichever worker has its host then.
package cluster
