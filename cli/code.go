package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// The exit codes.
const (
	codeFinished = 0
	codeFailed   = 1
	codeUsage    = 2
	codeStopped  = 3
	codeBroken   = 4
	codeBefore   = 5 // the job was finished before
)

// usageError is wrong usage, or wrong settings: nothing was done.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// Usage makes an error of a part or a command of one's own one about wrong usage: exit code 2.
func Usage(err error) error { return &usageError{err} }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// brokenError is a rule that does not hold.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }

// doneError is the end of a command that has printed what is wrong.
type doneError struct{ code int }

func (e *doneError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// codeOf returns the exit code of an error. Of several errors a failure counts most; but when a crawl was stopped, that code which
// it left behind did not return is no failure of its own.
func codeOf(err error) int {
	switch err.(type) {
	case nil:
		return codeFinished
	case *tegenaria.NothingError: // whatever its causes are
		return codeFailed
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		codes := make(map[int]bool)
		for _, one := range joined.Unwrap() {
			var left *tegenaria.AbandonedError
			if code := codeOf(one); code != codeFailed || !errors.As(one, &left) {
				codes[code] = true
			}
		}
		for _, code := range []int{codeUsage, codeFailed, codeBroken, codeStopped, codeBefore} {
			if codes[code] {
				return code
			}
		}
		return codeFailed
	}
	var (
		usage   *usageError
		other   *disk.MismatchError
		broken  *brokenError
		before  *finishedError
		stopped *tegenaria.StoppedError
		run     *tegenaria.RunError
	)
	switch {
	case errors.As(err, &usage), errors.As(err, &other), errors.As(err, &run) && run.Op == "wiring":
		return codeUsage
	case errors.As(err, &before):
		return codeBefore
	case errors.As(err, &broken):
		return codeBroken
	case errors.As(err, &stopped), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && run == nil:
		return codeStopped
	}
	return codeFailed
}

// meant is what an error says of a name that nothing has.
func meant(name string, names []string) string {
	if near := setting.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// flagError adds to an error about a flag what was meant.
func (c *call) flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && strings.Contains(invalid.GetValue(), "@") { // it may be a URL with a password
		return usagef("invalid argument %q for --%s; %s -h lists the flags", urlx.Redact(invalid.GetValue()), invalid.GetFlag().Name, cmd.CommandPath())
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) == 1 {
		return usagef("%w; %s -h lists the flags", err, cmd.CommandPath())
	}
	if remedy, ok := partFlags[unknown.GetSpecifiedName()]; ok {
		return usagef("%w: it belongs to a part that this program does not have; %s", err, remedy)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return usagef("%w%s; %s -h lists the flags", err, meant(unknown.GetSpecifiedName(), names), cmd.CommandPath())
}

// partFlags are the flags of parts that a program may do without, with the remedy.
var partFlags = map[string]string{
	"listen": livePart, "listen-token": livePart, "listen-tls": livePart, "listen-insecure": livePart,
	"render": "the spiders of a project render by package browser, see docs/guides/browser.md; outside of projects, tegenaria crawl URL --render auto has it",
}

const livePart = "add it with app.With(live.Part()), of package cli/live; where a spider is given to cli.Main, write " +
	"app := cli.New(spider); app.With(live.Part()); app.Main()"

// printable returns a text that cannot steer a terminal: control characters but for line ends and tabs are written as Go writes them.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if (unicode.IsControl(r) && r != '\n' && r != '\t') || unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
