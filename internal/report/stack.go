package report

import (
	"fmt"
	"slices"
	"strings"
)

// Frame is a line of a stack: a call, and where its code is. A line that stands for calls which are left out has no At.
type Frame struct {
	Call string // "main.(*shop).Parse"; "… the call above, 47 more times"
	At   string // "/home/me/shop/main.go:41"
}

// String returns the frame as one line.
func (f Frame) String() string {
	if f.At == "" {
		return f.Call
	}
	return f.Call + " at " + f.At
}

// mostFrames is how many frames of a stack are reported.
const mostFrames = 20

// IsOurs reports whether a call in a stack is the framework's: of its root or a package below that is not a program.
func IsOurs(call string) bool {
	below, ours := strings.CutPrefix(call, "github.com/tegenaria/tegenaria")
	return ours && (strings.HasPrefix(below, ".") || strings.HasPrefix(below, "/") && !strings.HasPrefix(below, "/examples/") && !strings.HasPrefix(below, "/e2e/"))
}

// Frames reads the stack of a panic as package runtime/debug writes it: the frames from the one that has panicked down, those of
// the runtime left out, at most 20. The first of the user's own code comes first, since it may have called a library that has
// panicked, and the last of the user's own code is the last. Calls that repeat, as those of a recursion do, are there once, followed by a
// line with their number. Nil is returned for a text that is not a stack.
//
//	for _, f := range report.Frames(stack, report.IsOurs) {
//		fmt.Println(f.Call, f.At)
//	}
//
// isOurs reports whether a call is one of the framework.
func Frames(stack []byte, isOurs func(call string) bool) []Frame {
	var frames []Frame
	lines := strings.Split(string(stack), "\n")
	for i := 1; i+1 < len(lines); i += 2 { // the first line names the goroutine
		call, at := lines[i], strings.TrimSpace(lines[i+1])
		if strings.HasPrefix(call, "...") { // "...23 frames elided..."
			frames = append(frames, Frame{Call: "… " + strings.Trim(call, ".")})
			i--
			continue
		}
		if !strings.HasPrefix(lines[i+1], "\t") {
			break
		}
		if strings.HasPrefix(call, "panic(") { // what comes before has recovered it
			frames = nil
			continue
		}
		if by, _, made := strings.Cut(strings.TrimPrefix(call, "created by "), " in goroutine"); made {
			call = by
		} else if args := strings.LastIndexByte(call, '('); args > 0 {
			call = call[:args]
		}
		if offset := strings.LastIndex(at, " +0x"); offset > 0 {
			at = at[:offset]
		}
		if strings.HasPrefix(call, "runtime.") {
			continue
		}
		frames = append(frames, Frame{call, at})
	}
	isUsers := func(f Frame) bool { return f.At != "" && !isStandard(f.Call) && !isOurs(f.Call) }
	if first := slices.IndexFunc(frames, isUsers); first >= 0 {
		last := len(frames) - 1
		for !isUsers(frames[last]) {
			last--
		}
		frames = frames[:last+1]
		user := frames[first]
		copy(frames[1:first+1], frames[:first])
		frames[0] = user
	}
	frames = fold(frames)
	return frames[:min(len(frames), mostFrames)]
}

// longestLoop is the longest sequence of calls whose repeats are folded.
const longestLoop = 8

// fold replaces the repeats of calls by a line with their number. Two in a row are left as they are.
func fold(frames []Frame) []Frame {
	var folded []Frame
	for len(frames) > 0 {
		size, more := loop(frames)
		folded = append(folded, frames[:size]...)
		switch {
		case more < 2:
			more = 0
		case size == 1:
			folded = append(folded, Frame{Call: fmt.Sprintf("… the call above, %d more times", more)})
		default:
			folded = append(folded, Frame{Call: fmt.Sprintf("… the %d calls above, %d more times", size, more)})
		}
		frames = frames[size*(more+1):]
	}
	return folded
}

// loop returns the size of the shortest sequence at the beginning that is followed by itself at least twice, and how
// often it is; else 1 and 0.
func loop(frames []Frame) (size, more int) {
	for size := 1; size <= longestLoop && 3*size <= len(frames); size++ {
		more := 0
		for slices.Equal(frames[:size], next(frames, size*(more+1), size)) {
			more++
		}
		if more >= 2 {
			return size, more
		}
	}
	return 1, 0
}

// next returns as many frames from an index on, or those that are left.
func next(frames []Frame, from, size int) []Frame {
	return frames[min(from, len(frames)):min(from+size, len(frames))]
}

// isStandard reports whether a call is one of the standard library, by the first part of its path. That of a module need not be
// the name of a domain.
func isStandard(call string) bool {
	first, _, below := strings.Cut(call, "/")
	if below {
		return standard[first] || standardFolders[first]
	}
	name, _, _ := strings.Cut(call, ".")
	return standard[name]
}

// standardFolders are the first parts of the paths of the standard library that have several, besides those of standard.
var standardFolders = map[string]bool{
	"archive": true, "compress": true, "container": true, "crypto": true, "database": true, "debug": true, "encoding": true, "go": true, "hash": true,
	"html": true, "image": true, "index": true, "internal": true, "log": true, "mime": true, "net": true, "path": true, "runtime": true, "text": true, "vendor": true,
}

// standard are the packages of the standard library whose path has one part, and that can call user code or panic in its name.
var standard = map[string]bool{
	"bufio": true, "bytes": true, "context": true, "errors": true, "fmt": true, "io": true, "iter": true, "maps": true, "math": true, "os": true,
	"reflect": true, "regexp": true, "slices": true, "sort": true, "strconv": true, "strings": true, "sync": true, "testing": true, "time": true, "unicode": true,
}
