// Package feed writes items to files, each item once.
//
//	engine := tegenaria.NewSpiderEngine(
//		tegenaria.EngineWithCache(cache), // of disk.Open: then kill -9 repeats and loses nothing
//		tegenaria.EngineWithPipelines(feed.JSONL("items.jsonl")))
//
// A feed keeps the items of a request until the engine settles that request. Then it appends the items of a whole
// batch of requests, syncs the file, and tells the engine how long it is now; the cache stores that length in the very
// step that marks the requests as done. After a crash the file is cut to the stored length: what was appended
// after that belongs to requests that will be fetched again.
//
// So a file is exactly once with a durable cache. What cannot be cut, standard output, a pipe, any io.Writer, is at
// least once: after a crash, lines that were written may come again. [Feed.ExactlyOnce] tells the two apart.
package feed
