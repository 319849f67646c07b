package report_test

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/report"
)

// stackOf returns the stack of a panic in f.
func stackOf(f func()) (stack []byte) {
	defer func() {
		_ = recover()
		stack = debug.Stack()
	}()
	f()
	return nil
}

// parsePrice stands for the user's code.
func parsePrice(prices []int) int { return prices[len(prices)] }

func isOurs(call string) bool { return strings.HasPrefix(call, "github.com/tegenaria/tegenaria/html") }

func TestFrames(t *testing.T) {
	frames := report.Frames(stackOf(func() { parsePrice(nil) }), isOurs)
	if len(frames) < 3 || !strings.HasSuffix(frames[0].Call, ".parsePrice") && !strings.Contains(frames[0].Call, "TestFrames") {
		t.Fatalf("frames %v", frames)
	}
	if !strings.Contains(frames[0].At, "stack_test.go:") || strings.Contains(frames[0].At, "+0x") {
		t.Errorf("first frame at %q", frames[0].At)
	}
	for _, f := range frames {
		if strings.HasPrefix(f.Call, "runtime.") || strings.HasPrefix(f.Call, "runtime/debug.") || strings.HasPrefix(f.Call, "panic") {
			t.Errorf("frame of the runtime: %v", f)
		}
	}
}

// A library that panics was called by the user's code: that comes first.
func TestFramesOfTheUserFirst(t *testing.T) {
	stack := `goroutine 7 [running]:
runtime/debug.Stack()
	/go/src/runtime/debug/stack.go:26 +0x5e
github.com/tegenaria/tegenaria/internal/guard.Protect.func1()
	/mod/guard/protect.go:20 +0x40
panic({0x1, 0x2})
	/go/src/runtime/panic.go:783 +0x132
github.com/tegenaria/tegenaria/html.(*Node).CSS(...)
	/mod/html/css.go:9
slices.SortFunc[...]({0x0, 0x0}, 0x1)
	/go/src/slices/sort.go:33 +0x20
example.com/shop.(*spider).detail(0xc000, {0x1, 0x2})
	/home/me/shop/main.go:41 +0x65
github.com/tegenaria/tegenaria.Handle[...].func1(0x1)
	/mod/output.go:60 +0x11
created by github.com/tegenaria/tegenaria/stage.(*crew).start in goroutine 1
	/mod/stage/pool.go:8 +0x99
`
	var calls []string
	for _, f := range report.Frames([]byte(stack), func(call string) bool { return strings.HasPrefix(call, "github.com/tegenaria/") }) {
		calls = append(calls, f.Call+" "+f.At)
	}
	want := []string{
		"example.com/shop.(*spider).detail /home/me/shop/main.go:41",
		"github.com/tegenaria/tegenaria/html.(*Node).CSS /mod/html/css.go:9",
		"slices.SortFunc[...] /go/src/slices/sort.go:33",
	}
	if !slices.Equal(calls, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(calls, "\n"), strings.Join(want, "\n"))
	}
}

func TestFramesAreBounded(t *testing.T) {
	var deep func(n int) int
	deep = func(n int) int {
		if n == 0 {
			panic("deep")
		}
		return deep(n-1) + 1
	}
	if n := len(report.Frames(stackOf(func() { deep(80) }), isOurs)); n != 20 {
		t.Errorf("%d frames", n)
	}
}

func TestFramesOfNoStack(t *testing.T) {
	for _, text := range []string{"", "x", "a\nb\nc", "goroutine 1 [running]:\n", "goroutine 1 [running]:\nmain.main()"} {
		if frames := report.Frames([]byte(text), isOurs); len(frames) != 0 {
			t.Errorf("%q: %v", text, frames)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(debug.Stack())
	f.Add([]byte("goroutine 1 [running]:\npanic(\n\t +0x\ncreated by  in goroutine\n\t"))
	f.Fuzz(func(t *testing.T, stack []byte) {
		for _, frame := range report.Frames(stack, isOurs) {
			_ = fmt.Sprint(frame)
		}
	})
}
