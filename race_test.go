//go:build race

package tegenaria

// raceEnabled tells that the race detector is on: it allocates, and is slow.
const raceEnabled = true
