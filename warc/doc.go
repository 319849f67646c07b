// Package warc records crawls in web archives (WARC 1.1, ISO 28500), reads archives, and replays them without a network.
//
//	Create → a crawl is recorded → Open → it is replayed
//	files → Index (CDXJ), Pack (WACZ) → Open, Verify
//
// # Recording
//
//	archive, err := warc.Create("archive/{spider}-{start}-{part}.warc.gz", warc.Options{})
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithDownloaderLayers(archive.Layer))
//
// For each exchange there is a request record, a response record, and a metadata record: its outcome, the depth, and the page that it was
// redirected or linked from, as far as the request says that. An exchange that failed has a metadata record alone. A body that was written
// before in the run is not written again: a revisit record refers to it. The header of the request is as it was sent, with cookies
// and credentials, so an archive is as secret as these; Proxy-Authorization is left out. Bodies are as they came, content coding kept,
// transfer coding removed; the header fields are sorted by name, since their order is not known, and the status line says HTTP/1.1 whatever
// the protocol was, which WARC-Protocol names.
//
// # Exactly once
//
// The records of an exchange wait until its request is settled: those of robots.txt and of what a page fetches with the page. In a job
// that survives a crash each settled request has its records once:
//
//  1. records are packed when the response has come, and wait: in memory, and in a temporary file beyond Options.Memory;
//  2. when a batch of requests is settled, their records are appended to the file, which is synced; the checkpoint, which the cache stores in
//     the same step as the requests, has its name, its size, and a checksum of its end;
//  3. a file of Options.Size is sealed: the checkpoint says so, and the next batch, before which that checkpoint was stored, gives it its name. Until
//     then it is called .open;
//  4. after a crash the file is cut to the size of the checkpoint, and files that no checkpoint knows are removed: their names follow from the
//     job's start and the number of the file. A record is a gzip member or zstd frame of its own, so nothing is left of one that is cut off.
//
// The last file gets its name when the job is complete. In a run with a memory cache, which cannot be resumed, that is
// at the end of the run, and nothing is synced before.
//
// Not covered: bodies that were written before a crash are not known again after it, so that they are written once more
// as a response; attempts of requests that ran when the process was killed are not kept, whatever Options.Attempts
// says; a robots.txt that was asked for is written with the next batch, and asked for again if a crash comes before
// that.
//
// What grows with a crawl, beside the files: nothing. Options.Revisits and Options.Memory bound the rest.
package warc
