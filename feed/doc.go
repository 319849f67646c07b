// Package feed writes items to files, each item once.
//
//	engine := tegenaria.NewSpiderEngine(
//		tegenaria.EngineWithCache(cache), // of disk.Open: then kill -9 repeats and loses nothing
//		tegenaria.EngineWithPipelines(feed.JSONL("items.jsonl")))
//
// A feed holds the items of a request back until the engine settles that request. Then it appends the items of a whole
// batch of requests, syncs the file, and reports its length to the engine; the cache stores that length in the same
// step that marks the requests as done. After a crash the file is cut to the stored length: lines after it
// belong to requests that will be fetched again.
//
// So with a durable cache a file has each item exactly once. Standard output, pipes and other writers cannot be cut, so
// they get each item at least once: after a crash, some lines may come again. [Feed.ExactlyOnce] reports which it is.
package feed
