//go:build unix

package cli_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

var tmux = flag.String("tmux", "", "the program tmux, for TestTerminal")

// terminal is a terminal in tmux, with a shell in it.
type terminal struct {
	t      *testing.T
	dir    string // the working directory of the shell
	socket string
}

// newTerminal starts one, whose shell finds the commands of TestMain.
func newTerminal(t *testing.T, columns, rows int) *terminal {
	if *tmux == "" {
		t.Skip("-tmux PATH runs it")
	}
	term := &terminal{t: t, dir: t.TempDir()}
	term.socket = filepath.Join(term.dir, "tmux")
	bin := filepath.Join(term.dir, "bin")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app", "tegenaria"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = exec.Command(*tmux, "-S", term.socket, "kill-server").Run() })
	term.tmux("-f", os.DevNull, "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "-c", term.dir,
		"-e", "HOME="+term.dir, "-e", "XDG_CONFIG_HOME="+filepath.Join(term.dir, "config"), "-e", "PATH="+bin+":"+os.Getenv("PATH"), "-e", "PS1=$ ", "sh")
	return term
}

func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := exec.Command(*tmux, append([]string{"-S", term.socket}, args...)...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// types types keys, by their names in tmux, and not faster than people do: while the line editor asks the terminal where its cursor is,
// it loses what is typed.
func (term *terminal) types(keys ...string) {
	term.t.Helper()
	pause := time.NewTimer(300 * time.Millisecond)
	<-pause.C
	term.tmux(append([]string{"send-keys"}, keys...)...)
}

// screen returns what is seen, without blank lines at the end.
func (term *terminal) screen() string {
	return strings.TrimRight(term.tmux("capture-pane", "-p"), "\n")
}

// waits waits for a state of the screen.
func (term *terminal) waits(what string, holds func(screen string) bool) {
	term.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 300 {
		if holds(term.screen()) {
			return
		}
		<-tick.C
	}
	term.t.Fatalf("the screen never had %s:\n%s", what, term.screen())
}

func (term *terminal) sees(text string) {
	term.t.Helper()
	term.waits(strconv.Quote(text), func(screen string) bool { return strings.Contains(screen, text) })
}

// runs writes a script that runs a command between two looks at the state of the terminal, and starts it.
func (term *terminal) runs(command string) {
	term.t.Helper()
	script := "trap : INT\nstty -a >before\nsh -c 'echo $$ >pid; exec " + command + "'\necho code $?\nstty -a >after\n"
	if err := os.WriteFile(filepath.Join(term.dir, "run.sh"), []byte(script), 0o600); err != nil {
		term.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(term.dir, "pid"))
	term.types("clear", "Enter")
	term.waits("nothing but a prompt", func(screen string) bool { return screen == "$" || screen == "#" })
	term.types("sh run.sh; echo over", "Enter")
}

// ends waits for the exit code, and compares the state of the terminal with the one before.
func (term *terminal) ends(code int) {
	term.t.Helper()
	term.sees("code " + strconv.Itoa(code) + "\nover")
	before, beforeErr := os.ReadFile(filepath.Join(term.dir, "before"))
	after, afterErr := os.ReadFile(filepath.Join(term.dir, "after"))
	size := regexp.MustCompile(`rows \d+; columns \d+`) // which is ours
	before, after = size.ReplaceAll(before, nil), size.ReplaceAll(after, nil)
	if beforeErr != nil || afterErr != nil || !bytes.Equal(before, after) {
		term.t.Errorf("the terminal was %s, and is %s (%v, %v)", before, after, beforeErr, afterErr)
	}
}

func (term *terminal) kills(signal syscall.Signal) {
	term.t.Helper()
	text, err := os.ReadFile(filepath.Join(term.dir, "pid"))
	if err != nil {
		term.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, signal)
	}
	if err != nil {
		term.t.Fatal(err)
	}
}

