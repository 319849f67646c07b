// Package deep tells tests whether they run as a deep check, which may measure the machine, explore at random and take long.
// Without the flag a test asserts only what depends on the commit, in a form that is quick:
//
//	if deep.Checks() && elapsed > 2*time.Second {
//		t.Errorf("took %s", elapsed)
//	}
//
// .ci/deep measures runs the packages that ask, with the flag:
//
//	go test ./html -args -deep
package deep

import (
	"flag"
	"math/rand/v2"
)

var checks = flag.Bool("deep", false, "run the tests as deep checks: hold them to bars of time and memory, run long "+
	"loops whole, and take new random seeds")

// Checks reports whether the tests run as deep checks.
func Checks() bool { return *checks }

// Rounds returns how often a test does what it repeats: so often in a deep check, and the small number otherwise.
func Rounds(short, whole int) int {
	if Checks() {
		return whole
	}
	return short
}

// Seed returns the seed of a random test: another one each time in a deep check, 1 otherwise. The test logs it, so that a failure can be
// repeated.
func Seed() uint64 {
	if Checks() {
		return rand.Uint64()
	}
	return 1
}
