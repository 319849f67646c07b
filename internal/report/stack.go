package report

import (
	"slices"
	"strings"
)

// Frame is a line of a stack: a call, and where its code is.
type Frame struct {
	Call string // "main.(*shop).Parse"
	At   string // "/home/me/shop/main.go:41"
}

// mostFrames is how many frames of a stack are told.
const mostFrames = 20

// Frames reads the stack of a panic as package runtime/debug writes it: the frames from the one that has panicked down, those of
// the runtime left out, at most 20. The first of the user's own code comes first, since it may have called a library that has
// panicked, and the last of the user's own code is the last. Nil is returned for a text that is not a stack.
//
//	for _, f := range report.Frames(stack, isOurs) {
//		fmt.Println(f.Call, f.At)
//	}
//
// isOurs reports whether a call is one of the framework.
func Frames(stack []byte, isOurs func(call string) bool) []Frame {
	var frames []Frame
	lines := strings.Split(string(stack), "\n")
	for i := 1; i+1 < len(lines); i += 2 { // the first line names the goroutine
		call, at := lines[i], strings.TrimSpace(lines[i+1])
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
	isUsers := func(f Frame) bool { return !isStandard(f.Call) && !isOurs(f.Call) }
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
	return frames[:min(len(frames), mostFrames)]
}

// isStandard reports whether a call is one of the standard library: the first part of its path has no dot, as names of domains
// have, and it is not main.
func isStandard(call string) bool {
	first, rest, below := strings.Cut(call, "/")
	if below {
		return !strings.Contains(first, ".") && rest != ""
	}
	name, _, _ := strings.Cut(first, ".")
	return standard[name]
}

// standard are the packages of the standard library whose path has one part, and that can call user code or panic in its name.
var standard = map[string]bool{
	"bufio": true, "bytes": true, "context": true, "errors": true, "fmt": true, "io": true, "iter": true, "maps": true, "math": true, "os": true,
	"reflect": true, "regexp": true, "slices": true, "sort": true, "strconv": true, "strings": true, "sync": true, "testing": true, "time": true, "unicode": true,
}
