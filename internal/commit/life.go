package commit

import "context"

// A committer learns from the context of a call what it may rely on.

type runKey struct{}

// run is what the contexts of Restore tell.
type run struct {
	spider  string
	worker  string // its name among the programs that work on the job; "": it is the only one
	forgets bool   // what is stored is lost when the process ends
}

// OfRun returns a context of the run of a spider. worker names the program among those that work on the job, "" if it
// is the only one; forgets says that the run cannot be resumed.
func OfRun(ctx context.Context, spider, worker string, forgets bool) context.Context {
	return context.WithValue(ctx, runKey{}, run{spider, worker, forgets})
}

// Resumable reports whether a context is that of a run that can be resumed, or is not of a run.
func Resumable(ctx context.Context) bool {
	r, _ := ctx.Value(runKey{}).(run)
	return !r.forgets
}

// SpiderName returns the name of the spider whose run a context is of, "" if it is not of one.
func SpiderName(ctx context.Context) string {
	r, _ := ctx.Value(runKey{}).(run)
	return r.spider
}

// WorkerName returns the name that the program of the run has among those that work on its job, "" if it is the only one.
func WorkerName(ctx context.Context) string {
	r, _ := ctx.Value(runKey{}).(run)
	return r.worker
}

type completeKey struct{}

// OfClose returns a context of the end of a run, whose job is complete or not.
func OfClose(ctx context.Context, complete bool) context.Context {
	return context.WithValue(ctx, completeKey{}, complete)
}

// Complete reports whether a context is of the end of a run whose job is complete, or not of the end of a run.
func Complete(ctx context.Context) bool {
	complete, known := ctx.Value(completeKey{}).(bool)
	return complete || !known
}
