// Package frontier knows which requests wait, which are in hand, and which may go next. It does not look into requests and
// responses: a job is of any type that holds a [Claim].
//
// A [Ledger] counts every request from its discovery to its end, so that the end of a crawl is known without a timer.
// A [Frontier] hands requests out. This is the way of one:
//
//	Ledger.Discover   it is counted as pending, and its sender offers it to the source, which stores it
//	Accepted          the frontier hears where it waits: in the queue of its slot, or in the due list
//	Take              its slot is ready and a worker is free: it comes out of the source with a claim to both
//	Enter             it passes the gate of its address or proxy, or is put into its queue again (PutBack)
//	Start, Spend      its download begins: the slot is stamped, a page of the slot's budget is spent
//	Answered          the slot learns the answer, and is released
//	Release           the worker is released
//	Ledger.Settle     it is counted as settled; or Ledger.PutBack and Added, to run again
//
// Beside the queues there is a line at each slot, for a job that must have this very slot (WaitSlot): an inline request, for
// which a callback waits. Meanwhile the job of that callback yields its own slot (BeginFetch, EndFetch, ReacquireSlot). A request
// that was in flight when the process died is a suspect and runs alone (LineUp).
//
// [ParsePermits] and [Inline] are about the time after a download: the permits to parse, which a page may yield, and the calls of
// Fetch that a page stays open for, with the inline requests that they wait for.
//
// One mutex guards all, the ledger's; ParsePermits and an Inline have their own. The funcs of [Config] say under which
// locks they are called.
//
// In a program it looks like this:
//
//	ledger := frontier.NewLedger(outcomes)
//	f := frontier.New(frontier.Config[*job]{Source: source, Ledger: ledger, Rules: frontier.NewRules(rule, nil), Now: time.Now, Fetchers: 16, …})
//	ledger.Discover(1)
//	f.Accepted(frontier.Stored{Runs: []frontier.Run{{Slot: "a.test", Number: 1}}})
//	ledger.Started()
//	for {
//		j, ok, err := f.Take(ctx)
//		if !ok || err != nil {
//			return err // nothing is open any more, or the source has failed
//		}
//		go func() {
//			if started, ok := f.Start(j); ok {
//				f.Answered(j, download(j), started)
//				f.Release(j, false)
//				ledger.Settle(fetched, "")
//			} else if !f.PutBack(j) {
//				ledger.PutBack() // the crawl stops
//			}
//		}()
//	}
package frontier
