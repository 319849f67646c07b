//go:build !race

package html_test

// raceEnabled tells that the race detector is on, which takes memory of its own.
const raceEnabled = false
