// Package disk is a cache on a disk: a crawl that survives kill -9, and holds more requests than memory.
//
//	cache, err := disk.Open("job")
//	if err != nil {
//		return err
//	}
//	defer cache.Close()
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(cache), …)
//
// The directory is the job. Opening it again resumes: the same program, started again, goes on where the
// last one ended, however that was. A job that has finished says so and is not run again; [Fresh] starts
// over. One process has a job at a time.
//
// # How it works
//
// Everything a job knows lies in one ordered store ([Pebble]): which keys were seen, what waits in which
// queue, what is due when, how each request ended, and the counters and checkpoints of the last commit. What
// happens between two commits is gathered in memory and then written in one step, so that the store
// goes from one consistent state to the next, never by half:
//
//	Accept, Due, Return   gather       accept.go, due.go, settle.go
//	Settle                commits      settle.go, commit.go
//	Next                  reads ahead  next.go, front.go
//
// A record leaves its queue when it is settled, not when it is handed out. So the store needs no write when a download
// begins, and after a crash whatever was in flight waits again.
//
// Which requests network and user code are seeing is noted in a small file beside the store, which is mapped into memory:
// a note costs no system call, outlives the process, and need not outlive the machine. After the death of a process Begin
// hands out the requests that were noted: the engine runs them alone. See flightnotes.go and suspects.go.
//
// What a commit says of seen keys and of slots is one row at first, and many later, all at once. See journal.go.
//
// Most links of a page are known. A look-up asks a small exact table first, then a Bloom filter, whose "no" is
// certain, and the store last. See seen.go.
//
// # What it does not promise
//
// A request may be fetched again after a crash: those in flight, and those settled within the last commit window
// ([CommitEvery]). Their items are in a feed once all the same, if the feed is a tegenaria.Committer
// such as feed.JSONL.
//
// [Pebble]: https://github.com/cockroachdb/pebble
package disk
