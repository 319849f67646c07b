//go:build !race

package selector_test

// raceEnabled tells that the race detector is on, which takes memory of its own.
const raceEnabled = false
