// Package disk stores the queue of a crawl on disk: the crawl survives kill -9, and the queue may be larger than memory.
// (A cache in Tegenaria is this store; it is not an HTTP cache.)
//
//	cache, err := disk.Open("job")
//	if err != nil {
//		return err
//	}
//	defer cache.Close()
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(cache), …)
//
// The directory holds the job. Opening it again resumes the job: the same program, started again, continues where the
// last run ended, for whatever reason it ended. A job that has finished is not run again; [Fresh] starts
// over. Only one process can open a job at a time.
//
// # How it works
//
// The state of a job is in one ordered store ([Pebble]): the keys that were seen, the waiting requests of each
// queue, the due list, the outcome of each request, and the counters and checkpoints of the last commit. Changes
// between two commits are collected in memory and then written in one atomic step, so the store
// is always consistent:
//
//	Accept, Due, Return   gather       accept.go, due.go, settle.go
//	Settle                commits      settle.go, commit.go
//	Next                  reads ahead  next.go, front.go
//
// A record leaves its queue when it is settled, not when it is handed out. So the store needs no write when a download begins, and
// after a crash the requests that were in flight wait again.
//
// The requests in flight are recorded in a small file beside the store, which is mapped into memory:
// recording one needs no system call, and survives the death of the process, though not of the machine. After a crash Begin
// hands out these requests, and the engine runs them one at a time. See internal/flightnotes and suspects.go.
//
// The seen keys and slots of a commit are first written as one row, and later as single rows, many at once. See journal.go.
//
// Most links of a page are known. A look-up uses a small exact table first, then a Bloom filter, whose "no" is
// certain, and the store last. See seen.go.
//
// # What it does not promise
//
// After a crash some requests may be fetched again: those in flight, and those settled within the last commit window
// ([CommitEvery]). Their items are still in a feed only once, if the feed is a tegenaria.Committer such as feed.JSONL.
//
// [Pebble]: https://github.com/cockroachdb/pebble
package disk
