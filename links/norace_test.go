//go:build !race

package links_test

// raceEnabled tells that the race detector is on: with it a sync.Pool, such as package regexp has,
// forgets at random.
const raceEnabled = false
