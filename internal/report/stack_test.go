package report_test

import (
	"fmt"
	"regexp"
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

func TestIsOurs(t *testing.T) {
	for call, want := range map[string]bool{
		"github.com/tegenaria/tegenaria.(*crawl).run":           true,
		"github.com/tegenaria/tegenaria/internal/guard.Protect": true,
		"github.com/tegenaria/tegenaria/examples/quotes.main":   false,
		"github.com/tegenaria/tegenaria/e2e/shop.crawl":         false,
		"github.com/tegenaria/tegenariashop.main":               false,
		"main.main": false,
	} {
		if got := report.IsOurs(call); got != want {
			t.Errorf("%s: %t, want %t", call, got, want)
		}
	}
}

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

// The path of a user's module need not begin with a domain, and its packages may be called as some of the standard library are.
func TestFramesOfAnyModule(t *testing.T) {
	for _, call := range []string{"shop/spiders.parse", "shop/internal/spiders.(*shop).Parse", "shop.parse", "main.parse", "example.com/net.parse", "html.example/shop.parse"} {
		stack := "goroutine 7 [running]:\npanic({0x1, 0x2})\n\t/go/src/runtime/panic.go:783 +0x132\n" +
			"encoding/json.Marshal(...)\n\t/go/src/encoding/json/x.go:9\n" + call + "(0xc000)\n\t/home/me/shop/main.go:41 +0x65\n" +
			"net/http.HandlerFunc.ServeHTTP(...)\n\t/go/src/net/http/server.go:9\n"
		frames := report.Frames([]byte(stack), isOurs)
		if len(frames) != 2 || frames[0].Call != call || frames[1].Call != "encoding/json.Marshal" {
			t.Errorf("%s: %v", call, frames)
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

// walk panics at the bottom of a recursion of n calls, and even of one of two funcs that call each other.
func walk(n int) int {
	if n == 0 {
		panic("deep")
	}
	return walk(n-1) + 1
}

func even(n int) int {
	if n == 0 {
		panic("deep")
	}
	return odd(n-1) + 1
}

func odd(n int) int { return even(n-1) + 1 }

// Of a recursion each call is told once, with the number of its repeats, and the code that has begun it after that. Of a very deep
// one the runtime leaves out the middle.
func TestFramesOfRecursion(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    func()
		want string
	}{
		{"two calls", func() { walk(2) }, "walk walk walk func"},
		{"one func", func() { walk(40) }, "walk walk … the call above, 39 more times func"},
		{"two funcs", func() { even(40) }, "even odd even … the 2 calls above, 19 more times func"},
		{"very deep", func() { walk(1000) }, "walk walk … the call above, N more times … N frames elided walk … the call above, N more times func"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls []string
			for _, f := range report.Frames(stackOf(tt.f), isOurs) {
				call := f.Call[strings.LastIndexByte(f.Call, '.')+1:]
				if f.At != "" && strings.HasPrefix(call, "func") {
					call = "func"
				}
				if calls = append(calls, call); call == "func" {
					break // below it is the test
				}
			}
			got := strings.Join(calls, " ")
			if tt.name == "very deep" {
				got = regexp.MustCompile("[0-9]+").ReplaceAllString(got, "N")
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFramesAreBounded(t *testing.T) {
	stack := "goroutine 1 [running]:\n"
	for i := range 80 {
		stack += fmt.Sprintf("main.f%d()\n\t/main.go:%d\n", i, i)
	}
	if n := len(report.Frames([]byte(stack), isOurs)); n != 20 {
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
