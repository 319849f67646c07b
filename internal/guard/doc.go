// Package guard runs code that is not the engine's own, and keeps what it does wrong away from the engine: [Protect] turns a
// panic into an error, a [Context] is cheap to give to code that never looks at it, and a [Door] waits for those who are inside.
//
// A short example:
//
//	stack, err := guard.Protect(func() error { return plugin.Open() })
//	var panicked *guard.PanicError
//	if errors.As(err, &panicked) {
//		log.Printf("%v\n%s", panicked.Value, stack)
//	}
package guard
