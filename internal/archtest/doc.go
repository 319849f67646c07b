// Package archtest keeps the house in order: its test fails when a package imports upwards or
// sideways, when the root package draws in another module, when a station of the root points at the crawl, when code starts a
// goroutine nobody owns, sleeps, or steers by package state or environment, and when the documents name what is not there.
//
// The rules are functions from what they check to the problems found, so that each can be tried on
// a small made-up tree:
//
//	Imports(packages)        packages and what they import,       floors.go
//	                         which Packages(files) finds
//	Plan(packages)           the packages that the plan names     floors.go
//	RootModules(modules)     the modules that the root draws in   floors.go
//	Files(files)             parsed source, file by file          source.go
//	Root(files)              stations of the root, names of tests house.go
//	Story(files, page)       what the documents say of the house  story.go
//
// The tables a contributor may have to extend are all in tables.go; a message that asks for it says
// which.
package archtest

import "fmt"

// Problem is one rule broken in one place.
type Problem struct {
	// Where is a package path inside the module ("cache/disk", "." for the root), or file:line.
	Where string
	// What says which rule is broken and what to do about it.
	What string
}

// String returns place and message.
func (p Problem) String() string { return p.Where + ": " + p.What }

func problemf(where, format string, args ...any) Problem {
	return Problem{Where: where, What: fmt.Sprintf(format, args...)}
}
