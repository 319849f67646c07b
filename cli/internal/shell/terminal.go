package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"github.com/reeflective/readline"
	"golang.org/x/term"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// Terminal runs lines that somebody types at the terminal of the process, until quit or Ctrl-D. Ctrl-C ends the line or the command in
// hand. The terminal is left as it was, also when a signal ends the process's work; then the error is that of the context.
func (s *Shell) Terminal(ctx context.Context) error {
	ctx, end := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer end()
	stdin := int(os.Stdin.Fd())
	before, err := term.GetState(stdin)
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	editor := s.editor()
	for {
		var line string
		reading := guard.Go(func() { line, err = editor.Readline() })
		select {
		case <-reading.Done():
		case <-ctx.Done(): // it still reads, and the process is about to end
			fmt.Fprint(s.out, pasteOff, "\r\n")
			return errors.Join(fmt.Errorf("the shell was ended: %w", ctx.Err()), term.Restore(stdin, before))
		}
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the terminal: %w", err)
		}
		err = s.interruptible(ctx, line)
		if errors.Is(err, ErrQuit) {
			return nil
		}
		if err != nil {
			s.note("%s", err.Error())
		}
	}
}

// pasteOff ends what Readline asks of a terminal besides its mode.
const pasteOff = "\x1b[?2004l"

// interruptible runs a line that Ctrl-C ends.
func (s *Shell) interruptible(ctx context.Context, line string) error {
	ctx, end := signal.NotifyContext(ctx, os.Interrupt)
	defer end()
	return s.Do(ctx, line)
}

func (s *Shell) editor() *readline.Shell {
	editor := readline.NewShell()
	// It shows comments in grey, and "#" begins selectors.
	_ = editor.Config.Set("comment-begin", "\x00")
	editor.Prompt.Primary(func() string { return "> " })
	editor.Completer = func(line []rune, cursor int) readline.Completions {
		word, becomes := s.Complete(string(line[:cursor]))
		// It counts the prefix in bytes and moves by as many characters, so that may have ASCII alone.
		known := 0
		for i, r := range word {
			if r >= utf8.RuneSelf {
				known = i + utf8.RuneLen(r)
			}
		}
		for i := range becomes {
			becomes[i] = becomes[i][known:]
		}
		found := readline.CompleteValues(becomes...)
		found.PREFIX = word[known:]
		return found
	}
	if dir, err := os.UserConfigDir(); err == nil {
		editor.History.Add("shell", openHistory(filepath.Join(dir, "tegenaria", "shell_history")))
	}
	return editor
}
