// Package shell tries selectors on a page, one command in a line. It is the machine of the command shell.
//
// A line is one command or several joined by " | ": each works on what the one before it has found, the first on the page. [New] makes a
// [Shell] for a [Host], which fetches pages; [Shell.Open] gives it a page, [Shell.Do] runs a line, and [Shell.Script] all lines of a
// reader:
//
//	s := shell.New(host, os.Stdout, os.Stderr)
//	err := s.Do(ctx, "css article | css h3 a | links")
//
// What is found is a selector.Selection all the way: lines of text that a command makes are its computed values.
package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/selector"
)

// Host is the program that a shell works in.
type Host struct {
	// Fetch gets a page, whatever its status. The response stays as it is after the call.
	Fetch func(ctx context.Context, url string) (*tegenaria.Response, error)
	// View shows a page in a browser.
	View func(page *tegenaria.Response) error
	// Parse gives a page to a spider, and prints what it makes of it. Both names may be empty.
	Parse func(ctx context.Context, page *tegenaria.Response, spider, parser string) error
	// Spiders are the names of the program's spiders.
	Spiders []string
	// Terminal says that results are for somebody at a terminal: they are cut, and counted.
	Terminal bool
	// Printable makes a text harmless that may steer a terminal.
	Printable func(text string) string
}

// Shell runs commands on a page. It must not be used concurrently.
type Shell struct {
	host       Host
	out, notes io.Writer
	page       *tegenaria.Response
	words      *words // of the page, made when they are asked for
}

// New makes a shell without a page. Results go to out, and remarks on them to notes.
func New(host Host, out, notes io.Writer) *Shell { return &Shell{host: host, out: out, notes: notes} }

// ErrQuit is returned by [Shell.Do] for the command quit.
var ErrQuit = errors.New("quit")

// Open gives the shell a page.
func (s *Shell) Open(page *tegenaria.Response) {
	s.page, s.words = page, nil
	if s.host.Terminal || page.Status >= 400 {
		s.note("%s: status %d %s, %s, %d bytes", urlx.Redact(page.URL), page.Status, http.StatusText(page.Status),
			orElse(http.Header(page.Header).Get("Content-Type"), "no Content-Type"), page.ContentLength)
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// maxLine is how long a line of a script may be, in bytes.
const maxLine = 1 << 20

// Script runs the lines of a reader. It ends at the first error, since what follows may mean a page that was not fetched.
func (s *Shell) Script(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := lines.Text()
		if number == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // some editors begin a file with it
		}
		err := s.Do(ctx, line)
		if errors.Is(err, ErrQuit) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	return nil
}

// Do runs a line. Empty lines and those that begin with # do nothing.
func (s *Shell) Do(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	parts := split(line)
	steps := make([]step, len(parts))
	for i, text := range parts {
		name, arg, _ := strings.Cut(text, " ")
		c, err := lookup(name)
		if err == nil {
			err = c.check(strings.TrimSpace(arg), i, len(parts))
		}
		if err == nil && c.pages && s.page == nil {
			err = errors.New("there is no page yet: fetch URL gets one")
		}
		if err != nil {
			return err
		}
		steps[i] = step{c, strings.TrimSpace(arg)}
	}
	var found *selector.Selection
	for i, step := range steps {
		next, err := s.run(ctx, step, i > 0, found)
		if err != nil {
			return err
		}
		found = next
	}
	if last := steps[len(steps)-1].command; last.ends {
		return nil
	}
	return s.print(found)
}

// step is a command with its argument.
type step struct {
	command *command
	arg     string
}

// run runs a command. Queries panic where they are wrong, or the page is.
func (s *Shell) run(ctx context.Context, do step, piped bool, in *selector.Selection) (found *selector.Selection, err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		cause, ok := v.(error)
		if _, isBug := v.(runtime.Error); !ok || isBug {
			panic(v)
		}
		err = fmt.Errorf("%s: %w", do.command.name, plain(cause))
	}()
	return do.command.run(s, ctx, call{arg: do.arg, piped: piped, in: in})
}

// plain returns what is wrong with a query without what the user has just written.
func plain(err error) error {
	var wrong *selector.SyntaxError
	if errors.As(err, &wrong) {
		return wrong.Err
	}
	return err
}

// At a terminal no more is printed of what was found.
const (
	mostResults = 40
	mostRunes   = 300
)

// print prints results, each in a line.
func (s *Shell) print(found *selector.Selection) error {
	out := bufio.NewWriter(s.out)
	for i, one := range found.All() {
		if s.host.Terminal && i == mostResults {
			break
		}
		line := strings.Join(strings.Fields(one.Get()), " ")
		if runes := []rune(line); s.host.Terminal && len(runes) > mostRunes {
			line = string(runes[:mostRunes-1]) + "…"
		}
		fmt.Fprintln(out, s.host.Printable(line))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	switch n := found.Len(); {
	case n == 0:
		s.note("nothing found")
	case s.host.Terminal && n > mostResults:
		s.note("%d found, of which %d are shown", n, mostResults)
	case s.host.Terminal && n > 1:
		s.note("%d found", n)
	}
	return nil
}

func (s *Shell) note(format string, args ...any) {
	fmt.Fprintln(s.notes, s.host.Printable(fmt.Sprintf(format, args...)))
}
