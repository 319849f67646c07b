// Package cli makes a command of spiders: one line in main, and the program lists them, crawls with settings from flags and a file,
// judges the result by rules, and ends with an exit code that tells the truth.
//
//	func main() { cli.Main(quotes(), books()) }
//
// A program that grows makes an [App]: spiders with typed arguments ([Define]), the settings of the project, the parts of its
// engines, commands of its own, and parts that bring more ([Part]).
//
// # Settings
//
// A setting has the value of the first that says one: a flag (-s politeness.delay=1s), the spider's section of tegenaria.yaml, the
// rest of that file, the code, the default. The file is looked for in the working directory and those above it:
//
//	politeness: {delay: 500ms, per_slot: 4}
//	limits: {depth: 5}
//	spiders:
//	  quotes:
//	    args: {tag: love}
//	    politeness: {delay: 1s}
//
// The names are those of the JSON of [tegenaria.Settings], and cache.folder, cache.policy and cache.commands for the
// pages that package httpcache keeps; an unknown one is an error with its line, and all mistakes are reported at once.
// There are no environment variables. A value that begins with @ is the content of the file of that name, so that no
// password stands in a list of processes; @@ stands for an @. A settings file that was found names files, and the
// folder of a cache, below its own folder alone; one that --config names may have others.
//
// # Exit codes
//
//	0  the crawl has finished, and all rules hold
//	1  it has failed; so has a crawl that got no page, or whose parsers all failed, unless --empty-ok is given
//	2  wrong usage or settings; nothing was crawled
//	3  it was stopped before its end: by a signal or a limit; with --stop-ok a limit is 0
//	4  a rule is broken, or --stop-if has ended the crawl
//	5  the job was finished before: nothing was crawled; --if-finished ok makes that 0, --if-finished fresh begins the job anew
//
// A job is resumed by the command line that it was begun with. Another spider, other URLs and other arguments are refused with 2; settings,
// and arguments whose names say that they are secrets, may change.
//
// # Rules
//
// A rule is an expression over the counts of the whole job, that is, of all its runs, by the JSON names of
// [tegenaria.Stats]. run has those of this run alone:
//
//	--expect 'item_scraped >= 900 && error_count <= 0.02 * responses'
//	--expect 'item_scraped >= 0.8 * last.item_scraped' --expect 'status[404] < 10'
//	--expect 'run.responses > 0' --stop-if 'error_count > 100'
//
// The language is that of expr-lang.org. fill["price"] is the part of the items whose field price is filled, of all types that have one; a
// rule that asks for it has the fields counted. last has the counts of the last run of the spider that has finished with
// exit code 0, median(7) and min(7) the median and the least of each count of the last seven, see the command runs.
package cli
