// Package revisit keeps the items of a spider that runs again and again as a table, and writes what has changed since
// the run before: which items are new, changed or removed.
//
//	history, err := revisit.Open("history", revisit.Options{KeyField: "sku"})
//	if err != nil {
//		return err
//	}
//	defer history.Close()
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithPipelines(history.Changes(feed.JSONL("changes.jsonl"))))
//
// An item has a key; the table has one item for each. What a page gives is compared with the table when the page
// settles, and each change is in the feed in exactly one line, whatever is killed when: applied to the table of the run
// before, the lines of a run give its table.
//
// An item is removed only with a proof. Either its page was asked for in this run and is gone: the answer was 404 or 410. Or the run
// came to its end, and neither a page that it read gives the item, nor does anything lead to a page that might: no page that was read
// links to one that was not, and no page that was not read is a seed, or is one to which such a page has led. A page
// that fails, or that a filter, a limit or a robots.txt keeps from being asked for, keeps its items, and so does a page whose parser
// fails or that gives none at all any more.
//
//	Open → History: the folder, one process at a time
//	  Changes → a pipeline around a feed, for the engine
//	  Compare → a pipeline that compares with the table and stores nothing
//	  Runs    → what the runs have found
//	  Items   → the table
//	  Unread  → the pages that the last run has not read
package revisit