// It fails if the shell does not complete, find its history or obey Ctrl-C and Ctrl-D, or leaves the terminal in another state.
func TestTerminalShell(t *testing.T) {
	term := newTerminal(t, 80, 24)
	page := "<title>Shop</title><article class=bookshelf id=b1>one</article><article class=bookshelf>two</article><a href=x title='\x1b[2J'>x</a>"
	if err := os.WriteFile(filepath.Join(term.dir, "page.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	term.runs("tegenaria shell page.html")
	term.sees("\n>")
	term.types("css .bo", "Tab")
	term.sees("> css .bookshelf")
	term.types("#b", "Tab")
	term.sees("> css .bookshelf#b1")
	term.types("::text", "Enter")
	term.sees("\none")
	term.types("css a::attr(title)", "Enter")
	term.sees(`\u001b[2J`)
	term.types("csss a", "Enter")
	term.sees(`did you mean "css"?`)
	term.types("css garbage", "C-c")
	term.sees("> css garbage^C\n>")
	term.types("css title::text", "Enter")
	term.sees("\nShop")
	term.types("C-d")
	term.ends(0)

	term.runs("tegenaria shell page.html")
	term.sees("\n>")
	term.types("Up")
	term.sees("> css title::text")
	term.types("Enter")
	term.sees("\nShop")
	term.types("C-r", "bookshelf")
	term.sees("bookshelf#b1::text")
	term.types("Enter")
	term.sees("bookshelf#b1::text\none\n>")
	term.types("quit", "Enter")
	term.ends(0)

	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		term.runs("tegenaria shell page.html")
		term.sees("\n>")
		term.types("css")
		term.sees("> css")
		term.kills(signal)
		term.ends(3)
	}
}

// It fails if the line of progress is not there while a crawl runs, is torn, tears a line of the log or stays; if Ctrl-C does not end the
// crawl, the first time gracefully and the second time at once; if the terminal is left in another state; or if what is no terminal gets
// its escape sequences.
func TestTerminalCrawl(t *testing.T) {
	site := demosite.MustStart()
	t.Cleanup(func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	})
	const often, hourly = " -s politeness.ignore_robots=true -s politeness.delay=300ms", " -s politeness.ignore_robots=true -s politeness.delay=1h"
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		term := newTerminal(t, size[0], size[1])
		crawl := "env SITE=" + site.URL() + " app crawl quotes -O q.jsonl"
		clean := func(says string) {
			t.Helper()
			screen := term.screen()
			if !strings.Contains(screen, says) || strings.Contains(screen, "pages/s") || regexp.MustCompile(`(?m)^.+(INFO|WARN)\[`).MatchString(screen) {
				t.Errorf("%v: the screen has no %q, a line of progress, or one that is torn:\n%s", size, says, screen)
			}
		}
		term.runs(crawl + often)
		term.sees("pages/s, 1 waiting")
		term.ends(0)
		clean("finished: 10 pages, 100 items")

		term.runs(crawl + often)
		term.sees("pages/s, 1 waiting")
		term.tmux("resize-window", "-x", strconv.Itoa(size[0]+20), "-y", strconv.Itoa(size[1]+3))
		term.ends(0)
		clean("finished: 10 pages, 100 items")

		term.runs(crawl + hourly)
		term.sees("pages/s, 1 waiting")
		term.types("C-c")
		term.ends(3)
		clean("app: interrupted: what waited in memory is lost (1 request)")

		term.runs("env HANG=hangs " + crawl + hourly + " -s grace=1h")
		term.sees("1 page, 0 items")
		term.types("C-c")
		term.sees("stopping (interrupted): waiting")
		term.types("C-c")
		term.ends(3)
		clean("app: interrupted: what waited in memory is lost")

		term.runs("sh -c \"" + crawl + often + " -o - 2>&1 | cat >piped\"")
		term.ends(0)
		piped, err := os.ReadFile(filepath.Join(term.dir, "piped"))
		if err != nil || bytes.Count(piped, []byte(`"author"`)) != 100 || bytes.ContainsAny(piped, "\x1b\r") || bytes.Contains(piped, []byte("pages/s")) {
			t.Errorf("%v: the pipe got %s, %v", size, piped, err)
		}
	}
}
