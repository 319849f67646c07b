// Package parquet writes items to Parquet files, each item once.
//
//	engine := tegenaria.NewSpiderEngine(
//		tegenaria.EngineWithCache(cache), // of disk.Open: then kill -9 repeats and loses nothing
//		tegenaria.EngineWithPipelines(parquet.New[Book]("lake/books-{part}.parquet")))
//
// A column stands for a field of the struct, under the names and in the order of encoding/json. Numbers, booleans and texts are stored as
// such, times as timestamps in UTC with microseconds, lists, maps and nested structs as those of Parquet, interfaces and what writes its
// own JSON as JSON. A pointer, a list, a map and a field with omitempty or omitzero may be null. The tag parquet:"decimal(2:10)" makes a
// decimal with 2 digits behind the point, 10 in all, of a number or its text; parquet:"timestamp(nanosecond)" sets the unit of a time.
// Texts that are not UTF-8 are mended as in JSON.
//
// # What is stored before what
//
// A Parquet file ends with a table of what is in it, so nothing can be appended to one that is finished. Rows therefore go to a spool
// first, and a file is built of a whole spool, called a part:
//
//	ProcessItem → staged → Prepare → spool → full → built → read back → renamed → spool removed
//
// There are two spools, used in turn. Each step is durable before the next begins:
//
//  1. Prepare appends the rows of a batch to the spool of the open part. Its checkpoint, which the cache stores together with the end of
//     the batch's requests, has the name of the part, and where the spool ends. After a crash Restore cuts the spool there.
//  2. A part that has 1,000,000 rows or 128 MiB is sealed: the checkpoint of that batch says so. The next rows go to the other spool.
//  3. When that checkpoint is stored, which is so when the next Prepare begins, the file of the part is built beside the crawl, under its
//     name with ".part" added: written, synced, read back completely, and compared with the spool by its number of rows and a checksum of
//     each column. A file that a crash left unfinished is removed by Restore, and built again.
//  4. The file gets its name. From now on it is never touched again. Restore knows it by the job and the number of the part, which it has
//     in its metadata, and takes the part for finished, whatever the checkpoint says.
//  5. The spool is removed. The next checkpoint forgets the part.
//
// Close of a job that is over takes the same steps from 3 on for the open part too; a job that dies in it does so again. In a job that
// stops, Close leaves the spools as they are.
//
// # What it costs
//
// Prepare writes to the spool alone. It waits only when a part is full while the one before is still being built: building 128 MiB takes
// a few seconds of one core. So the two spools are never more than 256 MiB and two batches, apart from those of a path without the field
// {part}, which is built in Close. Building takes memory for one row group: 64 MiB of rows, packed, and one page of each column.
package parquet
