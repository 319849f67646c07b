// Package commit calls the committers of a run together: it finds those that cannot be told apart, restores each to the checkpoint that
// was stored for it, has all prepare a batch at the same time, and makes them forget what will run again. It also restores the
// keepers, which stage nothing and have state for the next run, and collects what of that has changed.
package commit
