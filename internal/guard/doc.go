// Package guard runs code that is not the engine's own, and keeps its faults away from the engine.
//
// A [Watch] knows which code is running. Code belongs to a [Call], which has an [Owner]; it joins, runs its pieces one after
// the other, and leaves. A piece that is over its limit has its [Context] cancelled; one that does not return soon after
// that is given up, as all are that are running when the watch is closed. A call is in one of five states:
//
//	idle → running → slow → overdue → gone
//
// The end of a piece makes it idle again. When a call is given up, Abandon has its owner report the loss and give back all that it
// holds. Nothing waits for the code itself: it goes on in a goroutine on which nothing depends, and [Call.GivenUp] has its
// values refused. A goroutine that returns after all learns that from [ErrGivenUp].
//
// [Go] is the one way to start code that may be left behind, and [Watch.Apart] runs a call that way for a caller that has to go on.
// A [Sender] is the part of an [BoundedCall] that all code has in common that sends results, which [Receive] waits for.
// [Protect] turns a panic into an error, a Context is cheap to give to code that never looks at it, and an [InFlight]
// counts calls.
//
// A short example, of a plugin that has a second to start:
//
//	watch := guard.NewWatch(guard.Config{
//		Limit:   time.Second,
//		TooLate: func(at string) error { return fmt.Errorf("%s took too long", at) },
//	})
//	defer watch.Close()
//	call := &guard.Call{Owner: plugin}
//	call.Life.Parent = ctx
//	if err := watch.Apart(call, "start", func() { plugin.Start(&call.Life) }); err != nil {
//		return err // plugin.Abandon was called
//	}
package guard
